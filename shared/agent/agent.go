// Package agent is what a registration is: the events of agents/{agent}, their
// fold, and the decisions on it. It does no I/O, and what is random, and the
// time, are arguments, so that a decision can be taken again when another writer
// was faster.
//
// A registration has a generation, which no other registration of the name has.
// A name that is registered again inherits nothing: not the profile, not the
// keys, not the mail.
package agent

import (
	"maps"
	"slices"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// MaxAge is how old a state may be that is believed: within it a revoked key is
// dead everywhere.
const MaxAge = 5 * time.Second

// tick is how finely a store tells time, and then some.
const tick = 10 * time.Millisecond

// A Phase is how far a registration is.
type Phase int

// The phases.
const (
	Never       Phase = iota // no such agent, ever
	Registering              // the inbox is being opened; not registered yet for anybody else
	Registered
	Deleted // keys are dead, the inbox is closed or being closed
)

// A State is the fold of agents/{agent}. In phase Deleted it is what the
// registration was, without its keys.
type State struct {
	Phase      Phase
	Generation ident.Generation
	Former     bool             // an earlier registration of the name was begun
	Ended      stream.Timestamp // when the last one before that anybody could use was deleted; 0: there was none
	Begun      stream.Timestamp // when this one was begun
	First      uint64           // the registration's first inbox position
	Epoch      string           // the inbox's epoch when it was opened: where to begin guessing
	Profile    api.Profile
	CreatedAt  api.Time
	UpdatedAt  api.Time
	Keys       []Key // live ones, oldest first
}

// A Key is what is kept of an agent key.
type Key struct {
	ID        ident.Key `json:"id"`
	Hash      [32]byte  `json:"hash"` // SHA-256 of the whole key
	LastFour  string    `json:"last_four"`
	CreatedAt api.Time  `json:"created_at"`
}

// Doubt returns how long after a registration was begun it may have to wait until
// it is opened: for as long there may be processes that believe in the former one.
// Both times are of one stream, so no two clocks are compared.
func (s *State) Doubt() time.Duration {
	if s.Ended == 0 {
		return 0
	}
	return max(0, MaxAge+tick-s.Begun.Time().Sub(s.Ended.Time()))
}

// Info returns s as the protocol shows it. Its lists and maps are never nil and
// are the caller's.
func (s *State) Info(id ident.Agent) api.AgentInfo {
	labels := maps.Clone(s.Profile.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	return api.AgentInfo{
		Agent:            id,
		DisplayName:      s.Profile.DisplayName,
		Endpoint:         s.Profile.Endpoint,
		Image:            s.Profile.Image,
		Capabilities:     append([]string{}, s.Profile.Capabilities...),
		PublicKey:        s.Profile.PublicKey,
		Labels:           labels,
		ProtocolVersions: append([]string{}, s.Profile.ProtocolVersions...),
		CreatedAt:        s.CreatedAt,
		UpdatedAt:        s.UpdatedAt,
	}
}

// Key returns the live key called id.
func (s *State) Key(id ident.Key) (Key, bool) {
	i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.ID == id })
	if i < 0 {
		return Key{}, false
	}
	return s.Keys[i], true
}
