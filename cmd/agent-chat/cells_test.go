package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// What is cut fits, ends with an ellipsis, and has no half characters.
func TestCut(t *testing.T) {
	family := "👨‍👩‍👧"
	for _, tt := range []struct {
		name, in string
		width    int
		want     string
	}{
		{"empty", "", 5, ""},
		{"short", "abc", 5, "abc"},
		{"just as long", "abcde", 5, "abcde"},
		{"longer", "abcdef", 5, "abcd…"},
		{"wide", "大大大", 5, "大大…"},
		{"wide, and an odd cell left over", "大大大", 4, "大…"},
		{"wide, just as long", "大大大", 6, "大大大"},
		{"a character of several", "ab" + family + "cd", 5, "ab" + family + "…"},
		{"which does not fit", "abc" + family + "cd", 5, "abc…"},
		{"a mark belongs to its letter", "e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"a heap of marks", "a" + strings.Repeat("\u0301", 1000) + "b", 5, "…"},
		{"one cell", "abc", 1, "…"},
		{"no cell", "abc", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cut(tt.in, tt.width); got != tt.want {
				t.Errorf("cut(%q, %d) = %q; want %q", tt.in, tt.width, got, tt.want)
			}
		})
	}
}

// The columns of a table stand under each other, whatever is in them.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	(&app{out: &out}).table([][]string{{"NAME", "", "WHAT"}, {"大大大", "", "a\x1bb"}, {"Zoë", "x", ""}, {"é" + "e\u0301", "", "two\nlines"}})
	want := "NAME       WHAT\n大大大     a\\x1bb\nZoë     x\néé         two\\x0alines\n"
	if got := strings.ReplaceAll(out.String(), "e\u0301", "é"); got != want {
		t.Errorf("table\n%s\nwant\n%s", got, want)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a大👨‍👩‍👧e\u0301", 3)
	f.Add("\U0001f1e9\U0001f1ea\U0001f1e9", 2)
	f.Fuzz(func(t *testing.T, s string, width int) {
		s, width = inertLine(s), min(max(width, 0), 200)
		got := cut(s, width)
		if w := uniseg.StringWidth(got); w > width {
			t.Errorf("cut(%q, %d) = %q of %d cells", s, width, got, w)
		}
		if head, ok := strings.CutSuffix(got, "…"); got != s && (!ok && width > 0 || !strings.HasPrefix(s, head)) {
			t.Errorf("cut(%q, %d) = %q", s, width, got)
		}
	})
}
