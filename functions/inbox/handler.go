// Package inbox is the family of what was received: replayed by pages, or
// followed live. Reading takes nothing away.
package inbox

import (
	"context"
	"iter"
	"net/http"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/mailbox"
	"agentchat/shared/serve"
	"agentchat/shared/sse"
	"agentchat/shared/valid"
)

// New returns the handler of the family.
func New(e *env.Env) http.Handler {
	h := &handler{e}
	return serve.Mux(e, "inbox", map[string]serve.Op{
		"inbox.read": serve.Events(h.page, h.follow),
	})
}

type handler struct{ *env.Env }

func (h *handler) page(ctx context.Context, _ auth.Caller, req *api.InboxRequest) (*api.InboxPage, error) {
	q, err := query(req)
	if err != nil {
		return nil, err
	}
	q.Until = h.Draining
	return h.Mail.Replay(ctx, q)
}

func (h *handler) follow(ctx context.Context, _ auth.Caller, req *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
	q, err := query(req)
	if err != nil {
		return func(yield func([]sse.Event, error) bool) { yield(nil, err) }
	}
	q.Cursor = resume(req.Cursor, req.LastEventID)
	return mailbox.Events(h.Mail.Follow(ctx, q, api.HeartbeatSeconds*time.Second))
}

// query returns what a request asks for, or why it is refused.
func query(req *api.InboxRequest) (mailbox.Query, error) {
	if err := valid.Inbox(req); err != nil {
		return mailbox.Query{}, err
	}
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return mailbox.Query{}, err
	}
	return mailbox.Query{
		Agent: req.Agent, Cursor: req.Cursor, Limit: limit, Wait: seconds(req.Wait),
		Kind: req.Kind, From: req.From, ConversationID: req.ConversationID,
	}, nil
}

// resume returns where a follow begins: a browser that reconnects repeats its
// old cursor and adds the newer id, so the larger of the two is right.
func resume(cursor, lastEventID *uint64) *uint64 {
	if cursor == nil || lastEventID != nil && *lastEventID > *cursor {
		return lastEventID
	}
	return cursor
}

func seconds(n *int) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}
