// Package agent is what a registration is: its events, their fold, and the
// decisions on it (algorithms (c) and (g)).
package agent

import (
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// A Phase is how far a registration is.
type Phase int

// The phases.
const (
	Never       Phase = iota // no such agent, ever
	Registering              // the inbox is being opened
	Registered
	Deleted // keys are dead, the inbox is closed or being closed
)

// A State is the fold of agents/{agent}.
type State struct {
	Phase      Phase
	Generation ident.Generation
	First      uint64 // the registration's first inbox position
	Profile    api.Profile
	CreatedAt  api.Time
	UpdatedAt  api.Time
	Keys       []Key // live ones, oldest first
}

// A Key is what is kept of an agent key.
type Key struct {
	ID        ident.Key
	Hash      [32]byte // SHA-256 of the whole key
	LastFour  string
	CreatedAt api.Time
}

// Apply adds the event in e to s. An entry that is no event of this package is an error.
func (s *State) Apply(e stream.Entry) error { panic("unwritten") }

// Info returns s as the protocol shows it.
func (s *State) Info(id ident.Agent) api.AgentInfo { panic("unwritten") }

// The decisions. Each is pure: what is random, and the time, are arguments.

func Register(p api.Profile, g ident.Generation, now api.Time) func(*State) ([]stream.Record, error) {
	panic("unwritten")
}
func Opened(g ident.Generation, first uint64, now api.Time) func(*State) ([]stream.Record, error) {
	panic("unwritten")
}
func Delete(now api.Time) func(*State) ([]stream.Record, error) { panic("unwritten") }
func Mint(k Key) func(*State) ([]stream.Record, error)          { panic("unwritten") }
func Revoke(id ident.Key) func(*State) ([]stream.Record, error) { panic("unwritten") }
