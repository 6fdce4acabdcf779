package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// The bounds of reading many inboxes.
const (
	maxCalls = 64 // of the store at once, of all readers of a pool
	minPause = time.Second
	maxPause = 16 * time.Second

	patience  = 2 * time.Second // what all inboxes of a stream wait for one of them
	maxProbes = 8               // inboxes that a stream tries again at once
	allProbes = 16              // of all streams of a process
)

// A source is an inbox that has something behind the reader's position.
type source struct {
	agent ident.Agent
	next  uint64           // the position to read on at
	tail  uint64           // as last seen
	head  stream.Timestamp // of the record at next, if known
	known bool
	held  []stream.Entry // from next on
	size  int            // bytes of what was read with them: it goes when all have

	after time.Time     // it could not be read: not again before this
	pause time.Duration // between the last time and then; 0: it could be read

	probing bool // it is being tried again
}

// order is that of the records at a and o.
func order(a, o *source) int {
	return cmp.Or(cmp.Compare(a.head, o.head), cmp.Compare(a.agent, o.agent))
}

// A fetch is what a read of a source brought.
type fetch struct {
	from    uint64 // where it was read: later than was wanted if that was lost
	entries []stream.Entry
	tail    uint64
	err     error
}

// fetch reads s when there is room for a call in calls, for so long at most; 0:
// as long as it takes. What is no longer retained is passed over.
func (m *Monitor) fetch(ctx context.Context, calls chan struct{}, s *source, limit stream.Limit, most time.Duration) fetch {
	f := fetch{from: s.next}
	select {
	case calls <- struct{}{}:
		defer func() { <-calls }()
	case <-ctx.Done():
		f.err = ctx.Err()
		return f
	}
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	for range 3 { // it may be trimmed further while it is read
		p, err := m.store.Read(ctx, stream.Inbox(s.agent), stream.Start{Seq: f.from}, limit)
		if trimmed, ok := errors.AsType[*stream.TrimmedError](err); ok && trimmed.First > f.from {
			f.from = trimmed.First
			continue
		}
		f.entries, f.tail, f.err = p.Entries, p.Tail, err
		for i, e := range p.Entries {
			if want := f.from + uint64(i); e.Seq != want {
				f.err = stream.Misplaced(e.Seq, want)
			}
		}
		return f
	}
	f.err = fmt.Errorf("%w: trimmed faster than it is read", stream.ErrUnavailable)
	return f
}

// read reads sources, each up to so many bytes, at the same time: as many at
// once as there is room for what they bring. What there is no room for is read
// again when its turn comes; the first is held if it is wanted. If it is not, all
// that is to be known is when the first record of each came, which another reader
// may have found out meanwhile, and nothing of what is held is needed.
func (b *batch) read(ctx context.Context, sources []*source, bytes int, wanted bool) {
	limit := stream.Limit{Bytes: min(max(bytes, 1), stream.MaxPageBytes)}
	if b.filter.Kind == "" && b.filter.From == "" && b.filter.ConversationID == "" {
		limit.Records = min(max(b.limit-len(b.found), 1), stream.MaxPageRecords)
	}
	for first := sources[0]; len(sources) > 0 && b.failures <= maxFailures && ctx.Err() == nil; {
		if !wanted {
			b.shrink()
		}
		width := min(max(b.share()/max(b.typical, 1), 1), maxCalls, len(sources))
		var (
			group errgroup.Group
			mu    sync.Mutex // of b
			total int
		)
		for _, s := range sources[:width] {
			group.Go(func() error {
				at := spot{s.agent, s.next}
				if !wanted {
					if s.head, s.known = b.m.heads.Peek(at); s.known {
						return nil
					}
				}
				f := b.m.fetch(ctx, b.calls, s, limit, b.patience)
				mu.Lock() // what is not held must go before the others come
				defer mu.Unlock()
				total += b.got(ctx, s, f)
				if !wanted && s.known && s.next == at.at {
					b.m.heads.Add(at, s.head)
				}
				if b.full() && (!wanted || s != first) {
					b.drop(s)
				}
				return nil
			})
		}
		_ = group.Wait()                          // what failed is noted in b
		b.typical = max(total/width, b.typical/2) // large ones seldom come alone
		sources = sources[width:]
	}
}

// got notes what a read brought, and returns its size.
func (b *batch) got(ctx context.Context, s *source, f fetch) (size int) {
	switch {
	case errors.Is(f.err, stream.ErrNotFound): // deleted since it was listed
		b.forget(s)
		b.gone = append(b.gone, s.agent)
		return 0
	case f.err != nil:
		if ctx.Err() == nil {
			b.fail(s, f.err)
		}
		return 0
	}
	if f.from > s.next {
		if s.next > 0 { // who never read it has lost nothing
			b.gaps = append(b.gaps, api.GapEvent{Inbox: s.agent, Gap: api.Gap{From: s.next, To: f.from, Code: api.HistoryTrimmed}})
		}
		s.next, b.moved = f.from, true
		b.touched[s.agent] = s.next
	}
	s.tail, s.pause = max(s.tail, f.tail), 0
	b.tails[s.agent] = s.tail
	if len(f.entries) == 0 {
		b.forget(s)
		return 0
	}
	for _, e := range f.entries {
		size += e.Metered()
	}
	s.head, s.known, s.held, s.size = f.entries[0].Timestamp, true, f.entries, size
	b.hold(size)
	return size
}

// fail leaves s alone for a while, the longer the more often it failed.
func (b *batch) fail(s *source, err error) {
	b.failures++
	b.drop(s)
	if s.known = false; s.pause == 0 {
		b.unavailable = append(b.unavailable, unreachable(s.agent, err))
	}
	s.pause = min(max(2*s.pause, minPause), maxPause)
	s.after = time.Now().Add(s.pause)
}

func unreachable(agent ident.Agent, err error) api.UnavailableEvent {
	e := api.Errorf(api.Unavailable, "the inbox of %s can't be read for now", agent)
	if errors.Is(err, stream.ErrCorrupt) {
		e = api.Errorf(api.StateLost, "the inbox of %s is not what was written to it; an operator must look", agent)
	}
	return api.UnavailableEvent{Inbox: agent, Unreachable: e.Unreachable()}
}

// probe tries again, beside the others, what could not be read and is due: how
// long that takes must not matter to them. What comes of it is in answers.
func (w *set) probe(ctx context.Context, begin func(func()), signal func()) {
	now := time.Now()
	for _, s := range w.sources {
		if w.probes == maxProbes {
			return
		}
		if s.pause == 0 || s.probing || s.after.After(now) {
			continue
		}
		s.probing = true
		w.probes++
		limit := stream.Limit{Bytes: w.share() / maxProbes}
		begin(func() {
			f := w.m.fetch(ctx, w.m.tries, s, limit, 0)
			w.mu.Lock()
			w.answers = append(w.answers, answer{s, f})
			w.mu.Unlock()
			signal()
		})
	}
}

// An answer is what came of a probe.
type answer struct {
	*source
	fetch
}

// listen takes what came of probes.
func (b *batch) listen(ctx context.Context) {
	b.mu.Lock()
	answers := b.answers
	b.answers = nil
	b.mu.Unlock()
	for _, a := range answers {
		a.probing = false
		b.probes--
		b.got(ctx, a.source, a.fetch)
	}
}
