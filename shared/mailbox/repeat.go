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

// claimLife is how long after its claim a fast attempt may still be made.
const claimLife = 30 * time.Second

// A claiming is one send with an id of the caller's (docs/ARCHITECTURE.md, Exact
// writes). An id of the form of ours makes it the repeat of a send of unknown
// outcome, which made no claim.
type claiming struct {
	m      *Mailbox
	d      Draft
	l      *letter
	digest string
	name   stream.Name // of the claim's stream
	ours   bool        // the id has the form of ours
	made   time.Time   // inside such an id
}

func newClaiming(m *Mailbox, d Draft, l *letter, g ident.Generation) (*claiming, error) {
	digest, err := d.digest()
	if err != nil {
		return nil, err
	}
	s := &claiming{m: m, d: d, l: l, digest: digest, name: stream.Claim(d.From, g, d.ID)}
	s.made, s.ours = d.ID.Time()
	return s, nil
}

func (s *claiming) send(ctx context.Context, to *agent.State) (*api.SendResponse, error) {
	epoch, start, answer, err := s.begin(ctx, to)
	if answer != nil || err != nil {
		return answer, err
	}
	began := s.m.o.Now()
	c, won, err := s.claim(ctx, epoch, start)
	switch {
	case err != nil:
		return nil, s.l.unknown(fmt.Errorf("claim %s: %w", s.name, err))
	case !won:
		return s.join(ctx, c)
	case s.ours || s.m.o.Now().Sub(began) > claimLife:
		return s.settle(ctx, c, true)
	}
	// The one attempt without a position. Whoever settles this claim fences its
	// epoch off first, so it lands before that or never.
	ack, err := s.m.append(ctx, s.l, c.Epoch, nil)
	actual, fenced := fencedBy(err)
	switch {
	case err == nil:
		e := stream.Entry{Seq: ack.First, Timestamp: ack.Timestamp, Record: s.l.record}
		s.noteStored(ctx, c, true, e.Seq)
		return s.l.stored(e), nil
	case errors.Is(err, stream.ErrNotFound), errors.Is(err, stream.ErrInvalid):
		return nil, s.l.refused(err)
	case fenced && isClosed(actual):
		return nil, s.l.noRecipient()
	}
	return s.settle(ctx, c, true)
}

// begin returns the epoch and the start for a claim, or the answer if the
// message was found on the way.
func (s *claiming) begin(ctx context.Context, to *agent.State) (epoch string, start uint64, answer *api.SendResponse, err error) {
	if !s.ours {
		epoch, start, err = s.m.begin(ctx, s.l, to)
		return epoch, start, nil, err
	}
	if epoch, err = s.m.probe(ctx, s.l.inbox); err != nil {
		if errors.Is(err, stream.ErrNotFound) {
			return "", 0, nil, s.l.refused(err)
		}
		return "", 0, nil, s.l.unknown(err)
	}
	found, start, err := s.findOurs(ctx)
	if err != nil {
		return "", 0, nil, s.l.unknown(err)
	}
	if found != nil {
		answer, err = s.found(*found, true)
	}
	return epoch, start, answer, err
}

// findOurs looks for a message whose id has the form of ours, from about the time
// in it, and a page further back: the clock that made it may be wrong, which
// in a short inbox is to do no harm.
func (s *claiming) findOurs(ctx context.Context) (found *stream.Entry, next uint64, err error) {
	start, err := s.m.around(ctx, s.l.inbox, s.made)
	if err != nil {
		return nil, 0, err
	}
	start -= min(start, stream.MaxPageRecords)
	_, err = s.m.store.Read(ctx, s.l.inbox, stream.Start{Seq: start}, stream.Limit{Records: 1})
	if trimmed, ok := errors.AsType[*stream.TrimmedError](err); ok {
		start = trimmed.First
	} else if err != nil {
		return nil, 0, err
	}
	return s.m.scan(ctx, s.l, start)
}

// found is the answer for a message that stands at e. If its first send made no
// claim, only what is stored can tell whether this is a repeat of it.
func (s *claiming) found(e stream.Entry, replayed bool) (*api.SendResponse, error) {
	if s.ours && !s.d.asks(e.Body) {
		return nil, s.reused()
	}
	r := s.l.stored(e)
	r.Replayed = replayed
	return r, nil
}

