package mailbox

import (
	"context"
	"errors"
	"iter"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Follow yields pages from the cursor on for as long as ctx lives: the first as
// soon as the cursor is known to be good (empty at the tail of an open inbox), then what is there,
// then what comes, and an empty page whenever there was nothing to deliver for idle.
// No delivery comes twice and none is left out. A page is not cut by Query.Limit
// but by what the store yields, 1 MiB at most.
//
// It ends with an *api.Error, yielded once with a nil page: as Replay's,
// Unavailable (ctx's end included), HistoryTrimmed when the inbox is trimmed
// behind the reader, or GenerationChanged once the registration has ended: the
// inbox was closed, and everything before that was delivered. First is then the first
// position that a later registration can have. The caller's break frees everything.
func (m *Mailbox) Follow(ctx context.Context, q Query, idle time.Duration) iter.Seq2[*api.InboxPage, error] {
	return func(yield func(*api.InboxPage, error) bool) {
		r, err := m.reader(ctx, q, 0)
		if err != nil {
			yield(nil, err)
			return
		}
		r.whole = true
		for {
			err := r.follow(ctx, idle, func(p *api.InboxPage) bool { return yield(p, nil) })
			if errors.Is(err, errBroken) {
				return
			}
			if trimmed, ok := errors.AsType[*stream.TrimmedError](err); ok && q.Cursor == nil && r.page.NextCursor == r.state.First {
				r.turn(max(trimmed.First, r.state.First)) // begin with what is retained
				continue
			}
			if e, ok := errors.AsType[*api.Error](err); ok {
				yield(nil, e)
			} else {
				yield(nil, r.refusal(err))
			}
			return
		}
	}
}

var errBroken = errors.New("the caller has enough")

// follow yields until an error, or errBroken.
func (r *reader) follow(ctx context.Context, idle time.Duration, yield func(*api.InboxPage) bool) error {
	yielded, first := time.Now(), true
	for p, err := range r.m.store.Follow(ctx, r.inbox, r.page.NextCursor, idle) {
		if err != nil {
			return err
		}
		if _, err := r.take(p); err != nil {
			return err
		}
		over := r.ended || r.state.Phase == agent.Deleted && r.page.NextCursor >= p.Tail
		// What was filtered out is passed over in silence, but not for longer than idle.
		// Where there is nothing to come, the end is all that there is to say.
		if len(r.page.Deliveries) > 0 || !over && (first || len(p.Entries) == 0 || time.Since(yielded) >= idle) {
			if !yield(r.page) {
				return errBroken
			}
			yielded, first = time.Now(), false
			r.turn(r.page.NextCursor)
		}
		if over {
			return r.hasEnded()
		}
	}
	return journal.Unavailable(errors.New("the store stopped following"))
}

// hasEnded is the error behind the last delivery of a registration.
func (r *reader) hasEnded() error {
	e := api.Errorf(api.GenerationChanged, "%s was deleted, and its inbox is closed", r.q.Agent)
	next := r.page.NextCursor
	e.First = &next
	return e
}
