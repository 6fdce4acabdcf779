package s2stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"agentchat/shared/stream"
)

const (
	watchBatch  = 1000            // of Moved
	longestIdle = 4 * time.Second // between sweeps that find nothing, if they are fast
	patience    = 2 * time.Second // what a sweep waits for one tail
)

// Watch implements stream.Store.
//
// S2 tells nobody which streams moved, so all tails under the prefix are asked
// for again and again: in sweeps that all watchers of a prefix share, after a
// pause that is short while something moves, grows while nothing does, and is at
// least as long as a sweep takes. So what others write is told of within
// Options.Within, unless a sweep takes more than half of it: then it is told of
// later, and the log says so. What this store appends itself is reported at once.
func (s *Store) Watch(ctx context.Context, prefix stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		w, goal, leave := s.join(ctx, prefix)
		defer leave()
		announced := false
		for version := uint64(0); ; {
			moved, upTo, changed, err := w.since(version)
			for batch := range slices.Chunk(moved, watchBatch) {
				if !yield(batch, nil) {
					return
				}
			}
			version = upTo.version
			if !announced && upTo.sweeps >= goal {
				announced = true
				if !yield(nil, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// A sweep keeps the tails under one prefix for all who watch it.
type sweep struct {
	s      *Store
	prefix stream.Prefix
	hurry  chan struct{} // somebody waits for the next round
	stop   context.CancelFunc

	watchers int // guarded by Store.mu

	mu      sync.Mutex
	tails   map[stream.Name]known
	at      progress
	started uint64        // rounds begun
	changed chan struct{} // closed and replaced when something below or above did
	err     error         // why it ended
}

// known is a tail, or why it could not be learnt since, and the version that it came with.
type known struct {
	tail, version uint64
	err           error
}

// progress counts changes of tails, and rounds that are through.
type progress struct{ version, sweeps uint64 }

// join returns the sweep of prefix, which runs until every watcher has left, and
// how many of its rounds must be through before all that there is now was seen.
func (s *Store) join(ctx context.Context, prefix stream.Prefix) (_ *sweep, goal uint64, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, goal := s.sweeps[prefix], uint64(1)
	if w != nil {
		goal = w.next()
	} else {
		// It outlives the watcher that began it.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		w = &sweep{s: s, prefix: prefix, stop: stop, hurry: make(chan struct{}, 1), tails: map[stream.Name]known{}, changed: make(chan struct{})}
		s.sweeps[prefix] = w
		go w.run(ctx)
	}
	w.watchers++
	return w, goal, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.watchers--; w.watchers == 0 {
			w.stop()
			s.forget(w)
		}
	}
}

// forget lets the next watcher begin a sweep of its own. s.mu is held.
func (s *Store) forget(w *sweep) {
	if s.sweeps[w.prefix] == w {
		delete(s.sweeps, w.prefix)
	}
}

// moved tells those who watch it of an own append.
func (s *Store) moved(m stream.Moved) {
	s.mu.Lock()
	var watching []*sweep
	for prefix, w := range s.sweeps {
		if _, ok := prefix.Name(m.Name.String()); ok && prefix.Basin() == m.Name.Basin() {
			watching = append(watching, w)
		}
	}
	s.mu.Unlock()
	for _, w := range watching {
		w.mu.Lock()
		if k, ok := w.tails[m.Name]; !ok || m.Tail > k.tail || k.err != nil {
			w.put(m)
			w.wake()
		}
		w.mu.Unlock()
	}
}

// next hurries the next round and returns its number.
func (w *sweep) next() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	signal(w.hurry)
	return w.started + 1
}

// since returns what moved after a version, how far that reaches, a channel that
// is closed when there is more, and the error that ended the sweep.
func (w *sweep) since(version uint64) (moved []stream.Moved, upTo progress, changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if version < w.at.version {
		for name, k := range w.tails {
			if k.version > version {
				moved = append(moved, stream.Moved{Name: name, Tail: k.tail, Err: k.err})
			}
		}
	}
	return moved, w.at, w.changed, w.err
}

// put notes a tail. w.mu is held.
func (w *sweep) put(m stream.Moved) {
	w.at.version++
	w.tails[m.Name] = known{m.Tail, w.at.version, m.Err}
}

// wake wakes the watchers. w.mu is held.
func (w *sweep) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *sweep) run(ctx context.Context) {
	idle := w.s.o.Sweep
	lost := time.Time{} // since when no round came through
	late := false
	for {
		began := time.Now()
		moved, err := w.round(ctx)
		took := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && moved:
			lost, idle = time.Time{}, w.s.o.Sweep
		case err == nil:
			lost, idle = time.Time{}, min(2*idle, max(longestIdle, w.s.o.Sweep))
		case lost.IsZero():
			lost = began
		}
		if err != nil && time.Since(lost) >= w.s.o.Outage {
			w.fail(err)
			return
		}
		if err == nil {
			late = w.report(ctx, late, took)
		}
		timer := time.NewTimer(pause(w.s.o, idle, took))
		select {
		case <-timer.C:
		case <-w.hurry:
			idle = w.s.o.Sweep
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// pause returns how long to wait behind a round that took so long: idle, if what
// others write is told of in time then, and never less than the round took.
func pause(o Options, idle, took time.Duration) time.Duration {
	return max(min(idle, o.Within-took), took, o.Sweep)
}

// report tells the operator when rounds begin to take so long that what others
// write is told of late, and when they no longer do. late is what it returned last.
func (w *sweep) report(ctx context.Context, late bool, took time.Duration) bool {
	if late == (2*took > w.s.o.Within) {
		return late
	}
	w.mu.Lock()
	streams := len(w.tails)
	w.mu.Unlock()
	attrs := []slog.Attr{
		slog.String("under", w.prefix.String()), slog.Int("streams", streams), slog.Duration("sweep", took), slog.Duration("within", w.s.o.Within),
	}
	if late {
		w.s.o.Log.LogAttrs(ctx, slog.LevelInfo, "what others write is seen in time again", attrs...)
	} else {
		w.s.o.Log.LogAttrs(ctx, slog.LevelWarn, "what others write is seen late: S2 is slow to tell so many tails", attrs...)
	}
	return !late
}

func (w *sweep) fail(err error) {
	w.s.mu.Lock()
	w.s.forget(w)
	w.s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	w.wake()
}

// round asks for every tail once, and reports whether one had moved.
func (w *sweep) round(ctx context.Context) (moved bool, err error) {
	w.mu.Lock()
	w.started++
	before := w.at.version
	gone := maps.Clone(w.tails) // what is left of it at the end is no more
	w.mu.Unlock()

	for after, more := (stream.Name{}), true; more; {
		var names []stream.Name
		if names, more, err = w.s.List(ctx, w.prefix, after, 0); err != nil {
			return false, err
		}
		tails := make([]*stream.Moved, len(names))
		var group errgroup.Group
		group.SetLimit(sweepWidth)
		for i, name := range names {
			group.Go(func() error {
				tail, err := w.tail(ctx, name)
				if errors.Is(err, stream.ErrNotFound) || errors.Is(err, errDeleting) {
					return nil // deleted since it was listed
				}
				tails[i] = &stream.Moved{Name: name, Tail: tail.Seq, Err: err}
				if err == nil { // nobody waits for those that are slow to answer
					w.mu.Lock()
					defer w.mu.Unlock()
					if w.tell(*tails[i], before) {
						moved = true
						w.wake()
					}
				}
				return nil
			})
		}
		_ = group.Wait() // what failed says so in tails
		if err := errors.Join(ctx.Err(), outage(tails)); err != nil {
			return false, err
		}
		w.mu.Lock()
		told := false
		for _, m := range tails {
			if m != nil {
				delete(gone, m.Name)
				told = m.Err != nil && w.tell(*m, before) || told
			}
		}
		if told {
			moved = true
			w.wake()
		}
		w.mu.Unlock()
		if len(names) > 0 {
			after = names[len(names)-1]
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	for name, k := range gone {
		if w.tails[name] == k {
			delete(w.tails, name)
		}
	}
	w.at.sweeps = w.started
	w.wake()
	return moved, nil
}

// tail is Tail, but does not wait as long for one of many.
func (w *sweep) tail(ctx context.Context, name stream.Name) (stream.Position, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := w.s.Tail(bounded, name)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = fmt.Errorf("%w: %s", stream.ErrUnavailable, err.Error())
	}
	return p, err
}

// tell notes what a round that began at version before learnt of a stream, and
// reports whether that is news. w.mu is held.
func (w *sweep) tell(m stream.Moved, before uint64) bool {
	k, ok := w.tails[m.Name]
	switch {
	case m.Err != nil && k.err != nil: // it was told
		return false
	case m.Err != nil:
		m.Tail = k.tail
	case ok && k.err == nil && (k.tail == m.Tail || k.version > before && k.tail > m.Tail):
		return false // a tail that moved during the round may be newer than the answer
	}
	w.put(m)
	return true
}

// outage returns an error if none of the tails that were asked for could be
// told: then it is not for the streams.
func outage(tails []*stream.Moved) (err error) {
	for _, m := range tails {
		if m != nil && m.Err == nil {
			return nil
		}
		if m != nil {
			err = m.Err
		}
	}
	return err
}
