package env_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/signed"
)

const token = "0123456789abcdef"

func environ(kv ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestReadDefaults(t *testing.T) {
	got, err := env.Read(environ())
	if err != nil {
		t.Fatalf("Read of nothing: %v", err)
	}
	if diff := cmp.Diff(env.Config{Basin: "agent-chat"}, got); diff != "" {
		t.Errorf("Read of nothing (-want +got):\n%s", diff)
	}
}

func TestReadAll(t *testing.T) {
	got, err := env.Read(environ(
		env.APIToken, token+", "+token+"x", env.AdminToken, token+"y", env.Data, "/data", env.S2Token, "s2", env.S2Endpoint, "http://127.0.0.1:9/",
		env.Basin, "my-basin", env.Retention, "192h", env.StreamMaxAge, "5m", env.CORSOrigins, "https://a.example, http://localhost:3000,*",
		env.AgentKeys, "required", env.ChatGrants, "required", env.PIIPolicy, "reject",
	))
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	want := env.Config{
		APITokens: []string{token, token + "x"}, AdminTokens: []string{token + "y"}, S2Token: "s2", S2Endpoint: "http://127.0.0.1:9",
		Basin: "my-basin", Data: "/data", Retention: 192 * time.Hour, StreamMaxAge: 5 * time.Minute,
		Origins: []string{"https://a.example", "http://localhost:3000", "*"}, AgentKeys: true, ChatGrants: true, PIIPolicy: api.PIIReject,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
}

// An empty set is one: what a secret holds before keys are put into it.
func TestReadKeys(t *testing.T) {
	if got, err := env.Read(environ(env.SigningKeys, `{"keys":[]}`)); err != nil || got.SigningKeys == nil || len(got.SigningKeys.Keys()) != 0 {
		t.Errorf("Read of no keys = %+v, %v; want an empty set", got.SigningKeys, err)
	}
	keys, err := signed.NewSet(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	got, err := env.Read(environ(env.SigningKeys, string(keys.Private())))
	if err != nil || string(got.SigningKeys.Private()) != string(keys.Private()) {
		t.Errorf("Read of keys: %v; want the same back", err)
	}
}

// Every bad value is refused by an error that names the variable and repeats no secret.
func TestReadRefuses(t *testing.T) {
	for _, row := range []struct{ name, variable, value string }{
		{"blank token", env.APIToken, " "},
		{"line end for a token", env.APIToken, "\n"},
		{"blank element", env.APIToken, token + ",,"},
		{"short token", env.APIToken, "secret"},
		{"foreign character", env.APIToken, "secret$secret$secret"},
		{"shape of an agent key", env.APIToken, "ak_secret0123456789"},
		{"blank admin token", env.AdminToken, "\t"},
		{"short admin token", env.AdminToken, "secret"},
		{"blank S2 token", env.S2Token, " \n"},
		{"two words for an S2 token", env.S2Token, "secret secret"},
		{"keys that are no JSON", env.SigningKeys, "secret"},
		{"keys that are no set", env.SigningKeys, `{"kty":"oct","k":"secret"}`},
		{"a short symmetric key", env.SigningKeys, `{"keys":[{"kty":"oct","k":"secret"}]}`},
		{"agent keys of another word", env.AgentKeys, "secret"},
		{"grants of another word", env.ChatGrants, "secret"},
		{"unknown policy", env.PIIPolicy, "secret"},
		{"endpoint without scheme", env.S2Endpoint, "localhost:80"},
		{"endpoint with a password", env.S2Endpoint, "https://u:secret@h"},
		{"short basin", env.Basin, "abcdefg"},
		{"long basin", env.Basin, strings.Repeat("a", 45)},
		{"capital in a basin", env.Basin, "Agent-chat"},
		{"retention below 8 days", env.Retention, "191h59m59s"},
		{"retention without a unit", env.Retention, "720"},
		{"negative retention", env.Retention, "-720h"},
		{"zero stream age", env.StreamMaxAge, "0s"},
		{"origin with a path", env.CORSOrigins, "https://a.example/"},
		{"origin in capitals", env.CORSOrigins, "https://A.example"},
		{"origins of a whole domain", env.CORSOrigins, "https://*.example"},
		{"origin with the usual port", env.CORSOrigins, "https://a.example:443"},
		{"origin with the usual port of http", env.CORSOrigins, "http://a.example:80"},
		{"origin with a colon", env.CORSOrigins, "https://a.example:"},
		{"origin not in ASCII", env.CORSOrigins, "https://\u00e4.example"},
		{"null origin", env.CORSOrigins, "null"},
		{"blank origin", env.CORSOrigins, "https://a.example,"},
		{"origin without scheme", env.CORSOrigins, "a.example"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := env.Read(environ(row.variable, row.value))
			if err == nil || !strings.HasPrefix(err.Error(), row.variable+": ") {
				t.Fatalf("Read with %s=%q: %v; want an error that names the variable", row.variable, row.value, err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("Read with %s=%q: %v; want the secret left out", row.variable, row.value, err)
			}
		})
	}
}

func TestClient(t *testing.T) {
	got, err := env.Client(environ(env.URL, "https://chat.example/", env.Token, " tok \n", env.Agent, "alice"))
	if want := (env.ClientConfig{URL: "https://chat.example", Token: "tok", Agent: "alice"}); err != nil || got != want {
		t.Errorf("Client = %+v, %v; want %+v", got, err, want)
	}
	for variable, bad := range map[string]string{env.URL: "ftp://h", env.Token: "\n", env.Agent: "Alice"} {
		if _, err := env.Client(environ(variable, bad)); err == nil || !strings.HasPrefix(err.Error(), variable+": ") {
			t.Errorf("Client with %s=%q: %v; want an error that names the variable", variable, bad, err)
		}
	}
}

// The auditor's token is the first of a server's list, and what no server would
// take is none.
func TestAuditor(t *testing.T) {
	for list, want := range map[string]string{"": "", "auditor-token-new-1": "auditor-token-new-1", "auditor-token-new-1, auditor-token-old-1": "auditor-token-new-1"} {
		if got, err := env.Auditor(environ(env.AdminToken, list)); err != nil || got != want {
			t.Errorf("Auditor with %q = %q, %v; want %q", list, got, err, want)
		}
	}
	for _, bad := range []string{"short", "auditor-token-new-1,", "auditor token new 1"} {
		if got, err := env.Auditor(environ(env.AdminToken, bad)); err == nil || got != "" || !strings.HasPrefix(err.Error(), env.AdminToken+": ") {
			t.Errorf("Auditor with %q = %q, %v; want an error that names the variable", bad, got, err)
		}
	}
}

// A server does not start without what it needs, and says which variable to set.
func TestFromEnvironRefuses(t *testing.T) {
	for _, row := range []struct {
		name    string
		family  string
		environ []string
		want    string
	}{
		{"nothing", "messages", nil, env.APIToken},
		{"no API token", "messages", []string{env.S2Token, "s2"}, env.APIToken},
		{"empty API token", "messages", []string{env.APIToken, "", env.S2Token, "s2"}, env.APIToken},
		{"no S2 token", "messages", []string{env.APIToken, token}, env.S2Token},
		{"no S2 token of an open family", "service", nil, env.S2Token},
		{"one token for both", "messages", []string{env.APIToken, token, env.AdminToken, token, env.S2Token, "s2"}, "an admin token is an API token too"},
		{"one token for both of an open family", "service", []string{env.APIToken, token, env.AdminToken, token, env.S2Token, "s2"}, "an admin token is an API token too"},
		{"a family that there is not", "nobody", []string{env.S2Token, "s2"}, env.APIToken},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := env.FromEnviron(row.family, environ(row.environ...), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("FromEnviron(%s, %q): %v; want an error with %q", row.family, row.environ, err, row.want)
			}
		})
	}
}

// A family that asks nobody for a credential starts without any, and can then
// recognise nobody.
func TestFromEnvironOfAnOpenFamily(t *testing.T) {
	e, err := env.FromEnviron("service", environ(env.S2Token, "s2"), slog.New(slog.DiscardHandler))
	if err != nil || e.Auth != nil {
		t.Errorf("FromEnviron without a token: %+v, %v; want an Env without Auth", e, err)
	}
	e, err = env.FromEnviron("service", environ(env.S2Token, "s2", env.APIToken, token), slog.New(slog.DiscardHandler))
	if err != nil || e.Auth == nil {
		t.Errorf("FromEnviron with a token: %+v, %v; want an Env with Auth", e, err)
	}
}
