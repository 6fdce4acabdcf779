package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// What came of the first attempt is not known, and the repeats do not tell it: the
// send may have been stored, whatever the last of them is answered, and the id is named.
func TestUnknownStaysUnknown(t *testing.T) {
	unavailable := `{"title":"t","status":503,"detail":"away","code":"unavailable","request_id":"r1"}`
	revoked := `{"title":"t","status":401,"detail":"no","code":"unknown_credential","request_id":"r1"}`
	reused := `{"title":"t","status":409,"detail":"another","code":"id_reused","request_id":"r1"}`
	const repeat = "  It may have been stored. Repeat the same command with --id m1: it is stored once.\n"
	const told = "; an attempt before it may have been carried out"
	for _, tt := range []struct {
		name, answer string // of all but the first attempt; "": the server is gone
		status       int
		command      string
		exit         int
		said         []string
		not          string
	}{
		{"gone", "", 0, "send bob hi --from alice --id m1", exitUnavailable, []string{"no connection: ", "refused" + told, repeat}, "Does the server run"},
		{"gone, to a program", "", 0, "send bob hi --from alice --id m1 --json", exitUnavailable, []string{`"message_id":"m1"`, `"outcome":"unknown"`}, ""},
		{"unavailable", unavailable, 503, "send bob hi --from alice --id m1", exitUnavailable, []string{"unavailable", told, repeat}, "Nothing was done"},
		{"unavailable, to a program", unavailable, 503, "send bob hi --from alice --id m1 --json", exitUnavailable, []string{`"code":"unavailable"`, `"message_id":"m1"`, `"outcome":"unknown"`}, ""},
		{"revoked", revoked, 401, "send bob hi --from alice --id m1", exitUnavailable, []string{"unknown_credential", told, repeat}, ""},
		{"decided", reused, 409, "send bob hi --from alice --id m1", exitRefused, []string{"another [409 id_reused"}, "may have been"},
		{"no send", unavailable, 503, "contacts put carol --agent alice", exitUnavailable, []string{told, "look before it is repeated"}, "Nothing was done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			var srv *httptest.Server
			srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) == 1 {
					if tt.answer == "" {
						_ = srv.Listener.Close()
					}
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer srv.Close()
			var errOut bytes.Buffer
			a := &app{out: io.Discard, errOut: &errOut, getenv: func(name string) string {
				return map[string]string{"AGENT_CHAT_URL": srv.URL, "AGENT_CHAT_TOKEN": "secret-token-0123456789"}[name]
			}}
			if status := a.run(t.Context(), strings.Fields(tt.command)); status != tt.exit {
				t.Errorf("exit status %d; want %d", status, tt.exit)
			}
			for _, part := range tt.said {
				if !strings.Contains(errOut.String(), part) {
					t.Errorf("said\n%swant %q in it", errOut.String(), part)
				}
			}
			if tt.not != "" && strings.Contains(errOut.String(), tt.not) {
				t.Errorf("said\n%swant no %q in it", errOut.String(), tt.not)
			}
		})
	}
}
