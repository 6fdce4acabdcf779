package serve_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/serve"
)

// A host's refusal is a problem like any operation's: under a request id, with
// what follows from its code, and its cause in the log alone.
func TestRefusal(t *testing.T) {
	var log bytes.Buffer
	err := api.Errorf(api.Unavailable, "not configured").Because(errors.New("no cheese"))
	r := httptest.NewRequest(http.MethodGet, "/v1/whoami", nil)
	r.Header.Set("X-Request-Id", "req-1")
	w := httptest.NewRecorder()
	serve.Refusal(slog.New(slog.NewTextHandler(&log, nil)), err).ServeHTTP(w, r)
	var p api.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	if w.Code != http.StatusServiceUnavailable || p.Code != api.Unavailable || p.RequestID != "req-1" || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, headers %v, %+v; want 503 unavailable of req-1, with Retry-After", w.Code, w.Header(), p)
	}
	if strings.Contains(w.Body.String(), "cheese") || !strings.Contains(log.String(), "no cheese") || !strings.Contains(log.String(), "req-1") {
		t.Errorf("body %s, log %s; want the cause in the log alone, under the request id", w.Body, log.String())
	}
}
