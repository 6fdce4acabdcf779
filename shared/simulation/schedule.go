package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"agentchat/shared/event"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// quantum is how long nothing happens when everybody waits. It is longer than any
// pause between two attempts of the code under test, whose jitter therefore does
// not change the order of things, and no divisor of its other waits.
const quantum = 997 * time.Millisecond

// maxSteps is more than any run needs that gets somewhere.
const maxSteps = 100_000

// parked is a call that stands before the store until it is its turn.
type parked struct {
	p    *process
	call faultstream.Call
	gate chan faultstream.Fault
}

// run lets one thing happen after the other until done.
func (w *world) run(done func() bool) {
	for n := 0; ; n++ {
		synctest.Wait()
		if done() {
			return
		}
		if n == maxSteps {
			w.fail(nil, "nothing gets anywhere any more")
			return
		}
		w.step.Add(1)
		standing := w.standing()
		switch r := w.rng.Float64(); {
		case r < w.trouble:
			w.disturb()
		case r < w.trouble+0.05 && w.land():
		case len(standing) == 0 || r < w.trouble+0.08:
			w.elapse()
		default:
			k := standing[w.rng.IntN(len(standing))]
			w.release(k, w.fault(k.call))
		}
	}
}

// standing returns the parked calls, in an order that does not depend on which came first.
func (w *world) standing() []*parked {
	var ks []*parked
	w.sync(func() { ks = slices.Clone(w.parked) })
	slices.SortStableFunc(ks, func(a, b *parked) int {
		return cmp.Or(strings.Compare(a.p.name, b.p.name), cmp.Compare(a.call.Op, b.call.Op),
			strings.Compare(a.call.Name.String(), b.call.Name.String()), cmp.Compare(a.call.N, b.call.N))
	})
	return ks
}

// release lets a call go on with what happens to it.
func (w *world) release(k *parked, f faultstream.Fault) {
	w.sync(func() { w.parked = slices.DeleteFunc(w.parked, func(o *parked) bool { return o == k }) })
	if f.Kind != faultstream.None {
		w.count("fault " + f.Kind.String())
		w.note(k.p.name, "%s: %v", describe(k.call), f.Kind)
	}
	k.gate <- f
}

// releaseAll lets everybody go on, now and from now on.
func (w *world) releaseAll() {
	w.calm.Store(true)
	for {
		synctest.Wait()
		ks := w.standing()
		if len(ks) == 0 {
			return
		}
		for _, k := range ks {
			w.release(k, faultstream.Fault{})
		}
	}
}

// fault draws what happens to a call.
func (w *world) fault(c faultstream.Call) faultstream.Fault {
	if w.rng.Float64() >= w.share {
		return faultstream.Fault{}
	}
	kinds := c.Op.Kinds()[1:]
	f := faultstream.Fault{Kind: kinds[w.rng.IntN(len(kinds))], After: w.rng.IntN(9), Delay: time.Duration(w.rng.IntN(5)) * quantum}
	if f.Kind == faultstream.Late && w.rng.IntN(2) == 0 {
		f.After = -1 // until the scheduler lands it
	}
	return f
}

// land lets a late call reach the store, and reports whether there was one.
func (w *world) land() bool {
	type late struct {
		s *faultstream.Store
		c faultstream.Call
	}
	var all []late
	for _, p := range w.ever {
		for _, c := range p.store.Pending() {
			all = append(all, late{p.store, c})
		}
	}
	if len(all) == 0 {
		return false
	}
	l := all[w.rng.IntN(len(all))]
	w.note("late", "%s lands", describe(l.c))
	return l.s.Land(l.c.N)
}

// elapse lets time pass.
func (w *world) elapse() {
	d := quantum
	if w.rng.IntN(20) == 0 {
		d *= 7
	}
	<-time.After(d)
}

// disturb does something to a process, or to the store for all of them.
func (w *world) disturb() {
	n := w.rng.IntN(len(w.procs))
	p := w.procs[n]
	switch w.rng.IntN(4) {
	case 0:
		w.count("death")
		w.note(p.name, "dies")
		w.start(n)
		p.die(w.rng)
	case 1:
		w.count("drain")
		w.note(p.name, "is drained")
		w.start(n)
		close(p.drain)
	case 2:
		w.count("cut")
		w.note(p.name, "loses its connections")
		p.cut()
	case 3:
		w.count("restart of the store")
		w.note("store", "restarts")
		for _, p := range w.ever {
			p.store.Restart()
		}
	}
}

// gone is what happens to a call of a process that is no more, as it dies.
func gone(rng *rand.Rand, op faultstream.Op) faultstream.Fault {
	kinds := op.Kinds()
	if !slices.Contains(kinds, faultstream.Lost) {
		return faultstream.Fault{Kind: faultstream.Refused}
	}
	return faultstream.Fault{Kind: []faultstream.Kind{faultstream.Lost, faultstream.Stored, faultstream.Late}[rng.IntN(3)], After: -1}
}

func describe(c faultstream.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", c.Op, c.Name)
	if c.Op == faultstream.List || c.Op == faultstream.Watch {
		fmt.Fprintf(&b, "%v", c.Prefix)
	}
	for _, r := range c.Batch.Records {
		if r.Command() == stream.FenceCommand {
			fmt.Fprintf(&b, " fence %.8s", r.Body)
			continue
		}
		kind, _ := r.Header(event.HeaderKind)
		id, _ := r.Header("agent-chat-id")
		fmt.Fprintf(&b, " %s %s", kind, id)
	}
	if c.Batch.At != nil {
		fmt.Fprintf(&b, " at %d", *c.Batch.At)
	}
	return b.String()
}
