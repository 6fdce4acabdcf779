package lambdahost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/env"
	"agentchat/shared/lambdahost"
	"agentchat/shared/signed"
)

const (
	oldToken = "old-token-of-the-tests"
	newToken = "new-token-of-the-tests"
	s2Token  = "s2-token-of-the-tests"
)

// A vault is what Secrets reads: secrets by ARN, a clock, and what was made.
type vault struct {
	values map[string]string
	away   error
	now    time.Time
	reads  int
	made   [][]string // API tokens of each handler
	log    bytes.Buffer
}

func (v *vault) secrets(environ map[string]string) *lambdahost.Secrets {
	return &lambdahost.Secrets{
		Family: "messages",
		Getenv: func(name string) string { return environ[name] },
		New: func(e *env.Env) http.Handler {
			v.made = append(v.made, e.Config.APITokens)
			return http.NotFoundHandler()
		},
		Log: slog.New(slog.NewTextHandler(&v.log, nil)),
		Now: func() time.Time { return v.now },
		Fetch: func(_ context.Context, arn string) (string, error) {
			v.reads++
			return v.values[arn], v.away
		},
	}
}

func environ() map[string]string {
	return map[string]string{env.APIToken + "_SECRET": "arn:api", env.S2Token: s2Token, env.S2Endpoint: "http://127.0.0.1:1"}
}

// A secret is read again after five minutes, and another handler is made if it
// has changed, with no deployment; what can't be read, or is refused, changes
// nothing, and is looked at again soon.
func TestSecretsRotate(t *testing.T) {
	v := &vault{values: map[string]string{"arn:api": oldToken + "\n"}, now: time.Unix(0, 0)}
	s := v.secrets(environ())
	for _, step := range []struct {
		name   string
		after  time.Duration
		secret string
		away   error
		reads  int        // so far
		made   [][]string // so far
	}{
		{"first", 0, oldToken + "\n", nil, 1, [][]string{{oldToken}}},
		{"kept", 4 * time.Minute, newToken, nil, 1, [][]string{{oldToken}}},
		{"the same again", time.Minute, oldToken, nil, 2, [][]string{{oldToken}}},
		{"away", 5 * time.Minute, newToken, errors.New("throttled"), 3, [][]string{{oldToken}}},
		{"not asked at once", 20 * time.Second, newToken, nil, 3, [][]string{{oldToken}}},
		{"rotated", 10 * time.Second, newToken + "," + oldToken, nil, 4, [][]string{{oldToken}, {newToken, oldToken}}},
		{"blank", 5 * time.Minute, " ", nil, 5, [][]string{{oldToken}, {newToken, oldToken}}},
		{"done", 5 * time.Minute, newToken, nil, 6, [][]string{{oldToken}, {newToken, oldToken}, {newToken}}},
	} {
		v.now = v.now.Add(step.after)
		v.values["arn:api"], v.away = step.secret, step.away
		h, err := s.Handler(t.Context())
		if err != nil || h == nil {
			t.Fatalf("%s: Handler = %v, %v; want one", step.name, h, err)
		}
		if diff := cmp.Diff(step.made, v.made); diff != "" || v.reads != step.reads {
			t.Errorf("%s: %d reads; want %d; handlers made: %s", step.name, v.reads, step.reads, diff)
		}
	}
	for _, want := range []string{"throttled", "AGENT_CHAT_API_TOKEN is blank"} {
		if !strings.Contains(v.log.String(), want) {
			t.Errorf("log %s; want %q in it", v.log.String(), want)
		}
	}
	if strings.Contains(v.log.String(), newToken) || strings.Contains(v.log.String(), oldToken) {
		t.Errorf("log %s holds a token", v.log.String())
	}
}

// Without a handler of before, what can't be read is an error, and the next
// call tries again.
func TestSecretsAtTheBeginning(t *testing.T) {
	v := &vault{values: map[string]string{"arn:api": oldToken}, away: errors.New("no permission")}
	s := v.secrets(environ())
	if h, err := s.Handler(t.Context()); h != nil || !errors.Is(err, v.away) {
		t.Errorf("Handler = %v, %v; want %v", h, err, v.away)
	}
	v.away = nil
	if h, err := s.Handler(t.Context()); h == nil || err != nil {
		t.Errorf("Handler = %v, %v; want one", h, err)
	}
}

// The keys of signed chats are a secret as the others are; what is no key set
// changes nothing, and is not in the log.
func TestSigningKeysAreASecret(t *testing.T) {
	keys, err := signed.NewSet(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{values: map[string]string{"arn:api": oldToken, "arn:keys": `{"keys":[]}`}, now: time.Unix(0, 0)}
	environ := environ()
	environ[env.SigningKeys+"_SECRET"] = "arn:keys"
	s := v.secrets(environ)
	var got []int
	s.New = func(e *env.Env) http.Handler {
		got = append(got, len(e.Keys.Keys()))
		return http.NotFoundHandler()
	}
	for _, value := range []string{`{"keys":[]}`, string(keys.Private()), `{"keys":"secret"}`} {
		v.values["arn:keys"] = value
		if _, err := s.Handler(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.now = v.now.Add(5 * time.Minute)
	}
	if diff := cmp.Diff([]int{0, 1}, got); diff != "" {
		t.Errorf("keys of the handlers made: %s", diff)
	}
	if log := v.log.String(); !strings.Contains(log, env.SigningKeys) || strings.Contains(log, `"secret"`) {
		t.Errorf("log %s; want the variable named, and nothing quoted", log)
	}
}

// Without secrets the environment is all, and nothing is ever read again.
func TestNoSecrets(t *testing.T) {
	v := &vault{}
	s := v.secrets(map[string]string{env.APIToken: oldToken, env.S2Token: s2Token})
	for range 2 {
		if _, err := s.Handler(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.now = v.now.Add(time.Hour)
	}
	if v.reads != 0 || len(v.made) != 1 {
		t.Errorf("%d reads, handlers %q; want none, and one", v.reads, v.made)
	}
}

// The AWS client reads the secret that the ARN names: seen by a server that
// speaks as Secrets Manager does.
func TestSecretsManager(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	sm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ SecretId string } //nolint:revive // as AWS spells it
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // given up, since another secret can't be read
		}
		if err := json.Unmarshal(b, &q); err != nil {
			t.Errorf("request %s: %v", b, err)
		}
		mu.Lock()
		asked = append(asked, r.Header.Get("X-Amz-Target")+" "+q.SecretId)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if strings.HasSuffix(q.SecretId, "binary") {
			_, _ = io.WriteString(w, `{"SecretBinary":"AA=="}`)
			return
		}
		_, _ = io.WriteString(w, `{"SecretString":"`+oldToken+`"}`)
	}))
	defer sm.Close()
	t.Setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", sm.URL)
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")

	v := &vault{}
	environ := environ()
	s := v.secrets(environ)
	s.Fetch = nil
	if _, err := s.Handler(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"secretsmanager.GetSecretValue arn:api"}, asked); diff != "" {
		t.Errorf("asked: %s", diff)
	}
	if diff := cmp.Diff([][]string{{oldToken}}, v.made); diff != "" {
		t.Errorf("made: %s", diff)
	}
	environ[env.AdminToken+"_SECRET"] = "arn:binary"
	s = v.secrets(environ)
	s.Fetch = nil
	if _, err := s.Handler(t.Context()); err == nil || !strings.Contains(err.Error(), "AGENT_CHAT_ADMIN_TOKEN") {
		t.Errorf("Handler with a binary secret: %v; want an error that names the variable", err)
	}
}
