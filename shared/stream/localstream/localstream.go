// Package localstream is a stream.Store straight onto the embedded engine, no
// wire between: what dev and serve use on one machine, and, with the engine in
// memory, the store of tests.
package localstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// Store is a stream.Store on an engine. Nothing of it is ever ambiguous while
// the disk works: an append or a change that has reached the committer is
// waited for, some milliseconds, even if its ctx ends, so that the outcome is
// always told. ErrUnknown is left for a disk that refused a commit, or takes
// longer than 5 s over it.
type Store struct {
	engine *engine.Engine
	base   string
}

var _ stream.Store = (*Store)(nil)

// New returns a store on e, whose basins are base and base + "-ops". Closing e ends it.
func New(e *engine.Engine, base string) *Store { return &Store{engine: e, base: base} }

func (s *Store) basin(b stream.Basin) string { return s.base + b.Suffix() }

// Append appends in; see stream.Store.
func (s *Store) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	if ctx.Err() != nil { // nothing was submitted
		return stream.Ack{}, fmt.Errorf("%w: %w", stream.ErrUnavailable, canceled(ctx, "append to", name))
	}
	ack, err := s.engine.Submit(s.basin(name.Basin()), name.String(), engine.Input{Records: in.Records, At: in.At, Token: in.Token}).Outcome()
	if err != nil {
		return stream.Ack{}, changed(err, "append to", name.String())
	}
	return stream.Ack{First: ack.Start.Seq, Next: ack.End.Seq, Timestamp: ack.End.Timestamp}, nil
}

// patience is how long a store may keep its callers waiting.
const patience = 5 * time.Second

// patient returns ctx with an end of its own instead of the caller's.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// Read returns a page; see stream.Store.
func (s *Store) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	if ctx.Err() != nil {
		return stream.Page{}, canceled(ctx, "read", name)
	}
	st, err := s.engine.Stream(ctx, s.basin(name.Basin()), name.String())
	if err != nil {
		return stream.Page{}, read(err, name)
	}
	return page(st, name, start, limit)
}

// Tail returns the end of a stream; see stream.Store.
func (s *Store) Tail(ctx context.Context, name stream.Name) (stream.Position, error) {
	if ctx.Err() != nil {
		return stream.Position{}, canceled(ctx, "tail of", name)
	}
	tail, err := s.engine.Tail(ctx, s.basin(name.Basin()), name.String())
	return tail, read(err, name)
}

// Follow yields pages as they come; see stream.Store. A deleted stream ends it
// with ErrNotFound, also if there is another of its name by then.
func (s *Store) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	return func(yield func(stream.Page, error) bool) {
		if err := s.follow(ctx, name, from, idle, yield); err != nil {
			yield(stream.Page{}, err)
		}
	}
}

// follow returns nil when the reader has enough.
func (s *Store) follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration, yield func(stream.Page, error) bool) error {
	if ctx.Err() != nil {
		return canceled(ctx, "follow", name)
	}
	st, err := s.engine.Stream(ctx, s.basin(name.Basin()), name.String())
	if err != nil {
		return read(err, name)
	}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for first := true; ; first = false {
		p, err := page(st, name, stream.Start{Seq: from}, stream.Limit{})
		if err != nil {
			return err
		}
		if first || len(p.Entries) > 0 {
			if !yield(p, nil) {
				return nil
			}
			from = p.Next(from)
			timer.Reset(idle)
		}
		if ctx.Err() != nil {
			return canceled(ctx, "follow", name)
		}
		if from < p.Tail {
			continue
		}
		enough, err := wait(ctx, st, name, from, timer, idle, yield)
		if enough || err != nil {
			return err
		}
	}
}

// wait waits until the tail is past from, yielding an empty page whenever timer
// says that it is time to.
func wait(ctx context.Context, st *engine.Stream, name stream.Name, from uint64, timer *time.Timer, idle time.Duration,
	yield func(stream.Page, error) bool,
) (enough bool, err error) {
	changed, err := st.Changed(from)
	if err != nil {
		return false, read(err, name)
	}
	for {
		select {
		case <-changed:
			return false, nil
		case <-timer.C:
			if !yield(stream.Page{Tail: from}, nil) {
				return true, nil
			}
			timer.Reset(idle)
		case <-ctx.Done():
			return false, canceled(ctx, "follow", name)
		}
	}
}

// page reads a page of st as the contract has it: what was trimmed is an error,
// and a start by time never is one.
func page(st *engine.Stream, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	b, err := st.Read(engine.ReadOptions{Start: start, Records: limit.Records, Bytes: limit.Bytes})
	if err != nil {
		return stream.Page{}, read(err, name)
	}
	if start.Time == 0 && start.Seq < b.First {
		return stream.Page{}, failed("read", name.String(), &stream.TrimmedError{First: b.First})
	}
	return stream.Page{Entries: b.Entries, Tail: b.Tail.Seq}, nil
}

func failed(what, name string, err error) error { return fmt.Errorf("%s %s: %w", what, name, err) }

func canceled(ctx context.Context, what string, name stream.Name) error {
	return failed(what, name.String(), ctx.Err())
}

// read is err of a call that changes nothing, as the contract has it.
func read(err error, name stream.Name) error {
	if err == nil {
		return nil
	}
	if r := (*engine.RangeError)(nil); errors.As(err, &r) {
		return failed("read", name.String(), &stream.BeyondTailError{Tail: r.Tail.Seq})
	}
	return failed("read", name.String(), definite(err))
}

// changed is err of a call that may change something.
func changed(err error, what, name string) error {
	if errors.Is(err, engine.ErrStorage) || errors.Is(err, engine.ErrLate) || errors.Is(err, context.DeadlineExceeded) {
		return failed(what, name, fmt.Errorf("%w: %w", stream.ErrUnknown, err))
	}
	return failed(what, name, definite(err))
}

// definite is an error of the engine in the contract's words.
func definite(err error) error {
	switch {
	case errors.Is(err, engine.ErrStreamNotFound), errors.Is(err, engine.ErrDeleted):
		return fmt.Errorf("%w: %w", stream.ErrNotFound, err)
	case errors.Is(err, engine.ErrExists):
		return fmt.Errorf("%w: %w", stream.ErrExists, err)
	case errors.Is(err, engine.ErrBasinNotFound), errors.Is(err, engine.ErrClosed),
		errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrStorage):
		return fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	}
	return err
}
