package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/ident"
)

type attachFlags struct {
	ownership
	exec      string
	stdio     bool
	ackOnExit bool
	limit     int
}

func (c *chats) attachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use:   "attach CHAT --exec CMD | --stdio",
		Short: "Coordinate an agent's side of a chat",
		Long: `Own the agent's direction, and present what the peer writes to the agent, batch by
batch: to CMD, started by sh for each, as one JSON document on its standard input; or with
--stdio as one line of JSON on standard output. The agent answers in lines of JSON, on
CMD's standard output or on standard input:

  {"ack":"b_..."}                  acknowledges the batch that was presented (batchId)
  {"ack":"b_...","reply":"text"}   replies: message and receipt in one append
  {"send":"text"}                  sends a message that acknowledges nothing

with "id" for a message id of its own. What came of a line is told on standard output:
acknowledged, sent or refused, which leaves the batch for another try. Nothing else
acknowledges, but that CMD ends with 0 if --ack-on-exit is given. A batch that is not
acknowledged when CMD ends is presented again after a pause of a second, then longer.

The owner that was reviewed, and where the direction ends, are said before it is claimed;
one that has an owner is claimed with --take-over only. Before each presentation it is
seen that the direction is still owned. No journal is kept, and nothing is sent twice.

Exit status:
  0    standard input has ended (--stdio)
  4    replaced; it says by whom. Or no answer
  5    the outcome of an append is unknown; it says how to inspect and to recover`,
		Example: `  agent-chat chats attach chat_0123456789abcdef0123456789abcdef --as alice --exec ./answer
  agent-chat chats attach chat_0123456789abcdef0123456789abcdef --as alice --exec 'jq -c "{ack: .batchId, reply: .items[-1].record.message.content}"'
  agent-chat chats attach chat_0123456789abcdef0123456789abcdef --as alice --stdio --take-over`,
		Args: takes(1, 1), ValidArgsFunction: c.completeChat,
		RunE: c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, _ []string) error {
			return c.attach(ctx, remote, p, f)
		}),
	}
	f.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.exec, "exec", "", "the `command` that each batch is presented to")
	flags.BoolVar(&f.stdio, "stdio", false, "present on standard output, and read the agent's lines from standard input")
	flags.BoolVar(&f.ackOnExit, "ack-on-exit", false, "that the command ends with 0 acknowledges its batch")
	flags.VarP(number[int]{&f.limit, 31}, "limit", "n", "present at most this many `messages` at a time (default: 100)")
	cmd.MarkFlagsOneRequired("exec", "stdio")
	cmd.MarkFlagsMutuallyExclusive("exec", "stdio")
	cmd.MarkFlagsMutuallyExclusive("stdio", "ack-on-exit")
	return cmd
}

func (c *chats) attach(ctx context.Context, remote *client.Client, p api.ChatRequest, f attachFlags) error {
	d, err := c.own(ctx, remote, p, f.ownership)
	if err != nil {
		return err
	}
	c.note("Attached as %s, from %d on.", d.Owner(), d.Next())
	o := coordinator.Options{Limit: f.limit, PerBatch: !f.stdio, AckOnEnd: f.ackOnExit, OnState: c.connection(string(p.Chat))}
	var agent coordinator.Agent = &execAgent{chats: c, command: f.exec, acts: make(chan heard)}
	if f.stdio {
		agent = &stdioAgent{chats: c}
		c.object(c.out, ended{Event: "attached", Owner: d.Owner(), Position: new(d.Next())})
	}
	err = d.Attend(ctx, agent, o)
	if f.stdio {
		c.tellEnd(err)
	}
	return err
}

// An ended is the last line of --stdio, or the first.
type ended struct {
	Event       string          `json:"event"` // attached, replaced, uncertain
	Owner       ident.Owner     `json:"owner,omitempty"`
	OperationID ident.Operation `json:"operationId,omitempty"`
	Position    *api.Position   `json:"position,omitempty"`
}

func (c *chats) tellEnd(err error) {
	if r, ok := errors.AsType[*coordinator.Replaced](err); ok {
		c.object(c.out, ended{Event: "replaced", Owner: r.By})
	}
	if u, ok := errors.AsType[*coordinator.Uncertain](err); ok {
		c.object(c.out, ended{Event: "uncertain", OperationID: u.Operation, Position: &u.Position})
	}
}

// recovery returns the commands that look at an append of unknown outcome, and decide it.
func recovery(u *coordinator.Uncertain) (inspect, decide string) {
	rest := fmt.Sprintf("%s %s --at %d --as %s", u.Chat, u.Operation, u.Position, u.Agent)
	return "agent-chat chats inspect " + rest, "agent-chat chats recover " + rest
}
