package chatlog

import (
	"context"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Permissions returns what each party of a chat lets the other send, as of now.
func (l *Log) Permissions(ctx context.Context, id ident.Chat, by Actor) (*api.PermissionsResponse, error) {
	r, err := l.enter(ctx, id, by, false)
	if err != nil {
		return nil, err
	}
	s, err := journal.Read(ctx, l.journal, stream.Chat(r.state.ID), l.chats, 0)
	if err != nil {
		return nil, err
	}
	return l.permissions(s), nil
}

// Permit sets what the actor lets its peer send, if state is not "", and then
// tightens the chat's policy, if policy is not "". Each may be repeated.
func (l *Log) Permit(ctx context.Context, id ident.Chat, by Actor, state api.Permission, policy api.PIIPolicy) (*api.PermissionsResponse, error) {
	r, err := l.enter(ctx, id, by, true)
	if err != nil {
		return nil, err
	}
	who, now := chat.ByRecipient, l.now()
	if by.Operator {
		who = chat.ByOperator
	}
	var wanted []chat.Decision
	if state != "" {
		wanted = append(wanted, chat.Permit(by.Agent, state, who, now))
	}
	if policy != "" {
		wanted = append(wanted, chat.Tighten(policy, l.o.Policy, now))
	}
	s, err := l.update(ctx, r.state.ID, func(s *chat.State) (records []stream.Record, err error) {
		for _, decide := range wanted {
			more, err := decide(s)
			if err != nil {
				return nil, err
			}
			records = append(records, more...)
		}
		return records, nil
	})
	if err != nil {
		return nil, err
	}
	return l.permissions(s), nil
}

func (l *Log) permissions(s *chat.State) *api.PermissionsResponse {
	p := &api.PermissionsResponse{ChatID: s.ID, PIIPolicy: chat.Stricter(l.o.Policy, s.Policy)}
	for i, from := range s.Sides {
		to := s.Sides[1-i]
		p.Permissions = append(p.Permissions, api.DirectionPermission{
			FromAgentID: from.Agent, ToAgentID: to.Agent, State: to.Grant.State, By: string(to.Grant.By), Since: to.Grant.Since,
		})
	}
	return p
}
