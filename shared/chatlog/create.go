package chatlog

import (
	"context"
	"errors"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/deadline"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Create finds the chat of two agents, or makes it. Any number of processes may
// do so at once, and each may stop anywhere: all get the one chat, and Created is
// true for the one that completed it. A chat that is half made is none yet, and
// the next call finishes it.
//
// A chat that was complete is left as it is: what is missing of its streams is
// never made again.
func (l *Log) Create(ctx context.Context, by Actor, peer ident.Agent) (*api.CreateChatResponse, error) {
	ctx, cancel := deadline.Outlive(ctx, budget, grace)
	defer cancel()
	own, err := l.side(ctx, by.Agent, agent.NotRegistered(by.Agent))
	if err != nil {
		return nil, err
	}
	other, err := l.side(ctx, peer, api.Errorf(api.RecipientNotFound, "%s is not registered; %s registers it", peer, agent.Call(peer)))
	if err != nil {
		return nil, err
	}
	id := chat.ID(own.Party, other.Party)
	s, err := l.update(ctx, id, chat.Create(by.Agent, own, other, l.o.GrantsRequired, l.now()))
	if err != nil {
		return nil, err
	}
	created := false
	if err := l.complete(ctx, s, &created); err != nil {
		return nil, halfDone(err)
	}
	info, err := l.show(ctx, s)
	if err != nil {
		return nil, halfDone(err)
	}
	return &api.CreateChatResponse{Chat: info, Made: api.Made{Created: created}}, nil
}

// complete makes what is missing of a chat: its entries in the lists of both,
// and, unless it was open before, its streams. Created says that it was not.
func (l *Log) complete(ctx context.Context, s *chat.State, created *bool) error {
	for i, side := range s.Sides {
		if err := l.list(ctx, side.Party, s.ID); err != nil {
			return err
		}
		if s.Open {
			continue
		}
		if err := l.begin(ctx, directionOf(s, side, s.Sides[1-i])); err != nil {
			return err
		}
	}
	if s.Open {
		return nil
	}
	opened := chat.Opened(l.now())
	_, err := l.update(ctx, s.ID, func(s *chat.State) ([]stream.Record, error) {
		records, err := opened(s)
		*created = len(records) > 0
		return records, err
	})
	return err
}

// side returns a side of a new chat, or refused if there is no such agent.
func (l *Log) side(ctx context.Context, id ident.Agent, refused error) (chat.Side, error) {
	var is chat.Side
	ok, err := l.registered(ctx, id, func(reg agent.State) bool {
		is = chat.Side{Party: chat.Party{Agent: id, Generation: reg.Generation}, Stream: ident.NewGeneration(l.o.Rand)}
		return reg.Phase == agent.Registered
	})
	if err == nil && !ok {
		err = refused
	}
	return is, err
}

func (l *Log) update(ctx context.Context, id ident.Chat, d chat.Decision) (*chat.State, error) {
	return journal.Update(ctx, l.journal, stream.Chat(id), l.chats, d)
}

// Get returns a chat as a party sees it, with who owns its directions now and
// where they end.
func (l *Log) Get(ctx context.Context, id ident.Chat, by Actor) (*api.Chat, error) {
	r, err := l.enter(ctx, id, by, false)
	if err != nil {
		return nil, err
	}
	info, err := l.show(ctx, r.state)
	if err != nil {
		return nil, err
	}
	into, ds := [2]*api.ChatStream{&info.StreamA, &info.StreamB}, r.directions()
	err = both(ctx, func(ctx context.Context, i int) error {
		tail, err := l.look(ctx, ds[i])
		if err != nil {
			return err
		}
		into[i].Tail = new(api.Position(tail))
		into[i].Owner, err = l.owner(ctx, ds[i])
		return err
	})
	return &info, err
}

// show returns the chat record. A party whose registration has ended has no name
// but its id.
func (l *Log) show(ctx context.Context, s *chat.State) (api.Chat, error) {
	var agents [2]api.ChatAgent
	var streams [2]api.ChatStream
	for i, side := range s.Sides {
		reg, err := l.mail.Registration(ctx, side.Agent, agent.MaxAge)
		if err != nil {
			return api.Chat{}, err
		}
		agents[i] = api.ChatAgent{ID: side.Agent, Name: string(side.Agent), Username: string(side.Agent)}
		if reg.Generation == side.Generation && reg.Phase == agent.Registered {
			if reg.Profile.DisplayName != "" {
				agents[i].Name = reg.Profile.DisplayName
			}
			if reg.Profile.Image != "" {
				agents[i].Image = &reg.Profile.Image
			}
		}
		streams[i] = api.ChatStream{StreamID: stream.Direction(s.ID, side.Agent).String(), Generation: side.Stream}
	}
	return api.Chat{
		ID: s.ID, AgentAID: agents[0].ID, AgentBID: agents[1].ID, AgentA: agents[0], AgentB: agents[1],
		CreatedAt: s.CreatedAt, StreamA: streams[0], StreamB: streams[1],
	}, nil
}

// halfDone is the error of a step that could not be finished, behind one that was:
// it is not true that nothing was written. Repeating the call finishes it.
func halfDone(cause error) error {
	if e, ok := errors.AsType[*api.Error](cause); ok && e.Code != api.Unavailable && e.Code != api.Busy {
		return e
	}
	return api.Errorf(api.OutcomeUnknown, "the chat was begun and may not be finished; repeating the request finishes it").Because(cause)
}
