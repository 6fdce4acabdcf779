package contacts_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/functions"
	"agentchat/shared/env"
	"agentchat/shared/stream/localstream"
)

// Nobody connects to where a card points: not when it is saved, shared, accepted,
// listed or told of in a history.
func TestEndpointsAreNotCalled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan net.Addr, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(called)
				return
			}
			called <- c.RemoteAddr()
			_ = c.Close()
		}
	}()
	store, closeStore := localstream.Memory()
	defer closeStore()
	const token = "api-token-of-the-contacts"
	e, err := env.New(env.Options{Store: store, Config: env.Config{APITokens: []string{token}}})
	if err != nil {
		t.Fatal(err)
	}
	h := functions.Handler(e)
	for _, call := range []struct {
		method, target, body string
		want                 int
	}{
		{http.MethodPut, "/v1/agents/alice", `{}`, http.StatusCreated},
		{http.MethodPut, "/v1/agents/bob", fmt.Sprintf(`{"endpoint":"https://%s/"}`, l.Addr()), http.StatusCreated},
		{http.MethodPut, "/v1/agents/alice/contacts/carol", fmt.Sprintf(`{"endpoint":"http://%s/latest/"}`, l.Addr()), http.StatusCreated},
		{http.MethodPost, "/v1/agents/alice/contact-shares", `{"to":"bob","contact_id":"carol","id":"m-1"}`, http.StatusCreated},
		{http.MethodPost, "/v1/agents/bob/contact-shares/m-1/accept", ``, http.StatusCreated},
		{http.MethodPost, "/v1/agents/bob/receipts", `{"to":"alice","message_id":"m-1","status":"read"}`, http.StatusCreated},
		{http.MethodGet, "/v1/agents/bob/contacts", ``, http.StatusOK},
		{http.MethodGet, "/v1/agents/bob/contacts/carol/history", ``, http.StatusOK},
	} {
		r := httptest.NewRequestWithContext(t.Context(), call.method, call.target, strings.NewReader(call.body))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != call.want {
			t.Errorf("%s %s = %d %s; want %d", call.method, call.target, w.Code, w.Body, call.want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for from := range called {
		t.Errorf("%s connected to an endpoint", from)
	}
}
