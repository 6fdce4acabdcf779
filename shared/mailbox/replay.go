package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// A Query selects deliveries of an inbox.
type Query struct {
	Agent          ident.Agent
	Cursor         *uint64         // nil: the first retained position of the registration
	Limit          int             // deliveries a page; 0: api.DefaultPageItems. Replay only
	Wait           time.Duration   // Replay: how long to wait at the tail
	Until          <-chan struct{} // closed when nobody shall wait any longer; nil: never
	Kind           api.Kind
	From           ident.Agent
	ConversationID ident.Conversation
}

// maxPassed is how many records one page may pass over because of filters: a
// page that found nothing among them is answered, and its cursor moves on.
const maxPassed = 10_000

// Replay returns a page of an inbox: what stands from the cursor on, up to the
// limit or 4 MiB. It reads only; the same query gives the same records again.
//
// Records that the query does not ask for, and fences, are no deliveries, but the
// cursor moves over them. At the tail the page is empty; with Wait, it is
// answered as soon as there is a delivery, and when Wait has passed or Until is
// closed at the latest.
//
// A cursor is refused if it is before the registration's first position
// (GenerationChanged) or before the first retained one (HistoryTrimmed), both with
// the first usable position, or behind the tail (CursorBeyondTail, with the tail).
// Nothing is skipped silently. The inbox of a deleted agent can be read to its end.
func (m *Mailbox) Replay(ctx context.Context, q Query) (*api.InboxPage, error) {
	r, err := m.reader(ctx, q, agent.MaxAge)
	if err != nil {
		return nil, err
	}
	if err := r.fill(ctx); err != nil {
		return nil, err
	}
	if r.ended && r.state.Phase == agent.Registered {
		// The registration that was believed has ended, perhaps by another process.
		if r, err = m.reader(ctx, q, 0); err != nil {
			return nil, err
		}
		if err := r.fill(ctx); err != nil {
			return nil, err
		}
	}
	if len(r.page.Deliveries) == 0 && q.Wait > 0 && r.page.NextCursor >= r.page.Tail {
		if err := r.await(ctx); err != nil {
			return nil, err
		}
	}
	return r.page, nil
}

// A reader makes one page after another.
type reader struct {
	m     *Mailbox
	q     Query
	state *agent.State
	inbox stream.Name
	page  *api.InboxPage
	size  int  // of the page
	whole bool // a page takes all that the store yields
	ended bool // the page ends with the fence that closed the inbox
}

// reader returns a reader at the query's cursor. The registration is at most maxAge old.
func (m *Mailbox) reader(ctx context.Context, q Query, maxAge time.Duration) (*reader, error) {
	s, err := journal.Read(ctx, m.journal, stream.Agent(q.Agent), m.agents, maxAge)
	if err == nil && s.Phase != agent.Registered && maxAge > 0 {
		s, err = m.registration(ctx, q.Agent)
	}
	if err != nil {
		return nil, err
	}
	if s.Phase != agent.Registered && s.Phase != agent.Deleted {
		return nil, agent.NotRegistered(q.Agent)
	}
	r := &reader{m: m, q: q, state: s, inbox: stream.Inbox(q.Agent)}
	if r.q.Limit <= 0 {
		r.q.Limit = api.DefaultPageItems
	}
	from := s.First
	if q.Cursor != nil {
		from = *q.Cursor
	}
	if from < s.First {
		return nil, r.ofEarlier()
	}
	r.turn(from)
	return r, nil
}

// turn begins a new page at a position.
func (r *reader) turn(from uint64) {
	r.page, r.size = &api.InboxPage{Deliveries: []api.Delivery{}, NextCursor: from, Tail: from}, 0
}

