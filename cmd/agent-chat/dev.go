package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

// The names of the secret files in a data folder.
const (
	apiTokenFile   = "api-token"
	adminTokenFile = "admin-token"
	s2TokenFile    = "s2-token"
	keysFile       = "signing-keys.json"
)

const (
	defaultListen = "127.0.0.1:8080"
	defaultData   = ".agent-chat"
)

type devFlags struct {
	listen, data, s2Listen string
	lambda                 string // the folder of the built functions; "": handlers in process
	memory                 bool
}

func (a *app) devCommand() *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with an embedded durable store",
		Long: `Run everything on one port of this machine, with an embedded store that is durable:
what was acknowledged survives a crash. Ctrl-C ends it cleanly, a second one at once.

Tokens come from AGENT_CHAT_API_TOKEN and AGENT_CHAT_ADMIN_TOKEN if they are set.
Otherwise they are made once and kept in the data folder, readable by you only.

With --lambda the built Lambda functions answer, in processes of their own behind
an emulated Runtime API, as they would in the cloud: one request a process at a
time, timeouts and size limits enforced. make bootstraps builds them.

Standard output says where it listens and what to paste; the log goes to standard
error, one JSON object a request.`,
		Example: `  agent-chat dev
  agent-chat dev --memory --listen 127.0.0.1:9090
  agent-chat dev --s2-listen 127.0.0.1:8081
  agent-chat dev --lambda`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.dev(cmd.Context(), f, cmd.Flags().Changed("data"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "`address` to listen on; port 0 is any free one")
	flags.StringVar(&f.data, "data", "", "the data `folder` (default $AGENT_CHAT_DATA, else .agent-chat)")
	flags.BoolVar(&f.memory, "memory", false, "keep nothing")
	flags.StringVar(&f.s2Listen, "s2-listen", "", "also serve the store as the S2 API on this `address`")
	flags.StringVar(&f.lambda, "lambda", "", "let the built Lambda functions answer; `folder` of them")
	flags.Lookup("lambda").NoOptDefVal = defaultFunctions
	cmd.MarkFlagsMutuallyExclusive("data", "memory")
	return cmd
}

func (a *app) dev(ctx context.Context, f devFlags, chosen bool) (err error) {
	conf, err := env.Read(a.getenv)
	if err != nil {
		return usage{err}
	}
	switch {
	case chosen && f.data == "":
		return usagef("--data is empty")
	case f.data == "" && conf.Data != "":
		f.data = conf.Data
	case f.data == "":
		f.data = defaultData
	}
	log, flush := a.logger()
	defer flush()
	l, err := listen(ctx, f.listen)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // closed already, mostly
	var s2l net.Listener
	if f.s2Listen != "" {
		if s2l, err = listenS2(ctx, f.s2Listen, false); err != nil {
			return err
		}
		defer func() { _ = s2l.Close() }()
	}
	e, err := openEngine(f.data, f.memory, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	store, err := openLocal(ctx, e, conf.Basin)
	if err != nil {
		return err
	}
	tokens, err := a.tokens(&conf, f)
	if err != nil {
		return err
	}
	if err := ownKeys(&conf, f.data, f.memory); err != nil {
		return err
	}
	h := newHost(conf, store, log)
	h.failed, h.sole = e.Failed(), f.lambda == "" && s2l == nil
	h.gogc = a.getenv("GOGC")
	ready := func() { a.welcome(f, l, s2l, tokens) }
	if f.lambda == "" {
		return withS2(ctx, e, s2l, tokens.s2.value, log, func(ctx context.Context) error { return h.serve(ctx, l, ready) })
	}
	inner, s2Token := s2l, tokens.s2
	if inner == nil { // the functions need the S2 API though nobody asked for it
		if inner, err = listenS2(ctx, "127.0.0.1:0", false); err != nil {
			return err
		}
		defer func() { _ = inner.Close() }()
		if s2Token, err = newToken(); err != nil {
			return err
		}
	}
	g, err := a.gatewayTo(f.lambda, conf, urlOf("http", inner), s2Token.value, log)
	if err != nil {
		return err
	}
	defer g.Close()
	h.front = g
	return withS2(ctx, e, inner, s2Token.value, log, func(ctx context.Context) error { return h.serve(ctx, l, ready) })
}

// A credential is a token and where it came from.
type credential struct {
	value string
	from  string // a variable or a file; "": nowhere but here
	file  bool
	made  bool // just now: it may be shown, this once
}

type credentials struct{ api, admin, s2 credential }

// tokens puts the tokens into conf: those of the environment, else those of the
// data folder, else new ones.
func (a *app) tokens(conf *env.Config, f devFlags) (credentials, error) {
	var c credentials
	var err error
	if len(conf.APITokens) > 0 {
		c.api = credential{value: conf.APITokens[0], from: env.APIToken}
	} else if c.api, err = ownToken(f, apiTokenFile); err == nil {
		conf.APITokens, err = auth.ParseTokens(c.api.value)
	}
	if err != nil {
		return c, err
	}
	if len(conf.AdminTokens) > 0 {
		c.admin = credential{value: conf.AdminTokens[0], from: env.AdminToken}
	} else if c.admin, err = ownToken(f, adminTokenFile); err == nil {
		conf.AdminTokens, err = auth.ParseTokens(c.admin.value)
	}
	if err != nil || f.s2Listen == "" {
		return c, err
	}
	if conf.S2Token != "" {
		c.s2 = credential{value: conf.S2Token, from: env.S2Token}
		return c, nil
	}
	c.s2, err = ownToken(f, s2TokenFile)
	return c, err
}

// ownToken returns the token of a data folder's file, or a new one for a store in memory.
func ownToken(f devFlags, name string) (credential, error) {
	if f.memory {
		return newToken()
	}
	token, made, err := env.TokenFile(f.data, name, rand.Reader)
	return credential{value: token, from: filepath.Join(f.data, name), file: true, made: made}, err
}

func newToken() (credential, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return credential{}, fmt.Errorf("make a token: %w", err)
	}
	return credential{value: base64.RawURLEncoding.EncodeToString(secret[:]), made: true}, nil
}

