package env_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentchat/shared/apitest"
	"agentchat/shared/env"
)

// A host's log tells of a clock that is so far off the store's that what it signs
// does not verify, and of no other.
func TestClockIsToldOf(t *testing.T) {
	for off, want := range map[time.Duration]int{4 * time.Minute: 0, -4 * time.Minute: 0, 6 * time.Minute: 1, -6 * time.Minute: 1} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-off).UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		}))
		var log apitest.Buffer
		c := env.Config{S2Token: "s2-token-of-the-test", S2Endpoint: srv.URL, Basin: "clock-test"}
		store, err := c.OpenS2(slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		_ = store.Check(t.Context()) // what it says of the answer is no matter
		store.Close()
		srv.Close()
		if n := strings.Count(log.String(), "clock is not the store's"); n != want {
			t.Errorf("a clock that is %v ahead is told of %d times; want %d:\n%s", off, n, want, log.String())
		}
	}
}
