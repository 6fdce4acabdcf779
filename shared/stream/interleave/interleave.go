// Package interleave runs processes of a distributed algorithm, the real code on
// the real store, under every order of their store calls and with every fault at
// every call, up to bounds that the test states. It is for model tests: what
// holds in every run, holds whatever the network, the scheduler and death do,
// within the bounds.
//
// Each run is a testing/synctest bubble with a store of its own. A process is a
// goroutine that stops before each of its store calls until it is chosen; time
// passes only when nothing else can happen. Choices are enumerated depth first by
// running again from the start with the next choice at the last possible place.
package interleave

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// Options bound an exploration.
type Options struct {
	Faults   int // how many calls of one run may be hit by a fault
	Switches int // how often a run may turn away from a process that could go on
	Runs     int // when to stop; 0: never
	// Sample is a seed: if it is not 0, choices are drawn at random instead of
	// enumerated, Runs times.
	Sample uint64
	// Hits returns what may happen to a call besides nothing; nil: Hits.
	Hits func(faultstream.Call) []faultstream.Fault
}

// Hits returns the faults of a call that writes: its request lost, its reply
// lost, landing late, each with and without the death of the process. What
// happens to a call that reads changes nothing but the order.
func Hits(c faultstream.Call) []faultstream.Fault {
	switch c.Op {
	case faultstream.Append, faultstream.Create:
	case faultstream.Read, faultstream.Follow, faultstream.Tail, faultstream.List, faultstream.Watch,
		faultstream.Delete, faultstream.Ensure, faultstream.Check:
		return nil
	}
	return []faultstream.Fault{
		{Kind: faultstream.Lost},
		{Kind: faultstream.Stored},
		{Kind: faultstream.Late, After: -1},
		{Kind: faultstream.Lost, Die: true},
		{Kind: faultstream.Stored, Die: true},
		{Kind: faultstream.Late, After: -1, Die: true},
	}
}

// A Report is what an exploration found.
type Report struct {
	Runs     int
	Complete bool     // every choice within the bounds was made
	Err      error    // of the first run that failed
	Trace    []string // what happened in it
}

func (r Report) String() string {
	if r.Err == nil {
		return fmt.Sprintf("%d runs, complete: %v", r.Runs, r.Complete)
	}
	return fmt.Sprintf("run %d: %v\n\t%s", r.Runs, r.Err, strings.Join(r.Trace, "\n\t"))
}

// Explore calls run once for each sequence of choices within the bounds, until
// one fails. run sets the world up, adds processes, calls World.Run and returns
// what is wrong with the world after it. It must be the same whenever the choices
// are the same.
func Explore(t *testing.T, o Options, run func(t *testing.T, w *World) error) Report {
	t.Helper()
	if o.Hits == nil {
		o.Hits = Hits
	}
	p := &path{}
	if o.Sample != 0 {
		p.random = rand.New(rand.NewPCG(o.Sample, 0)) // it has to repeat
	}
	r := Report{}
	for !t.Failed() {
		var w *World
		synctest.Test(t, func(t *testing.T) {
			store, end := localstream.Memory()
			defer end()
			w = &World{Store: store, t: t, o: o, path: p, start: make(chan struct{}), current: -1}
			r.Err = run(t, w)
		})
		r.Runs++
		if r.Err != nil {
			r.Trace = w.trace
			return r
		}
		if !p.next() {
			r.Complete = p.random == nil
			return r
		}
		if o.Runs > 0 && r.Runs >= o.Runs {
			return r
		}
	}
	return r
}

// A path is a sequence of choices.
type path struct {
	picks, sizes []int
	at           int
	random       *rand.Rand // nil: depth first
}

// pick returns one of 0 to n-1.
func (p *path) pick(n int) int {
	if p.random != nil {
		return p.random.IntN(n)
	}
	if p.at == len(p.picks) {
		p.picks, p.sizes = append(p.picks, 0), append(p.sizes, n)
	}
	if p.sizes[p.at] != n {
		panic(fmt.Sprintf("interleave: choice %d of %d is now of %d: the run is not determined by its choices", p.at, p.sizes[p.at], n))
	}
	p.at++
	return p.picks[p.at-1]
}

// next moves on to the sequence after this one, and reports whether there is one.
func (p *path) next() bool {
	if p.random != nil {
		return true
	}
	p.at = 0
	for i := len(p.picks) - 1; i >= 0; i-- {
		if p.picks[i]+1 < p.sizes[i] {
			p.picks[i]++
			p.picks, p.sizes = p.picks[:i+1], p.sizes[:i+1]
			return true
		}
	}
	return false
}
