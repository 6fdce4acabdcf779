package mailbox

import (
	"context"
	"fmt"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/deadline"
	"agentchat/shared/stream"
)

// Recall answers a request to send d that would be refused for what it is about:
// a contact that was removed, a message that is no longer retained. Nothing new is
// sent, but what an earlier send with d's id has stored is not denied: that
// is the answer, as Send's to a repeat. If there is nothing, it is the refusal. Of
// d's Contact only the id has to be there.
func (m *Mailbox) Recall(ctx context.Context, d Draft, refusal error) (*api.SendResponse, error) {
	if d.ID == "" {
		return nil, refusal
	}
	l, sender, recipient, err := m.open(ctx, d)
	if err != nil {
		return nil, err
	}
	ctx, cancel := deadline.Outlive(ctx, budget, grace)
	defer cancel()
	s, err := newClaiming(m, d, l, sender.Generation)
	if err != nil {
		return nil, err
	}
	if recipient.Phase != agent.Registered {
		return s.recall(ctx, recipient)
	}
	return s.remember(ctx, refusal)
}

// remember returns what was sent with the id, or refusal if nothing was and
// nothing can be any more.
func (s *claiming) remember(ctx context.Context, refusal error) (*api.SendResponse, error) {
	c, _, err := s.m.readClaim(ctx, s.name)
	switch {
	case err != nil:
		return nil, s.l.unknown(err)
	case c == nil && !s.ours:
		return nil, refusal
	case c != nil && (c.stored != nil || c.Digest != s.digest):
		return s.join(ctx, c)
	}
	// An attempt of unknown outcome can't land once the epoch has moved.
	epoch, err := s.m.probe(ctx, s.l.inbox)
	if err == nil {
		_, err = s.m.kill(ctx, s.l, epoch)
	}
	var found *stream.Entry
	switch {
	case err != nil:
	case c != nil:
		found, _, err = s.m.scan(ctx, s.l, c.absent)
	default:
		found, _, err = s.findOurs(ctx)
	}
	switch {
	case err != nil:
		return nil, s.l.unknown(err)
	case found != nil:
		if c != nil {
			s.noteStored(ctx, c, false, found.Seq)
		}
		return s.found(*found, true)
	case c != nil: // another process may be settling it, at a position
		return nil, s.l.unknown(fmt.Errorf("claimed, and not stored: %w", refusal))
	}
	return nil, refusal
}
