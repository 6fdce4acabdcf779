package serve_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/apitest"
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

func registration(_ context.Context, id ident.Agent, _ time.Duration) (agent.State, error) {
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
	log apitest.Buffer
}

// lines returns the access log.
func (w *world) lines(t *testing.T) []map[string]any {
	t.Helper()
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

func newWorld(t testing.TB, c env.Config) *world {
	t.Helper()
	a, err := auth.New(auth.Options{APITokens: []string{operator}, AdminTokens: []string{admin}, Registration: registration})
	if err != nil {
		t.Fatalf("auth.New: %v", err)
	}
	w := &world{}
	w.Env = &env.Env{Auth: a, Now: time.Now, Rand: rand.Reader, Log: slog.New(slog.NewJSONHandler(&w.log, nil)), Config: c}
	return w
}

type caller = auth.Caller

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
	return answer(h, r)
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func doContext(ctx context.Context, h http.Handler, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	r.Header.Set("Authorization", "Bearer "+operator)
	return answer(h, r)
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

// created is an answer that says its own status and bytes.
type created struct{ to ident.Agent }

func (c created) Status() (int, http.Header) {
	return http.StatusCreated, http.Header{"Location": {"/x"}}
}

func (c *created) AppendJSON(b []byte) []byte { return append(b, `{"to":"`+string(c.to)+`"}`...) }

func TestUnaryAnswersAndLogsOneLine(t *testing.T) {
	w := newWorld(t, env.Config{})
	h := serve.Mux(w.Env, "messages", map[string]serve.Op{
		"messages.get": noted[api.GetMessageRequest](func(string) {}, ""),
		"messages.send": serve.Unary(func(_ context.Context, by auth.Caller, q *api.SendRequest) (*created, error) {
			if by.Agent != "alice" || q.Agent != "alice" || q.IdempotencyKey != "i-1" {
				t.Errorf("called by %q for %q with key %q; want alice, i-1", by.Agent, q.Agent, q.IdempotencyKey)
			}
			return &created{q.To}, nil
		}),
	})
	got := do(h, http.MethodPost, "/v1/agents/alice/messages", aliceKey, `{"to":"bob","text":"hi"}`, "X-Request-Id", "r-1", "Idempotency-Key", "i-1")
	if want := `{"to":"bob"}`; got.Code != http.StatusCreated || got.Body.String() != want {
		t.Errorf("send answered %d %s; want 201 %s", got.Code, got.Body, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Content-Length": "12", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"X-Request-Id": "r-1", "Location": "/x",
	} {
		if v := got.Header().Get(name); v != want {
			t.Errorf("%s = %q; want %q", name, v, want)
		}
	}
	lines := w.lines(t)
	if len(lines) != 1 {
		t.Fatalf("%d log lines; want 1: %v", len(lines), lines)
	}
	for k, want := range map[string]any{
		"msg": "request", "level": "INFO", "op": "messages.send", "method": "POST", "route": "/v1/agents/{agent}/messages", "status": 201.0,
		"request_id": "r-1", "caller": "agent", "agent": "alice", "key": "k1", "bytes": 12.0,
	} {
		if lines[0][k] != want {
			t.Errorf("log line has %s = %v; want %v", k, lines[0][k], want)
		}
	}
}

func TestNilAnswerIs204(t *testing.T) {
	h := messages(newWorld(t, env.Config{}).Env, nil, func(context.Context, caller, *api.GetMessageRequest) (*api.Delivery, error) { return nil, nil })
	got := do(h, http.MethodGet, "/v1/agents/alice/messages/m1", operator, "")
	if got.Code != http.StatusNoContent || got.Body.Len() > 0 || got.Header().Get("Content-Type") != "" {
		t.Errorf("answered %d %q; want 204 and nothing", got.Code, got.Body)
	}
}

// A request id is taken if it is one, else made; two answers never share one.
func TestRequestID(t *testing.T) {
	h := every(newWorld(t, env.Config{}).Env, func(string) {})
	seen := map[string]bool{}
	for _, row := range []struct {
		name   string
		header []string
		want   string
	}{
		{"given", []string{"X-Request-Id", "a.B_9-"}, "a.B_9-"},
		{"longest", []string{"X-Request-Id", strings.Repeat("a", 128)}, strings.Repeat("a", 128)},
		{"none", nil, ""},
		{"empty", []string{"X-Request-Id", ""}, ""},
		{"too long", []string{"X-Request-Id", strings.Repeat("a", 129)}, ""},
		{"line break", []string{"X-Request-Id", "a\nb"}, ""},
		{"quote", []string{"X-Request-Id", `a"b`}, ""},
		{"two", []string{"X-Request-Id", "a", "X-Request-Id", "b"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := do(h, http.MethodGet, "/healthz", "", "", row.header...).Header().Get("X-Request-Id")
			if _, err := ident.ParseRequest(got); err != nil || row.want != "" && got != row.want || row.want == "" && !strings.HasPrefix(got, "req_") || seen[got] {
				t.Errorf("X-Request-Id = %q, %v; want %q, or a new one if that is empty", got, err, row.want)
			}
			seen[got] = true
		})
	}
}
