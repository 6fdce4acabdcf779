// Package auth says who calls and what a caller may do. It is the one place that
// compares secrets and the one place that decides.
package auth

import (
	"context"
	"net/http"

	"agentchat/shared/agent"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// A Caller is who a credential belongs to. The zero Caller is anonymous.
type Caller struct {
	Kind  CallerKind
	Agent ident.Agent // of an agent key
	Key   ident.Key   // of an agent key
}

// CallerKind is the kind of credential.
type CallerKind int

// The kinds.
const (
	Anonymous CallerKind = iota
	Operator             // API token
	Agent                // agent key
	Admin                // admin token
)

// Options of an Auth.
type Options struct {
	APITokens   []string
	AdminTokens []string
	// Registration returns the state of an agent, at most 5 s old.
	Registration func(ctx context.Context, id ident.Agent) (agent.State, error)
}

// An Auth authenticates.
type Auth struct{}

// New refuses blank, short or foreign tokens, and one that is both API and admin token.
func New(o Options) (*Auth, error) { panic("unwritten") }

// ParseTokens splits a comma-separated token list; it never returns an empty or blank token.
func ParseTokens(list string) ([]string, error) { panic("unwritten") }

// Caller returns who h's credentials belong to: Anonymous if there are none,
// an *api.Error (401) if they open nothing or disagree.
func (a *Auth) Caller(ctx context.Context, h http.Header) (Caller, error) { panic("unwritten") }

// May returns nil if c may call r for the agent in the path ("" if none), else an
// *api.Error: 401 for an anonymous caller, 403 for the wrong one.
func (c Caller) May(r route.Route, of ident.Agent) error { panic("unwritten") }

// NewKey returns an agent key: the secret, shown once, and what is kept of it.
func NewKey(owner ident.Agent, id ident.Key, secret [32]byte) (key string, hash [32]byte, lastFour string) {
	panic("unwritten")
}
