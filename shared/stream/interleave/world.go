package interleave

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/event"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// A World is one run.
type World struct {
	Store stream.Store // without faults and without waiting: to set up and to look

	t        *testing.T
	o        Options
	path     *path
	start    chan struct{} // closed by Run
	current  int           // the process that moved last
	faults   int
	switches int

	mu    sync.Mutex // also of the state of each process
	procs []*process
	trace []string
}

// maxMoves is more than any run needs that gets somewhere.
const maxMoves = 5000

// A process is a goroutine that works on a store of its own before the same one.
type process struct {
	name  string
	store *faultstream.Store
	begun bool
	gate  chan faultstream.Fault // the answer to wants
	wants *faultstream.Call      // the call it stands before; nil: it runs, sleeps or is done
	waits bool                   // it follows a stream, so only others or time can wake it
	done  bool
}

// Go adds a process. begin is called at once, with the process's store; what it
// does with it is set-up, which always goes well. The function that it returns is
// the process: it runs once Run is called, and may end at any of its calls. A
// process may add others.
func (w *World) Go(name string, begin func(stream.Store) (run func())) {
	p := &process{name: name, gate: make(chan faultstream.Fault)}
	p.store = faultstream.New(w.t, w.Store, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		if !p.begun {
			return faultstream.Fault{}
		}
		w.Sync(func() { p.wants = &c })
		fault := <-p.gate
		w.Sync(func() { p.wants, p.waits = nil, c.Op == faultstream.Follow && !fault.Die })
		return fault
	}})
	run := begin(p.store)
	w.Sync(func() { w.procs = append(w.procs, p) })
	go func() {
		defer func() { w.Sync(func() { p.done = true }) }()
		<-w.start
		p.begun = true
		run()
	}()
}

// Note adds a line to the trace of the run.
func (w *World) Note(format string, args ...any) {
	w.Sync(func() { w.trace = append(w.trace, fmt.Sprintf(format, args...)) })
}

// Sync runs f alone: a process writes down in it what it was told.
func (w *World) Sync(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// Run lets the processes run to their ends, in an order and with faults that are
// chosen, and then what is late land.
func (w *World) Run() {
	close(w.start)
	for n := 0; ; n++ {
		w.settle()
		moves := w.moves()
		if len(moves) == 0 {
			break
		}
		if n == maxMoves {
			panic("interleave: the processes get nowhere:\n" + strings.Join(w.trace[n-100:], "\n"))
		}
		m := moves[w.path.pick(len(moves))]
		w.Note("%s", m.what)
		m.do()
	}
	w.procs = nil
}

// settle returns once each process stands before a call, follows a stream, or
// is done. Those that sleep are let sleep: that they do is no choice.
func (w *World) settle() {
	for nap := time.Millisecond; ; nap *= 2 {
		synctest.Wait()
		asleep := false
		w.Sync(func() {
			for _, p := range w.procs {
				asleep = asleep || p.wants == nil && !p.done && !p.waits
			}
		})
		if !asleep {
			return
		}
		<-time.After(nap)
	}
}

// A move is what can happen next.
type move struct {
	what string
	do   func()
}

// moves lists what can happen next, what is nearest at hand first.
func (w *World) moves() (ms []move) {
	w.mu.Lock()
	defer w.mu.Unlock()
	able := w.current >= 0 && w.procs[w.current].wants != nil
	if able {
		ms = w.calls(w.current)
	}
	if !able || w.switches < w.o.Switches {
		for i, p := range w.procs {
			if i != w.current && p.wants != nil {
				ms = append(ms, w.calls(i)...)
			}
		}
	}
	for _, p := range w.procs {
		for _, c := range p.store.Pending() {
			ms = append(ms, move{fmt.Sprintf("%s: late call %d lands", p.name, c.N), func() { p.store.Land(c.N) }})
		}
	}
	for _, p := range w.procs {
		if p.waits && !p.done && p.wants == nil {
			return append(ms, move{"time passes", w.tick})
		}
	}
	return ms
}

// calls lists what can happen to the call that process i stands before.
func (w *World) calls(i int) (ms []move) {
	p := w.procs[i]
	c := *p.wants
	able := w.current >= 0 && w.current != i && w.procs[w.current].wants != nil
	hits := []faultstream.Fault{{}}
	if w.faults < w.o.Faults {
		hits = append(hits, w.o.Hits(c)...)
	}
	for n, f := range hits {
		ms = append(ms, move{p.name + ": " + describe(c, f), func() {
			if able {
				w.switches++
			}
			if n > 0 {
				w.faults++
			}
			w.current = i
			p.gate <- f
		}})
	}
	return ms
}

// tick lets time pass until something moves.
func (w *World) tick() {
	for range 100 {
		<-time.After(500 * time.Millisecond)
		synctest.Wait()
		moved := false
		w.Sync(func() {
			for _, p := range w.procs {
				moved = moved || p.waits && (p.wants != nil || p.done)
			}
		})
		if moved {
			return
		}
	}
	panic("interleave: a process follows for ever")
}

func describe(c faultstream.Call, f faultstream.Fault) string {
	s := fmt.Sprintf("%d %v %v", c.N, c.Op, c.Name)
	for _, r := range c.Batch.Records {
		if kind := r.Command(); kind == stream.FenceCommand {
			s += fmt.Sprintf(" fence(%s)", r.Body)
			continue
		}
		kind, _ := r.Header(event.HeaderKind)
		s += " " + kind
	}
	if c.Batch.At != nil {
		s += fmt.Sprintf(" at %d", *c.Batch.At)
	}
	if c.Batch.Token != nil {
		s += fmt.Sprintf(" under %q", *c.Batch.Token)
	}
	if f.Kind != faultstream.None {
		s += fmt.Sprintf(": %v", f.Kind)
	}
	if f.Die {
		s += ", and dies"
	}
	return s
}
