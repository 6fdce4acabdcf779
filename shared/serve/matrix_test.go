package serve_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/route"
	"agentchat/shared/serve"
	"agentchat/shared/sse"
)

// families are those that the tests of the seam serve: operations of every kind
// and access. functions/access_test.go asks every route there is, of real handlers.
func families() []string {
	return []string{"agents", "chats", "inbox", "messages", "monitor", "service"}
}

// every returns a host with these families, whose operations tell that they were called.
func every(e *env.Env, called func(op string)) http.Handler {
	ops := map[string]serve.Op{
		"agents.delete":     noted[api.AgentPath](called, "agents.delete"),
		"agents.get":        noted[api.AgentPath](called, "agents.get"),
		"agents.list":       noted[api.ListAgentsRequest](called, "agents.list"),
		"agents.list_keys":  noted[api.AgentPath](called, "agents.list_keys"),
		"agents.mint_key":   noted[api.AgentPath](called, "agents.mint_key"),
		"agents.register":   noted[api.RegisterRequest](called, "agents.register"),
		"agents.revoke_key": noted[api.RevokeKeyRequest](called, "agents.revoke_key"),
		"agents.whoami":     noted[struct{}](called, "agents.whoami"),
		"chats.acknowledge": noted[api.ChatReceiptRequest](called, "chats.acknowledge"),
		"chats.batch":       noted[api.BatchRequest](called, "chats.batch"),
		"chats.claim":       noted[api.ClaimRequest](called, "chats.claim"),
		"chats.create":      noted[api.CreateChatRequest](called, "chats.create"),
		"chats.get":         noted[api.ChatRequest](called, "chats.get"),
		"chats.jwks":        noted[struct{}](called, "chats.jwks"),
		"chats.list":        noted[api.ListChatsRequest](called, "chats.list"),
		"chats.operation":   noted[api.OperationRequest](called, "chats.operation"),
		"chats.permissions": noted[api.ChatRequest](called, "chats.permissions"),
		"chats.permit":      noted[api.PermissionsRequest](called, "chats.permit"),
		"chats.send":        noted[api.ChatMessageRequest](called, "chats.send"),
		"chats.transcript": serve.Events(
			func(context.Context, auth.Caller, *api.TranscriptRequest) (*struct{}, error) {
				called("chats.transcript")
				return &struct{}{}, nil
			},
			func(context.Context, auth.Caller, *api.TranscriptRequest) iter.Seq2[[]sse.Event, error] {
				called("chats.transcript")
				return func(func([]sse.Event, error) bool) {}
			},
		),
		"messages.get":    noted[api.GetMessageRequest](called, "messages.get"),
		"messages.send":   noted[api.SendRequest](called, "messages.send"),
		"service.health":  noted[struct{}](called, "service.health"),
		"service.limits":  noted[struct{}](called, "service.limits"),
		"service.openapi": noted[struct{}](called, "service.openapi"),
		"service.ready":   noted[struct{}](called, "service.ready"),
		"monitor.read": serve.Events(
			func(context.Context, auth.Caller, *api.MonitorRequest) (*struct{}, error) {
				called("monitor.read")
				return &struct{}{}, nil
			},
			func(context.Context, auth.Caller, *api.MonitorRequest) iter.Seq2[[]sse.Event, error] {
				called("monitor.read")
				return func(func([]sse.Event, error) bool) {}
			},
		),
		"inbox.read": serve.Events(
			func(context.Context, auth.Caller, *api.InboxRequest) (*struct{}, error) {
				called("inbox.read")
				return &struct{}{}, nil
			},
			func(context.Context, auth.Caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
				called("inbox.read")
				return func(func([]sse.Event, error) bool) {}
			},
		),
	}
	handlers := map[string]http.Handler{}
	for _, name := range families() {
		in := map[string]serve.Op{}
		for op, o := range ops {
			if strings.HasPrefix(op, name+".") {
				in[op] = o
			}
		}
		handlers[name] = serve.Mux(e, name, in)
	}
	return serve.All(e, handlers)
}

func noted[Q any](called func(string), op string) serve.Op {
	return serve.Unary(func(context.Context, auth.Caller, *Q) (*struct{}, error) {
		called(op)
		return &struct{}{}, nil
	})
}

// unread fails the test if anybody reads the body.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read before the caller was known to be allowed")
	return 0, fmt.Errorf("unread")
}

