// Package monitor reads every inbox as one: by pages, or live. It reads the
// inboxes themselves and writes nothing but checkpoints, which short cursors
// stand for.
//
// The order is one of presentation: by time, inbox and position within a batch;
// only that within an inbox is the log's. A reader's place is the position of the
// next record in each inbox, and the cursor of a delivery is the place right
// behind it.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"agentchat/shared/api"
	"agentchat/shared/cursor"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
)

// A Query selects deliveries.
type Query struct {
	Cursor         string        // "": the first retained record of every inbox
	Parameter      string        // where Cursor came from: named if it is none
	Latest         bool          // begin behind what is there, whatever Cursor says. Page only
	Limit          int           // deliveries a page; 0: api.DefaultPageItems. Page only
	Agents         []ident.Agent // whose inboxes; none: all there are
	Kind           api.Kind
	From           ident.Agent
	ConversationID ident.Conversation
}

func (q *Query) filter() *mailbox.Query {
	return &mailbox.Query{Kind: q.Kind, From: q.From, ConversationID: q.ConversationID}
}

// selected returns a test for the inboxes that q is about.
func (q *Query) selected() func(ident.Agent) bool {
	if len(q.Agents) == 0 {
		return func(ident.Agent) bool { return true }
	}
	all := make(map[ident.Agent]bool, len(q.Agents))
	for _, agent := range q.Agents {
		all[agent] = true
	}
	return func(agent ident.Agent) bool { return all[agent] }
}

// A Monitor reads the inboxes of a store. Its methods may be called
// concurrently. Their errors are *api.Error, but for faults of ours.
type Monitor struct {
	store stream.Store
	now   func() time.Time
	heads *lru.Cache[spot, stream.Timestamp]

	pages, streams *pool
	tries          chan struct{} // one for each read that is tried again, of streams
}

// A spot is a record of an inbox. The times of some that were seen are kept, so
// that the next page of a large fleet need not look at every inbox again.
type spot struct {
	agent ident.Agent
	at    uint64
}

const maxSpots = 1 << 14

// New returns a Monitor on store; now is nil for time.Now.
func New(store stream.Store, now func() time.Time) *Monitor {
	if now == nil {
		now = time.Now
	}
	heads, err := lru.New[spot, stream.Timestamp](maxSpots)
	if err != nil {
		panic("monitor: " + err.Error()) // only for a size that is not positive
	}
	return &Monitor{store: store, now: now, heads: heads, pages: newPool(), streams: newPool(), tries: make(chan struct{}, allProbes)}
}

// Page returns the deliveries behind the cursor, up to the limit or 4 MiB.
// Everything that was acknowledged before the call is in its reach. While there
// is more, its NextCursor moves; a page that leaves it as it was is the last,
// but for what is unavailable.
//
// An inbox that can't be read is left out and named, and its position does not
// move; where records are no longer retained, the gap is told. The error is
// Unavailable if the inboxes can't be listed or the cursors not be made, Invalid
// for a cursor that is none, CursorExpired for one whose checkpoint is gone.
//
// The page of Latest is empty, and its NextCursor behind everything that was
// acknowledged before the call, in all inboxes that can be read.
func (m *Monitor) Page(ctx context.Context, q Query) (*api.MonitorPage, error) {
	if q.Latest {
		return m.latest(ctx, &q)
	}
	p, err := m.parse(ctx, q.Cursor, q.Parameter)
	if err != nil {
		return nil, err
	}
	tails, unread, err := m.tails(ctx, &q)
	if err != nil {
		return nil, err
	}
	w := m.newSet(m.pages)
	defer w.close()
	for agent, tail := range tails {
		if at := p.at[agent]; at > tail {
			unread = append(unread, beyond(agent, at, tail))
		} else {
			w.add(agent, at, tail)
		}
	}
	w.each = len(`"inbox":"","cursor":"",`) + p.longest(w)
	limit := q.Limit
	if limit <= 0 {
		limit = api.DefaultPageItems
	}
	b := w.next(ctx, q.filter(), limit, api.MaxPageBytes)
	if ctx.Err() != nil {
		return nil, journal.Unavailable(ctx.Err())
	}
	w.remember()
	maps.Copy(tails, b.tails)
	for _, agent := range b.gone {
		delete(tails, agent)
	}
	b.unavailable = append(b.unavailable, unread...)
	b.gone = missing(p, &q, tails, unread)
	for _, agent := range b.gone {
		p.move(move{agent, 0})
	}
	moves := b.moves()
	if len(b.found)+len(b.touched) > 0 {
		moves = moves[:len(moves)-len(b.gone)] // the others make the cursor
	}
	cursors, err := m.advance(ctx, p, moves)
	if err != nil {
		return nil, err
	}
	page := b.page(cursors)
	page.NextCursor, _ = p.cursor() // it is made by now
	page.Tails = tails
	return page, nil
}

