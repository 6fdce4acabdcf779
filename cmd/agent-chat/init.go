package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agentchat/shared/env"
	"agentchat/shared/stream/s2stream"
)

type initFlags struct {
	dryRun, scope bool
}

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make the basins on S2, or set them right",
		Long: `Make the two basins on S2 that AGENT_CHAT_BASIN names, or set their configuration
right. Doing it again changes nothing. It needs AGENT_CHAT_S2_TOKEN, a token that
may create basins; serve does the same when it starts, Lambda functions do not.

With --dry-run it changes nothing, and fails if there is anything to do.

With --print-token-scope it calls nobody and writes what S2 takes to issue the
narrow token that a server needs from then on: one that appends and reads, and
deletes nothing.`,
		Example: `  AGENT_CHAT_S2_TOKEN=... AGENT_CHAT_BASIN=acme-chat-7f3a agent-chat init
  AGENT_CHAT_S2_TOKEN=... AGENT_CHAT_BASIN=acme-chat-7f3a agent-chat init --dry-run
  AGENT_CHAT_BASIN=acme-chat-7f3a agent-chat init --print-token-scope`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.init(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "change nothing; fail if there is anything to do")
	flags.BoolVar(&f.scope, "print-token-scope", false, "write the request for a server's narrow token")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "print-token-scope")
	return cmd
}

func (a *app) init(ctx context.Context, f initFlags) error {
	conf, err := env.Read(a.getenv)
	if err != nil {
		return usage{err}
	}
	if f.scope {
		request, err := s2stream.Scope(conf.Basin)
		if err != nil {
			return usage{err}
		}
		a.object(a.out, request)
		return nil
	}
	if conf.S2Token == "" {
		return usagef("%s is not set: a token that may create basins", env.S2Token)
	}
	store, err := conf.OpenS2(nil)
	if err != nil {
		return usage{err}
	}
	defer store.Close()
	if f.dryRun {
		if err := store.Check(ctx); err != nil {
			return fmt.Errorf("on %s there is something to do, or it does not answer: %w", whereS2(conf), err)
		}
	} else if err := store.Ensure(ctx); err != nil {
		return fmt.Errorf("set the basins %s and %s-ops up on %s: %w", conf.Basin, conf.Basin, whereS2(conf), err)
	}
	if a.json {
		a.object(a.out, map[string]any{"basins": []string{conf.Basin, conf.Basin + "-ops"}, "s2": whereS2(conf)})
		return nil
	}
	a.say("The basins %s and %s-ops on %s are as they must be.", conf.Basin, conf.Basin, whereS2(conf))
	return nil
}

// whereS2 says where S2 is.
func whereS2(conf env.Config) string {
	if conf.S2Endpoint == "" {
		return "s2.dev"
	}
	return conf.S2Endpoint
}
