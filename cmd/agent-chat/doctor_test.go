package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentchat/functions"
	"agentchat/shared/env"
	"agentchat/shared/serve"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// A clocked store has a clock of its own.
type clocked struct {
	stream.Store
	ahead time.Duration
}

func (c clocked) Ahead() time.Duration { return c.ahead }

// Where the process that says whether it is ready has no keys, as on Lambda, what
// others publish of theirs says whether chats can be signed; a store's clock shows.
func TestDoctor(t *testing.T) {
	good, err := signed.NewSet(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	revoked, _ := good.Revoke(good.Keys()[0].ID)
	retired := strings.Replace(string(good.Private()), `"use"`, fmt.Sprintf(`"exp":%d,"use"`, time.Now().Unix()-1), 1)
	ended, err := signed.ParseSet([]byte(retired))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		keys  *signed.Set // of the process that has the chats
		broke bool        // it can't read its secrets
		ahead time.Duration
		want  string // a line
		not   string
		exit  int
	}{
		{"no chats", nil, false, 0, "ok    clock      agrees with the server's", "signing", exitOK},
		{"keys that sign", good, false, 0, "ok    signing    " + canSign, "note", exitOK},
		{"keys past their end", ended, false, 0, "note  signing    " + noValidKey, "FAIL", exitOK},
		{"keys that were revoked", revoked, false, 0, "note  signing    " + noValidKey, "FAIL", exitOK},
		{"keys that can't be read", good, true, 0, "FAIL  signing    ", "note", exitUnavailable},
		{"a clock of the store", good, false, -6 * time.Minute, "note  clock      this server's clock is 6m0s behind the store's: what it signs does not verify", "FAIL", exitOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner, closeStore := localstream.Memory()
			defer closeStore()
			process := func(keys *signed.Set) *env.Env {
				e, err := env.New(env.Options{
					Store: clocked{inner, c.ahead}, Config: env.Config{APITokens: []string{operator}, SigningKeys: keys}, Log: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			handlers := map[string]http.Handler{}
			for name, family := range functions.Families() {
				handlers[name] = family(process(nil))
			}
			handlers["chats"] = functions.Families()["chats"](process(c.keys))
			all := serve.All(process(nil), handlers)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.broke && (r.URL.Path == "/.well-known/jwks.json" || strings.HasPrefix(r.URL.Path, "/v1/chats")) {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				all.ServeHTTP(w, r)
			}))
			defer srv.Close()
			var out, errOut bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, errOut: &errOut, invoked: "agent-chat", getenv: func(name string) string {
				return map[string]string{env.URL: srv.URL, env.Token: operator}[name]
			}}
			if got := a.run(t.Context(), []string{"doctor"}); got != c.exit || !strings.Contains(out.String(), "\n"+c.want) || strings.Contains(out.String(), c.not) {
				t.Errorf("exit status %d; want %d, %q and no %q in\n%s%s", got, c.exit, c.want, c.not, out.String(), errOut.String())
			}
		})
	}
}
