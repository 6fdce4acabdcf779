package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/deadline"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Register registers id with profile p and opens its inbox, or replaces the
// profile of an agent that is registered. It may be repeated: what an earlier
// call, or a deletion, has left half done is finished. Created says that this call
// completed the registration: of several at the same time, one.
//
// A name that was deleted is not registered again before every process knows that
// it was (Options.Sole: at once), so that none acts for the former registration afterwards.
//
// On an error the registration may be half done; then nobody can use it yet, and it is OutcomeUnknown.
func (m *Mailbox) Register(ctx context.Context, id ident.Agent, p api.Profile) (*api.RegisterResponse, error) {
	ctx, cancel := deadline.Outlive(ctx, budget+agent.MaxAge, grace)
	defer cancel()
	for {
		r, err := m.register(ctx, id, p)
		// Busy: the agent was deleted in the midst of it, so it is to be done again.
		if err == nil || api.AsError(err).Code != api.Busy || ctx.Err() != nil {
			return r, err
		}
	}
}

// register goes through the steps of Register once. It fails with Busy if the
// registration that it was making is none any more.
func (m *Mailbox) register(ctx context.Context, id ident.Agent, p api.Profile) (*api.RegisterResponse, error) {
	now, created := m.now(), false
	s, err := m.change(ctx, id, agent.Register(p, ident.NewGeneration(m.o.Rand), now))
	if err != nil {
		return nil, err
	}
	if s.Phase == agent.Registering {
		g := s.Generation
		if err := m.outlast(ctx, s.Doubt()); err != nil {
			return nil, halfDone(err)
		}
		first, epoch, err := m.openInbox(ctx, id, s)
		if err != nil {
			return nil, err
		}
		opened := agent.Opened(g, first, epoch, now)
		s, err = m.change(ctx, id, func(s *agent.State) ([]stream.Record, error) {
			records, err := opened(s)
			created = len(records) > 0 // of several that register it at the same time, one has opened it
			return records, err
		})
		if err != nil {
			if api.AsError(err).Code == api.Busy { // leave no inbox open that is nobody's
				_, _ = m.closeInbox(ctx, id, g) // if that fails: nobody may send to it either
			}
			return nil, err
		}
	}
	return &api.RegisterResponse{AgentInfo: s.Info(id), Made: api.Made{Created: created}}, nil
}

