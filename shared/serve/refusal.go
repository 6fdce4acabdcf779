package serve

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"agentchat/shared/env"
)

// Refusal returns the handler of a host that can't let a request through to any
// family: it answers with err as an operation would that returned it, under a
// request id, and logs it.
func Refusal(log *slog.Logger, err error) http.Handler {
	m := newMux(&env.Env{Now: time.Now, Rand: rand.Reader, Log: log})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := m.open(w, r)
		defer c.logAccess(r.Context())
		c.problem(err)
	})
}
