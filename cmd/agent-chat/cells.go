package main

import (
	"strings"

	"github.com/rivo/uniseg"
)

// maxCluster is more bytes than any character of one or two cells has; a longer
// one is a heap of marks.
const maxCluster = 64

// cut returns as much of the beginning of s as width cells of a terminal show,
// its last cell "…" if that is not all of it. s is inert and one line. Wide
// characters have two cells and are never cut in half, nor are those of several
// code points.
func cut(s string, width int) string {
	shown, cells, full := 0, 0, 0 // full: what is shown if "…" follows
	for rest, state := s, -1; rest != ""; {
		var c string
		var w int
		c, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if cells+w > width || len(c) > maxCluster {
			return s[:full] + "…"[:min(width, 1)*len("…")]
		}
		cells += w
		shown += len(c)
		if cells < width {
			full = shown
		}
	}
	return s
}

// pad returns s with spaces behind it up to width cells.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-uniseg.StringWidth(s)))
}
