package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/gateway"
	"agentchat/shared/route"
)

// A function is given the secrets of its family and nobody else's, and what is no
// secret as it is: as AWS gives them.
func TestBootstrapsHaveTheirSecretsOnly(t *testing.T) {
	dir := t.TempDir()
	for family := range route.Families {
		if err := os.MkdirAll(filepath.Join(dir, family), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, family, "bootstrap"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := gateway.Bootstraps(dir, env.APIToken+"=a", env.S2Token+"=s", env.Basin+"=b", env.OriginLock+"=l")
	if err != nil {
		t.Fatal(err)
	}
	for family, want := range map[string][]string{
		"service":  {env.S2Token + "=s", env.Basin + "=b", env.OriginLock + "=l"},
		"messages": {env.APIToken + "=a", env.S2Token + "=s", env.Basin + "=b", env.OriginLock + "=l"},
	} {
		if got := fs[family].Env; !slices.Equal(got, want) {
			t.Errorf("%s has %q; want %q", family, got, want)
		}
	}
}

// A built function finds its tokens in Secrets Manager, and says unavailable for as long
// as it can't; the same process answers once it can.
func TestFunctionReadsItsSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the functions")
	}
	var mu sync.Mutex
	values := map[string]string{}
	sm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var q struct{ SecretID string }
		if err := json.Unmarshal(b, &q); err != nil { // it is spelled SecretId, which is the same to encoding/json
			t.Errorf("%s: %v", b, err)
		}
		mu.Lock()
		v, ok := values[q.SecretID]
		mu.Unlock()
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","message":"not yours"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": v})
	}))
	defer sm.Close()
	s, err := start(bootstraps(t), func(name string, f *gateway.Function) {
		f.Max = 1
		f.Env = slices.DeleteFunc(slices.Clone(f.Env), func(v string) bool {
			return strings.HasPrefix(v, env.APIToken+"=") || strings.HasPrefix(v, env.S2Token+"=")
		})
		if !route.Open(name) {
			f.Env = append(f.Env, env.APIToken+"_SECRET=arn:api")
		}
		f.Env = append(f.Env, env.S2Token+"_SECRET=arn:s2", "AWS_ENDPOINT_URL_SECRETS_MANAGER="+sm.URL,
			"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_MAX_ATTEMPTS=1")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.stop() }()
	c, err := client.New(client.Options{URL: s.front.URL, Token: "rotated-token-of-the-tests", Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.WhoAmI(t.Context()); err == nil || !strings.Contains(err.Error(), "unavailable: the server is not configured") {
		t.Errorf("without permission: %v; want unavailable", err)
	}
	if log := s.log.String(); !strings.Contains(log, "AGENT_CHAT_API_TOKEN") && !strings.Contains(log, "AGENT_CHAT_S2_TOKEN") {
		t.Errorf("log %s; want the variable", log)
	}
	mu.Lock()
	values["arn:api"], values["arn:s2"] = "rotated-token-of-the-tests,"+apiToken, s2Token
	mu.Unlock()
	if who, err := c.WhoAmI(t.Context()); err != nil || who.Credential != "api_token" {
		t.Errorf("with permission: %+v, %v; want api_token\n%s", who, err, s.log.String())
	}
	if _, err := c.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
}