// The access matrix: every route of these families, as it is, as HEAD and as a stream, with every
// kind of credential. A refusal comes before the body is read and before the
// operation runs, and is the same whether or not the path's agent exists.
func TestAccessMatrix(t *testing.T) {
	const (
		ok  = http.StatusOK
		who = http.StatusUnauthorized
		no  = http.StatusForbidden
	)
	credentials := map[string]string{
		"none": "", "garbage": garbage, "operator": operator, "admin": admin, "alice": aliceKey, "bob": bobKey,
		"revoked": revoked, "deleted": zedKey, "ghost": ghostKey, "away": awayKey,
	}
	matrix := map[route.Access]map[string]int{ // the path's agent is alice
		route.Public:   {"none": ok, "garbage": ok, "operator": ok, "admin": ok, "alice": ok, "bob": ok, "revoked": ok, "deleted": ok, "ghost": ok, "away": ok},
		route.Any:      {"none": who, "garbage": who, "operator": ok, "admin": no, "alice": ok, "bob": ok, "revoked": who, "deleted": who, "ghost": who, "away": 503},
		route.Self:     {"none": who, "garbage": who, "operator": ok, "admin": no, "alice": ok, "bob": no, "revoked": who, "deleted": who, "ghost": who, "away": 503},
		route.Admin:    {"none": who, "garbage": who, "operator": no, "admin": ok, "alice": no, "bob": no, "revoked": who, "deleted": who, "ghost": who, "away": 503},
		route.Party:    {"none": who, "garbage": who, "operator": ok, "admin": no, "alice": ok, "bob": no, "revoked": who, "deleted": who, "ghost": who, "away": 503}, // alice acts
		route.Operator: {"none": who, "garbage": who, "operator": ok, "admin": no, "alice": no, "bob": no, "revoked": who, "deleted": who, "ghost": who, "away": 503},
	}
	bodies := map[string]string{"agents.register": "{}", "messages.send": `{"to":"bob","text":"hi"}`}
	for _, r := range route.Table {
		if !slices.Contains(families(), r.Family()) {
			continue
		}
		target := strings.NewReplacer("{agent}", "alice", "{key}", "k1", "{message}", "m1", "{chat}", "chat_0123456789abcdef0123456789abcdef",
			"{operation}", "op_0123456789012345678901234567890123456789012").Replace(r.Path)
		if r.Access == route.Party {
			if r.Method == http.MethodGet {
				target += "?agent_id=alice"
			} else {
				bodies[r.Op] = `{"agent_id":"alice"}`
			}
		}
		methods := []string{r.Method}
		if r.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for name, token := range credentials {
			for _, method := range methods {
				for _, accept := range []string{"", "text/event-stream"} {
					t.Run(fmt.Sprintf("%s/%s %s %s", r.Op, name, method, accept), func(t *testing.T) {
						var called []string
						h := every(newWorld(t, env.Config{}).Env, func(op string) { called = append(called, op) })
						want := matrix[r.Access][name]
						req := httptest.NewRequest(method, target, strings.NewReader(bodies[r.Op]))
						inBody := r.Access == route.Party && r.Method != http.MethodGet && name == "bob" // who acts has to be read
						if want != ok && !inBody {
							req.Body = http.NoBody
							if method == r.Method && method != http.MethodGet {
								req = httptest.NewRequest(method, target, unread{t})
							}
						}
						if token != "" {
							req.Header.Set("Authorization", "Bearer "+token)
						}
						if accept != "" {
							req.Header.Set("Accept", accept)
						}
						w := httptest.NewRecorder()
						h.ServeHTTP(w, req)
						if w.Code != want {
							t.Fatalf("answered %d %s; want %d", w.Code, w.Body, want)
						}
						if ran := len(called) == 1 && called[0] == r.Op; ran != (want == ok) {
							t.Errorf("called %q; want the operation to run: %v", called, want == ok)
						}
						if got := w.Header().Get("WWW-Authenticate"); (got != "") != (want == who) {
							t.Errorf("WWW-Authenticate = %q on a %d", got, want)
						}
						if got := w.Header().Get("Retry-After"); (got != "") != (want == 503) {
							t.Errorf("Retry-After = %q on a %d", got, want)
						}
					})
				}
			}
		}
	}
}

// Nobody learns from a refusal whether an agent exists, or is a name at all.
func TestRefusalsDoNotLookAtTheTarget(t *testing.T) {
	h := every(newWorld(t, env.Config{}).Env, func(op string) { t.Errorf("%s was called", op) })
	for _, of := range []string{"bob", "ghost", "zed", "Al%2Fice", "%00"} {
		for token, want := range map[string]int{aliceKey: 403, admin: 403, garbage: 401, "": 401} {
			w := do(h, http.MethodGet, "/v1/agents/"+of+"/inbox?cursor=x&nonsense", token, "")
			if w.Code != want {
				t.Errorf("inbox of %s with %q: %d %s; want %d", of, token, w.Code, w.Body, want)
			}
		}
	}
}
