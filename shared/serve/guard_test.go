package serve_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/sse"
)

// A registry is a world in which alice's key can be revoked, and looks counted.
type registry struct {
	*world
	revoked, away atomic.Bool
	looks         atomic.Int64
}

func newRegistry(t *testing.T, c env.Config) *registry {
	t.Helper()
	g := &registry{world: newWorld(t, c)}
	a, err := auth.New(auth.Options{APITokens: []string{operator}, Registration: func(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error) {
		g.looks.Add(1)
		s, err := registration(ctx, id, maxAge)
		switch {
		case g.away.Load():
			return agent.State{}, errors.New("the store is away")
		case g.revoked.Load():
			s.Keys = nil
		}
		return s, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.Auth = a
	return g
}

// A stream ends with its credential, and says so in a way that sends no client
// back; what is in the midst of being written is ended too.
func TestStreamEndsWithItsCredential(t *testing.T) {
	var busy []step // something every 10 ms
	for range 10_000 {
		busy = append(busy, step{after: 10 * time.Millisecond, events: []sse.Event{event("1")}})
	}
	for name, source := range map[string]func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error]{
		"idle": steps(step{}), "busy": steps(busy...),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRegistry(t, env.Config{})
				time.AfterFunc(61*time.Second, func() { g.revoked.Store(true) })
				p := follow(t, g.world, source, time.Hour)
				last := len(p.writes) - 1
				if w := p.writes[last]; !strings.HasPrefix(w, "event: problem\ndata: {") || !strings.Contains(w, `"code":"unknown_credential"`) || !strings.Contains(w, `"status":401`) || strings.Contains(w, "id: ") {
					t.Errorf("the last write is %q; want the problem unknown_credential, 401", w)
				}
				if p.at[last] < 61*time.Second || p.at[last] > 64*time.Second {
					t.Errorf("ended after %v; want it within 3 s of the revocation, where the state is no older", p.at[last])
				}
				if line := g.lines(t)[0]; line["ended"] != "fault" || line["code"] != "unknown_credential" || line["level"] != "INFO" {
					t.Errorf("logged %v; want the refusal, and no fault of ours", line)
				}
			})
		})
	}
}

// A store that is away does not end a stream; when it is back, so is the truth.
func TestStreamOutlivesALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry(t, env.Config{})
		time.AfterFunc(time.Minute, func() { g.away.Store(true); g.revoked.Store(true) })
		time.AfterFunc(time.Hour, func() { g.away.Store(false) })
		p := follow(t, g.world, steps(step{}), 2*time.Hour)
		if last := len(p.at) - 1; p.at[last] < time.Hour || p.at[last] > time.Hour+3*time.Second {
			t.Errorf("ended after %v with %q; want it to end when the store is back", p.at[last], p.writes[last])
		}
	})
}

// Whoever takes events slowly is not written the rest of a batch.
func TestStreamStopsWithinABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry(t, env.Config{})
		time.AfterFunc(10*time.Second, func() { g.revoked.Store(true) })
		events := make([]sse.Event, 1000)
		for i := range events {
			events[i] = event("1")
		}
		p := newTape(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/agents/alice/inbox?follow=true", nil)
		r.Header.Set("Authorization", "Bearer "+aliceKey)
		inbox(g.Env, nil, steps(step{events: events})).ServeHTTP(trickle{p}, r)
		if last := len(p.at) - 1; p.at[last] > 15*time.Second || !strings.Contains(p.writes[last], "unknown_credential") {
			t.Errorf("ended after %v with %q; want the problem within 5 s of the revocation", p.at[last], p.writes[last])
		}
	})
}

// trickle is a client that takes a second for each write.
type trickle struct{ *tape }

func (s trickle) Write(b []byte) (int, error) {
	time.Sleep(time.Second)
	return s.tape.Write(b)
}

// What the source has to say at the end comes before what the credential has.
func TestStreamsLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry(t, env.Config{})
		time.AfterFunc(9900*time.Millisecond, func() { g.revoked.Store(true) })
		p := follow(t, g.world, steps(step{}, step{after: 10100 * time.Millisecond, events: []sse.Event{event("1")}}, step{err: api.Errorf(api.GenerationChanged, "deleted")}), time.Hour)
		if last := len(p.writes) - 1; !strings.Contains(p.writes[last], "generation_changed") || !strings.Contains(p.writes[last-1], "id: 1") {
			t.Errorf("writes are %q; want what the source had, and its problem", p.writes)
		}
	})
}

// A page that waits is refused as a new call is, and shows nothing; one that is
// answered before is not looked at.
func TestPageEndsWithItsCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry(t, env.Config{})
		h := inbox(g.Env, func(ctx context.Context, _ caller, _ *api.InboxRequest) (*api.InboxPage, error) {
			select {
			case <-time.After(20 * time.Second):
			case <-ctx.Done():
			}
			return &api.InboxPage{}, nil
		}, nil)
		time.AfterFunc(7*time.Second, func() { g.revoked.Store(true) })
		begun := time.Now()
		got := do(h, http.MethodGet, "/v1/agents/alice/inbox", aliceKey, "")
		if took := time.Since(begun); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), "unknown_credential") || got.Header().Get("WWW-Authenticate") == "" || took > 10*time.Second {
			t.Errorf("answered %d %s after %v; want 401 within 3 s of the revocation", got.Code, got.Body, took)
		}
		looks := g.looks.Load()
		begun = time.Now()
		got = do(h, http.MethodGet, "/v1/agents/alice/inbox", operator, "")
		if took := time.Since(begun); got.Code != http.StatusOK || took != 20*time.Second || g.looks.Load() != looks {
			t.Errorf("the operator: %d after %v and %d looks; want a page after 20 s, and none", got.Code, took, g.looks.Load()-looks)
		}
	})
}

// Nothing goes on looking once a stream has ended.
func TestNobodyLooksAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry(t, env.Config{})
		for _, d := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
			follow(t, g.world, steps(step{}), d)
			synctest.Wait()
			looks := g.looks.Load()
			if time.Sleep(time.Minute); g.looks.Load() != looks {
				t.Errorf("a stream of %v: %d looks after its end", d, g.looks.Load()-looks)
			}
		}
	})
}
