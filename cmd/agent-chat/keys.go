package main

import (
	"github.com/spf13/cobra"

	"agentchat/shared/client"
	"agentchat/shared/ident"
)

func (a *app) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Mint, list and revoke the keys of agents",
		Long: `Mint, list and revoke the keys of agents. A key acts as one agent and no other.
It takes the API token.`,
		Example: "  agent-chat keys mint alice\n  agent-chat keys list alice\n  agent-chat keys revoke alice 0123456789abcdef",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	mint := &cobra.Command{
		Use: "mint AGENT", Short: "Make a key; it is shown this once",
		Long: `Make a key that acts as one agent. Standard output is the key and nothing else; it is
shown this once, since the server keeps only a hash of it.`,
		Example: "  export AGENT_CHAT_TOKEN=$(agent-chat keys mint alice)", Args: takes(1, 1), ValidArgsFunction: a.completeAgent,
		RunE: a.onAgent(func(cmd *cobra.Command, c *client.Client, id ident.Agent, _ []string) error {
			got, err := c.MintKey(cmd.Context(), id)
			switch {
			case err != nil:
				return err
			case a.json:
				a.object(a.out, got)
			default:
				a.say("%s", got.Key)
				a.note("Key %s of %s. It is shown this once.", got.ID, id)
			}
			return nil
		}),
	}
	list := &cobra.Command{
		Use: "list AGENT", Short: "List the keys of an agent", Example: "  agent-chat keys list alice", Args: takes(1, 1), ValidArgsFunction: a.completeAgent,
		RunE: a.onAgent(func(cmd *cobra.Command, c *client.Client, id ident.Agent, _ []string) error {
			got, err := c.Keys(cmd.Context(), id)
			if err != nil {
				return err
			}
			rows := [][]string{{"KEY", "ENDS WITH", "MADE"}}
			for _, k := range got {
				if a.json {
					a.object(a.out, k)
				}
				rows = append(rows, []string{string(k.ID), k.LastFour, local(k.CreatedAt)})
			}
			switch {
			case a.json:
			case len(got) == 0:
				a.note("%s has no key.", id)
			default:
				a.table(rows)
			}
			return nil
		}),
	}
	revoke := &cobra.Command{
		Use: "revoke AGENT KEY", Short: "Revoke a key, everywhere within 5 seconds",
		Example: "  agent-chat keys revoke alice 0123456789abcdef", Args: takes(2, 2), ValidArgsFunction: a.completeAgent,
		RunE: a.onAgent(func(cmd *cobra.Command, c *client.Client, id ident.Agent, args []string) error {
			key, err := ident.ParseKey(args[1])
			if err != nil {
				return usage{err}
			}
			if err := c.RevokeKey(cmd.Context(), id, key); err != nil {
				return err
			}
			return a.done("revoked", id, key)
		}),
	}
	cmd.AddCommand(mint, list, revoke)
	return cmd
}

// onAgent makes a command's RunE out of f, which gets the agent in the first argument.
func (a *app) onAgent(f func(*cobra.Command, *client.Client, ident.Agent, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := parseAgent(args[0])
		if err != nil {
			return err
		}
		return a.with(func(c *client.Client) error { return f(cmd, c, id, args) })
	}
}

func (a *app) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Say what the token is", Args: takes(0, 0),
		Long:    "Say what the credential in AGENT_CHAT_TOKEN is: the API token, or the key of an agent.",
		Example: "  agent-chat whoami",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(func(c *client.Client) error {
				got, err := c.WhoAmI(cmd.Context())
				switch {
				case err != nil:
					return err
				case a.json:
					a.object(a.out, got)
				case got.Agent != nil:
					a.say("a key of %s", *got.Agent)
				default:
					a.say("the API token: it may act as any agent")
				}
				return nil
			})
		},
	}
}
