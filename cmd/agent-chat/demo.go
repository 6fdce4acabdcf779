package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"agentchat/shared/env"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show it in a few seconds: two agents, a cut connection, nothing lost",
		Long: `Show what it does in a few seconds, on a server of its own in memory: two agents
register, one sends and the other follows; the follower's connection is cut while
messages come, and it resumes where it was; a receipt, a card that changes hands, and an
auditor's view of it all. Nothing is kept, no other server is touched.`,
		Example: "  agent-chat demo",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			return a.demo(ctx)
		},
	}
}

// demo starts a server and plays both agents against it.
func (a *app) demo(ctx context.Context) error {
	quietly := slog.New(slog.DiscardHandler)
	e, err := openEngine("", true, quietly)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }() // in memory
	conf, err := env.Read(func(string) string { return "" })
	if err != nil {
		return err
	}
	store, err := openLocal(ctx, e, conf.Basin)
	if err != nil {
		return err
	}
	token, err := a.tokens(&conf, devFlags{memory: true})
	if err != nil {
		return err
	}
	l, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- newHost(conf, store, quietly).serve(serving, l, func() { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-ended:
		stop()
		return err
	}
	err = a.play(ctx, env.ClientConfig{URL: urlOf("http", l), Token: token.api.value}, token.admin.value)
	stop()
	return errors.Join(err, <-ended)
}
