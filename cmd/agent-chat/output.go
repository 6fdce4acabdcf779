package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"agentchat/shared/strictjson"
)

// object writes v as one line of JSON.
func (a *app) object(w io.Writer, v any) {
	b, err := strictjson.Append(nil, v)
	if err != nil {
		panic("agent-chat: a value that JSON can't hold: " + err.Error())
	}
	_, _ = w.Write(append(inertJSON(b), '\n'))
}

// say writes one line for people, with what it says made inert.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.out, inert(fmt.Sprintf(format, args...)))
}

// note writes one line for people to standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.errOut, inert(fmt.Sprintf(format, args...)))
}

// counted returns n and the noun, in the plural unless n is 1.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// table writes rows in columns, the first of them as a heading.
func (a *app) table(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = inertLine(row[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(row[i]))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(pad(cell, widths[i]+2))
		}
		fmt.Fprintln(a.out, strings.TrimRight(line.String(), " "))
	}
}

// facts writes rows of a name and a value, without those that have no value.
func (a *app) facts(rows [][]string) {
	a.table(slices.DeleteFunc(rows, func(r []string) bool { return r[1] == "" }))
}

// A style is a terminal's escape sequence for a kind of text.
type style string

const (
	dim    style = "\x1b[2m"
	bold   style = "\x1b[1m"
	green  style = "\x1b[32m"
	red    style = "\x1b[31m"
	yellow style = "\x1b[33m"
	reset        = "\x1b[0m"
)

// paint returns s in a style if standard output is a terminal that wants it. What
// it is given must be inert already.
func (a *app) paint(st style, s string) string {
	if st == "" || !a.colours() {
		return s
	}
	return string(st) + s + reset
}

func (a *app) colours() bool {
	return isTerminal(a.out) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

func isTerminal(s any) bool {
	f, ok := s.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // a file descriptor is small
}

// width returns how many cells a line of standard output has, 0 if it is no
// terminal. It may be resized at any time.
func (a *app) width() int {
	if !isTerminal(a.out) {
		return 0
	}
	width, _, err := term.GetSize(int(a.out.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}
