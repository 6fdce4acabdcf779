package service_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/functions/service"
	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
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

// A clocked store has a clock of its own.
type clocked struct {
	stream.Store
	ahead time.Duration
}

func (c *clocked) Ahead() time.Duration { return c.ahead }

// Keys that can sign nothing, and a clock that is not the store's, show in what a
// server says of itself, with the reason and without a key; neither makes it fail.
func TestReadyComponents(t *testing.T) {
	good, err := signed.NewSet(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id := good.Keys()[0].ID
	bad, _ := good.Revoke(id)
	inner, closeStore := localstream.Memory()
	defer closeStore()
	const (
		unsigned = "nothing is written to signed chats: no key of the set can sign with ES256: 1 revoked"
		ahead    = "this server's clock is 5m1s ahead of the store's: what it signs does not verify"
		behind   = "this server's clock is 1h0m0s behind the store's: what it signs does not verify"
	)
	whole := api.Component{Name: api.StoreComponent, Status: api.OK}
	for _, c := range []struct {
		name  string
		keys  *signed.Set
		store stream.Store
		want  api.Readiness
	}{
		{"no chats", nil, inner, api.Readiness{Status: api.OK, Components: []api.Component{whole}}},
		{"keys, and a clock", good, &clocked{inner, -5 * time.Minute}, api.Readiness{Status: api.OK, Components: []api.Component{
			whole, {Name: api.SigningComponent, Status: api.OK}, {Name: api.ClockComponent, Status: api.OK},
		}}},
		{"keys that sign nothing", bad, inner, api.Readiness{Status: api.Degraded, Components: []api.Component{
			whole, {Name: api.SigningComponent, Status: api.Degraded, Reason: unsigned},
		}}},
		{"ahead", good, &clocked{inner, 5*time.Minute + time.Second}, api.Readiness{Status: api.Degraded, Components: []api.Component{
			whole, {Name: api.SigningComponent, Status: api.OK}, {Name: api.ClockComponent, Status: api.Degraded, Reason: ahead},
		}}},
		{"both, behind", bad, &clocked{inner, -time.Hour}, api.Readiness{Status: api.Degraded, Components: []api.Component{
			whole, {Name: api.SigningComponent, Status: api.Degraded, Reason: unsigned}, {Name: api.ClockComponent, Status: api.Degraded, Reason: behind},
		}}},
	} {
		e, err := env.New(env.Options{Store: c.store, Config: env.Config{Version: "v1", SigningKeys: c.keys}, Log: slog.New(slog.DiscardHandler), Open: true})
		if err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		service.New(e).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		var got api.Readiness
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != http.StatusOK {
			t.Fatalf("%s: %d %s; want 200", c.name, rec.Code, rec.Body)
		}
		c.want.Version = "v1"
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
