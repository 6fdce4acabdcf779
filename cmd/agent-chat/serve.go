package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"agentchat/shared/env"
	"agentchat/shared/stream"
)

type serveFlags struct {
	listen, data, cert, key string
	memory                  bool
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server with explicit tokens and an explicit store",
		Long: `Run the server without conveniences. It takes its tokens from the environment and
does not start without AGENT_CHAT_API_TOKEN. The store is one of
  --data DIR or AGENT_CHAT_DATA   embedded and durable, for one machine
  AGENT_CHAT_S2_TOKEN             S2; with AGENT_CHAT_S2_ENDPOINT any S2 API,
                                  and AGENT_CHAT_BASIN
  --memory                        embedded, keeps nothing

Other variables: AGENT_CHAT_ADMIN_TOKEN, AGENT_CHAT_RETENTION,
AGENT_CHAT_STREAM_MAX_AGE, AGENT_CHAT_CORS_ORIGINS; and for signed chats
AGENT_CHAT_SIGNING_KEYS, AGENT_CHAT_CHATS_AGENT_KEYS, AGENT_CHAT_CHAT_GRANTS and
AGENT_CHAT_PII_POLICY.

SIGTERM and SIGINT end it cleanly: streams end between events, calls in progress
get 15 seconds. A second signal ends it at once.`,
		Example: `  AGENT_CHAT_API_TOKEN=... agent-chat serve --data /var/lib/agent-chat --listen :8080
  AGENT_CHAT_API_TOKEN=... AGENT_CHAT_S2_TOKEN=... AGENT_CHAT_BASIN=acme-chat-7f3a agent-chat serve`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "`address` to listen on; port 0 is any free one")
	flags.StringVar(&f.data, "data", "", "the data `folder` of the embedded store (default $AGENT_CHAT_DATA)")
	flags.BoolVar(&f.memory, "memory", false, "an embedded store that keeps nothing")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` of the certificate chain, PEM")
	flags.StringVar(&f.key, "tls-key", "", "`file` of the certificate's key, PEM")
	cmd.MarkFlagsMutuallyExclusive("data", "memory")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return cmd
}

func (a *app) serve(ctx context.Context, f serveFlags) (err error) {
	conf, err := env.Read(a.getenv)
	if err != nil {
		return usage{err}
	}
	if len(conf.APITokens) == 0 {
		return usagef("%s is not set: a server without a token does not start (agent-chat dev makes one)", env.APIToken)
	}
	if f.data != "" {
		conf.Data = f.data
	}
	if f.memory {
		conf.Data = ""
	}
	if err := oneStore(conf, f.memory); err != nil {
		return err
	}
	log, flush := a.logger()
	defer flush()
	inner, err := listen(ctx, f.listen)
	if err != nil {
		return err
	}
	defer func() { _ = inner.Close() }() // closed already, mostly
	l, scheme, err := encrypt(inner, f.cert, f.key)
	if err != nil {
		return err
	}
	st, err := openStore(ctx, conf, f.memory, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	if f.memory || conf.Data != "" {
		if err := ownKeys(&conf, conf.Data, f.memory); err != nil {
			return err
		}
	}
	h := newHost(conf, st.store, log)
	h.failed, h.sole = st.failed, st.sole
	h.gogc = a.getenv("GOGC")
	return h.serve(ctx, l, func() {
		url := urlOf(scheme, l)
		if a.json {
			a.object(a.out, map[string]any{"url": url, "store": st.name, "version": version})
			return
		}
		a.say("agent-chat %s listens on %s; the store is %s", version, url, st.name)
	})
}

// An opened store, and what is to be known of it.
type opened struct {
	store  stream.Store
	name   string
	failed <-chan struct{}
	sole   bool // nobody else is on it
	close  func() error
}

// oneStore refuses a configuration that names no store, or two.
func oneStore(conf env.Config, memory bool) error {
	switch embedded := memory || conf.Data != ""; {
	case embedded && conf.S2Token != "":
		return usagef("two stores: %s names S2, and a data folder or --memory names the embedded one; leave one out", env.S2Token)
	case !embedded && conf.S2Token == "":
		return usagef("where is the store? --data DIR, or S2 by %s, or --memory", env.S2Token)
	}
	return nil
}

// openStore opens the one store that the configuration names, and sets it up.
func openStore(ctx context.Context, conf env.Config, memory bool, log *slog.Logger) (opened, error) {
	if !memory && conf.Data == "" {
		return openS2(ctx, conf, log)
	}
	e, err := openEngine(conf.Data, memory, log)
	if err != nil {
		return opened{}, err
	}
	store, err := openLocal(ctx, e, conf.Basin)
	if err != nil {
		return opened{}, errors.Join(err, e.Close())
	}
	name := conf.Data
	if memory {
		name = "in memory: nothing is kept"
	}
	return opened{store: store, name: name, failed: e.Failed(), sole: true, close: e.Close}, nil
}

// openS2 opens a store on S2, or on anything that speaks its API.
func openS2(ctx context.Context, conf env.Config, log *slog.Logger) (opened, error) {
	store, err := conf.OpenS2(log)
	if err != nil {
		return opened{}, usage{err}
	}
	if err := store.Ensure(ctx); err != nil {
		return opened{}, fmt.Errorf("set the basins %s and %s-ops up on %s: %w", conf.Basin, conf.Basin, whereS2(conf), err)
	}
	return opened{store: store, name: "basin " + conf.Basin + " on " + whereS2(conf), close: func() error { store.Close(); return nil }}, nil
}
