package service_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/functions/service"
	"agentchat/shared/env"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// However many ask whether the server is ready, the store is asked once a
// second at most, and its answer is that old at most.
func TestReadyAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, closeStore := localstream.Memory()
		defer closeStore()
		var away atomic.Bool
		store := faultstream.New(t, inner, faultstream.Options{Choose: func(faultstream.Call) faultstream.Fault {
			if away.Load() {
				return faultstream.Fault{Kind: faultstream.Refused}
			}
			return faultstream.Fault{Kind: faultstream.Slow, Delay: 100 * time.Millisecond}
		}})
		e, err := env.New(env.Options{Store: store, Config: env.Config{APITokens: []string{"a-token-of-the-test"}}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		handler := service.New(e)
		ask := func() int {
			rec := httptest.NewRecorder()
			handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			return rec.Code
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if code := ask(); code != http.StatusOK {
					t.Errorf("ready = %d; want 200", code)
				}
			})
		}
		all.Wait()
		if n := store.Count(faultstream.Check); n != 1 {
			t.Errorf("50 at once made %d checks; want 1", n)
		}
		away.Store(true)
		time.Sleep(time.Second)
		if code := ask(); code != http.StatusServiceUnavailable {
			t.Errorf("ready a second after the store went = %d; want 503", code)
		}
		away.Store(false)
		time.Sleep(time.Second)
		if code := ask(); code != http.StatusOK {
			t.Errorf("ready a second after the store came back = %d; want 200", code)
		}
	})
}
