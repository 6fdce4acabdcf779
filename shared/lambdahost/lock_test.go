package lambdahost_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentchat/shared/env"
	"agentchat/shared/route"
)

const (
	oldLock = "old-lock-of-the-tests"
	newLock = "new-lock-of-the-tests"
)

// A locked function answers whoever sends one of its locks, which the handler
// does not see, and gives everybody else one 403. Several secrets are one list.
func TestLock(t *testing.T) {
	v := &vault{now: time.Unix(0, 0)}
	e := environ()
	e[env.OriginLock+"_SECRET"] = "arn:old,arn:new"
	s := v.secrets(e)
	s.Fetch = holding(map[string]string{"arn:api": oldToken, "arn:old": oldLock + "\n", "arn:new": newLock})
	s.New = func(*env.Env) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(route.LockHeader) != "" {
				t.Error("the handler was shown the lock")
			}
			io.WriteString(w, "answered")
		})
	}
	h, err := s.Handler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		sent string
		want int
	}{
		{"the newest", newLock, 200},
		{"the one before", oldLock, 200},
		{"none", "", 403},
		{"another", "lock-of-somebody-else", 403},
		{"a part", newLock[:len(newLock)-1], 403},
		{"the list", oldLock + "," + newLock, 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
			if row.sent != "" {
				r.Header.Set(route.LockHeader, row.sent)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != row.want || w.Code == 200 != (w.Body.String() == "answered") {
				t.Errorf("with the lock %q: %d %s; want %d", row.sent, w.Code, w.Body, row.want)
			}
			if row.sent != "" && strings.Contains(w.Body.String()+v.log.String(), row.sent) {
				t.Errorf("the lock is in the answer or the log:\n%s\n%s", w.Body, &v.log)
			}
		})
	}
}

// A lock that can't be one opens nothing, and is not repeated.
func TestLockRefused(t *testing.T) {
	for _, lock := range []string{" ", "short", oldLock + ","} {
		v := &vault{now: time.Unix(0, 0)}
		e := environ()
		e[env.OriginLock+"_SECRET"] = "arn:lock"
		s := v.secrets(e)
		s.Fetch = holding(map[string]string{"arn:api": oldToken, "arn:lock": lock})
		_, err := s.Handler(t.Context())
		if err == nil || !strings.Contains(err.Error(), env.OriginLock) || lock != " " && strings.Contains(err.Error(), lock) {
			t.Errorf("lock %q: %v; want an error that names the variable and not the value", lock, err)
		}
	}
}

// holding fetches from secrets, several at once.
func holding(secrets map[string]string) func(context.Context, string) (string, error) {
	return func(_ context.Context, arn string) (string, error) { return secrets[arn], nil }
}
