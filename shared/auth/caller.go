package auth

import (
	"agentchat/shared/api"
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

// String returns k's name in logs.
func (k CallerKind) String() string {
	switch k {
	case Operator:
		return "operator"
	case Agent:
		return "agent"
	case Admin:
		return "admin"
	case Anonymous:
	}
	return "anonymous"
}

// May returns nil if c may call r for the agent in the path, or the one that acts
// ("" if none, or if it is malformed), else an *api.Error: 401 for an anonymous caller, 403 for the
// wrong one. It looks nothing up: a refusal is the same whether or not the
// target exists.
func (c Caller) May(r route.Route, of ident.Agent) error {
	switch {
	case r.Access == route.Public:
		return nil
	case c.Kind == Anonymous:
		return api.Errorf(api.MissingCredential, "send a credential as Authorization: Bearer <token>")
	case c.Kind == Admin && r.Access == route.Admin:
		return nil
	case c.Kind == Admin:
		return api.Errorf(api.Forbidden, "the admin token opens the monitor and nothing else")
	case r.Access == route.Admin:
		return api.Errorf(api.Forbidden, "this needs the admin token, which opens nothing else")
	case c.Kind == Operator, r.Access == route.Any:
		return nil
	case (r.Access == route.Self || r.Access == route.Party) && of != "" && c.Agent == of:
		return nil
	case r.Access == route.Self || r.Access == route.Party:
		return api.Errorf(api.Forbidden, "an agent key acts as its own agent only")
	}
	return api.Errorf(api.Forbidden, "this needs the API token; an agent key may not do it")
}
