package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What a terminal obeys is written out; everything else is left as it is.
func TestInert(t *testing.T) {
	for _, tt := range []struct {
		name, in, want, line string
	}{
		{"plain", "plain ü 大 😀 שלום", "plain ü 大 😀 שלום", "plain ü 大 😀 שלום"},
		{"line feed and tab", "a\nb\tc", "a\nb\tc", `a\x0ab\x09c`},
		{"escape sequence", "a\x1b[31mb", `a\x1b[31mb`, `a\x1b[31mb`},
		{"operating system command", "\x1b]0;title\x07", `\x1b]0;title\x07`, `\x1b]0;title\x07`},
		{"carriage return", "a\rb", `a\x0db`, `a\x0db`},
		{"backspace and delete", "a\x08\x7f", `a\x08\x7f`, `a\x08\x7f`},
		{"NUL", "\x00", `\x00`, `\x00`},
		{"control sequence of 8 bits", "\u009b31m", `\u009b31m`, `\u009b31m`},
		{"bidirectional override", "\u202eabc\u2069", `\u202eabc\u2069`, `\u202eabc\u2069`},
		{"line separator", "a\u2028b", `a\u2028b`, `a\u2028b`},
		{"byte order mark", "\ufeffa", `\ufeffa`, `\ufeffa`},
		{"not UTF-8", "a\xffb\x9b", `a\xffb\x9b`, `a\xffb\x9b`},
		{"a real replacement character", "\ufffd", "\ufffd", "\ufffd"},
		{"cut rune", "\xe2\x80", `\xe2\x80`, `\xe2\x80`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := inert(tt.in); got != tt.want {
				t.Errorf("inert(%q) = %q; want %q", tt.in, got, tt.want)
			}
			if got := inertLine(tt.in); got != tt.line {
				t.Errorf("inertLine(%q) = %q; want %q", tt.in, got, tt.line)
			}
		})
	}
}

// Nothing that a terminal obeys comes through, and JSON keeps its value.
func FuzzInert(f *testing.F) {
	for _, s := range []string{"a", "a\x1b[2J\r\n\t", "\u009b\u202e\u2028\ufeff", "\xff\xc2\x9b", `"\u001b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{inert(s), inertLine(s)} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return obeyed(r) && r != '\n' && r != '\t' }) {
				t.Errorf("inert of %q: %q", s, out)
			}
		}
		if strings.ContainsAny(inertLine(s), "\n\t") {
			t.Errorf("inertLine(%q) has several lines", s)
		}
		b, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		out := inertJSON(bytes.Clone(b))
		if bytes.ContainsFunc(out, obeyed) {
			t.Errorf("inertJSON(%s) = %q", b, out)
		}
		var want, got map[string]string
		if json.Unmarshal(b, &want) != nil || json.Unmarshal(out, &got) != nil {
			t.Fatalf("inertJSON(%s) = %s: not JSON", b, out)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("inertJSON(%s) changed the value (-want +got):\n%s", b, diff)
		}
	})
}
