package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/openapi"
	"agentchat/shared/route"
	"agentchat/shared/strictjson"
	"agentchat/shared/valid"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json")

const golden = "../../docs/openapi.json"

// The committed document is what a server of version "dev" serves, laid out for people.
func TestGolden(t *testing.T) {
	var got bytes.Buffer
	if err := json.Indent(&got, openapi.Document("dev"), "", "  "); err != nil {
		t.Fatalf("Document is no JSON: %v", err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil { // a document
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("docs/openapi.json is not what the table says (go test ./shared/openapi -update); (-file +table):\n%s", diff)
	}
}

func document(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(openapi.Document("1.2.3"), &doc); err != nil {
		t.Fatalf("Document is no JSON: %v", err)
	}
	return doc
}

func TestVersionAndSameness(t *testing.T) {
	first := openapi.Document("1.2.3")
	if got := document(t)["info"].(map[string]any)["version"]; got != "1.2.3" {
		t.Errorf("info.version = %v; want 1.2.3", got)
	}
	for range 20 {
		if !bytes.Equal(openapi.Document("1.2.3"), first) {
			t.Fatal("two documents of one version differ")
		}
	}
}

// walk visits every object in v, with its JSON pointer.
func walk(v any, at string, visit func(at string, o map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(at, v)
		for k, e := range v {
			walk(e, at+"/"+strings.ReplaceAll(k, "/", "~1"), visit)
		}
	case []any:
		for _, e := range v {
			walk(e, at+"/-", visit)
		}
	}
}

func TestReferencesResolve(t *testing.T) {
	doc := document(t)
	used := map[string]bool{}
	walk(doc, "", func(at string, o map[string]any) {
		ref, ok := o["$ref"].(string)
		if !ok {
			return
		}
		used[ref] = true
		var v any = doc
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		if v == nil {
			t.Errorf("%s refers to %s, which is not there", at, ref)
		}
	})
	for kind, all := range doc["components"].(map[string]any) {
		for name := range all.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; kind != "securitySchemes" && !used[ref] {
				t.Errorf("nothing refers to %s", ref)
			}
		}
	}
}

// Whatever a reader of the document meets is explained: every member, parameter and answer.
func TestEverythingIsDescribed(t *testing.T) {
	walk(document(t), "", func(at string, o map[string]any) {
		member := regexp.MustCompile(`^/components/schemas/(\w+)/properties/\w+$`).FindStringSubmatch(at)
		described := member != nil && member[1] != "Limits" || regexp.MustCompile(`/responses/\d+$|/parameters/-$`).MatchString(at)
		if _, ref := o["$ref"]; described && o["description"] == nil && (!ref || member != nil) {
			t.Errorf("%s has no description", at)
		}
	})
}

func TestEveryFamilyIsDescribed(t *testing.T) {
	for _, tag := range document(t)["tags"].([]any) {
		if tag := tag.(map[string]any); tag["description"] == "" {
			t.Errorf("the family %s has no description; give it one in tags", tag["name"])
		}
	}
}

// Entries of a map are parameters of their own; a body may be left out where it says so.
func TestParametersAndBodies(t *testing.T) {
	of := func(op string) map[string]any {
		r := route.Of(op)
		return document(t)["paths"].(map[string]any)[r.Path].(map[string]any)[strings.ToLower(r.Method)].(map[string]any)
	}
	want := map[string]any{"type": "object", "additionalProperties": false, "patternProperties": map[string]any{`^label\.`: map[string]any{"type": "string"}}}
	ps := of("contacts.list")["parameters"].([]any)
	label := ps[len(ps)-1].(map[string]any)
	if diff := cmp.Diff(want, label["schema"]); diff != "" || label["style"] != "form" || label["explode"] != true {
		t.Errorf("label. is %v (-want +got):\n%s", label, diff)
	}
	for op, required := range map[string]bool{"contacts.accept": false, "contacts.put": true} {
		if got := of(op)["requestBody"].(map[string]any)["required"]; got != required {
			t.Errorf("the body of %s is required: %v; want %v", op, got, required)
		}
	}
}

// Every route of the table is an operation, and every operation a route.
func TestOperationsAreTheTable(t *testing.T) {
	got := map[string]string{}
	for path, item := range document(t)["paths"].(map[string]any) {
		for method, o := range item.(map[string]any) {
			got[o.(map[string]any)["operationId"].(string)] = strings.ToUpper(method) + " " + path
		}
	}
	want := map[string]string{}
	for _, r := range route.Table {
		want[r.Op] = r.Method + " " + r.Path
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-table +document):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	for op, want := range map[string][]string{
		"messages.send":   {"200", "201", "400", "401", "403", "404", "409", "410", "413", "415", "500", "503"},
		"agents.register": {"200", "201", "400", "401", "403", "413", "415", "500", "503"},
		"agents.mint_key": {"201", "400", "401", "403", "404", "413", "415", "500", "503"},
		"agents.delete":   {"204", "400", "401", "403", "404", "413", "415", "500", "503"},
		"inbox.read":      {"200", "400", "401", "403", "404", "410", "413", "415", "416", "500", "503"},
		"service.health":  {"200", "400", "413", "415", "500"},
	} {
		r := route.Of(op)
		o := document(t)["paths"].(map[string]any)[r.Path].(map[string]any)[strings.ToLower(r.Method)].(map[string]any)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(o["responses"].(map[string]any)))); diff != "" {
			t.Errorf("statuses of %s (-want +got):\n%s", op, diff)
		}
	}
	stream := document(t)["paths"].(map[string]any)[route.Of("inbox.read").Path].(map[string]any)["get"].(map[string]any)["responses"].(map[string]any)["200"]
	content := stream.(map[string]any)["content"].(map[string]any)
	if content["application/json"] == nil || content["text/event-stream"] == nil {
		t.Errorf("inbox.read answers with %v; want JSON and events", content)
	}
}

