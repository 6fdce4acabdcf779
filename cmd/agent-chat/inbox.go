package main

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

type inboxFlags struct {
	filter
	follow, fresh bool
	cursor        uint64
	limit         int
}

func (a *app) inboxCommand() *cobra.Command {
	f := inboxFlags{limit: api.DefaultPageItems}
	cmd := &cobra.Command{
		Use:   "inbox [AGENT]",
		Short: "Read an inbox, or follow it live",
		Long: `Read the inbox of AGENT (default $AGENT_CHAT_AGENT), or with --follow read it and
then what comes, until interrupted.

Reading consumes nothing: a position belongs to its reader. The number at the
beginning of a line is the position; the next one is where to go on with --cursor.

--follow resumes by itself behind the last message that was shown: after a cut
connection, a restarted or overloaded server, a silence of 45 seconds. It ends
when the server refuses for good, with exit status 3.`,
		Example: `  agent-chat inbox bob
  agent-chat inbox bob --cursor 42 --limit 10 --json
  agent-chat inbox bob --follow --new
  agent-chat inbox bob --follow --json | jq -r .envelope.message.text`,
		Args:              takes(0, 1),
		ValidArgsFunction: a.completeAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.inbox(cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "follow live")
	flags.Var(number[uint64]{&f.cursor, 64}, "cursor", "begin at this `position` (default: the oldest message)")
	flags.BoolVar(&f.fresh, "new", false, "begin behind what is there now")
	flags.VarP(number[int]{&f.limit, 31}, "limit", "n", "show at most this many `messages` without --follow; 0 is all")
	f.flags(a, cmd)
	cmd.MarkFlagsMutuallyExclusive("cursor", "new")
	return cmd
}

// owner returns whose inbox is meant.
func (a *app) owner(args []string) (ident.Agent, error) {
	if len(args) > 0 {
		return parseAgent(args[0]) // also an empty word, which a script may have meant otherwise
	}
	return a.agent("", whoseInbox)
}

func (a *app) inbox(cmd *cobra.Command, args []string, f inboxFlags) error {
	owner, err := a.owner(args)
	if err != nil {
		return err
	}
	req := api.InboxRequest{Agent: owner}
	if req.Kind, req.From, req.ConversationID, err = f.read(); err != nil {
		return err
	}
	if cmd.Flags().Changed("cursor") {
		req.Cursor = &f.cursor
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx := cmd.Context()
	if f.fresh {
		one := 1
		page, err := c.Inbox(ctx, api.InboxRequest{Agent: owner, Limit: &one})
		if err != nil {
			return err
		}
		req.Cursor = &page.Tail
	}
	if f.follow {
		_, err := a.show(c.Follow(ctx, req, a.connection(string(owner))), 0)
		return err
	}
	return a.page(ctx, c, req, f.limit)
}

// page shows up to limit deliveries, and where to go on if there are more.
func (a *app) page(ctx context.Context, c *client.Client, req api.InboxRequest, limit int) error {
	size := api.MaxPageItems
	if limit > 0 {
		size = min(limit, size)
	}
	req.Limit = &size
	shown, err := a.show(c.Replay(ctx, req), limit)
	if err == nil && shown == 0 && !a.json {
		a.note("Nothing is there.")
	}
	return err
}

// show writes deliveries as they come, up to limit of them (0: all), and returns how many.
func (a *app) show(deliveries iter.Seq2[api.Delivery, error], limit int) (shown int, err error) {
	for d, err := range deliveries {
		if err != nil {
			return shown, err
		}
		if limit > 0 && shown == limit {
			a.note("There is more: --cursor %d", d.SeqNum)
			return shown, nil
		}
		shown++
		if a.json {
			a.object(a.out, d)
		} else {
			a.delivery(d)
		}
	}
	return shown, nil
}

// connection returns a func that says on standard error what becomes of a live
// connection, at its first change for the better and at every one for the worse.
func (a *app) connection(name string) func(client.State) {
	lost := false
	return func(s client.State) {
		switch {
		case !s.Connected:
			lost = true
			a.note("%s: %s; trying again.", name, a.describe(s.Err))
		case lost:
			lost = false
			a.note("%s: connected again.", name)
		case !a.json && isTerminal(a.out):
			a.note("Following %s. Ctrl-C ends it.", name)
		}
	}
}