// fill reads until the page is full or at the tail.
func (r *reader) fill(ctx context.Context) error {
	for begun := r.page.NextCursor; ; {
		limit := stream.Limit{}
		if r.q.Kind == "" && r.q.From == "" && r.q.ConversationID == "" {
			limit.Records = r.q.Limit - len(r.page.Deliveries)
		}
		p, err := r.m.store.Read(ctx, r.inbox, stream.Start{Seq: r.page.NextCursor}, limit)
		if trimmed, ok := errors.AsType[*stream.TrimmedError](err); ok && r.q.Cursor == nil && r.page.NextCursor == begun {
			r.turn(trimmed.First)
			begun = trimmed.First
			continue
		}
		if err != nil && len(r.page.Deliveries) > 0 {
			return nil // what was found is true; the next page tells of the rest
		}
		if err != nil {
			return r.refusal(err)
		}
		full, err := r.take(p)
		if full || err != nil || r.page.NextCursor >= p.Tail || r.page.NextCursor-begun >= maxPassed {
			return err
		}
	}
}

// take adds what p holds to the page, and reports whether the page is full. p
// must begin where the page ends.
func (r *reader) take(p stream.Page) (full bool, err error) {
	r.page.Tail = max(p.Tail, r.page.Tail)
	for _, e := range p.Entries {
		if e.Seq != r.page.NextCursor {
			return false, damaged(r.inbox, stream.Misplaced(e.Seq, r.page.NextCursor))
		}
		if d, ok := r.q.Deliver(e); ok {
			n := Size(&d)
			if !r.whole && len(r.page.Deliveries) > 0 && r.size+n > api.MaxPageBytes {
				return true, nil
			}
			r.page.Deliveries = append(r.page.Deliveries, d)
			r.size += n
		}
		r.page.NextCursor++
		r.page.Tail = max(r.page.Tail, r.page.NextCursor)
		if closes(e) {
			r.ended = true
			return true, nil
		}
		if !r.whole && len(r.page.Deliveries) >= r.q.Limit {
			return true, nil
		}
	}
	return false, nil
}

// await waits at the tail until there is a delivery, for the query's Wait at most.
func (r *reader) await(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, r.q.Wait)
	defer cancel()
	go func() {
		select {
		case <-r.q.Until:
			cancel()
		case <-waiting.Done():
		}
	}()
	for p, err := range r.m.store.Follow(waiting, r.inbox, r.page.NextCursor, time.Hour) {
		if err != nil {
			if waiting.Err() != nil && ctx.Err() == nil {
				return nil // nothing came
			}
			return r.refusal(err)
		}
		if full, err := r.take(p); err != nil || full || len(r.page.Deliveries) > 0 {
			return err
		}
	}
	return nil
}

// refusal is the error for a read or a follow that failed.
func (r *reader) refusal(err error) error {
	trimmed, isTrimmed := errors.AsType[*stream.TrimmedError](err)
	beyond, isBeyond := errors.AsType[*stream.BeyondTailError](err)
	switch {
	case isTrimmed:
		e := api.Errorf(api.HistoryTrimmed, "the inbox is retained from %d on", max(trimmed.First, r.state.First))
		first := max(trimmed.First, r.state.First)
		e.First = &first
		return e.Because(err)
	case isBeyond:
		e := api.Errorf(api.CursorBeyondTail, "the inbox ends at %d", beyond.Tail)
		e.Tail = &api.Tail{At: beyond.Tail}
		return e.Because(err)
	case errors.Is(err, stream.ErrNotFound) && r.state.Phase == agent.Deleted:
		return agent.NotRegistered(r.q.Agent) // deleted before its inbox was made
	case errors.Is(err, stream.ErrNotFound), errors.Is(err, stream.ErrCorrupt):
		return damaged(r.inbox, err)
	}
	return journal.Unavailable(fmt.Errorf("read %s from %d: %w", r.inbox, r.page.NextCursor, err))
}

// ofEarlier is the error for a position before the registration's first.
func (r *reader) ofEarlier() error {
	e := api.Errorf(api.GenerationChanged, "the position is of an earlier registration of %s; this one begins at %d", r.q.Agent, r.state.First)
	e.First = &r.state.First
	return e
}
