package chat

import (
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// A Decision says what is to be appended to a chat in state s: records, nothing
// (the state is as wanted), or a refusal, an *api.Error. It is pure: the same
// state gives the same answer, however often it is asked.
type Decision = func(s *State) ([]stream.Record, error)

// Create makes the chat of two sides, unless it is there. Of both directions the
// permission is the server's to begin with: with grants required, what the
// creator sends waits for the peer; what the peer sends, the creator has asked for.
func Create(creator ident.Agent, one, other Side, grantsRequired bool, now api.Time) Decision {
	sides := [2]Side{one, other}
	slices.SortFunc(sides[:], func(a, b Side) int {
		if a.Agent < b.Agent {
			return -1
		}
		return 1
	})
	for i := range sides {
		sides[i].Grant = Grant{State: api.Allowed, By: ByServer, Since: now}
		if grantsRequired && sides[i].Agent != creator {
			sides[i].Grant.State = api.Pending
		}
	}
	return func(s *State) ([]stream.Record, error) {
		if s.ID != "" {
			return nil, nil
		}
		return record(kindCreated, body{At: now, Chat: ID(sides[0].Party, sides[1].Party), Sides: &sides})
	}
}

// Opened says that all streams of the chat are there.
func Opened(now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		if s.Open {
			return nil, nil
		}
		return record(kindOpened, body{At: now})
	}
}

// Permit sets what recipient lets its peer send. Saying again what holds changes
// nothing, not even since when.
func Permit(recipient ident.Agent, state api.Permission, by By, now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		i := s.index(recipient)
		if i < 0 {
			return nil, NotFound()
		}
		if g := s.Sides[i].Grant; g.State == state && g.By == by {
			return nil, nil
		}
		return record(kindPermission, body{At: now, Agent: recipient, Grant: &Grant{State: state, By: by, Since: now}})
	}
}

// Tighten sets the chat's own policy. It is refused if that would loosen the
// policy that holds, which is the server's or the chat's, whichever is stricter.
func Tighten(policy, server api.PIIPolicy, now api.Time) Decision {
	return func(s *State) ([]stream.Record, error) {
		holds := Stricter(server, s.Policy)
		switch {
		case strictness(policy) < strictness(holds):
			return nil, api.InvalidField("/pii_policy", "the policy is %s, and can only be tightened", holds)
		case policy == s.Policy:
			return nil, nil
		}
		return record(kindPolicy, body{At: now, Policy: policy})
	}
}

// NotFound is the refusal of a chat that does not exist, and of one that the
// caller is no party to: nobody learns which.
func NotFound() error {
	return api.Errorf(api.ChatNotFound, "there is no such chat that this agent is a party to")
}
