package agent

import (
	"maps"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
	"agentchat/shared/stream"
)

// A Decision says what is to be appended to a registration in state s: records,
// nothing (the state is as wanted), or a refusal, an *api.Error. It is pure: the
// same state gives the same answer, however often it is asked.
type Decision = func(s *State) ([]stream.Record, error)

// Register begins a registration under generation g, unless there is one: then
// it replaces the profile, if that differs.
func Register(p api.Profile, g ident.Generation, now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		switch {
		case s.Phase == Never || s.Phase == Deleted:
			return record(kindRegistering, body{At: now, Generation: g, Profile: &p})
		case equal(s.Profile, p):
			return nil, nil
		default:
			return record(kindProfile, body{At: now, Profile: &p})
		}
	}
}

// Opened completes the registration of generation g: its inbox takes messages
// from position first on, under epoch. It is refused if another registration
// took its place, or a deletion.
func Opened(g ident.Generation, first uint64, epoch string, now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		switch {
		case s.Generation != g || s.Phase == Deleted:
			return nil, api.Errorf(api.Busy, "the agent was deleted while it was being registered; register it again")
		case s.Phase == Registered:
			return nil, nil
		default:
			return record(kindRegistered, body{At: now, Generation: g, First: first, Epoch: epoch})
		}
	}
}

// Delete ends the registration and its keys. An agent that is deleted stays so.
func Delete(id ident.Agent, now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		switch s.Phase {
		case Never:
			return nil, NotRegistered(id)
		case Deleted:
			return nil, nil
		case Registering, Registered:
		}
		return record(kindDeleted, body{At: now})
	}
}

// Mint adds a key, whose id must be new.
func Mint(id ident.Agent, k Key) Decision {
	return func(s *State) ([]stream.Record, error) {
		if s.Phase != Registered {
			return nil, NotRegistered(id)
		}
		if len(s.Keys) >= api.MaxKeys {
			return nil, api.Errorf(api.Invalid, "%s has %d live keys, which is the most; revoke one first", id, api.MaxKeys)
		}
		return record(kindMinted, body{At: k.CreatedAt, Key: &k})
	}
}

// Revoke ends a key.
func Revoke(id ident.Agent, key ident.Key, now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		if s.Phase != Registered {
			return nil, NotRegistered(id)
		}
		if _, ok := s.Key(key); !ok {
			return nil, api.Errorf(api.KeyNotFound, "%s has no live key %q", id, key)
		}
		return record(kindRevoked, body{At: now, Revoked: key})
	}
}

// NotRegistered is the refusal of what only a registered agent can have or do.
func NotRegistered(id ident.Agent) error {
	return api.Errorf(api.AgentNotRegistered, "%s is not registered; %s registers it", id, Call(id))
}

// Call names the call that registers id, for people.
func Call(id ident.Agent) string {
	r := route.Of("agents.register")
	target, err := r.Target(api.RegisterRequest{Agent: id})
	if err != nil {
		return r.Op
	}
	return r.Method + " " + target
}

// equal holds nil and empty lists and maps for the same, as Info does.
func equal(a, b api.Profile) bool {
	return a.DisplayName == b.DisplayName && a.Endpoint == b.Endpoint && a.Image == b.Image && a.PublicKey == b.PublicKey &&
		slices.Equal(a.Capabilities, b.Capabilities) && slices.Equal(a.ProtocolVersions, b.ProtocolVersions) &&
		maps.Equal(a.Labels, b.Labels)
}
