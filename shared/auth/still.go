package auth

import (
	"context"
	"time"

	"agentchat/shared/agent"
)

// LookEvery is how often Still is to be asked for whoever stays. Then what it
// refuses ended less than agent.MaxAge ago, by half a second and more.
const LookEvery = time.Second

// stayAge is how old the state may be that Still believes: most looks ask no
// store, and those that do are one every few seconds for all calls of an agent.
const stayAge = 3250 * time.Millisecond

// Still returns nil for as long as the credential of by opens something, else the
// *api.Error that a call made with it now would get: its key was revoked, or its
// agent deleted. What can't be looked at, since the store is away, is as it was.
// The tokens of an Auth are the same for as long as it lives.
func (a *Auth) Still(ctx context.Context, by Caller) error {
	if by.Kind != Agent {
		return nil
	}
	for _, maxAge := range []time.Duration{stayAge, 0} { // what refuses is the present state, as in agent
		st, err := a.registration(ctx, by.Agent, maxAge)
		if err != nil {
			return nil //nolint:nilerr // no answer is no refusal
		}
		if _, ok := st.Key(by.Key); ok && st.Phase == agent.Registered {
			return nil
		}
	}
	return unknown()
}
