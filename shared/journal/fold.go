package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/stream"
)

// A Fold says how a state of type S is made from a stream's records. The state
// is shared by all readers: decide and Apply must not change what a former state
// points to. Apply is not given command records, nor records of this package's
// own. A Fold's address is its identity: make one and keep it.
type Fold[S any] struct {
	New   func() S
	Apply func(S, stream.Entry) (S, error)
}

// Read returns the state, at most maxAge old; with 0, it holds whatever was
// acknowledged before the call. A stream that does not exist is the new state.
//
// It fails with an *api.Error: Unavailable, or StateLost for a stream whose
// records do not follow on each other.
func Read[S any](ctx context.Context, j *Journal, name stream.Name, f *Fold[S], maxAge time.Duration) (S, error) {
	c := cellOf(j, name, f)
	c.mu.Lock()
	s, came := c.folded, c.begun
	fresh := maxAge > 0 && !c.asOf.IsZero() && j.o.Now().Sub(c.asOf) <= maxAge
	c.mu.Unlock()
	if fresh {
		return s.state, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return s.state, unavailable(name, ctx.Err())
	}
	c.mu.Lock()
	if c.ended > came { // a refresh that began after this call: its result is this call's
		s, err := c.folded, c.err
		c.mu.Unlock()
		return s.state, err
	}
	s, at := c.folded, j.o.Now()
	c.begun++
	mine := c.begun
	c.mu.Unlock()
	_, err := advance(ctx, j.store, name, f, &s, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(s, at, err)
	if err == nil || ctx.Err() == nil { // that this caller left is no answer to the others
		c.ended, c.err = mine, err
	}
	return s.state, err
}

// A cell keeps the most advanced fold of a stream.
type cell[S any] struct {
	turn chan struct{} // filled by who refreshes

	mu           sync.Mutex
	folded       folded[S]
	asOf         time.Time // the stream held no more than folded then; zero: never read
	begun, ended uint64    // refreshes, by number
	err          error     // of the refresh that ended last
}

// A folded is the state after all records before next.
type folded[S any] struct {
	state S
	next  uint64
}

func cellOf[S any](j *Journal, name stream.Name, f *Fold[S]) *cell[S] {
	k := key{name, f}
	if c, ok := j.folds.Get(k); ok {
		return c.(*cell[S]) // f's address fixes S
	}
	c := &cell[S]{turn: make(chan struct{}, 1), folded: folded[S]{state: f.New()}}
	if was, found, _ := j.folds.PeekOrAdd(k, c); found {
		return was.(*cell[S]) // f's address fixes S
	}
	return c
}

// keep stores s, which was complete at a moment, unless it has something newer.
// It is called with mu held.
func (c *cell[S]) keep(s folded[S], at time.Time, err error) {
	if s.next < c.folded.next {
		return
	}
	c.folded = s
	if err == nil && at.After(c.asOf) {
		c.asOf = at
	}
}

// advance brings s to the tail, and reports whether the stream exists. Each
// record, and the state after it, is shown to each, if that is not nil. On an
// error s has got as far as it could.
func advance[S any](ctx context.Context, store stream.Store, name stream.Name, f *Fold[S], s *folded[S], each func(stream.Entry, S)) (exists bool, err error) {
	for {
		page, err := store.Read(ctx, name, stream.Start{Seq: s.next}, stream.Limit{})
		switch {
		case errors.Is(err, stream.ErrNotFound) && s.next == 0:
			return false, nil
		case errors.Is(err, stream.ErrNotFound), errors.Is(err, stream.ErrTrimmed), errors.Is(err, stream.ErrBeyondTail), errors.Is(err, stream.ErrCorrupt):
			return true, lost(name, err)
		case err != nil:
			return true, unavailable(name, err)
		}
		for _, e := range page.Entries {
			if e.Seq != s.next {
				return true, lost(name, fmt.Errorf("%w: record %d where %d should be", stream.ErrCorrupt, e.Seq, s.next))
			}
			if e.Command() == stream.None && !isNop(e.Record) {
				state, err := f.Apply(s.state, e)
				if err != nil {
					return true, lost(name, err)
				}
				s.state = state
			}
			s.next++
			if each != nil {
				each(e, s.state)
			}
		}
		if s.next >= page.Tail {
			return true, nil
		}
	}
}

func unavailable(name stream.Name, cause error) error {
	return api.Errorf(api.Unavailable, "the store can't be reached").Because(fmt.Errorf("read %s: %w", name, cause))
}
