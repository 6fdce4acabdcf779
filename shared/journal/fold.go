package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agentchat/shared/stream"
)

// A Fold says how a state of type S is made from a stream's records. The state
// is shared by all readers: decide and Apply must not change what a former state
// points to. Apply is not given command records, nor records of this package's
// own, whose kinds are "nop" and "snapshot.*". A Fold's address is its identity:
// make one and keep it.
//
// A fold of a stream that grows long has Snapshot and Restore, both or neither.
// Now and then its writers then append a snapshot of the state (see
// Options.Every), so that a process that reads the stream for the first time need
// not read all of it. Restore returns a state like the one that Snapshot was
// given, as far as Apply and whoever reads it can tell; it is given what was
// written under the same Format only, and if it fails, the fold begins at 0.
// Whoever changes what Snapshot returns changes Format.
type Fold[S any] struct {
	New   func() S
	Apply func(S, stream.Entry) (S, error)

	// Size, if not nil, is about how many bytes of memory a state takes. Of the
	// states that have it, no more are kept than Options.Memory allows.
	Size func(S) int

	Format   string // of snapshots: "agent-chat/contacts.v1"
	Snapshot func(S) ([]byte, error)
	Restore  func([]byte) (S, error)
}

// Of returns a Fold of states that add records to themselves: Apply leaves alone
// what copies of the state point to.
func Of[S any, P interface {
	*S
	Apply(e stream.Entry) error
}]() *Fold[*S] {
	return &Fold[*S]{
		New: func() *S { return new(S) },
		Apply: func(s *S, e stream.Entry) (*S, error) {
			next := *s
			err := P(&next).Apply(e)
			return &next, err
		},
	}
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
	turn  chan struct{} // filled by who refreshes
	count func(S)       // counts the state that is kept; nil: nobody counts

	mu           sync.Mutex
	folded       folded[S]
	asOf         time.Time // the stream held no more than folded then; zero: never read
	begun, ended uint64    // refreshes, by number
	err          error     // of the refresh that ended last
	saving       bool      // a snapshot is being written
	rest         time.Time // until when none is written, after a failure
}

// A folded is the state after all records before next.
type folded[S any] struct {
	state S
	next  uint64
	from  uint64 // where the fold began: at 0, or at a complete snapshot
	marks marks
}

func cellOf[S any](j *Journal, name stream.Name, f *Fold[S]) *cell[S] {
	k, cells := key{name, f}, j.folds
	if f.Size != nil {
		cells = j.large.cells
	}
	if c, ok := cells.Get(k); ok {
		return c.(*cell[S]) // f's address fixes S
	}
	c := &cell[S]{turn: make(chan struct{}, 1), folded: folded[S]{state: f.New()}}
	if f.Size != nil {
		c.count = func(s S) { j.large.count(k, c, f.Size(s)) }
	}
	if was, found, _ := cells.PeekOrAdd(k, c); found {
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
	if c.count != nil {
		c.count(s.state)
	}
	if err == nil && at.After(c.asOf) {
		c.asOf = at
	}
}

// advance brings s to the tail, and reports whether the stream exists. Each
// record, and the state after it, is shown to each, if that is not nil; those
// before s.from, which may move on, never are. On an error s has got as far as it could.
func advance[S any](ctx context.Context, store stream.Store, name stream.Name, f *Fold[S], s *folded[S], each func(stream.Entry, S)) (exists bool, err error) {
	trimmed := uint64(0) // what was tried to get over
	for {
		limit, cold := stream.Limit{}, s.next == 0 && f.Restore != nil
		if cold {
			limit = look
		}
		page, err := store.Read(ctx, name, stream.Start{Seq: s.next}, limit)
		tail, found, leapErr := uint64(0), false, error(nil)
		gap, isTrimmed := errors.AsType[*stream.TrimmedError](err)
		switch {
		case isTrimmed && f.Restore != nil && gap.First > trimmed:
			trimmed = gap.First
			if tail, found, leapErr = over(ctx, store, name, f, gap.First, s, each); leapErr == nil && !found {
				continue // lost, unless still more was trimmed meanwhile
			}
		case err == nil && cold && page.Next(0) < page.Tail:
			tail, found, leapErr = leap(ctx, store, name, f, page.Tail, s, each)
		case errors.Is(err, stream.ErrNotFound) && s.next == 0:
			return false, nil
		case err != nil && unlessDamaged(name, err) == nil:
			return true, lost(name, err)
		case err != nil:
			return true, unavailable(name, err)
		}
		if leapErr != nil {
			return true, leapErr
		}
		if !found {
			tail = page.Tail
			if err := s.take(name, f, page.Entries, each); err != nil {
				return true, err
			}
		}
		if s.next >= tail {
			return true, nil
		}
	}
}

// take adds entries, which must follow on what s has, and shows them to each.
func (s *folded[S]) take(name stream.Name, f *Fold[S], entries []stream.Entry, each func(stream.Entry, S)) error {
	for _, e := range entries {
		if e.Seq != s.next {
			return lost(name, stream.Misplaced(e.Seq, s.next))
		}
		if err := s.add(f, e); err != nil {
			return lost(name, err)
		}
		if each != nil {
			each(e, s.state)
		}
	}
	return nil
}

// add adds the entry at s.next. On an error s is as it was.
func (s *folded[S]) add(f *Fold[S], e stream.Entry) error {
	if kind, _ := own(e.Record); kind == "" && e.Command() == stream.None {
		state, err := f.Apply(s.state, e)
		if err != nil {
			return err
		}
		s.state = state
	}
	s.marks = s.marks.add(e, f.Format)
	s.next++
	return nil
}

func unavailable(name stream.Name, cause error) error {
	return Unavailable(fmt.Errorf("read %s: %w", name, cause))
}
