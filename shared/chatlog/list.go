package chatlog

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// atOnce is how many chats are read at the same time for one page.
const atOnce = 64

// List returns the chats of an agent's registration, the oldest first: up to
// limit from the given place in the list on. A page may be short, and yet not be
// the last. A chat that can't be read is named with the reason, and does not keep
// the others back; only if the store can tell of none is there no page.
func (l *Log) List(ctx context.Context, by Actor, from uint64, limit int) (*api.ListChatsResponse, error) {
	var reg agent.State
	ok, err := l.registered(ctx, by.Agent, func(s agent.State) bool {
		reg = s
		return s.Phase == agent.Registered
	})
	if err == nil && !ok {
		err = agent.NotRegistered(by.Agent)
	}
	if err != nil {
		return nil, err
	}
	head, err := journal.Read(ctx, l.journal, stream.ChatIndex(by.Agent, reg.Generation), l.index, 0)
	if err != nil {
		return nil, err
	}
	ids := head.from(from, limit)
	found, failed := make([]*api.Chat, len(ids)), make([]error, len(ids))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, id := range ids {
		group.Go(func() error {
			found[i], failed[i] = l.entry(ctx, id, by)
			return nil
		})
	}
	_ = group.Wait() // what failed says so in failed
	if err := ctx.Err(); err != nil {
		return nil, journal.Unavailable(err)
	}
	answer := &api.ListChatsResponse{Chats: make([]api.Chat, 0, len(found))}
	away := 0
	for i, id := range ids {
		if c := found[i]; c != nil {
			answer.Chats = append(answer.Chats, *c)
		}
		if failed[i] == nil {
			continue
		}
		e := api.AsError(failed[i])
		if e.Code == api.Unavailable {
			away++
		} else if known, _ := l.damaged.ContainsOrAdd(id, struct{}{}); !known {
			l.o.Log.LogAttrs(ctx, slog.LevelError, "a chat can't be read; an operator must look", slog.String("chat", string(id)), slog.Any("error", e))
		}
		if answer.Unavailable == nil {
			answer.Unavailable = map[ident.Chat]api.Unreachable{}
		}
		answer.Unavailable[id] = e.Unreachable()
	}
	if away > 0 && away == len(ids) {
		return nil, failed[0]
	}
	if next := from + uint64(len(ids)); next < head.count() {
		answer.NextCursor = &next
	}
	return answer, nil
}

// entry returns a chat as a list shows it; nil if it is half made.
func (l *Log) entry(ctx context.Context, id ident.Chat, by Actor) (*api.Chat, error) {
	r, err := l.enter(ctx, id, by, false)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.ChatNotFound {
		// It is half made, unless it is not there at all: what is listed was begun.
		s, err := journal.Read(ctx, l.journal, stream.Chat(id), l.chats, settled)
		if err == nil && s.ID == "" {
			err = api.Errorf(api.StreamMissing, "the stream %s is gone; an operator must look", stream.Chat(id))
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	c, err := l.show(ctx, r.state)
	if err != nil {
		return nil, err
	}
	return &c, nil
}