// A fault is a protocol's own form of an error.
type fault struct {
	Message string `json:"message" doc:"What was wrong."`
}

func (fault) MediaType() string                    { return "application/vnd.fault+json" }
func (fault) Of(e *api.Error, _ ident.Request) any { return fault{e.Detail} }

// An accepted is an answer of 202 that says where the outcome will be.
type accepted struct{}

func (accepted) Status() (int, http.Header) {
	return http.StatusAccepted, http.Header{"Location": {""}}
}

// A protocol of its own can be described: a stream without a page, an answer that
// comes later, and errors in a form of its own.
func TestRoom(t *testing.T) {
	r := route.Route{Op: "later.x", Method: http.MethodPatch, Path: "/later", Access: route.Any, Keys: true, Resp: accepted{}, Shape: fault{}}
	stream := r
	stream.Method, stream.Resp, stream.Kind = http.MethodGet, nil, route.Events
	stream.Stream = route.Stream{Events: []route.Event{{Name: "tick", Data: fault{}}}, Doc: `an event "tick".`}
	got, err := json.Marshal(openapi.Operation(r)["security"])
	if want := `[{"apiToken":[]},{"agentKey":[]},{"xApiKeyHeader":[]},{"apiKeyHeader":[]}]`; err != nil || string(got) != want {
		t.Errorf("security: %s, %v; want %s", got, err, want)
	}
	for _, tt := range []struct {
		status, want string
		of           route.Route
	}{
		{"202", `"headers":{"Location":{"$ref":"#/components/headers/Location"},`, r},
		{"403", `"content":{"application/vnd.fault+json":{"schema":{"$ref":"#/components/schemas/fault"}}},"description":"Forbidden: forbidden"`, r},
		{"200", `"content":{"text/event-stream":{"schema":{"description":"Server-sent events: an event \"tick\". `, stream},
	} {
		got, err := json.Marshal(openapi.Operation(tt.of)["responses"].(map[string]any)[tt.status])
		if err != nil || !strings.Contains(string(got), tt.want) {
			t.Errorf("%s of %s: %s, %v; want %s in it", tt.status, tt.of.Method, got, err, tt.want)
		}
	}
}

// Every code is some operation's, but those that are a path's or of a limit that no operation has yet.
func TestEveryCodeIsSomeOperations(t *testing.T) {
	seen := map[api.Code]bool{api.NotFound: true, api.MethodNotAllowed: true, api.RateLimited: true}
	for _, r := range route.Table {
		for _, c := range openapi.Codes(r) {
			seen[c] = true
		}
	}
	for _, c := range api.Codes() {
		if !seen[c] {
			t.Errorf("no operation has the code %s", c)
		}
	}
}

