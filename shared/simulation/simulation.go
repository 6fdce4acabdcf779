// Package simulation lives through a fleet's days in a second: users do
// everything that the protocol has, at random and at once, through several
// processes, over a store and a network that fail in every way that they may,
// while readers follow, leave, and come back. In the end the whole world is
// looked at: every promise that was made to anybody is held against the log.
//
// A run is a testing/synctest bubble and is made from one seed: who does what,
// which call of the store comes next and what happens to it, when a process
// dies, how long nothing happens. Only the jitter of pauses, and which of the
// reads that a process makes at once comes first, are not the seed's. The
// processes are the real handlers on an Env each; users are the real client.
package simulation

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// Options of a run. Zero values have defaults.
type Options struct {
	Seed      uint64
	Users     int // 0: 5
	Ops       int // of each user; 0: 30
	Processes int // 0: 3

	// A flaw to be found, in a test of the simulation itself.
	Store   func(stream.Store) stream.Store
	Handler func(http.Handler) http.Handler
}

// A Report is what a run found.
type Report struct {
	Seed  uint64
	Wrong []Wrong
	Did   map[string]int // how often what happened
	lines []line
}

// Wrong is a promise that was broken. About are words of the history's lines that
// have to do with it.
type Wrong struct {
	What  string
	About []string
}

// Run lives through what the seed says.
func Run(t *testing.T, o Options) *Report {
	t.Helper()
	o.Users, o.Ops, o.Processes = orElse(o.Users, 5), orElse(o.Ops, 30), orElse(o.Processes, 3)
	r := &Report{Seed: o.Seed}
	synctest.Test(t, func(t *testing.T) {
		truth, end := localstream.Memory()
		defer end()
		w := newWorld(t, o, truth)
		w.settle()
		w.storm()
		w.heal()
		w.check()
		r.Wrong, r.Did, r.lines = w.wrong, w.did, w.lines
	})
	return r
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// source returns the randomness of one part of the run, which does not depend on
// how much the others draw.
func source(seed uint64, part string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(part) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h)) // it has to repeat
}

// String returns what is wrong, each with its history, and how to see it again.
func (r *Report) String() string {
	if len(r.Wrong) == 0 {
		return fmt.Sprintf("seed %d: all is well\n%s", r.Seed, r.counts())
	}
	const most = 5
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d promises broken; again: make sim SEED=%d\n", r.Seed, len(r.Wrong), r.Seed)
	for i, wrong := range r.Wrong {
		if i == most {
			fmt.Fprintf(&b, "\nand %d more\n", len(r.Wrong)-most)
			break
		}
		fmt.Fprintf(&b, "\n%s\n", wrong.What)
		for _, l := range r.history() {
			if slices.ContainsFunc(wrong.About, func(word string) bool { return l.mentions(word) }) {
				fmt.Fprintf(&b, "\t%v\n", l)
			}
		}
	}
	return b.String()
}

// History returns everything that happened, a line each.
func (r *Report) History() string {
	var b strings.Builder
	for _, l := range r.history() {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

// counts returns how often what happened, on one line.
func (r *Report) counts() string {
	var all []string
	for what, n := range r.Did {
		all = append(all, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
