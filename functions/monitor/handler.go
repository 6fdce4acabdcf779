// Package monitor is the family of the auditor: every inbox as one, by pages or
// live. The admin token opens it and nothing else.
package monitor

import (
	"context"
	"iter"
	"net/http"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/monitor"
	"agentchat/shared/serve"
	"agentchat/shared/sse"
	"agentchat/shared/valid"
)

// New returns the handler of the family.
func New(e *env.Env) http.Handler {
	h := &handler{monitor.New(e.Store, e.Now)}
	return serve.Mux(e, "monitor", map[string]serve.Op{
		"monitor.read": serve.Events(h.page, h.follow),
	})
}

type handler struct{ monitor *monitor.Monitor }

func (h *handler) page(ctx context.Context, _ auth.Caller, req *api.MonitorRequest) (*api.MonitorPage, error) {
	q, err := query(req)
	if err != nil {
		return nil, err
	}
	return h.monitor.Page(ctx, q)
}

func (h *handler) follow(ctx context.Context, _ auth.Caller, req *api.MonitorRequest) iter.Seq2[[]sse.Event, error] {
	q, err := query(req)
	if err == nil && q.Latest {
		err = api.InvalidParameter("latest", "read a page with latest=true, and follow from its next_cursor: so nothing is lost when you reconnect")
	}
	if err != nil {
		return func(yield func([]sse.Event, error) bool) { yield(nil, err) }
	}
	return monitor.Events(h.monitor.Follow(ctx, q))
}

// query returns what a request asks for, or why it is refused.
func query(req *api.MonitorRequest) (monitor.Query, error) {
	if err := valid.Monitor(req); err != nil {
		return monitor.Query{}, err
	}
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return monitor.Query{}, err
	}
	q := monitor.Query{
		Cursor: req.Cursor, Parameter: "cursor", Latest: req.Latest != nil && *req.Latest, Limit: limit,
		Agents: req.Agents, Kind: req.Kind, From: req.From, ConversationID: req.ConversationID,
	}
	if q.Cursor == "" {
		q.Cursor, q.Parameter = req.LastEventID, "Last-Event-ID"
	}
	return q, nil
}
