package s2stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
)

// Follow implements stream.Store.
//
// Two parts run side by side: a feed, which reads up to a session's start and
// takes from sessions, one after the other, each opened at its own position;
// and this loop, which hands pages out and so keeps the idle time whatever
// the feed is waiting for. An idle of zero or less means that no idle pages are wanted.
func (s *Store) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	return func(yield func(stream.Page, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		f := &feed{s: s, name: name, next: from, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.end(f.run(ctx, from))
		}()
		defer func() {
			cancel()
			<-done
		}()

		timer := time.NewTimer(max(idle, 0))
		defer timer.Stop()
		expired := timer.C
		if idle <= 0 {
			expired = nil
		}
		for first := true; ; {
			page, ok, err := f.take(first)
			switch {
			case ok:
				first = false
				if !yield(page, nil) {
					return
				}
				timer.Reset(idle)
				continue
			case err != nil:
				yield(stream.Page{}, err)
				return
			}
			select {
			case <-f.ready:
				runtime.Gosched() // more may be on its way: a larger page costs less
			case <-expired:
				if page, ok := f.quiet(); ok && !yield(page, nil) {
					return
				}
				timer.Reset(idle)
			case <-ctx.Done():
				yield(stream.Page{}, ctx.Err())
				return
			}
		}
	}
}

// A feed collects what a stream yields from a position on, for one reader.
type feed struct {
	s     *Store
	name  stream.Name
	ready chan struct{} // something was added
	room  chan struct{} // what was there was taken

	mu      sync.Mutex
	open    bool           // a first read went well
	entries []stream.Entry // added and not taken: a page at most
	bytes   int            // of entries
	next    uint64         // position behind entries
	tail    uint64         // the last one that was seen
	err     error          // why nothing will be added any more
	session *s2.ReadSession
	restart context.CancelFunc // ends session
}

// take returns what was added as a page, empty only if first, and if there is
// nothing the error that ended the feed.
func (f *feed) take(first bool) (page stream.Page, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.entries) == 0 && (!first || !f.open) {
		return stream.Page{}, false, f.err
	}
	page = stream.Page{Entries: f.entries, Tail: f.seen()}
	f.entries, f.bytes = nil, 0
	signal(f.room)
	return page, true, nil
}

// quiet returns the page of an idle time. A session that is silent although its
// heartbeats tell of records is restarted: it waits behind a trimmed position.
func (f *feed) quiet() (stream.Page, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tail := f.seen()
	if tail > f.next && f.session != nil {
		f.restart()
	}
	return stream.Page{Tail: tail}, f.open && len(f.entries) == 0
}

// seen returns the last tail that is known. f.mu is held.
func (f *feed) seen() uint64 {
	if f.session != nil {
		if p := f.session.LastObservedTail(); p != nil {
			f.tail = max(f.tail, p.SeqNum)
		}
	}
	f.tail = max(f.tail, f.next)
	return f.tail
}

// run feeds until ctx ends or following has become impossible.
func (f *feed) run(ctx context.Context, from uint64) error {
	pause := delays()
	lost := time.Time{} // since when there was no sign of life
	for next, first, jumped := from, true, false; ; first = false {
		page, err := f.s.Read(ctx, f.name, stream.Start{Seq: next}, stream.Limit{})
		switch {
		case err == nil && jumped && len(page.Entries) == 0:
			return fmt.Errorf("follow %s: %w: a session gave records behind %d, a read does not", f.name, stream.ErrCorrupt, next)
		case err == nil:
			lost = time.Time{}
			if err := f.add(ctx, page); err != nil {
				return err
			}
			next = page.Next(next)
			began := time.Now()
			next, jumped, err = f.follow(ctx, next)
			if err != nil {
				return err
			}
			if time.Since(began) > 2*time.Second { // it worked; at once the next one
				pause.Reset()
				continue
			}
		case first || !errors.Is(err, stream.ErrUnavailable) || errors.Is(err, errDeleting) || ctx.Err() != nil:
			return err
		case lost.IsZero():
			lost = time.Now()
		case time.Since(lost) >= f.s.o.Outage:
			return err
		}
		if err := wait(ctx, pause.NextBackOff()); err != nil {
			return err
		}
	}
}

// follow takes what one session yields from next on and returns the position
// behind it when the session has ended. Why it ended does not matter: a clean end
// may hide a failure, so the read that comes next judges the position. jumped
// says that the session went to some other position than next.
func (f *feed) follow(ctx context.Context, next uint64) (_ uint64, jumped bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := f.s.stream(f.name).ReadSession(ctx, &s2.ReadOptions{SeqNum: s2.Uint64(next)})
	if err != nil {
		return next, false, nil // as if it had ended at once
	}
	defer session.Close() //nolint:errcheck // it returns none
	f.mu.Lock()
	f.session, f.restart = session, cancel
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.seen()
		f.session, f.restart = nil, nil
		f.mu.Unlock()
	}()
	for session.Next() {
		r := session.Record()
		if r.SeqNum < next {
			return next, false, misplaced(f.name, next, r.SeqNum)
		}
		if r.SeqNum > next {
			return next, true, nil
		}
		if err := f.add(ctx, stream.Page{Entries: []stream.Entry{entry(r)}}); err != nil {
			return next, false, nil // restarted, or the reader has gone, which run sees
		}
		next++
	}
	return next, false, nil
}

// add waits until there is room for the page and adds it.
func (f *feed) add(ctx context.Context, page stream.Page) error {
	size := 0
	for _, e := range page.Entries {
		size += e.Metered()
	}
	for {
		f.mu.Lock()
		if len(f.entries) == 0 || len(f.entries)+len(page.Entries) <= stream.MaxPageRecords && f.bytes+size <= stream.MaxPageBytes {
			break
		}
		f.mu.Unlock()
		select {
		case <-f.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer f.mu.Unlock()
	f.open = true
	f.entries = append(f.entries, page.Entries...)
	f.bytes += size
	if n := len(page.Entries); n > 0 {
		f.next = page.Entries[n-1].Seq + 1
	}
	f.tail = max(f.tail, page.Tail)
	signal(f.ready)
	return nil
}

func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	signal(f.ready)
}

// signal wakes who waits on c, or will.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
