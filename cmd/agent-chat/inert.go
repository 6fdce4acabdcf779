package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inert returns s with everything that a terminal would obey, or that would
// reorder what a person reads, written out: control characters but tab and line
// feed, and the invisible marks of bidirectional text. What others send must not
// move the cursor, set a title, or look like something else.
func inert(s string) string { return escape(s, func(r rune) bool { return r == '\n' || r == '\t' }) }

// inertLine is inert for text that must stay on its line.
func inertLine(s string) string { return escape(s, func(rune) bool { return false }) }

func escape(s string, keep func(rune) bool) string {
	harmless := func(r rune) bool { return keep(r) || !obeyed(r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case harmless(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// obeyed reports whether a terminal acts on r rather than showing it.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// inertJSON does the same to JSON, whose strings may hold such characters as they
// are; the value stays the same.
func inertJSON(b []byte) []byte {
	hot := false
	for _, c := range b {
		hot = hot || c >= 0x7f
	}
	if !hot {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r >= 0x7f && obeyed(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
