package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// figure prints one number of the server process; nothing if its pid is not known.
func figure(pid int, label, name string, v float64, unit string) {
	if pid != 0 {
		fmt.Printf("%-18s %s: %.1f %s\n", label, name, v, unit)
	}
}

// cpuOf returns the CPU time that a process has used, to a hundredth of a second (Linux).
func cpuOf(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var ticks int64
	for _, s := range f[11:13] {
		n, err := strconv.ParseInt(s, 10, 64)
		must(err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// rssOf returns the resident memory of a process in bytes (Linux).
func rssOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	must(err)
	return n * int64(os.Getpagesize())
}

// peakOf returns the largest resident memory that a process ever had, in bytes (Linux).
func peakOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	must(err)
	return n << 10
}

// forgetPeak makes the present resident memory of a process its peak (Linux). It
// returns it.
func forgetPeak(pid int) int64 {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // else the peak is that of all that came before
	return rssOf(pid)
}
