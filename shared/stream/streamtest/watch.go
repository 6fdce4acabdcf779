package streamtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func watchCases() []testCase {
	return []testCase{
		{name: "WatchTellsAllThenWhatMoves", run: watchTellsAllThenWhatMoves},
		{name: "WatchOfNothingIsThroughAtOnce", run: watchOfNothingIsThroughAtOnce},
		{name: "WatchBatchesAreBounded", run: watchBatchesAreBounded},
		{name: "WatchJoinsMoves", run: watchJoinsMoves},
		{name: "WatchEndsWithItsContext", run: watchEndsWithItsContext},
	}
}

// A watcher reads a Watch in a goroutine of its own.
type watcher struct {
	p       *probe
	batches chan watched
	tails   map[stream.Name]uint64 // the last ones told
	told    int
}

type watched struct {
	moved []stream.Moved
	err   error
}

func (p *probe) watch(prefix stream.Prefix) *watcher {
	ctx, cancel := context.WithCancel(p.Context())
	w := &watcher{p: p, batches: make(chan watched), tails: map[stream.Name]uint64{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for moved, err := range p.Watch(ctx, prefix) {
			select {
			case w.batches <- watched{moved, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	p.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// next takes one batch and reports whether it was empty.
func (w *watcher) next() (through bool) {
	w.p.Helper()
	timer := time.NewTimer(w.p.o.Patience)
	defer timer.Stop()
	select {
	case b := <-w.batches:
		if b.err != nil {
			w.p.Fatalf("watch: %v", b.err)
		}
		if len(b.moved) > 1000 {
			w.p.Errorf("watch: a batch of %d; want at most 1000", len(b.moved))
		}
		for _, m := range b.moved {
			w.tails[m.Name] = m.Tail
		}
		w.told += len(b.moved)
		return len(b.moved) == 0
	case <-timer.C:
		w.p.Fatalf("watch: nothing for %v; told so far: %d", w.p.o.Patience, len(w.tails))
		return false
	}
}

// sweep reads up to the empty batch.
func (w *watcher) sweep() {
	w.p.Helper()
	for !w.next() {
	}
}

// until reads on until the stream's tail was told to be tail.
func (w *watcher) until(name stream.Name, tail uint64) {
	w.p.Helper()
	for w.tails[name] != tail {
		if w.next() {
			w.p.Errorf("watch: a second empty batch")
		}
	}
}

func watchTellsAllThenWhatMoves(p *probe) {
	want := map[stream.Name]uint64{}
	for i, agent := range []ident.Agent{"a", "b", "c", "d"} {
		p.createAs(stream.Inbox(agent))
		p.fill(stream.Inbox(agent), i)
		want[stream.Inbox(agent)] = uint64(i)
	}
	p.createAs(stream.Agent("a")) // of another family
	p.append(stream.Agent("a"), text("x"))
	p.append(stream.Claim("a", "0123456789abcdef", "m"), text("x"))

	w := p.watch(stream.Inboxes)
	w.sweep()
	if fmt.Sprint(w.tails) != fmt.Sprint(want) {
		p.Errorf("watch began with %v; want %v", w.tails, want)
	}
	p.fill(stream.Inbox("a"), 1)
	w.until(stream.Inbox("a"), 1)
	p.fill(stream.Inbox("d"), 2)
	w.until(stream.Inbox("d"), 5)

	p.createAs(stream.Inbox("new"))
	p.fill(stream.Inbox("new"), 4)
	w.until(stream.Inbox("new"), 4)
	for name := range w.tails {
		if _, ok := stream.Inboxes.Name(name.String()); !ok || name.Basin() != stream.Main {
			p.Errorf("watch told of %s, which is no inbox", name)
		}
	}
	// A second watcher begins at the beginning.
	second := p.watch(stream.Inboxes)
	second.sweep()
	if fmt.Sprint(second.tails) != fmt.Sprint(w.tails) {
		p.Errorf("a second watch began with %v; want %v", second.tails, w.tails)
	}
}

func watchOfNothingIsThroughAtOnce(p *probe) {
	w := p.watch(stream.Inboxes)
	w.sweep()
	if len(w.tails) != 0 {
		p.Errorf("watch of nothing told of %v", w.tails)
	}
	name := p.create()
	w2 := p.watch(stream.Inboxes)
	w2.sweep()
	if tail, ok := w2.tails[name]; !ok || tail != 0 {
		p.Errorf("watch of an empty stream told %v; want tail 0", w2.tails)
	}
	p.fill(name, 1)
	w.until(name, 1)
	w2.until(name, 1)
}

func watchBatchesAreBounded(p *probe) {
	names := p.createMany(1100)
	w := p.watch(stream.Inboxes)
	w.sweep() // next checks the sizes
	if len(w.tails) != len(names) {
		p.Errorf("watch began with %d streams; want %d", len(w.tails), len(names))
	}
	last := names[len(names)-1]
	p.fill(last, 3)
	w.until(last, 3)
}

func watchJoinsMoves(p *probe) {
	name, other := p.create(), stream.Inbox("bob")
	p.createAs(other)
	w := p.watch(stream.Inboxes)
	w.sweep()
	w.told = 0
	// The watcher is away while one stream moves often.
	moves := 500 / p.o.Small
	for range moves {
		p.fill(name, 1)
	}
	p.fill(other, 1)
	w.until(name, uint64(moves))
	w.until(other, 1)
	if w.told > moves/2 {
		p.Errorf("%d moves were told in %d steps; want them joined", moves, w.told)
	}
}

func watchEndsWithItsContext(p *probe) {
	p.create()
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	done := make(chan error, 1)
	through := make(chan struct{})
	go func() {
		var last error
		for moved, err := range p.Watch(ctx, stream.Inboxes) {
			last = err
			if err == nil && len(moved) == 0 {
				close(through)
			}
		}
		done <- last
	}()
	<-through
	cancel()
	p.canceled("watch", done)
}

// createMany makes n inboxes and returns their names in order.
func (p *probe) createMany(n int) []stream.Name {
	p.Helper()
	names := make([]stream.Name, n)
	var group sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range names {
		names[i] = stream.Inbox(ident.Agent(fmt.Sprintf("agent-%04d", i)))
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := p.Create(p.Context(), names[i], stream.Config{}); err != nil {
				p.Errorf("create %s: %v", names[i], err)
			}
		})
	}
	group.Wait()
	if p.Failed() {
		p.FailNow()
	}
	return names
}
