package wire_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

const fullConfig = `{"default_stream_config":{"storage_class":"standard","retention_policy":{"age":60},` +
	`"timestamping":{"mode":"arrival","uncapped":true},"delete_on_empty":{"min_age_secs":5}},` +
	`"stream_cipher":null,"create_stream_on_append":true,"create_stream_on_read":false}`

// A change keeps what it does not name, resets what it names null, and sets the
// rest, at every depth.
func TestReconfigure(t *testing.T) {
	for _, tc := range []struct {
		name, change string
		old, new     string // what of fullConfig becomes what; "" and "" if nothing
		err          string
	}{
		{"nothing", `{}`, "", "", ""},
		{"one member", `{"create_stream_on_read":true}`, `"create_stream_on_read":false`, `"create_stream_on_read":true`, ""},
		{"a member of the default", `{"default_stream_config":{"storage_class":"express"}}`, `"standard"`, `"express"`, ""},
		{"a member reset", `{"default_stream_config":{"storage_class":null}}`, `"standard"`, `null`, ""},
		{"retention to infinite", `{"default_stream_config":{"retention_policy":{"infinite":{}}}}`, `{"age":60}`, `{"infinite":{}}`, ""},
		{"retention reset", `{"default_stream_config":{"retention_policy":null}}`, `{"age":60}`, `null`, ""},
		{"one of two nested", `{"default_stream_config":{"timestamping":{"uncapped":false}}}`, `"uncapped":true`, `"uncapped":false`, ""},
		{"a nested one reset", `{"default_stream_config":{"timestamping":{"mode":null}}}`, `"arrival"`, `null`, ""},
		{"nested ones reset", `{"default_stream_config":{"timestamping":null}}`, `{"mode":"arrival","uncapped":true}`, `null`, ""},
		{"delete-on-empty kept", `{"default_stream_config":{"delete_on_empty":{}}}`, "", "", ""},
		{"delete-on-empty off", `{"default_stream_config":{"delete_on_empty":{"min_age_secs":0}}}`, `"min_age_secs":5`, `"min_age_secs":0`, ""},
		{"delete-on-empty reset", `{"default_stream_config":{"delete_on_empty":null}}`, `{"min_age_secs":5}`, `null`, ""},
		{
			"everything reset", `{"default_stream_config":null}`,
			fullConfig[:strings.Index(fullConfig, `,"stream_cipher"`)], `{"default_stream_config":null`, "",
		},
		{"null for true or false", `{"create_stream_on_append":null}`, "", "", "bad_json"},
		{"retention both ways", `{"default_stream_config":{"retention_policy":{"age":1,"infinite":{}}}}`, "", "", "bad_json"},
		{"retention of 0", `{"default_stream_config":{"retention_policy":{"age":0}}}`, "", "", "invalid"},
		{"a class that is none", `{"default_stream_config":{"storage_class":"gold"}}`, "", "", "bad_json"},
		{"a cipher", `{"stream_cipher":"aegis-256"}`, "", "", "not_implemented"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := newConfigs(t)
			if status, got := config(t, http.MethodPut, `{"config":`+fullConfig+`}`); status != http.StatusOK {
				t.Fatalf("PUT: %d %s; want 200", status, got)
			}
			status, got := config(t, http.MethodPatch, tc.change)
			if tc.err != "" {
				if status < 400 || !strings.Contains(got, `"code":"`+tc.err+`"`) {
					t.Errorf("PATCH %s: %d %s; want %s", tc.change, status, got, tc.err)
				}
				return
			}
			want := fullConfig
			if tc.old != "" {
				want = strings.Replace(fullConfig, tc.old, tc.new, 1)
			}
			if diff := cmp.Diff(want, got); diff != "" || status != http.StatusOK {
				t.Errorf("PATCH %s: %d (-want +got):\n%s", tc.change, status, diff)
			}
		})
	}
}

// A configuration that is taken is given back as one that means the same, and a
// change to it, whatever it is, leaves one that is taken.
func FuzzConfig(f *testing.F) {
	f.Add(fullConfig, `{"default_stream_config":{"timestamping":{"mode":null}}}`)
	f.Add(`{}`, `{"default_stream_config":null,"stream_cipher":null}`)
	f.Add(`{"default_stream_config":{"retention_policy":{"age":9223372036}}}`, `{"create_stream_on_read":true}`)
	config := newConfigs(f)
	f.Fuzz(func(t *testing.T, given, change string) {
		if !json.Valid([]byte(given)) { // it is to be the member, not to end it
			return
		}
		if status, got := config(t, http.MethodPut, `{"config":`+given+`}`); status >= 500 && status != http.StatusNotImplemented {
			t.Errorf("PUT %s: %d %s; want a success or a refusal", given, status, got)
		}
		if status, got := config(t, http.MethodPatch, change); status >= 500 && status != http.StatusNotImplemented {
			t.Errorf("PATCH %s: %d %s; want a success or a refusal", change, status, got)
		}
		_, once := config(t, http.MethodGet, "")
		if status, got := config(t, http.MethodPut, `{"config":`+once+`}`); status != http.StatusOK {
			t.Errorf("PUT of what GET gave, %s: %d %s; want 200", once, status, got)
		}
		if _, twice := config(t, http.MethodGet, ""); twice != once {
			t.Errorf("GET = %s, and when that was put, %s; want the same", once, twice)
		}
	})
}

// newConfigs returns a way to call the resource of one basin.
func newConfigs(t testing.TB) func(t testing.TB, method, body string) (int, string) {
	e := openEngine(t, engine.Options{Memory: true})
	if _, _, err := e.CreateBasin(context.Background(), basin, engine.BasinConfig{}, ""); err != nil {
		t.Fatal(err)
	}
	handler := wire.New(e, wire.Options{Token: token, Log: quiet()}).Handler()
	return func(t testing.TB, method, body string) (int, string) {
		h := &host{t: t, addr: "none"}
		w := newRecorder()
		handler.ServeHTTP(w, h.request(context.Background(), method, "/v1/basins/"+basin, strings.NewReader(body)))
		return w.status, w.pending.String()
	}
}
