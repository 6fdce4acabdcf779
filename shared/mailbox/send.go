package mailbox

import (
	"context"
	"errors"
	"fmt"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/deadline"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Send stores d in the recipient's inbox, exactly once, and says where.
//
// With an id of the caller's, the first send of it within the sender's
// registration wins: a repeat of the same request gives the first result
// (Replayed), another request IDReused. Without one, an id is made.
//
// Everything that can be refused is refused before anything is written:
// AgentNotRegistered (the sender), RecipientNotFound, RecordTooLarge. Unavailable
// means that nothing was written; OutcomeUnknown names the id with which the
// send may be repeated safely, and without which it may not.
//
// Once begun it runs to its end, 10 s at most and 5 s after ctx ends.
func (m *Mailbox) Send(ctx context.Context, d Draft) (*api.SendResponse, error) {
	l, sender, recipient, err := m.open(ctx, d)
	if err != nil {
		return nil, err
	}
	ctx, cancel := deadline.Outlive(ctx, budget, grace)
	defer cancel()
	switch {
	case d.ID == "" && recipient.Phase != agent.Registered:
		return nil, l.noRecipient()
	case d.ID == "":
		return m.sendOnce(ctx, l, recipient)
	}
	c, err := newClaiming(m, d, l, sender.Generation)
	if err != nil {
		return nil, err
	}
	if recipient.Phase != agent.Registered {
		return c.recall(ctx, recipient)
	}
	return c.send(ctx, recipient)
}

// open reads who d is between and completes it. Only a registered agent sends;
// what a recipient that is none means is up to the caller.
func (m *Mailbox) open(ctx context.Context, d Draft) (l *letter, from, to *agent.State, err error) {
	if from, err = m.registration(ctx, d.From); err != nil {
		return nil, nil, nil, err
	}
	if from.Phase != agent.Registered {
		return nil, nil, nil, agent.NotRegistered(d.From)
	}
	if to, err = m.registration(ctx, d.To); err != nil {
		return nil, nil, nil, err
	}
	l, err = m.letter(d)
	return l, from, to, err
}

// sendOnce sends a letter whose id nobody else can have: one append, unless its
// outcome is unknown (docs/ARCHITECTURE.md, Exact writes).
func (m *Mailbox) sendOnce(ctx context.Context, l *letter, to *agent.State) (*api.SendResponse, error) {
	epoch, from, err := m.begin(ctx, l, to)
	if err != nil {
		return nil, err
	}
	var pauses journal.Pauses
	for {
		ack, err := m.append(ctx, l, epoch, nil)
		if err == nil {
			return l.stored(stream.Entry{Seq: ack.First, Timestamp: ack.Timestamp, Record: l.record}), nil
		}
		switch actual, fenced := fencedBy(err); {
		case fenced:
			epoch = actual
		case errors.Is(err, stream.ErrUnavailable):
			_ = pauses.Wait(ctx) // ctx is looked at below
		case isDefinite(err):
			return nil, l.refused(err)
		default:
			if epoch, err = m.kill(ctx, l, epoch); err != nil {
				return nil, l.unknown(err)
			}
			found, next, err := m.scan(ctx, l, from)
			if err != nil {
				return nil, l.unknown(err)
			}
			if found != nil {
				return l.stored(*found), nil
			}
			from = next // proven absent, so it may be sent again
		}
		if isClosed(epoch) {
			return nil, l.noRecipient()
		}
		if ctx.Err() != nil {
			return nil, journal.Unavailable(err)
		}
	}
}

// begin returns the epoch to try, and a position that no later append can be before.
func (m *Mailbox) begin(ctx context.Context, l *letter, to *agent.State) (epoch string, tail uint64, err error) {
	if s, ok := m.sight(l.to); ok {
		return s.epoch, s.tail, nil
	}
	pos, err := m.store.Tail(ctx, l.inbox)
	if errors.Is(err, stream.ErrNotFound) {
		return "", 0, l.refused(err)
	}
	if err != nil {
		return "", 0, journal.Unavailable(fmt.Errorf("tail of %s: %w", l.inbox, err))
	}
	return to.Epoch, pos.Seq, nil
}

// append tries once to store the letter under epoch, at a position if one is
// given, and notes what it learns of the inbox.
func (m *Mailbox) append(ctx context.Context, l *letter, epoch string, at *uint64) (stream.Ack, error) {
	ack, err := m.store.Append(ctx, l.inbox, stream.Batch{Records: []stream.Record{l.record}, At: at, Token: &epoch})
	if err == nil {
		m.saw(l.to, epoch, ack.Next)
	} else if actual, ok := fencedBy(err); ok {
		m.saw(l.to, actual, 0)
	}
	return ack, err
}

// fencedBy returns the fencing token in err's tree.
func fencedBy(err error) (actual string, ok bool) {
	if e, ok := errors.AsType[*stream.FencedError](err); ok {
		return e.Token, true
	}
	return "", false
}

// isDefinite reports whether err of an append says for certain that it has
// written nothing and never will.
func isDefinite(err error) bool {
	for _, definite := range []error{stream.ErrPosition, stream.ErrFenced, stream.ErrNotFound, stream.ErrInvalid, stream.ErrUnavailable} {
		if errors.Is(err, definite) && !errors.Is(err, stream.ErrUnknown) {
			return true
		}
	}
	return false
}

// stored is the answer for a letter that stands at e.
func (l *letter) stored(e stream.Entry) *api.SendResponse {
	return &api.SendResponse{Envelope: e.Body, SeqNum: e.Seq, NextCursor: e.Seq + 1, Timestamp: api.Time{Time: e.Timestamp.Time()}}
}

func (l *letter) noRecipient() error {
	e := api.Errorf(api.RecipientNotFound, "%s is not registered, so it has no inbox; %s registers it", l.to, agent.Call(l.to))
	e.Field = "/to" // as every request that sends has it
	return e
}

// refused is the error for an append that failed for certain, and that a repeat
// can't mend. The inbox of who is registered is always there: if it is not,
// somebody else took it away, and to register again would not bring it back.
func (l *letter) refused(err error) error {
	if errors.Is(err, stream.ErrNotFound) {
		return damaged(l.inbox, err)
	}
	return fmt.Errorf("append %s to %s: %w", l.id, l.inbox, err)
}

// unknown is the error for a send that may have stored the letter, or may still
// do so. Where no inbox is, nothing is and nothing will be.
func (l *letter) unknown(cause error) error {
	if lost, ok := errors.AsType[*api.Error](cause); ok && errors.Is(cause, stream.ErrNotFound) {
		return lost
	}
	e := api.Errorf(api.OutcomeUnknown, "the message may have been stored, or may still be; repeat the request with id %s, and with no other", l.id).
		Because(fmt.Errorf("send to %s: %w", l.inbox, cause))
	e.Message = l.id
	return e
}
