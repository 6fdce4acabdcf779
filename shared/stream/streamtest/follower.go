package streamtest

import (
	"context"
	"time"

	"agentchat/shared/stream"
)

// A follower reads a Follow in a goroutine of its own, so that waiting for it
// can end.
type follower struct {
	p     *probe
	pages chan yielded
	stop  func() // ends it and waits until it has ended
	next  uint64
}

type yielded struct {
	page stream.Page
	err  error
}

func (p *probe) follow(name stream.Name, from uint64, idle time.Duration) *follower {
	ctx, cancel := context.WithCancel(p.Context())
	f := &follower{p: p, pages: make(chan yielded), next: from}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(f.pages)
		for page, err := range p.Follow(ctx, name, from, idle) {
			select {
			case f.pages <- yielded{page, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	f.stop = func() {
		cancel()
		<-done
	}
	p.Cleanup(f.stop)
	return f
}

// page returns the next page, which must come in time and fit behind the last one.
func (f *follower) page() stream.Page {
	f.p.Helper()
	y, ok := f.take()
	if !ok || y.err != nil {
		f.p.Fatalf("follow at %d: err = %v, going on: %t; want a page", f.next, y.err, ok)
	}
	f.p.dense(f.next, y.page.Entries)
	f.next = y.page.Next(f.next)
	if y.page.Tail < f.next {
		f.p.Fatalf("follow: a page up to %d has tail %d", f.next, y.page.Tail)
	}
	return y.page
}

// error returns the error that ends it; pages before that must be dense.
func (f *follower) error() error {
	f.p.Helper()
	for {
		y, ok := f.take()
		if !ok {
			f.p.Fatalf("follow ended without an error at %d", f.next)
		}
		if y.err != nil {
			if len(y.page.Entries) != 0 {
				f.p.Errorf("an error came with %d entries; want an empty page", len(y.page.Entries))
			}
			if _, more := <-f.pages; more {
				f.p.Errorf("follow went on after its error %v", y.err)
			}
			return y.err
		}
		f.p.dense(f.next, y.page.Entries)
		f.next = y.page.Next(f.next)
	}
}

func (f *follower) take() (yielded, bool) {
	f.p.Helper()
	timer := time.NewTimer(f.p.o.Patience)
	defer timer.Stop()
	select {
	case y, ok := <-f.pages:
		return y, ok
	case <-timer.C:
		f.p.Fatalf("follow at %d: nothing for %v", f.next, f.p.o.Patience)
		return yielded{}, false
	}
}

// until reads on to position next.
func (f *follower) until(next uint64) (entries []stream.Entry) {
	f.p.Helper()
	for f.next < next {
		entries = append(entries, f.page().Entries...)
	}
	if f.next > next {
		f.p.Fatalf("follow went on to %d; want %d", f.next, next)
	}
	return entries
}
