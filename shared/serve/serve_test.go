package serve_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/serve"
	"agentchat/shared/sse"
)

// The credentials of the tests. alice and bob are registered; zed is deleted.
const (
	operator = "operator-token-0123456789"
	admin    = "admin-token-0123456789"
	garbage  = "garbage-token-0123456789"
)

var (
	aliceKey, aliceHash, _ = auth.NewKey("alice", "k1", [32]byte{1})
	revoked, _, _          = auth.NewKey("alice", "k2", [32]byte{2})
	bobKey, bobHash, _     = auth.NewKey("bob", "k1", [32]byte{3})
	zedKey, zedHash, _     = auth.NewKey("zed", "k1", [32]byte{4})
	ghostKey, _, _         = auth.NewKey("ghost", "k1", [32]byte{5})
	awayKey, _, _          = auth.NewKey("away", "k1", [32]byte{6})
)

func registration(_ context.Context, id ident.Agent) (agent.State, error) {
	switch id {
	case "alice":
		return agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "k1", Hash: aliceHash}}}, nil
	case "bob":
		return agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "k1", Hash: bobHash}}}, nil
	case "zed":
		return agent.State{Phase: agent.Deleted, Keys: []agent.Key{{ID: "k1", Hash: zedHash}}}, nil
	case "away":
		return agent.State{}, errors.New("store is away")
	}
	return agent.State{}, nil
}

// A world is a server's environment and what it logged.
type world struct {
	*env.Env
	mu  sync.Mutex
	log bytes.Buffer
}

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

// lines returns the access log.
func (w *world) lines(t *testing.T) []map[string]any {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []map[string]any
	for l := range strings.Lines(w.log.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("log line %q: %v", l, err)
		}
		lines = append(lines, m)
	}
	return lines
}

func newWorld(t *testing.T, c env.Config) *world {
	t.Helper()
	a, err := auth.New(auth.Options{APITokens: []string{operator}, AdminTokens: []string{admin}, Registration: registration})
	if err != nil {
		t.Fatalf("auth.New: %v", err)
	}
	w := &world{}
	w.Env = &env.Env{Auth: a, Now: time.Now, Rand: rand.Reader, Log: slog.New(slog.NewJSONHandler(w, nil)), Config: c}
	return w
}

// Handlers that do what the tests want of an operation.

// inbox returns the inbox family with the two functions of inbox.read.
func inbox(
	e *env.Env,
	page func(context.Context, auth.Caller, *api.InboxRequest) (*api.InboxPage, error),
	follow func(context.Context, auth.Caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error],
) http.Handler {
	return serve.Mux(e, "inbox", map[string]serve.Op{"inbox.read": serve.Events(page, follow)})
}

// messages returns the messages family.
func messages(
	e *env.Env,
	send func(context.Context, auth.Caller, *api.SendRequest) (*api.SendResponse, error),
	get func(context.Context, auth.Caller, *api.GetMessageRequest) (*api.Delivery, error),
) http.Handler {
	return serve.Mux(e, "messages", map[string]serve.Op{"messages.send": serve.Unary(send), "messages.get": serve.Unary(get)})
}

func do(h http.Handler, method, target, token, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// problem returns the problem document of an answer, and fails if it is none.
func problem(t *testing.T, w *httptest.ResponseRecorder) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("status %d, body %q: %v; want a problem document", w.Code, w.Body, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type = %q; want application/problem+json", got)
	}
	if p.Status != w.Code || string(p.RequestID) != w.Header().Get("X-Request-Id") {
		t.Errorf("problem has status %d and request id %q; the answer %d and %q", p.Status, p.RequestID, w.Code, w.Header().Get("X-Request-Id"))
	}
	return p
}

func TestUnaryAnswersAndLogsOneLine(t *testing.T) {
	w := newWorld(t, env.Config{})
	h := messages(w.Env, func(_ context.Context, by auth.Caller, q *api.SendRequest) (*api.SendResponse, error) {
		if by.Agent != "alice" || q.Agent != "alice" {
			t.Errorf("called by %q for %q; want alice", by.Agent, q.Agent)
		}
		return &api.SendResponse{Envelope: json.RawMessage(`{"to":"` + string(q.To) + `"}`), SeqNum: 7}, nil
	}, nil)
	got := do(h, http.MethodPost, "/v1/agents/alice/messages", aliceKey, `{"to":"bob","text":"hi"}`, "X-Request-Id", "r-1")
	if got.Code != http.StatusCreated || !strings.HasPrefix(got.Body.String(), `{"envelope":{"to":"bob"},"seq_num":7,`) {
		t.Errorf("send answered %d %s; want 201 and the envelope", got.Code, got.Body)
	}
	lines := w.lines(t)
	if len(lines) != 1 {
		t.Fatalf("%d log lines; want 1: %v", len(lines), lines)
	}
	for k, want := range map[string]any{
		"msg": "request", "op": "messages.send", "method": "POST", "route": "/v1/agents/{agent}/messages", "status": 201.0,
		"request_id": "r-1", "caller": "agent", "agent": "alice", "key": "k1", "bytes": float64(got.Body.Len()),
	} {
		if lines[0][k] != want {
			t.Errorf("log line has %s = %v; want %v", k, lines[0][k], want)
		}
	}
}
