package env_test

import (
	"net/http"
	"testing"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/route"
	"agentchat/shared/stream/localstream"
)

func newEnv(t *testing.T) *env.Env {
	t.Helper()
	store, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	e, err := env.New(env.Options{Store: store, Config: env.Config{APITokens: []string{token}}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if err := e.Store.Ensure(t.Context()); err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	return e
}

// A key that was minted in the store is a credential, until it is revoked or
// its agent deleted.
func TestKeysAreCheckedAgainstTheStore(t *testing.T) {
	e := newEnv(t)
	if _, err := e.Mail.Register(t.Context(), "alice", api.Profile{}); err != nil {
		t.Fatalf("Register: %v", err)
	}
	key, hash, lastFour := auth.NewKey("alice", "k1", [32]byte{1})
	if err := e.Mail.Mint(t.Context(), "alice", agent.Key{ID: "k1", Hash: hash, LastFour: lastFour, CreatedAt: api.Time{Time: e.Now()}}); err != nil {
		t.Fatalf("Mint: %v", err)
	}
	bearer := http.Header{"Authorization": {"Bearer " + key}}
	want := auth.Caller{Kind: auth.Agent, Agent: "alice", Key: "k1"}
	if got, err := e.Auth.Caller(t.Context(), bearer, route.Route{}); err != nil || got != want {
		t.Errorf("Caller = %+v, %v; want %+v", got, err, want)
	}
	if err := e.Mail.Delete(t.Context(), "alice"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if got, err := e.Auth.Caller(t.Context(), bearer, route.Route{}); err == nil {
		t.Errorf("Caller of a deleted agent's key = %+v; want an error", got)
	}
}

func TestNewRefuses(t *testing.T) {
	store, closeStore := localstream.Memory()
	defer closeStore()
	for name, o := range map[string]env.Options{
		"no store":    {Config: env.Config{APITokens: []string{token}}},
		"no token":    {Store: store},
		"empty token": {Store: store, Config: env.Config{APITokens: []string{""}}},
	} {
		if _, err := env.New(o); err == nil {
			t.Errorf("New with %s succeeded; want an error", name)
		}
	}
}

func TestNewDefaults(t *testing.T) {
	e := newEnv(t)
	if e.Now == nil || e.Rand == nil || e.Log == nil || e.Config.Version == "" {
		t.Errorf("New left %+v; want a clock, randomness, a log and a version", e)
	}
	if _, err := e.Mail.Registration(t.Context(), ident.Agent("nobody"), 0); err != nil {
		t.Errorf("Registration of nobody: %v; want none", err)
	}
}
