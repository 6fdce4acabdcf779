package auth_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/ident"
)

// What a caller was let in with goes on until it is refused by the present
// state; what can't be looked at, and what is no agent's, goes on.
func TestStill(t *testing.T) {
	key := func(id ident.Agent, k ident.Key) auth.Caller {
		return auth.Caller{Kind: auth.Agent, Agent: id, Key: k}
	}
	for _, row := range []struct {
		name string
		by   auth.Caller
		code api.Code
	}{
		{"live key", key("alice", "k1"), ""},
		{"revoked key", key("alice", "k2"), api.UnknownCredential},
		{"deleted agent", key("zed", "k1"), api.UnknownCredential},
		{"agent that is being registered anew", key("opening", "k1"), api.UnknownCredential},
		{"no agent at all", key("never", "k1"), api.UnknownCredential},
		{"store away", key("away", "k1"), ""},
		{"registration lost", key("lost", "k1"), ""},
		{"operator", auth.Caller{Kind: auth.Operator}, ""},
		{"admin", auth.Caller{Kind: auth.Admin}, ""},
		{"anybody", auth.Caller{}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := code(newAuth(t).Still(t.Context(), row.by)); got != row.code {
				t.Errorf("Still = %q; want %q", got, row.code)
			}
		})
	}
}

// The look that is made every LookEvery is over in time, however old what it
// finds, and does not refuse for what an old state does not know.
func TestStillLooks(t *testing.T) {
	var asked []time.Duration
	states := map[bool]agent.State{} // by whether the present one is asked for
	a, err := auth.New(auth.Options{APITokens: []string{newToken}, Registration: func(_ context.Context, _ ident.Agent, maxAge time.Duration) (agent.State, error) {
		asked = append(asked, maxAge)
		s, ok := states[maxAge == 0]
		if !ok {
			return s, errors.New("the store is away")
		}
		return s, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	live := agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "k1"}}}
	by := auth.Caller{Kind: auth.Agent, Agent: "alice", Key: "k1"}

	states[false] = live
	if err := a.Still(t.Context(), by); err != nil || len(asked) != 1 {
		t.Errorf("a live key: %v after %d looks; want none after one", err, len(asked))
	}
	if most := auth.LookEvery + asked[0]; most > agent.MaxAge-500*time.Millisecond {
		t.Errorf("a revocation is seen after %v; want half a second before %v", most, agent.MaxAge)
	}
	states[false] = agent.State{Phase: agent.Registered}
	if err := a.Still(t.Context(), by); err != nil {
		t.Errorf("a key that the old state does not know, and the store is away: %v; want no refusal", err)
	}
	states[true] = live
	if err := a.Still(t.Context(), by); err != nil {
		t.Errorf("a key that the old state does not know: %v; want no refusal", err)
	}
	states[true] = agent.State{Phase: agent.Registered}
	if got := code(a.Still(t.Context(), by)); got != api.UnknownCredential || !slices.Equal(asked[len(asked)-2:], []time.Duration{asked[0], 0}) {
		t.Errorf("a revoked key: %q, looked for at the ages %v; want %q, by the present state", got, asked, api.UnknownCredential)
	}
}