func (s *claiming) reused() error {
	return api.Errorf(api.IDReused, "%s already sent another request with the id %s", s.l.from, s.l.id)
}

// join answers a request whose id is held by c, another call's claim.
func (s *claiming) join(ctx context.Context, c *claim) (*api.SendResponse, error) {
	if c.Digest != s.digest {
		if s.ours { // a wrong repeat may have claimed it before the right one came
			if found, _, err := s.findOurs(ctx); err == nil && found != nil {
				return s.found(*found, true)
			}
		}
		return nil, s.reused()
	}
	if c.stored == nil {
		found, next, err := s.m.scan(ctx, s.l, c.absent)
		if err != nil {
			return nil, s.l.unknown(err)
		}
		if found != nil {
			s.noteStored(ctx, c, false, found.Seq)
			return s.found(*found, true)
		}
		c.absent = next
		if !s.awaitStored(ctx, c) {
			return s.settle(ctx, c, false)
		}
	}
	return s.at(ctx, *c.stored)
}

// settle stores the message if no attempt under the claim did, and answers.
func (s *claiming) settle(ctx context.Context, c *claim, won bool) (*api.SendResponse, error) {
	e, placed, absent, err := s.m.settle(ctx, s.l, c.Epoch, c.absent)
	if err != nil {
		if api.AsError(err).Code == api.RecipientNotFound {
			return nil, err
		}
		if absent > c.absent {
			s.note(ctx, c, claimRecord{Kind: kindAbsent, Seq: absent})
		}
		return nil, s.l.unknown(err)
	}
	s.noteStored(ctx, c, won, e.Seq)
	return s.found(*e, !won || s.ours && !placed)
}

// at answers with the message that stands at seq according to the claim.
func (s *claiming) at(ctx context.Context, seq uint64) (*api.SendResponse, error) {
	page, err := s.m.store.Read(ctx, s.l.inbox, stream.Start{Seq: seq}, stream.Limit{Records: 1})
	if trimmed, ok := errors.AsType[*stream.TrimmedError](err); ok {
		e := api.Errorf(api.HistoryTrimmed, "the message was stored at %d, which is no longer retained", seq)
		e.First = &trimmed.First
		return nil, e
	}
	if err != nil && retryable(err) {
		return nil, journal.Unavailable(err)
	}
	if err != nil || len(page.Entries) == 0 || !s.l.is(page.Entries[0]) {
		return nil, damaged(s.l.inbox, errors.Join(fmt.Errorf("no message %s at %d", s.l.id, seq), err))
	}
	return s.found(page.Entries[0], true)
}

// recall answers a request to somebody who is no longer registered. Nothing new
// is sent, but what an earlier send with the id has stored is not denied.
func (s *claiming) recall(ctx context.Context, to *agent.State) (*api.SendResponse, error) {
	if to.Phase == agent.Never {
		return nil, s.l.noRecipient()
	}
	c, _, err := s.m.readClaim(ctx, s.name)
	switch {
	case err != nil:
		return nil, s.l.unknown(err)
	case c == nil && !s.ours:
		return nil, s.l.noRecipient()
	case c != nil && c.Digest != s.digest:
		return nil, s.reused()
	case c != nil && c.stored != nil:
		return s.at(ctx, *c.stored)
	}
	// What is not there once the inbox is closed never will be.
	closed, err := s.m.closeInbox(ctx, s.l.to, to.Generation)
	if err != nil {
		return nil, s.l.unknown(err)
	}
	var found *stream.Entry
	if c != nil {
		found, _, err = s.m.scan(ctx, s.l, c.absent)
	} else {
		found, _, err = s.findOurs(ctx)
	}
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return nil, s.l.noRecipient()
	case err != nil:
		return nil, s.l.unknown(err)
	case found != nil:
		return s.found(*found, true)
	case !closed:
		return nil, api.Errorf(api.Busy, "%s is being registered; repeat the request", s.l.to)
	}
	return nil, s.l.noRecipient()
}