// withS2 runs f, and beside it the S2 API of e on l if l is not nil. When one ends, so does the other.
func withS2(ctx context.Context, e *engine.Engine, l net.Listener, token string, log *slog.Logger, f func(context.Context) error) error {
	if l == nil {
		return f(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s2 := make(chan error, 1)
	go func() {
		defer cancel()
		s2 <- wire.New(e, wire.Options{Token: token, Log: log}).Serve(ctx, l)
	}()
	err := f(ctx)
	cancel()
	return errors.Join(err, <-s2)
}

// welcome says on standard output where everything is and what to paste.
func (a *app) welcome(f devFlags, l, s2l net.Listener, c credentials) {
	url := urlOf("http", l)
	if a.json {
		o := map[string]any{"url": url, "memory": f.memory, "version": version}
		for name, t := range map[string]credential{"api_token": c.api, "admin_token": c.admin, "s2_token": c.s2} {
			switch {
			case t.from != "":
				o[name+"_from"] = t.from
			case t.value != "":
				o[name] = t.value
			}
		}
		if s2l != nil {
			o["s2_endpoint"] = urlOf("http", s2l)
		}
		a.object(a.out, o)
		return
	}
	kept := f.data + ", durable"
	if f.memory {
		kept = "in memory: nothing is kept"
	}
	a.say("agent-chat %s listens on %s", version, url)
	a.say("The store is %s.", kept)
	a.sayToken("API", c.api)
	a.sayToken("admin", c.admin)
	a.sayToken("S2", c.s2)
	if s2l != nil {
		a.say("The S2 API is on %s.", urlOf("http", s2l))
	}
	if !isLoopback(l.Addr()) {
		a.say("Other machines can reach it over plain HTTP: whoever is on the way reads the tokens.")
	}
	a.say("\nIn another terminal:\n")
	for _, line := range a.paste(url, c) {
		a.say("  %s", line)
	}
	a.say("\nCtrl-C ends it.")
}

// sayToken says where a token is, and what it is if it is new.
func (a *app) sayToken(name string, t credential) {
	switch {
	case t.value == "":
	case t.made && t.file:
		a.say("New %s token, kept in %s and shown this once: %s", name, t.from, t.value)
	case t.made:
		a.say("New %s token: %s", name, t.value)
	default:
		a.say("The %s token is in %s.", name, t.from)
	}
}

// paste returns commands to begin with.
func (a *app) paste(url string, c credentials) []string {
	me := a.invoked
	if _, err := exec.LookPath("agent-chat"); err == nil {
		me = "agent-chat"
	}
	me = quote(me)
	return []string{
		"export AGENT_CHAT_URL=" + url,
		"export AGENT_CHAT_TOKEN=" + c.api.shell(),
		me + " register alice bob",
		me + ` send bob "hello" --from alice`,
		me + " inbox bob --follow",
		env.AdminToken + "=" + c.admin.shell() + " " + me + " monitor --pretty --follow",
		`curl -sS -w '\n' -H "Authorization: Bearer $AGENT_CHAT_TOKEN" "$AGENT_CHAT_URL/v1/agents/bob/inbox?cursor=0"`,
	}
}

// shell returns what a shell makes the token of.
func (t credential) shell() string {
	switch {
	case t.file:
		return "$(cat " + quote(t.from) + ")"
	case t.from != "":
		return `"${` + t.from + `%%,*}"`
	}
	return "'" + t.value + "'"
}

// quote quotes s for a shell, if it must be.
func quote(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+:=@%-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
