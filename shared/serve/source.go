package serve

import (
	"context"
	"iter"

	"agentchat/shared/sse"
)

// A source runs what is followed beside the loop that writes, because the loop
// waits for other things too.
type source struct {
	batches chan batch
	more    chan struct{} // the batch before was written
	done    chan struct{} // closed when the source has returned
}

// A batch is what a source gave: events, or its end. The zero batch is none.
type batch struct {
	from   bool // the source waits for goOn
	events []sse.Event
	err    error
	over   bool
}

// pump starts a source. It returns soon after ctx ends; whoever ends ctx waits for done.
func pump(ctx context.Context, follow func(context.Context) iter.Seq2[[]sse.Event, error]) *source {
	s := &source{batches: make(chan batch), more: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		last := batch{over: true}
		defer func() {
			if v := recover(); v != nil {
				last = batch{err: panicError(v)}
			}
			s.give(ctx, last)
		}()
		for events, err := range follow(ctx) {
			if err != nil {
				last = batch{err: err}
				return
			}
			if !s.give(ctx, batch{from: true, events: events}) {
				return
			}
		}
	}()
	return s
}

// give hands b over and waits until it was written, so that a slow reader slows
// its own source and holds one batch.
func (s *source) give(ctx context.Context, b batch) bool {
	select {
	case s.batches <- b:
	case <-ctx.Done():
		return false
	}
	if !b.from {
		return true
	}
	select {
	case <-s.more:
		return true
	case <-ctx.Done():
		return false
	}
}

// goOn lets the source replace the batch that it gave.
func (s *source) goOn() {
	select {
	case s.more <- struct{}{}:
	case <-s.done: // its context ended
	}
}
