package valid_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/strictjson"
	"agentchat/shared/valid"
)

// FuzzProfile: whatever bodies register, the answer is nil or an *api.Error that
// can be sent, and an endpoint that passed is one that any reader can take apart.
func FuzzProfile(f *testing.F) {
	f.Add("https://agents.example.net/", "research", "1.0.0", "team", "discovery")
	f.Add("https://u:p@h/", "", "v1.1", "", "")
	f.Add(`https://good\@evil/`, "a\x1b", "01.0.0", "a/b~c", strings.Repeat("x", 5000))
	f.Fuzz(func(t *testing.T, endpoint, capability, version, key, value string) {
		r := api.RegisterRequest{Profile: api.Profile{
			DisplayName: capability, Endpoint: endpoint, Capabilities: []string{capability},
			Labels: map[string]string{key: value}, ProtocolVersions: []string{version},
		}}
		body, err := strictjson.Append(nil, &r)
		if err != nil {
			return // not UTF-8
		}
		var got api.RegisterRequest
		if err := strictjson.Decode(body, &got); err != nil {
			t.Fatalf("Decode(%q): %v", body, err)
		}
		if err := valid.Register(&got); err != nil {
			var e *api.Error
			if !errors.As(err, &e) {
				t.Fatalf("Register(%q): %v; want an *api.Error", body, err)
			}
			if _, err := strictjson.Append(nil, e.Problem("r1")); err != nil {
				t.Fatalf("the problem of %v can't be sent: %v", e, err)
			}
			return
		}
		if endpoint == "" {
			return
		}
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" || strings.ContainsAny(endpoint, " \t\r\n\\<>\"\x00\x1b") {
			t.Fatalf("Register took the endpoint %q, which is %#v, %v", endpoint, u, err)
		}
	})
}
