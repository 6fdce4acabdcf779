package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A line is something that happened.
type line struct {
	step int64
	at   time.Duration // of the synthetic clock
	who  string
	text string
}

func (l line) String() string { return fmt.Sprintf("%9.3fs %-8s %s", l.at.Seconds(), l.who, l.text) }

// mentions reports whether word stands in the line by itself.
func (l line) mentions(word string) bool {
	return l.who == word || slices.Contains(strings.FieldsFunc(l.text, func(r rune) bool { return strings.ContainsRune(" ,:()", r) }), word)
}

// history returns the lines in an order that is the same for the same seed: what
// happens within one step happens at once.
func (r *Report) history() []line {
	return slices.SortedStableFunc(slices.Values(r.lines), func(a, b line) int {
		order := cmp.Or(cmp.Compare(a.step, b.step), strings.Compare(a.who, b.who))
		if order == 0 && strings.HasPrefix(a.who, "p") { // a process does many things at once
			order = strings.Compare(a.text, b.text)
		}
		return order
	})
}

// note adds a line.
func (w *world) note(who, format string, args ...any) {
	l := line{step: w.step.Load(), at: time.Since(w.begun), who: who, text: fmt.Sprintf(format, args...)}
	w.sync(func() { w.lines = append(w.lines, l) })
}

// count adds to how often something happened.
func (w *world) count(what string) { w.sync(func() { w.did[what]++ }) }

// fail says what is wrong.
func (w *world) fail(about []string, format string, args ...any) {
	wrong := Wrong{What: fmt.Sprintf(format, args...), About: about}
	w.note("!", "%s", wrong.What)
	w.sync(func() { w.wrong = append(w.wrong, wrong) })
}
