package functions_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/functions"
	"agentchat/shared/api"
	"agentchat/shared/apitest"
	"agentchat/shared/env"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// A world is all families in process, on a store in memory that may fail.
type world struct {
	t       testing.TB
	store   *faultstream.Store
	log     *apitest.Buffer
	drain   chan struct{} // closed when the process is about to end
	handler http.Handler
}

func newWorld(t testing.TB, choose faultstream.Chooser) *world {
	t.Helper()
	inner, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	return worldOn(t, faultstream.New(t, inner, faultstream.Options{Choose: choose}))
}

// worldOn is a process on a store that others may be on too.
func worldOn(t testing.TB, store *faultstream.Store) *world {
	t.Helper()
	w := &world{t: t, store: store, log: new(apitest.Buffer), drain: make(chan struct{})}
	e, err := env.New(env.Options{
		Store:  w.store,
		Config: env.Config{APITokens: []string{apiToken}, AdminTokens: []string{adminToken}, SigningKeys: signingKeys()},
		Log:    slog.New(slog.NewJSONHandler(w.log, nil)),

		Draining: w.drain,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = functions.Handler(e)
	return w
}

// do makes a request as the operator.
func (w *world) do(method, target, body string) *httptest.ResponseRecorder {
	return w.as(apiToken, method, target, body, nil)
}

func (w *world) as(token, method, target, body string, header http.Header) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return w.serveOnce(r)
}

func (w *world) serveOnce(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

func (w *world) register(agents ...string) {
	w.t.Helper()
	for _, a := range agents {
		if r := w.do(http.MethodPut, "/v1/agents/"+a, "{}"); r.Code != http.StatusCreated {
			w.t.Fatalf("register %s: %d %s", a, r.Code, r.Body)
		}
	}
}

// mint returns a key of agent, and its id.
func (w *world) mint(agent string) (key, id string) {
	w.t.Helper()
	r := w.do(http.MethodPost, "/v1/agents/"+agent+"/keys", "")
	k := decode[api.MintKeyResponse](w.t, r)
	return k.Key, string(k.ID)
}

// texts returns the texts in an agent's inbox.
func (w *world) texts(agent string) []string {
	w.t.Helper()
	page := decode[api.InboxPage](w.t, w.do(http.MethodGet, "/v1/agents/"+agent+"/inbox?limit=1000", ""))
	texts := []string{}
	for _, d := range page.Deliveries {
		var e api.Envelope
		if err := json.Unmarshal(d.Envelope, &e); err != nil {
			w.t.Fatal(err)
		}
		texts = append(texts, *e.Message.Text)
	}
	return texts
}

func decode[T any](t testing.TB, r *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil {
		t.Fatalf("%d %s: %v", r.Code, r.Body, err)
	}
	return v
}
