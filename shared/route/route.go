// Package route is the one list of the protocol's operations. The mux, the CDK
// app, OpenAPI, the client and the CLI all read it; a path is written nowhere else.
package route

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"agentchat/shared/api"
)

// A Route is one operation of the protocol.
type Route struct {
	Op     string // "messages.send"; the part before the dot is the folder under functions/
	Method string
	Path   string // {id} form, the same for net/http, OpenAPI and the edge
	Kind   Kind
	Access Access
	Req    any    // zero value of the body and of the path:"...", query:"..." and header:"..." fields; nil if there is none
	Resp   any    // zero value of the body of a success; nil if there is none
	Doc    string // one sentence, shown in OpenAPI and by the CLI
}

// Kind is how a route answers.
type Kind int

// The kinds.
const (
	Unary  Kind = iota // one JSON answer
	Events             // JSON, or server-sent events if asked for
	Socket             // a WebSocket
)

// Access is who may call a route.
type Access int

// The accesses. The admin token opens Admin routes and no other, and only it does.
const (
	Public   Access = iota // anybody
	Any                    // a known caller: the API token or an agent key
	Self                   // the agent in the path, or the API token
	Operator               // the API token
	Admin                  // the admin token
)

// Table is sorted by Op.
var Table = []Route{
	{
		"agents.delete", http.MethodDelete, "/v1/agents/{agent}", Unary, Operator,
		api.AgentPath{},
		nil,
		"Remove an agent: its keys die and its inbox takes no more messages.",
	},
	{
		"agents.get", http.MethodGet, "/v1/agents/{agent}", Unary, Any,
		api.AgentPath{},
		api.AgentInfo{},
		"Return a registered agent.",
	},
	{
		"agents.list", http.MethodGet, "/v1/agents", Unary, Any,
		api.ListAgentsRequest{},
		api.ListAgentsResponse{},
		"List the registered agents.",
	},
	{
		"agents.list_keys", http.MethodGet, "/v1/agents/{agent}/keys", Unary, Operator,
		api.AgentPath{},
		api.ListKeysResponse{},
		"List the keys of an agent.",
	},
	{
		"agents.mint_key", http.MethodPost, "/v1/agents/{agent}/keys", Unary, Operator,
		api.AgentPath{},
		api.MintKeyResponse{},
		"Make a key that acts as one agent; it is shown this once.",
	},
	{
		"agents.register", http.MethodPut, "/v1/agents/{agent}", Unary, Operator,
		api.RegisterRequest{},
		api.RegisterResponse{},
		"Register an agent, or replace its profile.",
	},
	{
		"agents.revoke_key", http.MethodDelete, "/v1/agents/{agent}/keys/{key}", Unary, Operator,
		api.RevokeKeyRequest{},
		nil,
		"Revoke a key of an agent, everywhere within 5 seconds.",
	},
	{
		"agents.whoami", http.MethodGet, "/v1/whoami", Unary, Any, nil,
		api.WhoAmI{},
		"Say what the credential of this call is.",
	},
	{
		"inbox.read", http.MethodGet, "/v1/agents/{agent}/inbox", Events, Self,
		api.InboxRequest{},
		api.InboxPage{},
		"Replay an inbox from a position, or follow it live.",
	},
	{
		"messages.get", http.MethodGet, "/v1/agents/{agent}/messages/{message}", Unary, Self,
		api.GetMessageRequest{},
		api.Delivery{},
		"Look up a message by its id.",
	},
	{
		"messages.send", http.MethodPost, "/v1/agents/{agent}/messages", Unary, Self,
		api.SendRequest{},
		api.SendResponse{},
		"Send a message; it is durable when this answers.",
	},
	{
		"service.health", http.MethodGet, "/healthz", Unary, Public, nil,
		api.Health{},
		"Say that the process is alive.",
	},
	{
		"service.limits", http.MethodGet, "/v1/limits", Unary, Public, nil,
		api.Limits{},
		"Return every limit of this server.",
	},
	{
		"service.openapi", http.MethodGet, "/openapi.json", Unary, Public, nil,
		OpenAPI{},
		"Return this description as OpenAPI 3.1.",
	},
	{
		"service.ready", http.MethodGet, "/readyz", Unary, Public, nil,
		api.Health{},
		"Say whether the store can be reached and is configured.",
	},
}

// OpenAPI stands for an OpenAPI document, a JSON object of any members.
type OpenAPI struct{}

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
	"inbox":    {Memory: 256, Timeout: 5*time.Minute + 30*time.Second, Stream: true, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"messages": {Memory: 256, Timeout: 30 * time.Second, Secrets: []Secret{APIToken, AdminToken, S2Token}},
	"service":  {Memory: 128, Timeout: 15 * time.Second, Secrets: []Secret{APIToken, S2Token}}, // no server starts without an API token
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
		case f.In == InQuery && v != "":
			query.Set(f.Name, v)
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

// Place is where a field of a request travels.
type Place string

// The places. A field with none of these tags is a member of the body.
const (
	InPath   Place = "path"
	InQuery  Place = "query"
	InHeader Place = "header"
)

// A Field is a field of a request that does not travel in the body.
type Field struct {
	In    Place
	Name  string
	Doc   string
	Type  reflect.Type
	Index []int
}

// FieldsOf returns the fields of a request type (a struct, or a pointer to one)
// that do not travel in the body.
func FieldsOf(t reflect.Type) []Field {
	if t == nil {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var fs []Field
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []Place{InPath, InQuery, InHeader} {
			if name, ok := f.Tag.Lookup(string(in)); ok {
				fs = append(fs, Field{In: in, Name: name, Doc: f.Tag.Get("doc"), Type: f.Type, Index: f.Index})
			}
		}
	}
	return fs
}

// HasBody reports whether a request type has members of a body.
func HasBody(t reflect.Type) bool {
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous && f.Tag.Get("json") != "-" {
			return true
		}
	}
	return false
}

// Fields yields the fields of req that do not travel in the body, with their
// values as text; a nil pointer is "".
func Fields(req any) func(yield func(Field, string) bool) {
	return func(yield func(Field, string) bool) {
		if req == nil {
			return
		}
		v := reflect.Indirect(reflect.ValueOf(req))
		for _, f := range FieldsOf(v.Type()) {
			fv := v.FieldByIndex(f.Index)
			text := ""
			if fv.Kind() != reflect.Pointer {
				text = fmt.Sprint(fv.Interface())
			} else if !fv.IsNil() {
				text = fmt.Sprint(fv.Elem().Interface())
			}
			if !yield(f, text) {
				return
			}
		}
	}
}