// The examples are requests and answers that the server takes and gives.
func TestExamples(t *testing.T) {
	examples := map[string]json.RawMessage{}
	walk(document(t), "", func(_ string, o map[string]any) {
		media, ok := o["application/json"].(map[string]any)
		if !ok || media["example"] == nil {
			return
		}
		b, err := json.Marshal(media["example"])
		if err != nil {
			t.Fatal(err)
		}
		ref := media["schema"].(map[string]any)["$ref"].(string)
		examples[ref[strings.LastIndex(ref, "/")+1:]] = b
	})
	var send api.SendRequest
	if err := strictjson.Decode(examples["SendRequest"], &send); err != nil {
		t.Errorf("decode the example of SendRequest: %v", err)
	}
	send.Agent = "alice"
	if err := valid.Send(&send); err != nil {
		t.Errorf("the example of SendRequest: %v", err)
	}
	var register api.RegisterRequest
	if err := strictjson.Decode(examples["RegisterRequest"], &register); err != nil {
		t.Errorf("decode the example of RegisterRequest: %v", err)
	}
	register.Agent = "carol"
	if err := valid.Register(&register); err != nil {
		t.Errorf("the example of RegisterRequest: %v", err)
	}
	var put api.PutContactRequest
	if err := strictjson.Decode(examples["PutContactRequest"], &put); err != nil {
		t.Errorf("decode the example of PutContactRequest: %v", err)
	}
	put.Contact = "carol"
	if err := valid.PutContact(&put); err != nil {
		t.Errorf("the example of PutContactRequest: %v", err)
	}
	var share api.ShareContactRequest
	if err := strictjson.Decode(examples["ShareContactRequest"], &share); err != nil || valid.ShareContact(&share) != nil {
		t.Errorf("the example of ShareContactRequest: %v, %v", err, valid.ShareContact(&share))
	}
	var receipt api.SendReceiptRequest
	if err := strictjson.Decode(examples["SendReceiptRequest"], &receipt); err != nil || valid.SendReceipt(&receipt) != nil {
		t.Errorf("the example of SendReceiptRequest: %v, %v", err, valid.SendReceipt(&receipt))
	}
	for name, dst := range map[string]any{"AcceptContactRequest": &api.AcceptContactRequest{}, "SendResponse": &api.SendResponse{}, "InboxPage": &api.InboxPage{}, "Delivery": &api.Delivery{}} {
		if err := strictjson.Decode(examples[name], dst); err != nil {
			t.Errorf("decode the example of %s: %v", name, err)
		}
	}
	var envelope api.Envelope
	var page api.InboxPage
	if err := json.Unmarshal(examples["InboxPage"], &page); err != nil || len(page.Deliveries) != 1 {
		t.Fatalf("the example of InboxPage has %d deliveries, %v; want 1", len(page.Deliveries), err)
	}
	if err := strictjson.Decode(page.Deliveries[0].Envelope, &envelope); err != nil {
		t.Errorf("decode the example's envelope: %v", err)
	}
}

// The patterns and lengths of the document and the grammars of package ident take the same ids.
func TestPatternsAreTheGrammars(t *testing.T) {
	schemas := document(t)["components"].(map[string]any)["schemas"].(map[string]any)
	parses := map[string]func(string) error{
		"AgentID":        func(s string) error { _, err := ident.ParseAgent(s); return err },
		"MessageID":      func(s string) error { _, err := ident.ParseMessage(s); return err },
		"ConversationID": func(s string) error { _, err := ident.ParseConversation(s); return err },
		"CorrelationID":  func(s string) error { _, err := ident.ParseCorrelation(s); return err },
		"RequestID":      func(s string) error { _, err := ident.ParseRequest(s); return err },
		"KeyID":          func(s string) error { _, err := ident.ParseKey(s); return err },
	}
	for name, parse := range parses {
		t.Run(name, func(t *testing.T) {
			schema := schemas[name].(map[string]any)
			pattern := regexp.MustCompile(goPattern(schema["pattern"].(string)))
			longest := int(schema["maxLength"].(float64))
			rapid.Check(t, func(t *rapid.T) {
				s := rapid.StringOfN(rapid.RuneFrom([]rune("az09AZ._:-~/ \n\x00\u0080é")), 0, 300, 300).Draw(t, "id")
				// A length is characters in the document and bytes in the grammar: alike for ASCII.
				want := len(s) <= longest && pattern.MatchString(s)
				if got := parse(s) == nil; got != want {
					t.Fatalf("%q is one: %v; by the document: %v", s, got, want)
				}
			})
		})
	}
}

// goPattern returns an ECMA pattern as package regexp has it.
func goPattern(p string) string {
	return regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(p, `\x{$1}`)
}

// Each structure has the members that its type encodes.
func TestMembersAreTheTypes(t *testing.T) {
	schemas := document(t)["components"].(map[string]any)["schemas"].(map[string]any)
	for _, v := range []any{api.AgentInfo{}, api.InboxPage{}, api.Limits{}, api.Problem{}, api.SendResponse{Envelope: json.RawMessage("{}")}, api.WhoAmI{}, api.Health{}} {
		name := reflect.TypeOf(v).Name()
		b, err := strictjson.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		var encoded map[string]any
		if err := json.Unmarshal(b, &encoded); err != nil {
			t.Fatal(err)
		}
		described := schemas[name].(map[string]any)["properties"].(map[string]any)
		for member := range encoded {
			if described[member] == nil {
				t.Errorf("%s has a member %s that is not described", name, member)
			}
		}
		required, _ := schemas[name].(map[string]any)["required"].([]any)
		for _, member := range required {
			if _, ok := encoded[member.(string)]; !ok {
				t.Errorf("%s requires %s, which its zero value leaves out", name, member)
			}
		}
	}
}
