package monitor_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/functions/monitor"
	"agentchat/shared/env"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// A server without an admin token has no monitor, for anybody, and says so
// before it looks at anything else.
func TestDisabled(t *testing.T) {
	const apiToken = "api-token-of-the-monitor"
	inner, closeStore := localstream.Memory()
	defer closeStore()
	store := faultstream.New(t, inner, faultstream.Options{})
	e, err := env.New(env.Options{Store: store, Config: env.Config{APITokens: []string{apiToken}}})
	if err != nil {
		t.Fatal(err)
	}
	h := monitor.New(e)
	for _, token := range []string{"", apiToken, "ak_alice~k1~AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "a word"} {
		for _, target := range []string{"/v1/monitor", "/v1/monitor?follow=true", "/v1/monitor?cursor=none&nonsense"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, strings.NewReader("{"))
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"code":"monitor_disabled"`) {
				t.Errorf("%s with %q: %d %s; want monitor_disabled", target, token, w.Code, w.Body)
			}
		}
	}
	if n := len(store.Calls()); n != 0 {
		t.Errorf("%d calls of the store", n)
	}
}
