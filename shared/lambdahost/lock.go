package lambdahost

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/route"
	"agentchat/shared/serve"
)

// parseLocks reads a list of what the edge may send; "" is none. An error
// repeats no element.
func parseLocks(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	locks, err := auth.ParseTokens(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env.OriginLock, err)
	}
	return locks, nil
}

// locked answers what came through the edge, which sends one of locks along, and
// 403 to whatever else found the function's own URL. Without locks it is next.
// next does not see the header.
func locked(locks []string, log *slog.Logger, next http.Handler) http.Handler {
	if len(locks) == 0 {
		return next
	}
	refusal := serve.Refusal(log, api.Errorf(api.Forbidden, "this URL answers its edge alone; use the service's domain"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get(route.LockHeader)))
		open := 0
		for _, l := range locks {
			want := sha256.Sum256([]byte(l))
			open |= subtle.ConstantTimeCompare(got[:], want[:])
		}
		r.Header.Del(route.LockHeader)
		if open == 0 {
			refusal.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
