// Package faultstream wraps a stream.Store and fails it in every way that the
// contract of stream.Store allows: refused, lost, stored although it failed,
// stored later, slow, cut off, delivered in crumbs, delivered again, restarted.
// A Chooser decides what happens to each call: a script, a seeded generator, or
// a scheduler that enumerates all that can happen. The wrapped store judges
// every append by itself, at the moment it lands, so a late one lands only if
// its conditions hold by then, as on S2.
//
// A Store also polices its caller: it fails the test when an argument is changed
// during a call, when something returned is written to, when a batch breaks a
// limit, and (Options.NoBlindRepeat) when an append that may have been written is
// sent again without anything that makes the repeat harmless.
package faultstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"agentchat/shared/stream"
)

// Options are what a Store is made with. The zero Options inject nothing and police.
type Options struct {
	Choose        Chooser // nil: no faults
	Lenient       bool    // a batch that breaks a limit is not held against the test
	NoBlindRepeat bool    // see the package comment; fences are excused, for a fence is harmless to repeat
}

// A Store is a stream.Store with faults. It may be used concurrently.
type Store struct {
	t     testing.TB
	inner stream.Store
	o     Options

	mu      sync.Mutex
	calls   []Call
	late    []*late
	live    map[int]context.CancelCauseFunc // of calls under way, by Call.N
	unknown map[[32]byte]stream.Batch       // appends with an unknown outcome, by their records and name
	lent    []loan                          // pages that were returned, the latest of them
}

var _ stream.Store = (*Store)(nil)

var (
	errFault   = errors.New("injected")
	errRestart = errors.New("store restarted")
)

// New returns a store that injects faults into inner, which stays the caller's
// to close. Appends that are still late when the test ends never land.
func New(t testing.TB, inner stream.Store, o Options) *Store {
	s := &Store{t: t, inner: inner, o: o, live: map[int]context.CancelCauseFunc{}, unknown: map[[32]byte]stream.Batch{}}
	t.Cleanup(s.police)
	return s
}

// Calls returns the calls made so far, in the order in which they began.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count returns how many calls of op were made so far.
func (s *Store) Count(op Op) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Op == op {
			n++
		}
	}
	return n
}

// Restart ends every call under way: Follow and Watch with ErrUnavailable, an
// append or a change with ErrUnknown. What was late stays late.
func (s *Store) Restart() {
	s.mu.Lock()
	live := s.live
	s.live = map[int]context.CancelCauseFunc{}
	s.mu.Unlock()
	for _, cancel := range live {
		cancel(errRestart)
	}
}

