package route_test

import (
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// TestTable holds what every reader of the table relies on.
func TestTable(t *testing.T) {
	byOp := func(a, b route.Route) int { return strings.Compare(a.Op, b.Op) }
	if !slices.IsSortedFunc(route.Table, byOp) {
		t.Error("the table is not sorted by Op, so Of does not find everything")
	}
	op := regexp.MustCompile(`\A[a-z]+\.[a-z]+(_[a-z]+)*\z`)
	path := regexp.MustCompile(`\A(/([a-z0-9_.-]+|\{[a-z]+\}))+\z`)
	seenOp, seenCall, familyOf := map[string]bool{}, map[string]string{}, map[string]string{}
	param := regexp.MustCompile(`\{[a-z]+\}`)
	for _, r := range route.Table {
		t.Run(r.Op, func(t *testing.T) {
			if !op.MatchString(r.Op) || seenOp[r.Op] {
				t.Error("Op is not family.operation, or is there twice")
			}
			seenOp[r.Op] = true
			if !path.MatchString(r.Path) {
				t.Errorf("Path %s is not made of lower-case words and {parameters}", r.Path)
			}

			// Two paths that differ in the name of a parameter only are one to a mux.
			shape := param.ReplaceAllString(r.Path, "{}")
			call := r.Method + " " + shape
			if other, taken := seenCall[call]; taken {
				t.Errorf("%s is %s already", call, other)
			}
			seenCall[call] = r.Op
			if f, taken := familyOf[shape]; taken && f != r.Family() {
				t.Errorf("%s belongs to %s already; the edge routes by path", shape, f)
			}
			familyOf[shape] = r.Family()
			if _, ok := route.Families[r.Family()]; !ok {
				t.Errorf("family %s is not in Families", r.Family())
			}

			if r.Empty && !route.HasBody(reflect.TypeOf(r.Req)) {
				t.Error("Empty, but there is no body that could be left out")
			}
			switch r.Method {
			case http.MethodGet, http.MethodDelete:
				if route.HasBody(reflect.TypeOf(r.Req)) {
					t.Errorf("%s has members of a body in %T", r.Method, r.Req)
				}
			case http.MethodPut, http.MethodPost, http.MethodPatch:
			default: // HEAD and OPTIONS are answered for all routes in one place
				t.Errorf("Method %q", r.Method)
			}
			if r.Kind == route.Events && r.Method != http.MethodGet {
				t.Errorf("%s answers events; browsers can only GET them", r.Method)
			}
			names := r.Stream.Names()
			if (r.Kind == route.Events) != (len(names) > 0) || len(names) != len(slices.Compact(slices.Sorted(slices.Values(names)))) || slices.Contains(names, "problem") {
				t.Errorf("Kind is %d, and its events are %q; want each once, of what answers events, and no problem", r.Kind, names)
			}
			for _, e := range r.Stream.Events {
				if !strings.Contains(r.Stream.Doc+r.Stream.More, `"`+e.Name+`"`) || e.Data == nil {
					t.Errorf("nothing says what an event %q is", e.Name)
				}
			}
			if r.Access < route.Public || r.Access > route.Admin {
				t.Errorf("Access is %d, which is none", r.Access)
			}
			if r.Access == route.Self && !strings.Contains(r.Path, "{agent}") {
				t.Errorf("Access is Self, but %s names no agent", r.Path)
			}
			if _, acts := r.Req.(route.Acts); acts != (r.Access == route.Party) {
				t.Errorf("Access is %d, and whether %T says who acts is %v", r.Access, r.Req, acts)
			}
			if r.Fresh != 0 && (r.Access != route.Public || r.Method != http.MethodGet) {
				t.Error("an answer that anybody may keep is not public")
			}
			if d := r.Doc; !strings.HasSuffix(d, ".") || strings.Contains(d, ". ") || d[0] < 'A' || d[0] > 'Z' {
				t.Errorf("Doc %q is not one sentence", d)
			}
		})
	}
}

// TestTableFields: every {parameter} of a path is a path field of the request,
// and the other way round; every field says what it is.
func TestTableFields(t *testing.T) {
	param := regexp.MustCompile(`\{([a-z]+)\}`)
	for _, r := range route.Table {
		t.Run(r.Op, func(t *testing.T) {
			var want, got []string
			for _, m := range param.FindAllStringSubmatch(r.Path, -1) {
				want = append(want, m[1])
			}
			seen := map[string]bool{}
			for _, f := range route.FieldsOf(reflect.TypeOf(r.Req)) {
				if f.In == route.InPath {
					got = append(got, f.Name)
				}
				if key := string(f.In) + " " + strings.ToLower(f.Name); seen[key] {
					t.Errorf("%s is there twice", key)
				} else {
					seen[key] = true
				}
				if !strings.HasSuffix(f.Doc, ".") {
					t.Errorf("doc of %s %s is %q; want sentences", f.In, f.Name, f.Doc)
				}
				if dot := strings.HasSuffix(f.Name, "."); dot != f.IsPrefix() || dot && f.In != route.InQuery {
					t.Errorf("%s %s is of type %v; a name with a dot at its end is a map's, of the query", f.In, f.Name, f.Type)
				}
				if tag := reflect.TypeOf(r.Req).FieldByIndex(f.Index).Tag.Get("json"); tag != "-" {
					t.Errorf("%s %s is a member of the body too: json:%q", f.In, f.Name, tag)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s and %T (-path +fields):\n%s", r.Path, r.Req, diff)
			}
		})
	}
}

func TestFamilies(t *testing.T) {
	var used []string
	for _, r := range route.Table {
		used = append(used, r.Family())
	}
	used = slices.Compact(slices.Sorted(slices.Values(used)))
	if diff := cmp.Diff(used, slices.Sorted(maps.Keys(route.Families))); diff != "" {
		t.Errorf("families (-table +Families):\n%s", diff)
	}
	for name, f := range route.Families {
		if f.Memory < 128 || f.Timeout <= 0 {
			t.Errorf("family %s: %+v; want the memory and time of a function", name, f)
		}
		if sorted := slices.Sorted(slices.Values(f.Secrets)); len(slices.Compact(sorted)) != len(f.Secrets) {
			t.Errorf("family %s: secrets %q; want each once", name, f.Secrets)
		}
		for _, s := range []route.Secret{route.APIToken, route.AdminToken} {
			if slices.Contains(f.Secrets, s) == route.Open(name) {
				t.Errorf("family %s: secrets %q; want %s if it asks for a credential, and only then", name, f.Secrets, s)
			}
		}
		if streams := slices.ContainsFunc(route.In(name), func(r route.Route) bool { return r.Kind != route.Unary }); streams != f.Stream {
			t.Errorf("family %s: Stream is %v; its routes say %v", name, f.Stream, streams)
		}
	}
}

// A family is open if all its routes are, and one that there is not is closed.
func TestOpen(t *testing.T) {
	for family, want := range map[string]bool{"service": true, "agents": false, "messages": false, "inbox": false, "nobody": false} {
		if got := route.Open(family); got != want {
			t.Errorf("Open(%s) = %v; want %v", family, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, r := range route.Table {
		if got := route.Of(r.Op); got.Op != r.Op {
			t.Errorf("Of(%s): %s", r.Op, got.Op)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Of an unknown operation returned; want a panic")
		}
	}()
	route.Of("messages.burn")
}

func TestIn(t *testing.T) {
	all := 0
	for family := range route.Families {
		for _, r := range route.In(family) {
			all++
			if r.Family() != family {
				t.Errorf("In(%s) has %s", family, r.Op)
			}
		}
	}
	if all != len(route.Table) || len(route.In("nobody")) != 0 {
		t.Errorf("In of all families has %d routes, of none %d; want %d and 0", all, len(route.In("nobody")), len(route.Table))
	}
}

// TestTarget: what is there travels in its place, escaped, once.
func TestTarget(t *testing.T) {
	type request struct {
		ID    string   `json:"-" path:"id" doc:"."`
		Other string   `json:"-" path:"other" doc:"."`
		Q     string   `json:"-" query:"q" doc:"."`
		N     *uint64  `json:"-" query:"n" doc:"."`
		H     string   `json:"-" header:"H" doc:"."`
		L     []string `json:"-" query:"l" doc:"."`
		Body  string   `json:"body"`
	}
	two := route.Route{Op: "x.y", Path: "/x/{id}/y/{other}"}
	for _, tt := range []struct {
		name string
		r    route.Route
		req  any
		want string // "" is an error
	}{
		{"no parameters", route.Of("service.limits"), nil, "/v1/limits"},
		{"a path field", route.Of("agents.get"), api.AgentPath{Agent: "bob"}, "/v1/agents/bob"},
		{"a pointer", route.Of("agents.get"), &api.AgentPath{Agent: "bob"}, "/v1/agents/bob"},
		{"two path fields", route.Of("agents.revoke_key"), api.RevokeKeyRequest{Agent: "bob", Key: "k1"}, "/v1/agents/bob/keys/k1"},
		{"a body does not travel here", route.Of("messages.send"), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", IdempotencyKey: "k"}, Text: new("hi")}, "/v1/agents/alice/messages"},
		{"an embedded profile does not either", route.Of("agents.register"), api.RegisterRequest{Agent: "bob", Profile: api.Profile{DisplayName: "B"}}, "/v1/agents/bob"},
		{"no query", route.Of("inbox.read"), api.InboxRequest{Agent: "bob"}, "/v1/agents/bob/inbox"},
		{"a cursor of zero is sent", route.Of("inbox.read"), api.InboxRequest{Agent: "bob", Cursor: new(uint64(0)), Follow: new(false)}, "/v1/agents/bob/inbox?cursor=0&follow=false"},
		{
			"a query of everything", route.Of("inbox.read"),
			api.InboxRequest{Agent: "bob", Cursor: new(uint64(1<<64 - 1)), Limit: new(5), Wait: new(20), Follow: new(true), LastEventID: new(uint64(1)), Kind: api.KindMessage, From: "alice", ConversationID: "a b&c=d/é#+"},
			"/v1/agents/bob/inbox?conversation_id=a+b%26c%3Dd%2F%C3%A9%23%2B&cursor=18446744073709551615&follow=true&from=alice&kind=message&limit=5&wait=20",
		},
		{"colons of a message id", route.Of("messages.get"), api.GetMessageRequest{Agent: "bob", Message: "urn:x.1"}, "/v1/agents/bob/messages/urn:x.1"},

		{
			"a map is a parameter an entry", route.Of("contacts.list"),
			api.ListContactsRequest{Agent: "bob", Labels: map[string]string{"team": "a b", "é&": "="}},
			"/v1/agents/bob/contacts?label.team=a+b&label.%C3%A9%26=%3D",
		},
		{"an entry may be empty", route.Of("contacts.list"), api.ListContactsRequest{Agent: "bob", Labels: map[string]string{"team": ""}}, "/v1/agents/bob/contacts?label.team="},
		{"an empty map is none", route.Of("contacts.list"), api.ListContactsRequest{Agent: "bob", Labels: map[string]string{}, Capability: "c"}, "/v1/agents/bob/contacts?capability=c"},

		{"slashes and dots", two, request{ID: "../a/b", Other: "c?d#e"}, "/x/..%2Fa%2Fb/y/c%3Fd%23e"},
		{"percent and space", two, request{ID: "a%2Fb", Other: "c d"}, "/x/a%252Fb/y/c%20d"},
		{"a value like a parameter", two, request{ID: "{other}", Other: "z"}, "/x/%7Bother%7D/y/z"},
		{"a list", two, request{ID: "a", Other: "b", Q: "q", L: []string{"2", "1"}}, "/x/a/y/b?l=2&l=1&q=q"},
		{"a header does not travel here", two, request{ID: "a", Other: "b", H: "h", Body: "b"}, "/x/a/y/b"},
		{"an empty path field", two, request{ID: "a"}, ""},
		{"no request for a path field", two, nil, ""},
		{"a request of another route", two, api.AgentPath{Agent: "bob"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.r.Target(tt.req)
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("Target: %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestFieldsOf(t *testing.T) {
	type field struct{ In, Name, Type string }
	for _, tt := range []struct {
		name string
		req  any
		want []field
		body bool
	}{
		{"none", nil, nil, false},
		{"no fields", route.OpenAPI{}, nil, false},
		{"path and query", api.GetMessageRequest{}, []field{
			{"path", "agent", "ident.Agent"},
			{"path", "message", "ident.Message"},
			{"query", "from", "ident.Agent"},
			{"query", "to", "ident.Agent"},
			{"query", "at", "*uint64"},
		}, false},
		{"header and body", api.SendRequest{}, []field{{"path", "agent", "ident.Agent"}, {"header", "Idempotency-Key", "ident.Message"}, {"header", "traceparent", "string"}}, true},
		{"a list", api.MonitorRequest{}, []field{
			{"query", "cursor", "string"},
			{"query", "latest", "*bool"},
			{"header", "Last-Event-ID", "string"},
			{"query", "limit", "*int"},
			{"query", "follow", "*bool"},
			{"query", "agent", "[]ident.Agent"},
			{"query", "kind", "api.Kind"},
			{"query", "from", "ident.Agent"},
			{"query", "conversation_id", "ident.Conversation"},
		}, false},
		{"embedded body", &api.RegisterRequest{}, []field{{"path", "agent", "ident.Agent"}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			typ := reflect.TypeOf(tt.req)
			var got []field
			for _, f := range route.FieldsOf(typ) {
				got = append(got, field{string(f.In), f.Name, f.Type.String()})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("FieldsOf (-want +got):\n%s", diff)
			}
			if got := route.HasBody(typ); got != tt.body {
				t.Errorf("HasBody: %v; want %v", got, tt.body)
			}
		})
	}
}

// TestFieldsStops: the consumer's break ends it.
func TestFieldsStops(t *testing.T) {
	n := 0
	for f, v := range route.Fields(api.RevokeKeyRequest{Agent: "bob", Key: ident.Key("k1")}) {
		if n++; f.Name != "agent" || v != "bob" {
			t.Errorf("Fields: %s %q; want agent bob", f.Name, v)
		}
		break
	}
	if n != 1 {
		t.Errorf("Fields yielded %d times; want 1", n)
	}
}
