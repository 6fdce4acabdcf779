package functions_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/functions"
	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/stream/localstream"
)

// A server without an admin token has no monitor, whoever asks; and no server
// starts whose admin token is an API token too, so that whoever may act for an
// agent does not see all of them.
func TestMonitorNeedsADistinctToken(t *testing.T) {
	store, closeStore := localstream.Memory()
	defer closeStore()
	start := func(admin ...string) (http.Handler, error) {
		e, err := env.New(env.Options{Store: store, Config: env.Config{APITokens: []string{apiToken}, AdminTokens: admin}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		return functions.Handler(e), nil
	}
	without, err := start()
	if err != nil {
		t.Fatal(err)
	}
	with, err := start(adminToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(apiToken); err == nil {
		t.Error("a server whose admin token is its API token started")
	}
	if _, err := start(adminToken, apiToken); err == nil {
		t.Error("a server one of whose admin tokens is its API token started")
	}
	for _, tt := range []struct {
		name, token, query string
		with               int // status, if there is an admin token
	}{
		{"nobody", "", "", http.StatusUnauthorized},
		{"the API token", apiToken, "", http.StatusForbidden},
		{"the admin token", adminToken, "", http.StatusOK},
		{"a request that is wrong", adminToken, "?cursor=x&limit=y", http.StatusBadRequest},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/monitor"+tt.query, nil)
		if tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		rec := httptest.NewRecorder()
		without.ServeHTTP(rec, r)
		if p := decode[api.Problem](t, rec); rec.Code != http.StatusNotFound || p.Code != api.MonitorDisabled {
			t.Errorf("%s, without an admin token: %d %s; want 404 monitor_disabled", tt.name, rec.Code, p.Code)
		}
		rec = httptest.NewRecorder()
		with.ServeHTTP(rec, r)
		if rec.Code != tt.with {
			t.Errorf("%s, with an admin token: %d %s; want %d", tt.name, rec.Code, rec.Body, tt.with)
		}
	}
}

// The monitor reads inboxes where they are. Whatever it has shown, no stream has
// more in it than before, and no other stream holds what an inbox does: what it
// writes for a cursor that would be too long are positions.
func TestMonitorCopiesNothing(t *testing.T) {
	w, s2 := s2World(t)
	const text = "what-only-the-inbox-holds"
	var agents []string
	for i := range 150 { // too many for a cursor that holds all positions
		agents = append(agents, fmt.Sprintf("agent-with-a-long-name-%03d", i))
	}
	w.register(agents...)
	for i, a := range agents {
		body := fmt.Sprintf(`{"to":%q,"text":"%s %d"}`, agents[(i+1)%len(agents)], text, i)
		if r := w.do(http.MethodPost, "/v1/agents/"+a+"/messages", body); r.Code != http.StatusCreated {
			t.Fatalf("send: %d %s", r.Code, r.Body)
		}
	}
	before, names := map[string][]s2Record{}, s2.streams()
	for _, n := range names {
		before[n] = s2.records(n)
	}

	var seen int
	var cursor string
	for query := ""; ; query = "&cursor=" + cursor {
		page := decode[api.MonitorPage](t, w.as(adminToken, http.MethodGet, "/v1/monitor?limit=20"+query, "", nil))
		if cursor = page.NextCursor; len(page.Deliveries) == 0 {
			break
		}
		seen += len(page.Deliveries)
	}
	if b, err := base64.RawURLEncoding.DecodeString(cursor); seen != len(agents) || err != nil || !bytes.HasPrefix(b, []byte(`{"v":2`)) {
		t.Fatalf("%d deliveries, cursor %s %v; want %d, and one that names what is written", seen, b, err, len(agents))
	}

	after := slices.DeleteFunc(s2.streams(), func(n string) bool { return n == "monitor/checkpoints" })
	if diff := cmp.Diff(slices.DeleteFunc(names, func(n string) bool { return n == "monitor/checkpoints" }), after); diff != "" {
		t.Errorf("streams (-before +after):\n%s", diff)
	}
	for _, n := range after {
		if diff := cmp.Diff(before[n], s2.records(n)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", n, diff)
		}
	}
	checkpoints := s2.records("monitor/checkpoints")
	if len(checkpoints) == 0 {
		t.Error("no checkpoint was written, so that none was looked at")
	}
	for _, r := range checkpoints {
		if strings.Contains(r.Body, text) || len(r.Body) > 8<<10 {
			t.Errorf("a checkpoint of %d bytes; want positions alone: %.200s", len(r.Body), r.Body)
		}
	}
}
