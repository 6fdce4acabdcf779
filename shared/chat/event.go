package chat

import (
	"fmt"

	"agentchat/shared/api"
	"agentchat/shared/event"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// Schema is the schema of every event, in its body and in a header.
const Schema = "agent-chat/chat.v1"

// The kinds of events.
const (
	kindCreated    = "chat.created" // who it is between, and its streams
	kindOpened     = "chat.opened"  // its streams are there
	kindPermission = "chat.permission"
	kindPolicy     = "chat.policy"
)

// A body is that of a record of chats/{chat}.
type body struct {
	event.Head
	At     api.Time      `json:"at"`
	Chat   ident.Chat    `json:"chat,omitzero"`
	Sides  *[2]Side      `json:"sides,omitzero"`
	Agent  ident.Agent   `json:"agent,omitzero"` // the recipient who grants
	Grant  *Grant        `json:"grant,omitzero"`
	Policy api.PIIPolicy `json:"policy,omitzero"`
}

func record(kind string, b body) ([]stream.Record, error) { return event.Record(Schema, kind, &b) }

// Apply adds the event in e to s. An entry that is no event of this package, or
// one that can't follow what came before it, is an error, and s is as it was.
func (s *State) Apply(e stream.Entry) error {
	var ev body
	if err := event.Read(e, Schema, &ev); err != nil {
		return err
	}
	next := *s
	if !next.apply(ev) {
		return fmt.Errorf("event at %d: %q can't follow", e.Seq, ev.Kind)
	}
	*s = next
	return nil
}

func (s *State) apply(ev body) bool {
	switch ev.Kind {
	case kindCreated:
		if s.ID != "" || ev.Sides == nil || ev.Sides[0].Agent >= ev.Sides[1].Agent || ev.Chat != ID(ev.Sides[0].Party, ev.Sides[1].Party) {
			return false
		}
		s.ID, s.CreatedAt, s.Sides = ev.Chat, ev.At, *ev.Sides
	case kindOpened:
		if s.ID == "" {
			return false
		}
		s.Open = true
	case kindPermission:
		i := s.index(ev.Agent)
		if i < 0 || ev.Grant == nil {
			return false
		}
		s.Sides[i].Grant = *ev.Grant
	case kindPolicy:
		if s.ID == "" || strictness(ev.Policy) == 0 {
			return false
		}
		s.Policy = ev.Policy
	default:
		return false
	}
	return true
}

func (s *State) index(agent ident.Agent) int {
	for i := range s.Sides {
		if agent != "" && s.Sides[i].Agent == agent {
			return i
		}
	}
	return -1
}
