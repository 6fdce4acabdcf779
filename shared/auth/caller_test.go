package auth_test

import (
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// May is decided by a route's access and nothing else of it, for every caller
// and every route there is.
func TestMay(t *testing.T) {
	callers := map[string]auth.Caller{
		"nobody": {}, "operator": {Kind: auth.Operator}, "admin": {Kind: auth.Admin},
		"alice": {Kind: auth.Agent, Agent: "alice"}, "bob": {Kind: auth.Agent, Agent: "bob"},
	}
	const (
		y  = api.Code("")
		no = api.Forbidden
		m  = api.MissingCredential
	)
	matrix := map[route.Access]map[string]api.Code{ // the agent in the path is alice
		route.Public:   {"nobody": y, "operator": y, "admin": y, "alice": y, "bob": y},
		route.Any:      {"nobody": m, "operator": y, "admin": no, "alice": y, "bob": y},
		route.Self:     {"nobody": m, "operator": y, "admin": no, "alice": y, "bob": no},
		route.Party:    {"nobody": m, "operator": y, "admin": no, "alice": y, "bob": no}, // alice acts
		route.Operator: {"nobody": m, "operator": y, "admin": no, "alice": no, "bob": no},
		route.Admin:    {"nobody": m, "operator": no, "admin": y, "alice": no, "bob": no},
	}
	routes := append([]route.Route{{Op: "a future admin route", Access: route.Admin}}, route.Table...)
	for _, r := range routes {
		for name, c := range callers {
			if got, want := code(c.May(r, "alice")), matrix[r.Access][name]; got != want {
				t.Errorf("%s may %s: %q; want %q", name, r.Op, got, want)
			}
		}
	}
}

// A path without a well-formed agent is nobody's own.
func TestMaySelfOfNobody(t *testing.T) {
	self := route.Route{Access: route.Self}
	for _, c := range []auth.Caller{{Kind: auth.Agent, Agent: "alice"}, {Kind: auth.Agent}} {
		if got := code(c.May(self, ident.Agent(""))); got != api.Forbidden {
			t.Errorf("%+v may, with no agent in the path: %q; want %q", c, got, api.Forbidden)
		}
	}
	if err := (auth.Caller{Kind: auth.Operator}).May(self, ""); err != nil {
		t.Errorf("the operator may not: %v; want to learn from the operation what is wrong with the path", err)
	}
}
