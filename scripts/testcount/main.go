// Testcount reads the output of go test -json, shows each package as it ends, what
// failed, and what was skipped and why, and closes with the line
//
//	N passed, N failed, N skipped
//
// It exits 1 if no test passed, so that a run that tested nothing is no success.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	if err := run(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, r io.Reader) error {
	var passed, failed, skipped int
	output := map[string]*strings.Builder{} // by package and test
	failedIn := map[string]bool{}           // by package
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(w, lines.Text()) // a build error comes as plain text
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if output[key] == nil {
				output[key] = new(strings.Builder)
			}
			output[key].WriteString(e.Output)
			continue
		case "pass", "fail", "skip":
		default:
			continue
		}
		text := ""
		if b := output[key]; b != nil {
			text = b.String()
		}
		delete(output, key)
		switch {
		case e.Action == "fail":
			fmt.Fprintf(w, "FAIL %s\n%s", key, text)
			if e.Test != "" || !failedIn[e.Package] { // a package can fail by itself: it did not build, or exited
				failed++
			}
			failedIn[e.Package] = true
		case e.Test == "" && e.Action == "pass":
			fmt.Fprintf(w, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
		case e.Test != "" && e.Action == "pass":
			passed++
		case e.Test != "" && e.Action == "skip":
			skipped++
			fmt.Fprintf(w, "SKIP %s\n%s", key, text)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for key, b := range output { // build failures, and what a dying package said last
		if s := b.String(); strings.Contains(s, "panic") || strings.HasPrefix(key, " ") {
			fmt.Fprintf(w, "FAIL %s\n%s", key, s)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if passed == 0 {
		return errors.New("no test passed")
	}
	return nil
}
