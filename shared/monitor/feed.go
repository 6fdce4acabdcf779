package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// A feed collects the tails that moved until its reader takes them.
type feed struct {
	signal chan struct{} // holds one if there is something to take
	first  chan struct{} // closed when the inboxes can be listed
	whole  chan struct{} // closed when all of them were
	failed chan struct{} // closed when it has ended

	err error // why it ended

	mu    sync.Mutex
	moved map[ident.Agent]stream.Moved
}

func newFeed() *feed {
	return &feed{
		signal: make(chan struct{}, 1), first: make(chan struct{}), whole: make(chan struct{}), failed: make(chan struct{}),
		moved: map[ident.Agent]stream.Moved{},
	}
}

// run watches the inboxes until ctx ends or the store is away for too long; at
// the beginning it is if it fails at all.
func (f *feed) run(ctx context.Context, store stream.Store) {
	var pauses journal.Pauses
	var lost time.Time // since when nothing came; zero: it comes
	begun := false
	first, whole := sync.OnceFunc(func() { close(f.first) }), sync.OnceFunc(func() { close(f.whole) })
	for {
		err := errors.New("the store stopped watching")
		for moved, e := range store.Watch(ctx, stream.Inboxes) {
			if e != nil {
				err = e
				break
			}
			lost, pauses = time.Time{}, journal.Pauses{}
			begun = true
			first()
			if len(moved) == 0 {
				whole()
			}
			f.put(moved)
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		if ctx.Err() != nil || !begun || time.Since(lost) >= outage || pauses.Wait(ctx) != nil {
			f.err = journal.Unavailable(fmt.Errorf("watch the inboxes: %w", err))
			close(f.failed)
			return
		}
	}
}

func (f *feed) put(moved []stream.Moved) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, mv := range moved {
		if agent, ok := stream.AgentOf(mv.Name); ok {
			f.moved[agent] = mv
		}
	}
	f.wake()
}

// wake wakes who waits for the signal.
func (f *feed) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// take returns what moved since the last time.
func (f *feed) take() map[ident.Agent]stream.Moved {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.moved) == 0 {
		return nil
	}
	moved := f.moved
	f.moved = map[ident.Agent]stream.Moved{}
	return moved
}

// wait waits for c, or until pause has passed if that is positive.
func (f *feed) wait(ctx context.Context, c <-chan struct{}, pause time.Duration) error {
	var over <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-c:
	case <-over:
	case <-f.failed:
		return f.err
	case <-ctx.Done():
		return journal.Unavailable(ctx.Err())
	}
	return nil
}
