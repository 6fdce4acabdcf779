package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Find looks a message up in owner's own inbox, by its id and, if from is not
// empty, its sender; with at, only that position is read.
//
// The errors are MessageNotFound, which is never said of a message that is there;
// AmbiguousMessageID, with the senders, if several used the id; SearchIncomplete
// if more records than api.MaxSearchRecords would have to be read; and, with at, those of a
// Replay from there.
func (m *Mailbox) Find(ctx context.Context, owner ident.Agent, id ident.Message, from ident.Agent, at *uint64) (*api.Delivery, error) {
	f, err := m.finder(ctx, Query{Agent: owner, Cursor: at}, id, from)
	if err != nil {
		return nil, err
	}
	return f.find(ctx)
}

// A finder collects the messages with an id, one of each sender.
type finder struct {
	*reader
	id    ident.Message
	from  ident.Agent // only of this sender, if not ""
	any   bool        // those that this version can't read too
	left  int         // records that may still be looked at
	found []api.Delivery
	by    []ident.Agent
	kind  string // of the last found, as its header says

	other   bool    // there are some that the query does not ask for, or that can't be read
	trimmed *uint64 // where the records begin, if some were looked for before that
}

// finder returns a finder of what q asks for; its Cursor is the one position to
// look at, if it has any.
func (m *Mailbox) finder(ctx context.Context, q Query, id ident.Message, from ident.Agent) (*finder, error) {
	r, err := m.reader(ctx, q, 0) // nothing of a former registration is found
	return &finder{reader: r, id: id, from: from, left: api.MaxSearchRecords}, err
}

func (f *finder) find(ctx context.Context) (*api.Delivery, error) {
	if f.q.Cursor == nil {
		return f.search(ctx)
	}
	page, err := f.m.store.Read(ctx, f.inbox, stream.Start{Seq: *f.q.Cursor}, stream.Limit{Records: 1})
	if err != nil {
		return nil, f.refusal(err)
	}
	for _, e := range page.Entries {
		f.look(e)
	}
	return f.answer()
}

// look reports whether nothing more has to be looked for.
func (f *finder) look(e stream.Entry) (enough bool) {
	id, _ := e.Header(headerID)
	from, _ := e.Header(headerFrom)
	if id != string(f.id) || f.from != "" && from != string(f.from) || slices.Contains(f.by, ident.Agent(from)) {
		return false
	}
	d, ok := f.q.Deliver(e)
	if !ok || d.Unreadable && !f.any {
		f.other = true
		return false
	}
	f.found, f.by = append(f.found, d), append(f.by, ident.Agent(from))
	f.kind, _ = e.Header(headerKind)
	return f.from != ""
}

// search looks from about the time in an id of our form to the tail, then at
// what is retained before that.
func (f *finder) search(ctx context.Context) (*api.Delivery, error) {
	hint := f.state.First
	made, ours := f.id.Time()
	if ours {
		at, err := f.m.around(ctx, f.inbox, made)
		if err != nil {
			return nil, f.refusal(err)
		}
		hint = max(hint, at)
	}
	complete, err := f.walk(ctx, hint, ^uint64(0))
	if err != nil {
		return nil, err
	}
	// An id of our form is as good as its own only one, so that the first find will do.
	if complete && len(f.found) == 0 && hint > f.state.First {
		if complete, err = f.walk(ctx, f.state.First, hint); err != nil {
			return nil, err
		}
	}
	if !complete && (len(f.found) == 0 || !ours) {
		return nil, f.incomplete()
	}
	return f.answer()
}

func (f *finder) incomplete() error {
	return api.Errorf(api.SearchIncomplete, "one call looks at %d records, and %s may be among the others; give its position or its sender",
		api.MaxSearchRecords, f.id)
}

// walk looks at the records from a position to another, or to the tail. complete
// says that it has looked at them all, or found enough.
func (f *finder) walk(ctx context.Context, from, to uint64) (complete bool, err error) {
	for from < to {
		if f.left <= 0 {
			return false, nil
		}
		p, err := f.m.store.Read(ctx, f.inbox, stream.Start{Seq: from}, stream.Limit{})
		if trimmed, ok := errors.AsType[*stream.TrimmedError](err); ok {
			from, f.trimmed = trimmed.First, &trimmed.First // what is gone can't be found
			continue
		}
		if err != nil {
			return false, f.refusal(err)
		}
		for _, e := range p.Entries {
			if e.Seq != from {
				return false, damaged(f.inbox, stream.Misplaced(e.Seq, from))
			}
			if from++; f.look(e) {
				return true, nil
			}
			f.left--
		}
		if from >= p.Tail {
			return true, nil
		}
	}
	return true, nil
}

func (f *finder) answer() (*api.Delivery, error) {
	switch len(f.found) {
	case 0:
		return nil, notThere(f.id, fmt.Sprintf("in the inbox of %s", f.q.Agent))
	case 1:
		return &f.found[0], nil
	}
	e := api.Errorf(api.AmbiguousMessageID, "%d senders used the id %s; give from, the sender", len(f.by), f.id)
	e.Senders = f.by
	return nil, e
}

func notThere(id ident.Message, where string) error {
	return api.Errorf(api.MessageNotFound, "there is no message %s %s", id, where)
}

// FindSent looks up what sender sent to recipient with an id of its own, within
// the 7 days that an id is kept; and, as far as one call may search, with an id
// that was made for it. MessageNotFound of an id whose send had an unknown outcome
// says that it is not there yet: only repeating the send with the id decides.
func (m *Mailbox) FindSent(ctx context.Context, sender, recipient ident.Agent, id ident.Message) (*api.Delivery, error) {
	s, err := m.registration(ctx, sender)
	if err != nil {
		return nil, err
	}
	if s.Phase != agent.Registered {
		return nil, agent.NotRegistered(sender)
	}
	l := &letter{from: sender, to: recipient, id: id, inbox: stream.Inbox(recipient)}
	c, _, err := m.readClaim(ctx, stream.Claim(sender, s.Generation, id))
	if err != nil {
		return nil, journal.Unavailable(err)
	}
	r := &reader{m: m, q: Query{Agent: recipient}, state: &agent.State{Phase: agent.Deleted}, inbox: l.inbox, page: new(api.InboxPage)}
	f := &finder{reader: r, id: id, from: sender, left: api.MaxSearchRecords}
	_, ours := id.Time()
	switch {
	case c != nil && c.To != recipient, c == nil && !ours:
		return nil, notThere(id, fmt.Sprintf("from %s to %s", sender, recipient))
	case c == nil:
		return f.search(ctx)
	}
	start := c.absent
	if c.stored != nil {
		start = *c.stored
	}
	complete, err := f.walk(ctx, start, ^uint64(0))
	if err != nil {
		return nil, err
	}
	if !complete {
		return nil, f.incomplete()
	}
	return f.answer()
}
