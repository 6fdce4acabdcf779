package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// chats is what its commands share.
type chats struct {
	*app
	as string // the flag
}

func (a *app) chatsCommand() *cobra.Command {
	c := &chats{app: a}
	cmd := &cobra.Command{
		Use:   "chats",
		Short: "Hold signed chats between two agents",
		Long: `Hold signed chats. A chat has two directions, each written by one agent and owned by
one writer at a time; the server signs every record, and who is not the owner any more is
refused by the store itself.

An agent that answers is attached to its chat: "agent-chat chats attach". The other
commands do one thing each; those that write claim the direction first.

Exit status, besides that of every command:
  4    replaced: somebody else has claimed the direction
  5    the outcome of an append is unknown: inspect it, then recover`,
		Example: `  agent-chat chats create bob --as alice
  agent-chat chats attach chat_0123456789abcdef0123456789abcdef --as alice --exec ./answer
  agent-chat chats read chat_0123456789abcdef0123456789abcdef --as bob --follow`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&c.as, "as", "", "the `agent` that acts (default $AGENT_CHAT_AGENT)")
	completeFlag(cmd, "as", a.completeAgents)
	cmd.AddCommand(c.createCommand(), c.listCommand(), c.showCommand(), c.sendCommand(), c.readCommand(), c.permissionsCommand(),
		c.inspectCommand(), c.recoverCommand(), c.ackCommand(), c.attachCommand(), a.verifyCommand())
	return cmd
}

func (c *chats) createCommand() *cobra.Command {
	return &cobra.Command{
		Use: "create PEER", Short: "Find the chat with another agent, or make it", Args: takes(1, 1), ValidArgsFunction: c.completeAgent,
		Example: "  agent-chat chats create bob --as alice\n  CHAT=$(agent-chat chats create bob --as alice --json | jq -r .id)",
		RunE: func(cmd *cobra.Command, args []string) error {
			peer, err := parseAgent(args[0])
			if err != nil {
				return err
			}
			return c.withActor(func(remote *client.Client, as ident.Agent) error {
				got, err := remote.CreateChat(cmd.Context(), api.CreateChatRequest{AgentID: as, PeerID: peer})
				switch {
				case err != nil:
					return err
				case c.json:
					c.object(c.out, struct {
						api.Chat
						Created bool `json:"created"`
					}{got.Chat, got.Created})
				case got.Created:
					c.say("created %s", got.ID)
				default:
					c.say("%s was there already", got.ID)
				}
				return nil
			})
		},
	}
}

func (c *chats) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List an agent's chats, the oldest first", Args: takes(0, 0),
		Example: "  agent-chat chats list --as alice\n  agent-chat chats list --as alice --json | jq -r .id",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withActor(func(remote *client.Client, as ident.Agent) error {
				rows := [][]string{{"CHAT", "WITH", "NAME", "SINCE"}}
				unread := map[ident.Chat]api.Unreachable{}
				for page, err := range remote.ChatPages(cmd.Context(), api.ListChatsRequest{AgentID: as}) {
					if err != nil {
						return err
					}
					for _, got := range page.Chats {
						if c.json {
							c.object(c.out, got)
							continue
						}
						peer := peerOf(got, as)
						rows = append(rows, []string{string(got.ID), string(peer.ID), peer.Name, local(got.CreatedAt)})
					}
					maps.Copy(unread, page.Unavailable)
				}
				switch {
				case c.json:
				case len(rows) > 1:
					c.table(rows)
				case len(unread) == 0:
					c.note("No chat: agent-chat chats create PEER")
				}
				return c.incomplete(unread)
			})
		},
	}
}

// incomplete says which chats the server can't read; nil if there are none.
func (c *chats) incomplete(unread map[ident.Chat]api.Unreachable) error {
	if len(unread) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(unread)) {
		u := unread[id]
		c.note("%s", inertLine(fmt.Sprintf("unavailable: %s can't be read: %s [%d %s]", id, u.Detail, u.Status, u.Code)))
	}
	return fmt.Errorf("%w: %d of the chats could not be read", errIncomplete, len(unread))
}

