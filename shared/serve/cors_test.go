package serve_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/env"
	"agentchat/shared/openapi"
	"agentchat/shared/route"
)

const (
	app  = "https://app.example"
	evil = "https://evil.example"
)

func TestCORSIsOffUnlessConfigured(t *testing.T) {
	h := every(newWorld(t, env.Config{}).Env, func(string) {})
	for _, got := range []http.Header{
		do(h, http.MethodGet, "/healthz", "", "", "Origin", app).Header(),
		do(h, http.MethodOptions, "/healthz", "", "", "Origin", app, "Access-Control-Request-Method", "GET").Header(),
	} {
		for name := range got {
			if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
				t.Errorf("%s is set", name)
			}
		}
	}
}

func TestPreflight(t *testing.T) {
	h := every(newWorld(t, env.Config{Origins: []string{app}}).Env, func(op string) { t.Errorf("%s was called", op) })
	got := do(h, http.MethodOptions, "/v1/agents/bob/inbox", "", "", "Origin", app, "Access-Control-Request-Method", "GET",
		"Access-Control-Request-Headers", "authorization,last-event-id")
	if got.Code != http.StatusNoContent || got.Body.Len() > 0 {
		t.Errorf("answered %d %q; want 204 and nothing", got.Code, got.Body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": app, "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS", "Vary": "Origin", "Allow": "GET, HEAD, OPTIONS",
	} {
		if values := got.Header()[name]; len(values) != 1 || values[0] != want {
			t.Errorf("%s = %q; want once %q", name, values, want)
		}
	}
	headers := strings.ToLower(got.Header().Get("Access-Control-Allow-Headers"))
	wanted := []string{"authorization", "x-request-id", "content-type"}
	for _, r := range route.Table { // every header that some request has
		if r.Keys {
			wanted = append(wanted, "x-api-key", ", api-key")
		}
		for _, f := range route.FieldsOf(reflect.TypeOf(r.Req)) {
			if f.In == route.InHeader {
				wanted = append(wanted, strings.ToLower(f.Name))
			}
		}
	}
	for _, want := range wanted {
		if !strings.Contains(headers, want) {
			t.Errorf("Access-Control-Allow-Headers = %q; want %s in it", headers, want)
		}
	}
}

// Whatever header an answer is described with can be read by a page, but that of browsers themselves.
func TestHeadersAreExposed(t *testing.T) {
	var doc struct {
		Components struct{ Headers map[string]any }
	}
	if err := json.Unmarshal(openapi.Document("test"), &doc); err != nil {
		t.Fatal(err)
	}
	h := every(newWorld(t, env.Config{Origins: []string{app}}).Env, func(string) {})
	exposed := strings.Split(do(h, http.MethodGet, "/healthz", "", "", "Origin", app).Header().Get("Access-Control-Expose-Headers"), ", ")
	delete(doc.Components.Headers, "WWW-Authenticate")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(doc.Components.Headers)), exposed); diff != "" {
		t.Errorf("exposed headers (-described +exposed):\n%s", diff)
	}
}

// Every answer to an allowed origin can be read by its page, refusals too; none to another.
func TestCORSAnswers(t *testing.T) {
	for _, row := range []struct {
		name, configured, origin, want string
	}{
		{"allowed", app, app, app},
		{"foreign", app, evil, ""},
		{"longer", app, app + ".evil.example", ""},
		{"null", app, "null", ""},
		{"no origin", app, "", ""},
		{"all", "*", evil, "*"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := every(newWorld(t, env.Config{Origins: []string{row.configured}}).Env, func(string) {})
			for _, target := range []string{"/healthz", "/nowhere", "/v1/whoami"} {
				got := do(h, http.MethodGet, target, "", "", "Origin", row.origin)
				if v := got.Header().Get("Access-Control-Allow-Origin"); v != row.want {
					t.Errorf("%s: Access-Control-Allow-Origin = %q; want %q", target, v, row.want)
				}
				if v := got.Header().Get("Access-Control-Expose-Headers"); (v != "") != (row.want != "") {
					t.Errorf("%s: Access-Control-Expose-Headers = %q", target, v)
				}
				if v := got.Header().Get("Access-Control-Allow-Credentials"); v != "" {
					t.Errorf("%s: Access-Control-Allow-Credentials = %q; want none", target, v)
				}
			}
		})
	}
}
