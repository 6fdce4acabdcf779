// Package pii finds personal data and credentials in text, as rules.json says:
// patterns, what is to be checked of a match, and samples of what is found and
// what is not. It does no I/O.
//
// What it finds is what has a form. Names, and what is written so that no form
// is left, pass; so the policy is a net, not a wall.
package pii

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Finding is a value in a text, from byte Start up to byte End.
type Finding struct {
	Type       string // as in rules.json: email, phone, card, ...
	Start, End int
}

// A Count says how many values of a type there are.
type Count struct {
	Type string
	N    int
}

// Find returns what is in text, in its order; no two overlap. It takes time in
// proportion to the text's length, and may be called concurrently.
func Find(text string) []Finding {
	var all []Finding
	for _, r := range rules() {
		all = r.find(all, text)
	}
	// Besides what the text has as it is: a dash may join a value to what it is no part of.
	if p, at := plain(text); at != nil {
		n := len(all)
		for _, r := range rules() {
			all = r.find(all, p)
		}
		for i := n; i < len(all); i++ {
			all[i].Start, all[i].End = at[all[i].Start], behind(text, at[all[i].End-1])
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End // the longer one first; of two alike, the earlier rule's
	})
	end := 0
	return slices.DeleteFunc(all, func(f Finding) bool {
		if f.Start < end {
			return true
		}
		end = f.End
		return false
	})
}

// Redact returns text with each value in it replaced by its type in brackets, as
// [email], and how many there were of each type, by type.
func Redact(text string) (string, []Count) {
	found := Find(text)
	if len(found) == 0 {
		return text, nil
	}
	var b strings.Builder
	end := 0
	for _, f := range found {
		b.WriteString(text[end:f.Start])
		b.WriteString("[" + f.Type + "]")
		end = f.End
	}
	b.WriteString(text[end:])
	return b.String(), Counts(found)
}

// Counts returns how many findings there are of each type, by type.
func Counts(found []Finding) []Count {
	var all []Count
	for _, f := range found {
		i, ok := slices.BinarySearchFunc(all, f.Type, func(c Count, t string) int { return strings.Compare(c.Type, t) })
		if !ok {
			all = slices.Insert(all, i, Count{Type: f.Type})
		}
		all[i].N++
	}
	return all
}

// A rule is one of rules.json.
type rule struct {
	Type    string   `json:"type"`
	What    string   `json:"what"`
	Needs   string   `json:"needs"` // a text without any of these has no match
	Pattern string   `json:"pattern"`
	Check   string   `json:"check"`  // of checks; "": the match is the value
	Edge    string   `json:"edge"`   // next to the value these belong to it, if what is beyond them does
	Found   []string `json:"found"`  // samples; the value is all of it, or between « and »
	Passed  []string `json:"passed"` // samples that have none

	pattern *regexp.Regexp
	check   func(match string) (from, to int)
}

//go:embed rules.json
var rulesJSON []byte

// rules returns the rules, compiled at the first call.
var rules = sync.OnceValue(func() []*rule {
	var all []*rule
	if err := json.Unmarshal(rulesJSON, &all); err != nil {
		panic("pii: rules.json: " + err.Error()) // a test reads it
	}
	for _, r := range all {
		r.pattern = regexp.MustCompile(r.Pattern)
		if r.check = checks[r.Check]; r.check == nil {
			panic("pii: no check " + r.Check)
		}
	}
	return all
})

// find appends what r finds in text. A value begins and ends where a word does,
// so that after a match that is none the next one can only begin behind the
// next character that is no letter and no digit of ASCII.
func (r *rule) find(all []Finding, text string) []Finding {
	if !strings.ContainsAny(text, r.Needs) {
		return all
	}
	for at := 0; at < len(text); {
		m := r.pattern.FindStringIndex(text[at:])
		if m == nil {
			break
		}
		start, end := at+m[0], at+m[1]
		from, to := r.check(text[start:end])
		if to > from && r.alone(text, start, start+from, start+to) {
			all = append(all, Finding{r.Type, start + from, start + to})
		}
		if at = start + to; to > 0 {
			continue
		}
		_, width := utf8.DecodeRuneInString(text[start:])
		at = start + width
		for at < len(text) && isWord(text[at]) {
			at++
		}
	}
	return all
}

// alone reports whether text[from:to], found in a match that begins at start,
// is not a part of something longer.
func (r *rule) alone(text string, start, from, to int) bool {
	before := func(i int) byte {
		if i < 0 {
			return ' '
		}
		return text[i]
	}
	after := func(i int) byte {
		if i >= len(text) {
			return ' '
		}
		return text[i]
	}
	return !r.joins(before(start-1), before(start-2)) && !r.joins(before(from-1), ' ') && !r.joins(after(to), after(to+1))
}

// joins reports whether a value's neighbour c, with next beyond it, makes the value a part of something.
func (r *rule) joins(c, next byte) bool {
	return isWord(c) || strings.IndexByte(r.Edge, c) >= 0 && (isWord(next) || next == c)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
