// Package chat is what a signed chat is: the two registrations that it is
// between, what each may send to the other, its events and their fold, and the
// decisions on it; the order of a transcript, and the cursors into it. It does
// no I/O; times, keys and what is random are arguments.
package chat

import (
	"crypto/sha256"
	"encoding/hex"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A Party is one registration of an agent. A name that is registered again is
// another party, and inherits no chat.
type Party struct {
	Agent      ident.Agent      `json:"agent"`
	Generation ident.Generation `json:"generation"`
}

// ID returns the id of the one chat of two registrations, whichever comes first.
func ID(p, q Party) ident.Chat {
	if q.Agent < p.Agent {
		p, q = q, p
	}
	sum := sha256.Sum256(signed.Frame(string(p.Agent), string(p.Generation), string(q.Agent), string(q.Generation)))
	return ident.Chat("chat_" + hex.EncodeToString(sum[:16]))
}

// A State is the fold of chats/{chat}.
type State struct {
	ID        ident.Chat
	CreatedAt api.Time
	Sides     [2]Side       // agentA's and agentB's; none before the chat was created
	Open      bool          // its streams are there: before that it is no chat to anybody
	Policy    api.PIIPolicy // that the chat was tightened to; "": the server's
}

// A Side is a party, the direction that it writes, and what it lets the other send.
type Side struct {
	Party
	Stream ident.Generation `json:"stream"` // of the direction
	Grant  Grant            `json:"grant"`
}

// A Grant is the permission that the recipient of a direction gives, or not.
type Grant struct {
	State api.Permission `json:"state"`
	By    By             `json:"by"`
	Since api.Time       `json:"since"`
}

// By is who decided on a grant.
type By string

// The deciders. The recipient needs no name: there is one of a direction.
const (
	ByServer    By = "server" // as the chat began
	ByRecipient By = "recipient"
	ByOperator  By = "operator"
)

// Of returns the side of agent and that of its peer; ok is false if agent is no party.
func (s *State) Of(agent ident.Agent) (own, peer Side, ok bool) {
	switch agent {
	case s.Sides[0].Agent:
		return s.Sides[0], s.Sides[1], agent != ""
	case s.Sides[1].Agent:
		return s.Sides[1], s.Sides[0], agent != ""
	}
	return Side{}, Side{}, false
}

// MaySend returns nil if the one who grants lets its peer send, else why not.
func (g Grant) MaySend(to ident.Agent) error {
	switch g.State {
	case api.Allowed:
		return nil
	case api.Denied:
		return api.Errorf(api.PermissionDenied, "%s does not allow this", to)
	case api.Pending:
	}
	return api.Errorf(api.PermissionRequired, "%s has not allowed this yet", to)
}
