package serve_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/serve"
)

// Every path but the table's is a 404 problem, what net/http would redirect or clean too.
func TestUnknownPaths(t *testing.T) {
	w := newWorld(t, env.Config{})
	h := every(w.Env, func(op string) { t.Errorf("%s was called", op) })
	for _, target := range []string{
		"/", "/v1", "/v1/", "/v2/agents", "/V1/agents", "/v1/agents/", "/v1//agents", "//v1/agents", "/v1/agents/./keys", "/v1/agents/../agents",
		"/v1/agents/alice/", "/v1/agents/alice/inbox/", "/v1/agents/alice//inbox", "/v1/agents//inbox", "/v1/agents/alice/inbox/x", "/v1%2Fagents",
		"/v1/agents/bob%2Finbox%2F..%2Fcarol/", "/healthz/", "/openapi.json/..",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			got := do(h, method, target, operator, "")
			if p := problem(t, got); got.Code != http.StatusNotFound || p.Code != api.NotFound {
				t.Errorf("%s %s: %d %s; want 404 not_found", method, target, got.Code, got.Body)
			}
		}
	}
}

// A segment is decoded by itself: no escape leaves it, and what is no id is a 400 that names it.
func TestSegmentsDoNotEscape(t *testing.T) {
	h := every(newWorld(t, env.Config{}).Env, func(op string) { t.Errorf("%s was called", op) })
	for _, agent := range []string{
		"al%2Fice", "%2e%2e", "%2E", "..%2fbob", "bob%2Finbox%2F..%2Fcarol", "alice%0A", "alice%0d", "alice%00", "Alice", "%D0%B0lice", "alice%E2%80%8B",
		"%EF%BD%81lice", "jos%C3%A9", "-alice", "alice.", "%ff", strings.Repeat("a", 65), "alice%20", "alice+", "alice%25",
	} {
		got := do(h, http.MethodGet, "/v1/agents/"+agent+"/inbox", operator, "")
		if p := problem(t, got); got.Code != http.StatusBadRequest || p.Code != api.Invalid || p.Parameter != "agent" {
			t.Errorf("inbox of %s: %d %s; want 400 invalid, parameter agent", agent, got.Code, got.Body)
		}
	}
}

func TestSegmentsAreDecoded(t *testing.T) {
	var got api.GetMessageRequest
	h := messages(newWorld(t, env.Config{}).Env, nil, func(_ context.Context, _ caller, q *api.GetMessageRequest) (*api.Delivery, error) {
		got = *q
		return nil, nil
	})
	w := do(h, http.MethodGet, "/v1/%61gents/%61lice/messages/m%3A1?from=b%6Fb&at=7", operator, "")
	if w.Code != http.StatusNoContent || got.Agent != "alice" || got.Message != "m:1" || got.From != "bob" || got.At == nil || *got.At != 7 {
		t.Errorf("answered %d with %+v; want alice, m:1, bob, 7", w.Code, got)
	}
}

func TestMethods(t *testing.T) {
	h := every(newWorld(t, env.Config{}).Env, func(op string) { t.Errorf("%s was called", op) })
	for _, row := range []struct{ method, target, allow string }{
		{http.MethodDelete, "/v1/agents/bob/inbox", "GET, HEAD"},
		{http.MethodGet, "/v1/agents/bob/messages", "POST"},
		{http.MethodHead, "/v1/agents/bob/messages", "POST"},
		{http.MethodPost, "/v1/agents/bob", "DELETE, GET, HEAD, PUT"},
		{http.MethodPatch, "/v1/agents/bob/keys", "GET, HEAD, POST"},
		{http.MethodGet, "/v1/agents/bob/keys/k1", "DELETE"},
		{"get", "/v1/whoami", "GET, HEAD"},
		{http.MethodTrace, "/healthz", "GET, HEAD"},
		{http.MethodConnect, "/healthz", "GET, HEAD"},
		{http.MethodOptions, "/healthz", "GET, HEAD"},
		{"QUERY", "/v1/agents", "GET, HEAD"},
	} {
		// Without a credential: a method that is not there is nobody's secret.
		got := do(h, row.method, row.target, "", "")
		if row.method != http.MethodHead && problem(t, got).Code != api.MethodNotAllowed {
			t.Errorf("%s %s: %s; want method_not_allowed", row.method, row.target, got.Body)
		}
		if got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != row.allow {
			t.Errorf("%s %s: %d, Allow %q; want 405, %q", row.method, row.target, got.Code, got.Header().Get("Allow"), row.allow)
		}
	}
}

