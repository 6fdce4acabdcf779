package agent

import (
	"fmt"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/event"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// Schema is the schema of every event, in its body and in a header.
const Schema = "agent-chat/agent.v1"

// The kinds of events.
const (
	kindRegistering = "agent.registering" // a new generation, with its profile
	kindRegistered  = "agent.registered"  // its inbox is open
	kindProfile     = "agent.profile"     // the profile was replaced
	kindDeleted     = "agent.deleted"
	kindMinted      = "key.minted"
	kindRevoked     = "key.revoked"
)

// A body is that of a record of agents/{agent}.
type body struct {
	event.Head
	At         api.Time         `json:"at"`
	Generation ident.Generation `json:"generation,omitzero"`
	First      uint64           `json:"first,omitzero"`
	Epoch      string           `json:"epoch,omitzero"`
	Profile    *api.Profile     `json:"profile,omitzero"`
	Key        *Key             `json:"key,omitzero"`
	Revoked    ident.Key        `json:"revoked,omitzero"`
}

func record(kind string, b body) ([]stream.Record, error) { return event.Record(Schema, kind, &b) }

// Apply adds the event in e to s, and leaves alone what copies of s point to.
// An entry that is no event of this package, or one that can't follow what came
// before it, is an error, and s is as it was.
func (s *State) Apply(e stream.Entry) error {
	var ev body
	if err := event.Read(e, Schema, &ev); err != nil {
		return err
	}
	next := *s
	if !next.apply(ev, e.Timestamp) {
		return fmt.Errorf("event at %d: %q can't follow in phase %d", e.Seq, ev.Kind, s.Phase)
	}
	*s = next
	return nil
}

func (s *State) apply(ev body, stored stream.Timestamp) bool {
	known := s.Phase == Registering || s.Phase == Registered
	switch ev.Kind {
	case kindRegistering:
		if known || ev.Generation == "" || ev.Profile == nil {
			return false
		}
		*s = State{
			Phase: Registering, Generation: ev.Generation, Former: s.Phase != Never, Ended: s.Ended, Begun: stored,
			Profile: *ev.Profile, CreatedAt: ev.At, UpdatedAt: ev.At,
		}
	case kindRegistered:
		if s.Phase != Registering || ev.Generation != s.Generation {
			return false
		}
		s.Phase, s.First, s.Epoch = Registered, ev.First, ev.Epoch
	case kindProfile:
		if !known || ev.Profile == nil {
			return false
		}
		s.Profile, s.UpdatedAt = *ev.Profile, ev.At
	case kindDeleted:
		if !known {
			return false
		}
		if s.Phase == Registered {
			s.Ended = stored
		}
		s.Phase, s.Keys, s.UpdatedAt = Deleted, nil, ev.At
	case kindMinted:
		if s.Phase != Registered || ev.Key == nil {
			return false
		}
		s.Keys = append(slices.Clip(s.Keys), *ev.Key)
	case kindRevoked:
		if s.Phase != Registered {
			return false
		}
		s.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool { return k.ID == ev.Revoked })
	default:
		return false
	}
	return true
}
