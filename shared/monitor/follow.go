package monitor

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
)

// followItems is how many deliveries one batch of a stream has at most.
const followItems = 1000

// Follow yields pages without end: an empty one as soon as the cursor is known
// to be good and the inboxes can be listed, then what is there, then what comes,
// new inboxes included. Each of the others has deliveries, gaps, or inboxes that
// have become unavailable; NextCursor and Tails are not set. No delivery comes
// twice and none is left out. A batch is bounded, however large the fleet.
//
// What fails is tried again: an inbox for as long as it takes, while the others
// go on; the store for 30 s. Then, or when ctx ends, comes an *api.Error as
// Page's, yielded once with a nil page. The caller's break frees everything.
func (m *Monitor) Follow(ctx context.Context, q Query) iter.Seq2[*api.MonitorPage, error] {
	return func(yield func(*api.MonitorPage, error) bool) {
		err := m.follow(ctx, &q, func(p *api.MonitorPage) bool { return yield(p, nil) })
		if !errors.Is(err, errBroken) {
			yield(nil, err)
		}
	}
}

var errBroken = errors.New("the caller has enough")

// follow yields until there is an error, or errBroken.
func (m *Monitor) follow(ctx context.Context, q *Query, yield func(*api.MonitorPage) bool) error {
	p, err := m.parse(ctx, q.Cursor, q.Parameter)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := newFeed()
	running.Go(func() { f.run(ctx, m.store) })

	if err := f.wait(ctx, f.first, 0); err != nil {
		return err
	}
	if !yield(&api.MonitorPage{}) {
		return errBroken
	}
	// Which record is the first is known when all inboxes are.
	if err := f.wait(ctx, f.whole, 0); err != nil {
		return err
	}
	w, selected := m.newSet(m.streams), q.selected()
	defer w.close()
	w.patience = patience
	for begun := false; ; begun = true {
		var unread []api.UnavailableEvent
		for agent, mv := range f.take() {
			switch at := p.at[agent]; {
			case !selected(agent):
			case mv.Err != nil:
				unread = append(unread, unreachable(agent, mv.Err))
			case at > mv.Tail && !begun: // later, the tail is what may be old
				unread = append(unread, beyond(agent, at, mv.Tail))
			default:
				w.add(agent, at, mv.Tail)
			}
		}
		w.probe(ctx, running.Go, f.wake)
		if idle, pause := w.idle(); idle && len(unread) == 0 {
			if err := f.wait(ctx, f.signal, pause); err != nil {
				return err
			}
			continue
		}
		b := w.next(ctx, q.filter(), followItems, w.batch())
		if ctx.Err() != nil {
			return journal.Unavailable(ctx.Err())
		}
		b.unavailable = append(b.unavailable, unread...)
		page, err := m.step(ctx, p, b)
		if err != nil {
			return err
		}
		w.shrink()
		if page != nil && !yield(page) {
			return errBroken
		}
	}
}

// step moves p by what b has, and returns that as a page; nil if there is
// nothing to tell.
func (m *Monitor) step(ctx context.Context, p *place, b *batch) (page *api.MonitorPage, err error) {
	b.gone = slices.DeleteFunc(b.gone, func(agent ident.Agent) bool { return p.at[agent] == 0 })
	moves, cursors := b.moves(), []string(nil)
	if n := len(b.found); n > 0 {
		if cursors, err = m.advance(ctx, p, moves[:n]); err != nil {
			return nil, err
		}
		moves = moves[n:]
	}
	for _, mv := range moves { // part of whatever cursor is next
		p.move(mv)
	}
	if len(b.found)+len(b.gaps)+len(b.unavailable) == 0 {
		return nil, nil
	}
	return b.page(cursors), nil
}

// idle reports whether there is nothing to read now, and how long until there is
// something that failed before; 0: nothing is.
func (w *set) idle() (idle bool, pause time.Duration) {
	w.mu.Lock()
	answered := len(w.answers) > 0
	w.mu.Unlock()
	if answered {
		return false, 0
	}
	now := time.Now()
	for _, s := range w.sources {
		if s.pause == 0 {
			return false, 0
		}
		left := s.after.Sub(now)
		if left <= 0 { // a probe is under way, or waits for one
			continue
		}
		if pause == 0 || left < pause {
			pause = left
		}
	}
	return true, pause
}
