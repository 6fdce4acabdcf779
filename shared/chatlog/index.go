package chatlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"agentchat/shared/chat"
	"agentchat/shared/event"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// indexSchema is the schema of the records of chat-index/{agent}/{generation}.
const indexSchema = "agent-chat/chat-index.v1"

// A listed chat, and those before it: the fold of an index. nil is the empty one.
type listed struct {
	id     ident.Chat
	n      uint64 // its place, from 0
	before *listed
}

type indexEvent struct {
	Schema string     `json:"schema"`
	Chat   ident.Chat `json:"chat"`
}

// list adds a chat to the list of one of its parties, unless it is there.
func (l *Log) list(ctx context.Context, p chat.Party, id ident.Chat) error {
	_, err := journal.Update(ctx, l.journal, stream.ChatIndex(p.Agent, p.Generation), l.index, func(head *listed) ([]stream.Record, error) {
		if head.has(id) {
			return nil, nil
		}
		body, err := json.Marshal(indexEvent{indexSchema, id})
		return []stream.Record{event.JSON(indexSchema, "", body)}, err
	})
	return err
}

// apply adds the chat in e, which is not there yet: list saw to that.
func (head *listed) apply(e stream.Entry) (*listed, error) {
	var ev indexEvent
	if err := json.Unmarshal(e.Body, &ev); err != nil || ev.Schema != indexSchema || ev.Chat == "" {
		return head, fmt.Errorf("index record at %d: %q, %w", e.Seq, ev.Schema, err)
	}
	return &listed{id: ev.Chat, n: head.count(), before: head}, nil
}

func (head *listed) count() uint64 {
	if head == nil {
		return 0
	}
	return head.n + 1
}

func (head *listed) has(id ident.Chat) bool {
	for c := head; c != nil; c = c.before {
		if c.id == id {
			return true
		}
	}
	return false
}

// from returns up to limit chats from a place on, the oldest first.
func (head *listed) from(place uint64, limit int) []ident.Chat {
	var ids []ident.Chat
	for c := head; c != nil && c.n >= place; c = c.before {
		if c.n-place < uint64(limit) { //nolint:gosec // limit is positive
			ids = append(ids, c.id)
		}
	}
	slices.Reverse(ids)
	return ids
}