// HEAD has GET's status and headers and no body, on a real connection.
func TestHead(t *testing.T) {
	w := newWorld(t, env.Config{})
	h := messages(w.Env, nil, func(_ context.Context, _ caller, q *api.GetMessageRequest) (*api.Delivery, error) {
		if q.Message == "missing" {
			return nil, api.Errorf(api.MessageNotFound, "no message %s", q.Message)
		}
		return &api.Delivery{SeqNum: 3}, nil
	})
	srv := httptest.NewServer(h)
	defer srv.Close()
	for id, want := range map[ident.Message]int{"m1": 200, "missing": 404} {
		var lengths []int64
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/v1/agents/alice/messages/"+string(id), nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+operator)
			req.Header.Set("X-Request-Id", "same-length")
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s %s: %d; want %d", method, id, resp.StatusCode, want)
			}
			lengths = append(lengths, resp.ContentLength)
		}
		if lengths[0] <= 0 || lengths[0] != lengths[1] {
			t.Errorf("Content-Length of GET and HEAD of %s: %v; want the same", id, lengths)
		}
	}
}

// A raw request line reaches the mux as it was sent.
func TestRawPathOnTheWire(t *testing.T) {
	srv := httptest.NewServer(every(newWorld(t, env.Config{}).Env, func(op string) { t.Errorf("%s was called", op) }))
	defer srv.Close()
	for target, want := range map[string]int{
		"/v1/agents/al%2fice/inbox": 400, "/v1/agents/%2e%2e/inbox": 400, "/v1/agents/../inbox": 404, "/v1//agents": 404, "/v1/agents/alice/../bob/inbox": 404,
		"/v1/agents/alice%2/inbox": 400, // net/http's own
	} {
		if got := rawStatus(t, srv.Listener.Addr().String(), "GET "+target+" HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer "+operator+"\r\nConnection: close\r\n\r\n"); got != want {
			t.Errorf("GET %s: %d; want %d", target, got, want)
		}
	}
}

func rawStatus(t *testing.T, addr, request string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestMuxPanics(t *testing.T) {
	e := newWorld(t, env.Config{}).Env
	called := func(string) {}
	send, get := noted[api.SendRequest](called, ""), noted[api.GetMessageRequest](called, "")
	for name, ops := range map[string]map[string]serve.Op{
		"missing op": {"messages.send": send},
		"extra op":   {"messages.send": send, "messages.get": get, "messages.more": get},
		"other op":   {"messages.send": send, "messages.more": get},
		"other type": {"messages.send": get, "messages.get": get},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Mux did not panic")
				}
			}()
			serve.Mux(e, "messages", ops)
		})
	}
	t.Run("nothing checks credentials", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("Mux did not panic")
			}
		}()
		open := *e
		open.Auth = nil
		serve.Mux(&open, "messages", map[string]serve.Op{"messages.send": send, "messages.get": get})
	})
}

// A host may serve some of the families; the others' paths are not there.
func TestAllOfSome(t *testing.T) {
	w := newWorld(t, env.Config{})
	h := serve.All(w.Env, map[string]http.Handler{"messages": messages(w.Env, nil, nil)})
	if got := do(h, http.MethodGet, "/healthz", "", ""); got.Code != http.StatusNotFound {
		t.Errorf("GET /healthz of a host without that family: %d; want 404", got.Code)
	}
	if got := do(h, http.MethodPost, "/v1/agents/alice/messages", "", ""); got.Code != http.StatusUnauthorized {
		t.Errorf("POST to a family that is served: %d; want 401", got.Code)
	}
}
