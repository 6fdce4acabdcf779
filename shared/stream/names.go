package stream

import (
	"strings"

	"agentchat/shared/ident"
)

// A Name is a stream's name and basin. Names are made in this file only, from
// ident types, so that no name escapes its family. The zero Name is none.
type Name struct {
	basin Basin
	path  string
}

// Inbox holds what was sent to agent, as envelopes, and the fences of its epochs.
func Inbox(agent ident.Agent) Name { return Name{Main, "inbox/" + string(agent)} }

// Agent holds the registrations of agent: profile, generation, key hashes.
func Agent(agent ident.Agent) Name { return Name{Main, "agents/" + string(agent)} }

// Contacts holds the address book of agent within one of its registrations.
func Contacts(agent ident.Agent, g ident.Generation) Name {
	return Name{Main, "contacts/" + string(agent) + "/" + string(g)}
}

// Claim holds the claim of one send with a caller's id, within one registration of the sender.
func Claim(sender ident.Agent, g ident.Generation, id ident.Message) Name {
	return Name{Ops, "sends/" + string(sender) + "/" + string(g) + "/" + string(id)}
}

// Chat holds what a signed chat is: its parties, its permissions.
func Chat(id ident.Chat) Name { return Name{Main, "chats/" + string(id)} }

// Direction holds what author writes in a signed chat, as signed records, and
// the fences of those who own it.
func Direction(id ident.Chat, author ident.Agent) Name {
	return Name{Main, "chats/" + string(id) + "/" + string(author)}
}

// ChatIndex holds a record for each chat that one registration of agent is a party to.
func ChatIndex(agent ident.Agent, g ident.Generation) Name {
	return Name{Main, "chat-index/" + string(agent) + "/" + string(g)}
}

// Checkpoints holds what the short cursors of monitors stand for.
func Checkpoints() Name { return Name{Main, "monitor/checkpoints"} }

// Basin returns where the stream is.
func (n Name) Basin() Basin { return n.basin }

// String returns the name within its basin, as S2 has it.
func (n Name) String() string { return n.path }

// IsZero reports whether n names nothing.
func (n Name) IsZero() bool { return n.path == "" }

// A Prefix is what the names of one family begin with.
type Prefix struct {
	basin Basin
	path  string
}

// Prefixes of the families that are listed or watched.
var (
	Inboxes = Prefix{Main, "inbox/"}
	Agents  = Prefix{Main, "agents/"}
)

// Basin returns where the family is.
func (p Prefix) Basin() Basin { return p.basin }

// String returns the prefix as S2 has it.
func (p Prefix) String() string { return p.path }

// Name returns the name that S2 lists as path, if it is under p.
func (p Prefix) Name(path string) (Name, bool) {
	if !strings.HasPrefix(path, p.path) {
		return Name{}, false
	}
	return Name{p.basin, path}, true
}

// AgentOf returns the agent whose inbox or registration n is. ok is false if n
// is no such name, or was not made by this package (a foreign stream in the basin).
func AgentOf(n Name) (agent ident.Agent, ok bool) {
	for _, p := range []Prefix{Inboxes, Agents} {
		if rest, found := strings.CutPrefix(n.path, p.path); found && n.basin == p.basin {
			agent, err := ident.ParseAgent(rest)
			return agent, err == nil
		}
	}
	return "", false
}