func (m *Monitor) latest(ctx context.Context, q *Query) (*api.MonitorPage, error) {
	p := &place{at: cursor.Vector{}, over: cursor.Vector{}}
	tails, unread, err := m.tails(ctx, q)
	if err != nil {
		return nil, err
	}
	if _, err := m.advance(ctx, p, sorted(tails)); err != nil {
		return nil, err
	}
	page := (&batch{unavailable: unread}).page(nil)
	page.NextCursor, _ = p.cursor() // it is made by now
	page.Tails = tails
	return page, nil
}

// tails returns the tails of the inboxes that q is about, and which of them
// can't be told.
func (m *Monitor) tails(ctx context.Context, q *Query) (map[ident.Agent]uint64, []api.UnavailableEvent, error) {
	if n := len(q.Agents); n > 0 && n <= maxCalls {
		return m.few(ctx, q.Agents)
	}
	tails, selected, unread := map[ident.Agent]uint64{}, q.selected(), map[ident.Agent]api.UnavailableEvent{}
	ctx, leave := m.whileListed(ctx)
	defer leave()
	for moved, err := range m.store.Watch(ctx, stream.Inboxes) {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err != nil {
			return nil, nil, journal.Unavailable(fmt.Errorf("list the inboxes: %w", err))
		}
		if len(moved) == 0 {
			return tails, slices.Collect(maps.Values(unread)), nil
		}
		for _, mv := range moved {
			agent, ok := stream.AgentOf(mv.Name)
			if !ok || !selected(agent) {
				continue
			}
			if mv.Err != nil {
				delete(tails, agent)
				unread[agent] = unreachable(agent, mv.Err)
				continue
			}
			delete(unread, agent)
			tails[agent] = mv.Tail
		}
	}
	return nil, nil, journal.Unavailable(errors.New("the store stopped listing the inboxes"))
}

// whileListed returns a context that ends when the store no longer lists inboxes, looked
// at from time to time. Watch goes on while a store is away, as those want it who follow;
// who waits for a page is told that it is, before they give up.
func (m *Monitor) whileListed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { // until the caller leaves
		for {
			select {
			case <-time.After(patience):
			case <-ctx.Done():
				return
			}
			if _, _, err := m.store.List(ctx, stream.Inboxes, stream.Name{}, 1); err != nil {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// few is tails for some agents, without a look at all the others.
func (m *Monitor) few(ctx context.Context, agents []ident.Agent) (map[ident.Agent]uint64, []api.UnavailableEvent, error) {
	tails, errs := make([]uint64, len(agents)), make([]error, len(agents))
	var group errgroup.Group
	for i, agent := range agents {
		group.Go(func() error {
			select {
			case m.pages.calls <- struct{}{}:
				defer func() { <-m.pages.calls }()
			case <-ctx.Done():
				return nil // as below
			}
			tail, err := m.store.Tail(ctx, stream.Inbox(agent))
			tails[i], errs[i] = tail.Seq, err
			return nil
		})
	}
	_ = group.Wait() // what failed says so in errs
	if ctx.Err() != nil {
		return nil, nil, journal.Unavailable(ctx.Err())
	}
	all, unread := map[ident.Agent]uint64{}, map[ident.Agent]api.UnavailableEvent{}
	for i, agent := range agents {
		switch err := errs[i]; {
		case err == nil:
			all[agent] = tails[i]
		case !errors.Is(err, stream.ErrNotFound):
			unread[agent] = unreachable(agent, err)
		}
	}
	return all, slices.Collect(maps.Values(unread)), nil
}

// missing returns the inboxes that p knows of and that are no more.
func missing(p *place, q *Query, tails map[ident.Agent]uint64, unread []api.UnavailableEvent) (gone []ident.Agent) {
	selected := q.selected()
	for agent := range p.at {
		if _, ok := tails[agent]; !ok && selected(agent) &&
			!slices.ContainsFunc(unread, func(u api.UnavailableEvent) bool { return u.Inbox == agent }) {
			gone = append(gone, agent)
		}
	}
	slices.Sort(gone)
	return gone
}

// page returns b as a page; cursors are those behind its moves.
func (b *batch) page(cursors []string) *api.MonitorPage {
	page := &api.MonitorPage{Deliveries: make([]api.MonitorDelivery, len(b.found))}
	for i, f := range b.found {
		page.Deliveries[i] = api.MonitorDelivery{Inbox: f.inbox, Cursor: cursors[i], Delivery: f.Delivery}
	}
	if len(b.gaps) > 0 {
		page.Gaps = map[ident.Agent]api.Gap{}
	}
	for _, g := range b.gaps {
		if was, ok := page.Gaps[g.Inbox]; ok {
			g.From = was.From
		}
		page.Gaps[g.Inbox] = g.Gap
	}
	if len(b.unavailable) > 0 {
		page.Unavailable = map[ident.Agent]api.Unreachable{}
	}
	for _, u := range b.unavailable {
		page.Unavailable[u.Inbox] = u.Unreachable
	}
	return page
}

func beyond(agent ident.Agent, at, tail uint64) api.UnavailableEvent {
	e := api.Errorf(api.CursorBeyondTail, "the cursor has %s at %d, and the inbox ends at %d", agent, at, tail)
	e.Tail = &api.Tail{At: tail}
	return api.UnavailableEvent{Inbox: agent, Unreachable: e.Unreachable()}
}