func peerOf(chat api.Chat, as ident.Agent) api.ChatAgent {
	if chat.AgentAID == as {
		return chat.AgentB
	}
	return chat.AgentA
}

func (c *chats) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show CHAT", Short: "Show a chat, who owns its directions, and where they end", Args: takes(1, 1), ValidArgsFunction: c.completeChat,
		Example: "  agent-chat chats show chat_0123456789abcdef0123456789abcdef --as alice",
		RunE: c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, _ []string) error {
			got, err := remote.Chat(ctx, p)
			if err != nil {
				return err
			}
			if c.json {
				c.object(c.out, got)
				return nil
			}
			c.facts([][]string{
				{"chat", string(got.ID)},
				{"agents", fmt.Sprintf("%s, %s", got.AgentAID, got.AgentBID)},
				{"since", local(got.CreatedAt)},
				directionRow(got.AgentAID, got.StreamA),
				directionRow(got.AgentBID, got.StreamB),
			})
			return nil
		}),
	}
}

func directionRow(id ident.Agent, s api.ChatStream) []string {
	owner := "owned by nobody"
	if s.Owner != "" {
		owner = "owned by " + string(s.Owner)
	}
	end := ""
	if s.Tail != nil {
		end = fmt.Sprintf(", ends at %d", *s.Tail)
	}
	return []string{string(id) + " writes", fmt.Sprintf("%s (generation %s), %s%s", s.StreamID, s.Generation, owner, end)}
}

func (c *chats) permissionsCommand() *cobra.Command {
	var allow, deny bool
	var policy string
	cmd := &cobra.Command{
		Use: "permissions CHAT", Short: "Show who may send, or set what the peer may",
		Long: `Show what the parties let each other send, or set what the peer of the agent that
acts may. --pii-policy takes the API token, and can only be tightened.`,
		Example: "  agent-chat chats permissions chat_0123456789abcdef0123456789abcdef --as bob --allow",
		Args:    takes(1, 1), ValidArgsFunction: c.completeChat,
		RunE: c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, _ []string) error {
			req := api.PermissionsRequest{Chat: p.Chat, AgentID: p.AgentID, PIIPolicy: api.PIIPolicy(policy)}
			switch {
			case allow:
				req.State = api.Allowed
			case deny:
				req.State = api.Denied
			}
			got, err := remote.Permissions(ctx, p)
			if req.State != "" || req.PIIPolicy != "" {
				got, err = remote.SetPermissions(ctx, req)
			}
			switch {
			case err != nil:
				return err
			case c.json:
				c.object(c.out, got)
				return nil
			}
			rows := [][]string{{"FROM", "TO", "STATE", "BY", "SINCE"}}
			for _, d := range got.Permissions {
				rows = append(rows, []string{string(d.FromAgentID), string(d.ToAgentID), string(d.State), d.By, local(d.Since)})
			}
			c.table(rows)
			c.say("policy on personal data: %s", got.PIIPolicy)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&allow, "allow", false, "let the peer send")
	cmd.Flags().BoolVar(&deny, "deny", false, "do not let the peer send")
	cmd.Flags().StringVar(&policy, "pii-policy", "", "tighten the chat's `policy` on personal data: redact, reject")
	cmd.MarkFlagsMutuallyExclusive("allow", "deny")
	completeFlag(cmd, "pii-policy", cobra.FixedCompletions([]string{string(api.PIIRedact), string(api.PIIReject)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// withActor calls f with a client and the agent that acts.
func (c *chats) withActor(f func(*client.Client, ident.Agent) error) error {
	as, err := c.agent(c.as, asWhom)
	if err != nil {
		return err
	}
	return c.with(func(remote *client.Client) error { return f(remote, as) })
}

// onChat makes a command's RunE out of f, which gets the chat in the first argument.
func (c *chats) onChat(f func(context.Context, *client.Client, api.ChatRequest, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := parsed(args[0], ident.ParseChat)
		if err != nil {
			return err
		}
		return c.withActor(func(remote *client.Client, as ident.Agent) error {
			return f(cmd.Context(), remote, api.ChatRequest{Chat: id, AgentID: as}, args[1:])
		})
	}
}
