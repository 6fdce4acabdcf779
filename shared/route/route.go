// Package route is the one list of the protocol's operations. The mux, the CDK
// app, OpenAPI, the client and the CLI all read it; a path is written nowhere else.
package route

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// A Route is one operation of the protocol.
type Route struct {
	Op     string // "messages.send"; the part before the dot is the folder under functions/
	Method string
	Path   string // {id} form, the same for net/http, OpenAPI and the edge
	Kind   Kind   // zero: Unary
	Access Access
	Keys   bool       // the credential may stand in X-API-Key or Api-Key, as other protocols have it
	Empty  bool       // the body may be left out; it is then as {}
	Req    any        // zero value of the body and of the path:"...", query:"..." and header:"..." fields; nil if there is none
	Resp   any        // zero value of the body of a success; nil if there is none
	Codes  []api.Code // of problems that it has beyond those that follow from Method, Access and Req
	Shape  api.Shape  // of its errors; nil: api.Problem{}
	Stream Stream     // of Events: what it brings when it is followed
	Doc    string     // one sentence, shown in OpenAPI and by the CLI
	Fresh  int        // seconds for which anybody may keep a success; 0: nobody may
}

// Acts is what the request of a Party route has: it says who acts, where the path
// names no agent. Who may is decided before anything is looked up.
type Acts interface{ Actor() ident.Agent }

// A Stream is what an Events route brings when it is followed: these events and no
// other, and "problem" before an end that has a reason. A later version may have
// more: a reader passes over what it does not know.
type Stream struct {
	Events []Event // most are as the first
	Doc    string  // what they hold and what their ids are, shown in OpenAPI
	More   string  // the same of events that are rare; "" if there are none
}

// An Event is a kind of server-sent event.
type Event struct {
	Name string
	Data any // zero value of what it holds
}

// Names returns the names of the events.
func (s Stream) Names() []string {
	names := make([]string, len(s.Events))
	for i, e := range s.Events {
		names[i] = e.Name
	}
	return names
}

// Kind is how a route answers.
type Kind int

// The kinds.
const (
	Unary  Kind = iota // one JSON answer
	Events             // JSON, or server-sent events if asked for; without Resp, these always
	Socket             // a WebSocket
)

// Access is who may call a route.
type Access int

// The accesses; none is the zero value, so that a route which names none is not
// open to anybody. The admin token opens Admin routes and no other, and only it does.
const (
	Public   Access = iota + 1 // anybody
	Any                        // a known caller: the API token or an agent key
	Self                       // the agent in the path, or the API token
	Party                      // the agent that the request says acts (see Acts), or the API token
	Operator                   // the API token
	Admin                      // the admin token
)

// A Family is what a folder under functions/ needs from its host.
type Family struct {
	Memory  int           // MiB of a Lambda function
	Timeout time.Duration // of a Lambda function; with Stream, 30 s more than a stream lives
	Stream  bool          // answers streams: RESPONSE_STREAM, and a concurrency of its own
	Secrets []Secret      // all that the function may read
}

// Families lists the folders under functions/. Who tells credentials apart has
// the admin token too: its wrong place is a 403, as on every other host.
var Families = map[string]Family{
	"agents":   {Memory: 256, Timeout: 30 * time.Second, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"chats":    {Memory: 256, Timeout: 5*time.Minute + 30*time.Second, Stream: true, Secrets: []Secret{APIToken, AdminToken, S2Token, SigningKeys}},
	"contacts": {Memory: 256, Timeout: 30 * time.Second, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"inbox":    {Memory: 256, Timeout: 5*time.Minute + 30*time.Second, Stream: true, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"messages": {Memory: 256, Timeout: 30 * time.Second, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"monitor":  {Memory: 512, Timeout: 5*time.Minute + 30*time.Second, Stream: true, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"receipts": {Memory: 256, Timeout: 30 * time.Second, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"service":  {Memory: 128, Timeout: 15 * time.Second, Secrets: []Secret{S2Token}}, // nobody's credential is asked for
}

// Family returns the part of Op before the dot.
func (r Route) Family() string {
	f, _, _ := strings.Cut(r.Op, ".")
	return f
}

// Of returns the route of op, and panics if there is none.
func Of(op string) Route {
	i, found := slices.BinarySearchFunc(Table, op, func(r Route, op string) int { return strings.Compare(r.Op, op) })
	if !found {
		panic("route: no operation " + op)
	}
	return Table[i]
}

// Open reports whether anybody may call all of a family's operations, so that it
// has no use for what tells callers apart.
func Open(family string) bool {
	routes := In(family)
	return len(routes) > 0 && !slices.ContainsFunc(routes, func(r Route) bool { return r.Access != Public })
}

// In returns the routes of a family.
func In(family string) []Route {
	var rs []Route
	for _, r := range Table {
		if r.Family() == family {
			rs = append(rs, r)
		}
	}
	return rs
}

// Target returns the path and query of a call of r with req, which is of Req's
// type or a pointer to it. Zero values of query fields are left out. A path
// field is escaped; it is an error for one to be empty.
func (r Route) Target(req any) (string, error) {
	path, query := r.Path, url.Values{}
	for f, v := range Fields(req) {
		switch {
		case f.In == InPath && v == "":
			return "", fmt.Errorf("route %s: no %s", r.Op, f.Name)
		case f.In == InPath:
			path = strings.Replace(path, "{"+f.Name+"}", url.PathEscape(v), 1)
		case f.In == InQuery && (v != "" || f.IsPrefix()):
			query.Add(f.Name, v)
		}
	}
	if strings.Contains(path, "{") {
		return "", fmt.Errorf("route %s: no value for %s", r.Op, path)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, nil
}