// begin records the call, lands what is due and asks what is to happen. The
// returned context ends when the caller's does or on Restart; end must be called.
func (s *Store) begin(ctx context.Context, c Call) (_ context.Context, _ Call, f Fault, end func()) {
	s.mu.Lock()
	c.N = len(s.calls)
	s.calls = append(s.calls, c)
	due := s.due()
	s.mu.Unlock()
	for _, l := range due {
		l.run()
	}
	if s.o.Choose != nil {
		f = s.o.Choose(c)
	}
	if !slices.Contains(c.Op.Kinds(), f.Kind) {
		s.t.Errorf("faultstream: call %d: a fault of kind %v can't happen to %v", c.N, f.Kind, c.Op)
		f = Fault{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.live[c.N] = cancel
	s.mu.Unlock()
	return ctx, c, f, func() {
		s.mu.Lock()
		delete(s.live, c.N)
		s.mu.Unlock()
		cancel(nil)
		if f.Die {
			runtime.Goexit()
		}
	}
}

// change runs a call that writes, as f says.
func (s *Store) change(ctx context.Context, c Call, f Fault, run func(context.Context) error) error {
	switch f.Kind {
	case Refused:
		return fmt.Errorf("%w: %w", stream.ErrUnavailable, errFault)
	case Lost:
		return fmt.Errorf("%w: %w: lost", stream.ErrUnknown, errFault)
	case Stored:
		if err := run(ctx); errors.Is(err, stream.ErrInvalid) {
			return err // found before anything is sent
		}
		return fmt.Errorf("%w: %w: the reply is lost", stream.ErrUnknown, errFault)
	case Late:
		s.postpone(c, f.After, func() { _ = run(context.WithoutCancel(ctx)) }) // nobody hears of it
		return fmt.Errorf("%w: %w: late", stream.ErrUnknown, errFault)
	case Slow:
		if err := pause(ctx, f.Delay); err != nil {
			return restarted(ctx, fmt.Errorf("%w: %w", stream.ErrUnknown, err), stream.ErrUnknown)
		}
	case None, Short, Cut, Again:
	}
	return restarted(ctx, run(ctx), stream.ErrUnknown)
}

// look runs a call that only reads, as f says.
func (s *Store) look(ctx context.Context, f Fault, run func(context.Context) error) error {
	switch f.Kind {
	case Refused:
		return fmt.Errorf("%w: %w", stream.ErrUnavailable, errFault)
	case Slow:
		if err := pause(ctx, f.Delay); err != nil {
			return restarted(ctx, err, stream.ErrUnavailable)
		}
	case None, Lost, Stored, Late, Short, Cut, Again:
	}
	return restarted(ctx, run(ctx), stream.ErrUnavailable)
}

// restarted returns err, or what a restart of the store makes of it.
func restarted(ctx context.Context, err, as error) error {
	if err != nil && context.Cause(ctx) == errRestart { //nolint:errorlint // identity is meant
		return fmt.Errorf("%w: %w", as, errRestart)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Append implements stream.Store.
func (s *Store) Append(ctx context.Context, name stream.Name, in stream.Batch) (ack stream.Ack, err error) {
	own := clone(in)
	s.watchLimits(name, in)
	s.watchRepeat(name, own)
	ctx, c, f, end := s.begin(ctx, Call{Op: Append, Name: name, Batch: own})
	defer end()
	err = s.change(ctx, c, f, func(ctx context.Context) error {
		landed, err := s.inner.Append(ctx, name, own)
		if f.Kind != Late { // which lands while somebody else calls, and is told to nobody
			ack = landed
		}
		return err
	})
	if sumBatch(in) != sumBatch(own) {
		s.t.Errorf("faultstream: call %d: the batch for %s was changed while Append was running", c.N, name)
	}
	s.given(name, in)
	s.noteOutcome(name, own, err)
	if err != nil {
		return stream.Ack{}, err
	}
	return ack, nil
}

// Read implements stream.Store.
func (s *Store) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (page stream.Page, err error) {
	ctx, _, f, end := s.begin(ctx, Call{Op: Read, Name: name})
	defer end()
	if f.Kind == Short {
		limit.Records = 1
	}
	err = s.look(ctx, f, func(ctx context.Context) (err error) {
		page, err = s.inner.Read(ctx, name, start, limit)
		return err
	})
	s.lend("a page of", name, page.Entries)
	return page, err
}

// Tail implements stream.Store.
func (s *Store) Tail(ctx context.Context, name stream.Name) (p stream.Position, err error) {
	ctx, _, f, end := s.begin(ctx, Call{Op: Tail, Name: name})
	defer end()
	err = s.look(ctx, f, func(ctx context.Context) (err error) {
		p, err = s.inner.Tail(ctx, name)
		return err
	})
	return p, err
}

// List implements stream.Store.
func (s *Store) List(ctx context.Context, prefix stream.Prefix, after stream.Name, limit int) (names []stream.Name, more bool, err error) {
	ctx, _, f, end := s.begin(ctx, Call{Op: List, Prefix: prefix})
	defer end()
	err = s.look(ctx, f, func(ctx context.Context) (err error) {
		names, more, err = s.inner.List(ctx, prefix, after, limit)
		return err
	})
	return names, more, err
}

// Create implements stream.Store.
func (s *Store) Create(ctx context.Context, name stream.Name, config stream.Config) error {
	ctx, c, f, end := s.begin(ctx, Call{Op: Create, Name: name})
	defer end()
	return s.change(ctx, c, f, func(ctx context.Context) error { return s.inner.Create(ctx, name, config) })
}

// Delete implements stream.Store.
func (s *Store) Delete(ctx context.Context, name stream.Name) error {
	ctx, c, f, end := s.begin(ctx, Call{Op: Delete, Name: name})
	defer end()
	return s.change(ctx, c, f, func(ctx context.Context) error { return s.inner.Delete(ctx, name) })
}

// Ensure implements stream.Store.
func (s *Store) Ensure(ctx context.Context) error {
	ctx, c, f, end := s.begin(ctx, Call{Op: Ensure})
	defer end()
	return s.change(ctx, c, f, s.inner.Ensure)
}

// Check implements stream.Store.
func (s *Store) Check(ctx context.Context) error {
	ctx, _, f, end := s.begin(ctx, Call{Op: Check})
	defer end()
	return s.look(ctx, f, s.inner.Check)
}

// Follow implements stream.Store.
func (s *Store) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	return func(yield func(stream.Page, error) bool) {
		ctx, _, f, end := s.begin(ctx, Call{Op: Follow, Name: name})
		defer end()
		live(ctx, f, s.inner.Follow(ctx, name, from, idle), func(page stream.Page, err error) bool {
			s.lend("a page of", name, page.Entries)
			if f.Kind != Short || len(page.Entries) < 2 {
				return yield(page, err)
			}
			for i := range page.Entries {
				if !yield(stream.Page{Entries: page.Entries[i : i+1 : i+1], Tail: page.Tail}, nil) {
					return false
				}
			}
			return true
		})
	}
}

// Watch implements stream.Store.
func (s *Store) Watch(ctx context.Context, prefix stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		ctx, _, f, end := s.begin(ctx, Call{Op: Watch, Prefix: prefix})
		defer end()
		live(ctx, f, s.inner.Watch(ctx, prefix), func(moved []stream.Moved, err error) bool {
			if !yield(moved, err) {
				return false
			}
			return f.Kind != Again || len(moved) == 0 || yield(slices.Clone(moved), nil)
		})
	}
}

// live passes on what in yields, as f says, and turns a restart into the error
// that ends a Follow or a Watch.
func live[T any](ctx context.Context, f Fault, in iter.Seq2[T, error], yield func(T, error) bool) {
	var none T
	switch {
	case f.Kind == Refused || f.Kind == Cut && f.After == 0:
		yield(none, fmt.Errorf("%w: %w", stream.ErrUnavailable, errFault))
		return
	case f.Kind == Slow:
		if err := pause(ctx, f.Delay); err != nil {
			yield(none, restarted(ctx, err, stream.ErrUnavailable))
			return
		}
	}
	n := 0
	for v, err := range in {
		if !yield(v, restarted(ctx, err, stream.ErrUnavailable)) {
			return
		}
		if n++; err == nil && f.Kind == Cut && n == f.After {
			yield(none, fmt.Errorf("%w: %w: cut off", stream.ErrUnavailable, errFault))
			return
		}
	}
}
