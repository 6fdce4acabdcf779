package serve_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/route"
	"agentchat/shared/serve"
	"agentchat/shared/sse"
)

// A fault is a protocol's own form of an error.
type fault struct {
	Error struct {
		Code    api.Code      `json:"code"`
		Message string        `json:"message"`
		Request ident.Request `json:"request"`
	} `json:"error"`
}

func (fault) MediaType() string { return "application/vnd.fault+json" }

func (fault) Of(e *api.Error, id ident.Request) any {
	var f fault
	f.Error.Code, f.Error.Message, f.Error.Request = e.Code, e.Detail, id
	return f
}

type change struct {
	Agent ident.Agent `json:"-" path:"agent"`
	Name  *string     `json:"name"`
}

// An accepted is an answer of 202 that says where the outcome will be.
type accepted struct {
	State string `json:"state"`
	where string
}

func (a accepted) Status() (int, http.Header) {
	return http.StatusAccepted, http.Header{"Location": {a.where}}
}

// A protocol of its own has room in the table: for PATCH, for an answer that comes
// later, for streams without a page, for credentials where it has them, and for
// errors in a form of its own, which are of its own routes only.
func TestRoom(t *testing.T) {
	h := serve.Bound(newWorld(t, env.Config{}).Env, "later", []route.Route{
		{Op: "later.change", Method: http.MethodPatch, Path: "/later/{agent}", Access: route.Self, Keys: true, Req: change{}, Resp: accepted{}, Shape: fault{}},
		{Op: "later.watch", Method: http.MethodGet, Path: "/later/{agent}/watch", Kind: route.Events, Access: route.Self, Req: api.AgentPath{}, Shape: fault{}},
	}, map[string]serve.Op{
		"later.change": serve.Unary(func(_ context.Context, _ caller, q *change) (*accepted, error) {
			return &accepted{State: *q.Name, where: "/later/" + string(q.Agent)}, nil
		}),
		"later.watch": serve.Events[api.AgentPath, struct{}](nil, func(context.Context, caller, *api.AgentPath) iter.Seq2[[]sse.Event, error] {
			return func(yield func([]sse.Event, error) bool) {
				if yield([]sse.Event{{Name: "endpoint", Data: []byte("/later/alice")}}, nil) {
					yield(nil, errors.New("broken"))
				}
			}
		}),
	})
	const change, watch, ours, theirs = "/later/alice", "/later/alice/watch", "application/problem+json", "application/vnd.fault+json"
	for _, c := range []struct {
		name, method, target, token, body string
		status                            int
		media, want                       string
	}{
		{"accepted", "PATCH", change, operator, `{"name":"running"}`, 202, "application/json", `{"state":"running"}`},
		{"its own error", "PATCH", change, operator, `{"name":1}`, 400, theirs, `{"error":{"code":"invalid","message":"a string is needed here, not a number","request":"r-1"}}`},
		{"no credential", "PATCH", change, "", `{"name":"x"}`, 401, theirs, `{"error":{"code":"missing_credential",`},
		{"a stream, asked for or not", "GET", watch, operator, "", 200, "text/event-stream", ": connected\n"},
		{"an error in a stream", "GET", watch, operator, "", 200, "text/event-stream", `event: problem` + "\n" + `data: {"error":{"code":"internal",`},
		{"no route's error", "DELETE", change, operator, "", 405, ours, `"code":"method_not_allowed"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := do(h, c.method, c.target, c.token, c.body, "X-Request-Id", "r-1")
			if got := w.Header().Get("Content-Type"); w.Code != c.status || got != c.media || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s %s; want %d %s with %s", w.Code, got, w.Body, c.status, c.media, c.want)
			}
			if at := w.Header().Get("Location"); at != map[int]string{202: change}[c.status] {
				t.Errorf("Location %q with %d", at, w.Code)
			}
			if allow := w.Header().Get("Allow"); allow != map[int]string{405: "PATCH"}[c.status] {
				t.Errorf("Allow %q with %d", allow, w.Code)
			}
		})
	}
	for key, want := range map[string]int{aliceKey: 202, bobKey: 403, garbage: 401} {
		if w := do(h, "PATCH", change, "", `{"name":"x"}`, "X-API-Key", key); w.Code != want {
			t.Errorf("with X-API-Key %s: %d %s; want %d", key, w.Code, w.Body, want)
		}
		if w := do(h, "GET", watch, "", "", "X-API-Key", key); w.Code != 401 {
			t.Errorf("with X-API-Key %s where it is not read: %d; want 401", key, w.Code)
		}
	}
}
