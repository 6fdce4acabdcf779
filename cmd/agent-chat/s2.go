package main

import (
	"context"
	"errors"
	"net"

	"github.com/spf13/cobra"

	"agentchat/shared/env"
	"agentchat/shared/s2local/wire"
)

const defaultS2Listen = "127.0.0.1:8081"

func (a *app) s2Command() *cobra.Command {
	var f devFlags
	var cert, key string
	cmd := &cobra.Command{
		Use:   "s2",
		Short: "Run the embedded store alone, as the S2 API",
		Long: `Run the embedded store alone, as the S2 API: the S2 SDKs and the s2 command work
against it. It is for one machine; beyond that the answer is S2 itself.

Callers need the bearer token AGENT_CHAT_S2_TOKEN. If it is not set, one is made
once and kept in the data folder, readable by you only. An address that other
machines can reach needs TLS.`,
		Example: `  agent-chat s2 --data .agent-chat
  agent-chat s2 --memory --listen 127.0.0.1:0
  agent-chat s2 --data /var/lib/s2 --listen :443 --tls-cert cert.pem --tls-key key.pem`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.s2(cmd.Context(), f, cert, key) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.s2Listen, "listen", defaultS2Listen, "`address` to listen on; port 0 is any free one")
	flags.StringVar(&f.data, "data", "", "the data `folder` (default $AGENT_CHAT_DATA)")
	flags.BoolVar(&f.memory, "memory", false, "keep nothing")
	flags.StringVar(&cert, "tls-cert", "", "`file` of the certificate chain, PEM")
	flags.StringVar(&key, "tls-key", "", "`file` of the certificate's key, PEM")
	cmd.MarkFlagsMutuallyExclusive("data", "memory")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return cmd
}

func (a *app) s2(ctx context.Context, f devFlags, cert, key string) (err error) {
	conf, err := env.Read(a.getenv)
	if err != nil {
		return usage{err}
	}
	if f.data == "" {
		f.data = conf.Data
	}
	if f.data == "" && !f.memory {
		return usagef("where is the store? --data DIR or --memory")
	}
	log, flush := a.logger()
	defer flush()
	inner, err := listenS2(ctx, f.s2Listen, cert != "")
	if err != nil {
		return err
	}
	defer func() { _ = inner.Close() }() // closed already, mostly
	l, scheme, err := encrypt(inner, cert, key)
	if err != nil {
		return err
	}
	e, err := openEngine(f.data, f.memory, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	token := credential{value: conf.S2Token, from: env.S2Token}
	if token.value == "" {
		if token, err = ownToken(f, s2TokenFile); err != nil {
			return err
		}
	}
	a.s2Welcome(f, urlOf(scheme, l), token)
	return wire.New(e, wire.Options{Token: token.value, Log: log}).Serve(ctx, l)
}

func (a *app) s2Welcome(f devFlags, url string, token credential) {
	if a.json {
		o := map[string]any{"s2_endpoint": url, "memory": f.memory, "version": version}
		if token.from != "" {
			o["s2_token_from"] = token.from
		} else {
			o["s2_token"] = token.value
		}
		a.object(a.out, o)
		return
	}
	a.say("agent-chat %s serves the S2 API on %s", version, url)
	a.sayToken("S2", token)
	a.say("\nFor the S2 SDKs and the s2 command:\n")
	a.say("  export S2_ACCOUNT_ENDPOINT=%s S2_BASIN_ENDPOINT=%s", url, url)
	switch {
	case token.file:
		a.say("  export S2_ACCESS_TOKEN=$(cat %s)", quote(token.from))
	case token.from != "":
		a.say(`  export S2_ACCESS_TOKEN="$%s"`, token.from)
	default:
		a.say("  export S2_ACCESS_TOKEN='%s'", token.value)
	}
}

// listenS2 listens for the S2 API. Its one token opens everything, so it does not
// travel in the clear between machines.
func listenS2(ctx context.Context, addr string, encrypted bool) (net.Listener, error) {
	l, err := listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	if !encrypted && !isLoopback(l.Addr()) {
		_ = l.Close()
		return nil, usagef("%s can be reached by other machines, and the S2 token would travel in the clear: listen on 127.0.0.1, or give --tls-cert and --tls-key", addr)
	}
	return l, nil
}