// outlast waits until no process believes any more in a registration that was
// deleted: none believes what is older than agent.MaxAge.
func (m *Mailbox) outlast(ctx context.Context, doubt time.Duration) error {
	if m.o.Sole || doubt == 0 {
		return nil
	}
	over := time.NewTimer(doubt)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Delete ends the registration of id: its keys die, and its inbox takes no more
// messages. It may be repeated: a deletion that is half done is finished, and one
// that is done changes nothing. AgentNotRegistered if there never was such an agent.
func (m *Mailbox) Delete(ctx context.Context, id ident.Agent) error {
	ctx, cancel := deadline.Outlive(ctx, budget, grace)
	defer cancel()
	s, err := m.change(ctx, id, agent.Delete(id, m.now()))
	if err != nil {
		return err
	}
	_, err = m.closeInbox(ctx, id, s.Generation)
	return err
}

// Mint adds a key to a registered agent.
func (m *Mailbox) Mint(ctx context.Context, id ident.Agent, k agent.Key) error {
	_, err := m.change(ctx, id, agent.Mint(id, k))
	return err
}

// Revoke ends a key of a registered agent; it opens nothing any more within the 5 s
// that a registration may be old.
func (m *Mailbox) Revoke(ctx context.Context, id ident.Agent, key ident.Key) error {
	_, err := m.change(ctx, id, agent.Revoke(id, key, m.now()))
	return err
}

func (m *Mailbox) change(ctx context.Context, id ident.Agent, d agent.Decision) (*agent.State, error) {
	return journal.Update(ctx, m.journal, stream.Agent(id), m.agents, d)
}

// openInbox makes id's inbox ready for registration s, which is being made, and
// returns the first position that is its own and the epoch that it was opened under.
// It fails with Busy if s was deleted, or completed by somebody else, meanwhile.
//
// Any number of processes may do this at once, and each may stop anywhere. What
// they find is told apart by the epoch: closed (to be opened), opened for this
// generation (done), or of an earlier registration whose deletion is half done
// (to be closed first). The inbox that the first registration of a name creates
// is open as it is.
func (m *Mailbox) openInbox(ctx context.Context, id ident.Agent, s *agent.State) (first uint64, epoch string, err error) {
	inbox := stream.Inbox(id)
	var pauses journal.Pauses
	for {
		epoch, err = m.probe(ctx, inbox)
		switch {
		case errors.Is(err, stream.ErrNotFound):
			err = m.store.Create(ctx, inbox, stream.Config{Retention: m.o.Retention})
			if err == nil || errors.Is(err, stream.ErrExists) {
				continue
			}
		case err != nil:
		case isClosed(epoch):
			if first, epoch, err = m.reopen(ctx, inbox, s.Generation, epoch); err == nil {
				return first, epoch, nil
			}
		case openedFor(epoch) == s.Generation:
			return m.openedAt(ctx, inbox, s.Generation)
		case openedFor(epoch) == "" && !s.Former:
			return 0, "", nil
		default:
			var now *agent.State
			if _, err = m.closeInbox(ctx, id, s.Generation); err == nil {
				now, err = journal.Read(ctx, m.journal, stream.Agent(id), m.agents, 0)
			}
			if err == nil && (now.Phase != agent.Registering || now.Generation != s.Generation) {
				return 0, "", api.Errorf(api.Busy, "another call changes the registration of %s", id)
			}
			if err == nil {
				continue
			}
		}
		if pauses.Wait(ctx) != nil {
			return 0, "", halfDone(err)
		}
	}
}

// reopen fences a closed inbox to an epoch of g. On an error somebody else may
// have, or this call: the next probe tells.
func (m *Mailbox) reopen(ctx context.Context, inbox stream.Name, g ident.Generation, closed string) (first uint64, epoch string, err error) {
	pos, err := m.store.Tail(ctx, inbox)
	if err != nil {
		return 0, "", err
	}
	epoch = m.openEpoch(g)
	ack, err := m.journal.AppendAt(ctx, inbox, stream.Batch{Records: []stream.Record{stream.Fence(epoch)}, At: &pos.Seq, Token: &closed})
	return ack.Next, epoch, err
}

// openedAt returns the position behind the fence that opened inbox for g, and the
// epoch that it made: the first one of g's behind the last of any other. It is
// looked for from the tail backwards, since messages are hardly there yet.
func (m *Mailbox) openedAt(ctx context.Context, inbox stream.Name, g ident.Generation) (first uint64, epoch string, err error) {
	pos, err := m.store.Tail(ctx, inbox)
	if err != nil {
		return 0, "", halfDone(err)
	}
	for end, other := pos.Seq, false; end > 0 && !other; {
		start := end - min(end, stream.MaxPageRecords)
		here := false // the first one of this stretch, so far, is in first and epoch
		for at := start; at < end; {
			page, err := m.store.Read(ctx, inbox, stream.Start{Seq: at}, stream.Limit{Records: int(end - at)}) // at most a page
			if err != nil {
				return 0, "", halfDone(err)
			}
			for _, e := range page.Entries {
				switch token := string(e.Body); {
				case e.Command() != stream.FenceCommand:
				case openedFor(token) != g:
					other, here = true, false
				case !here:
					first, epoch, here = e.Seq+1, token, true
				}
			}
			at = page.Next(at)
		}
		end = start
	}
	if epoch == "" {
		return 0, "", damaged(inbox, fmt.Errorf("no fence opens it for %s", g))
	}
	return first, epoch, nil
}

// closeInbox makes sure that nothing lands in an inbox any more under an epoch of
// a registration before g, or of g itself once it is deleted. closed says that
// the inbox was closed, or missing, at a moment during the call; if it is false, g is neither
// deleted nor being made, or another registration has taken its place.
func (m *Mailbox) closeInbox(ctx context.Context, id ident.Agent, g ident.Generation) (closed bool, err error) {
	inbox := stream.Inbox(id)
	var pauses journal.Pauses
	for {
		epoch, err := m.probe(ctx, inbox)
		if errors.Is(err, stream.ErrNotFound) || err == nil && isClosed(epoch) {
			return true, nil
		}
		if err == nil {
			// The state is read after the epoch, so an epoch that is to be closed
			// is not that of a registration which was made since.
			var s *agent.State
			s, err = journal.Read(ctx, m.journal, stream.Agent(id), m.agents, 0)
			if err == nil && !mayClose(s, g, epoch) {
				return false, nil
			}
		}
		if err == nil {
			fence := closedEpoch + m.random(16)
			_, err = m.store.Append(ctx, inbox, stream.Batch{Records: []stream.Record{stream.Fence(fence)}, Token: &epoch})
			if err == nil {
				m.saw(id, fence, 0)
				return true, nil
			}
			if _, moved := fencedBy(err); moved {
				continue
			}
		}
		if pauses.Wait(ctx) != nil {
			return false, halfDone(err)
		}
	}
}

// mayClose reports whether, in state s, the epoch is of a registration that has ended.
func mayClose(s *agent.State, g ident.Generation, epoch string) bool {
	if s.Generation != g {
		return false
	}
	return s.Phase == agent.Deleted || s.Phase == agent.Registering && openedFor(epoch) != g
}

// halfDone is the error of a step that could not be finished, behind one that was:
// it is not true that nothing was written. Repeating the call finishes it.
func halfDone(cause error) error {
	if e, ok := errors.AsType[*api.Error](cause); ok && e.Code != api.Unavailable {
		return e
	}
	return api.Errorf(api.OutcomeUnknown, "the change was begun and may not be finished; repeating the request finishes it").Because(cause)
}
