package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/ident"
)

// An ownership says how a direction is claimed.
type ownership struct {
	takeOver bool
	claim    string
	orResume string // what else there is to do about an owner
}

func (o *ownership) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.takeOver, "take-over", false, "claim the direction from who owns it, who is then replaced")
}

func (o *ownership) claimFlag(cmd *cobra.Command) {
	o.orResume = ". Who gives the same --claim-id each time goes on as its owner"
	cmd.Flags().StringVar(&o.claim, "claim-id", "", "go on under the claim with this `id`, or make it; with --take-over also from who owns the direction")
}

// own claims the direction of the agent that acts, having said what it is claimed
// from. Under a claim that holds it goes on, and takes nothing over.
func (c *chats) own(ctx context.Context, remote *client.Client, p api.ChatRequest, o ownership) (*coordinator.Direction, error) {
	review, err := coordinator.Look(ctx, remote, p.Chat, p.AgentID)
	if err != nil {
		return nil, err
	}
	id := ident.NewClaim(rand.Reader)
	if o.claim != "" {
		if id, err = ident.ParseClaim(o.claim); err != nil {
			return nil, usage{fmt.Errorf("--claim-id: %w", err)}
		}
		d, err := review.Resume(ctx, id)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Problem.Code != api.ClaimStale || !o.takeOver {
			return d, err
		}
	}
	owner := "nobody"
	if review.Owner != "" {
		owner = string(review.Owner)
	}
	c.note("%s is owned by %s and ends at %d.", review.StreamID, owner, review.Tail)
	if review.Owner != "" && !o.takeOver {
		return nil, usagef("%s has an owner, which may be at work; --take-over replaces it%s", review.StreamID, o.orResume)
	}
	return review.Claim(ctx, id)
}

func (c *chats) sendCommand() *cobra.Command {
	var o ownership
	var id string
	cmd := &cobra.Command{
		Use:   "send CHAT TEXT ...",
		Short: "Sign and append one message",
		Long: `Claim the agent's direction and append one message. TEXT is joined by spaces; "-" is
standard input without its last line end. It acknowledges nothing.

A direction that has an owner is claimed with --take-over only. Who sends now and then
gives the same --claim-id each time, and stays the owner in between. Who was replaced
takes over under another id: with --take-over and a new --claim-id.

A message whose outcome is unknown is not repeated: the exit status is 5, and the error
says how to inspect and to recover.`,
		Example: `  agent-chat chats send chat_0123456789abcdef0123456789abcdef hello --as alice
  git log -1 | agent-chat chats send chat_0123456789abcdef0123456789abcdef - --as alice --claim-id alices-shell`,
		Args: takes(2, anyNumber), ValidArgsFunction: c.completeChat,
		RunE: c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, args []string) error {
			mid, err := chatMessage(id)
			if err != nil {
				return err
			}
			text := strings.Join(args, " ")
			if text == "-" {
				b, err := read(c.in, "standard input")
				if err != nil {
					return err
				}
				text = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
			}
			if !utf8.ValidString(text) {
				return usagef("the text is not UTF-8")
			}
			d, err := c.own(ctx, remote, p, o)
			if err != nil {
				return err
			}
			got, err := d.Send(ctx, mid, text, nil)
			if err == nil {
				c.appended("sent "+string(mid), got)
			}
			return err
		}),
	}
	o.flags(cmd)
	o.claimFlag(cmd)
	cmd.Flags().StringVar(&id, "id", "", "the message's `id` (default: a new one)")
	return cmd
}

func chatMessage(id string) (ident.Message, error) {
	if id == "" {
		return client.NewID(rand.Reader), nil
	}
	return parseMessage(id)
}

func (c *chats) ackCommand() *cobra.Command {
	var o ownership
	var next uint64
	cmd := &cobra.Command{
		Use:   "ack CHAT BATCH",
		Short: "Acknowledge a batch that was presented",
		Long: `Claim the agent's direction and append the receipt of a batch that was presented, as
"agent-chat chats read --batch" shows it. --next is the position behind it, and may be
left out if the peer has written nothing since.`,
		Example: "  agent-chat chats ack chat_0123456789abcdef0123456789abcdef b_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG --next 5 --as bob",
		Args:    takes(2, 2), ValidArgsFunction: c.completeChat,
	}
	cmd.RunE = c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, args []string) error {
		id, err := parsed(args[0], ident.ParseBatch)
		if err != nil {
			return err
		}
		b, err := remote.Batch(ctx, api.BatchRequest{Chat: p.Chat, AgentID: p.AgentID})
		switch {
		case err != nil:
			return err
		case cmd.Flags().Changed("next"):
			b.BatchID, b.NextPosition = &id, api.Position(next)
		case b.BatchID == nil || *b.BatchID != id:
			return usagef("this is not the present batch; if it was presented, --next says where it ended")
		}
		d, err := c.own(ctx, remote, p, o)
		if err != nil {
			return err
		}
		got, err := d.Acknowledge(ctx, b)
		if err == nil {
			c.appended("acknowledged "+string(id), got)
		}
		return err
	})
	o.flags(cmd)
	o.claimFlag(cmd)
	cmd.Flags().Var(number[uint64]{&next, 64}, "next", "the `position` behind the batch")
	return cmd
}

// appended says what was appended, and where.
func (c *chats) appended(what string, got *api.ChatAppendResponse) {
	if c.json {
		c.object(c.out, struct {
			api.ChatAppendResponse
			Replayed bool `json:"replayed"`
		}{*got, got.Replayed})
		return
	}
	again := ""
	if got.Replayed {
		again = " (it was there already)"
	}
	for _, r := range got.Redactions {
		again += fmt.Sprintf("; replaced: %d × %s", r.Count, r.Type)
	}
	c.say("%s at %d%s", what, got.Position, again)
}

// operationAt gives cmd the flag that says where an operation was to stand.
func operationAt(cmd *cobra.Command) *uint64 {
	at := new(uint64)
	cmd.Flags().Var(number[uint64]{at, 64}, "at", "the `position` where it was to stand")
	if err := cmd.MarkFlagRequired("at"); err != nil {
		panic(err)
	}
	return at
}

func (c *chats) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "inspect CHAT OPERATION --at POSITION", Short: "Say what became of an append whose outcome was unknown",
		Long: `Say whether an operation was stored, writing nothing. "stored" and "absent" are final;
"open" may still be stored: "agent-chat chats recover" decides it.`,
		Example: "  agent-chat chats inspect chat_0123456789abcdef0123456789abcdef op_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG --at 5 --as alice",
		Args:    takes(2, 2), ValidArgsFunction: c.completeChat,
	}
	at := operationAt(cmd)
	cmd.RunE = c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, args []string) error {
		req, err := operation(p, args[0], at)
		if err != nil {
			return err
		}
		got, err := remote.Operation(ctx, req)
		if err == nil {
			c.outcome(got, *at)
		}
		return err
	})
	return cmd
}

func (c *chats) recoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "recover CHAT OPERATION --at POSITION", Short: "Decide an append whose outcome is unknown",
		Long: `Say whether an operation was stored; if it may still be, claim the direction at that
position first, so that it never will. The one who owned the direction is then replaced:
look at its session before.`,
		Example: "  agent-chat chats recover chat_0123456789abcdef0123456789abcdef op_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG --at 5 --as alice",
		Args:    takes(2, 2), ValidArgsFunction: c.completeChat,
	}
	at := operationAt(cmd)
	cmd.RunE = c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, args []string) error {
		req, err := operation(p, args[0], at)
		if err != nil {
			return err
		}
		got, err := coordinator.Recover(ctx, remote, req, ident.NewClaim(rand.Reader))
		if err == nil {
			c.outcome(got, *at)
		}
		return err
	})
	return cmd
}

func operation(p api.ChatRequest, op string, at *uint64) (api.OperationRequest, error) {
	id, err := parsed(op, ident.ParseOperation)
	return api.OperationRequest{Chat: p.Chat, AgentID: p.AgentID, Operation: id, ExpectedPosition: (*api.Position)(at)}, err
}

// outcome says what became of an operation that was to stand at a position.
func (c *chats) outcome(got *api.OperationResponse, at uint64) {
	switch {
	case c.json:
		c.object(c.out, got)
	case got.Outcome == api.OperationStored:
		c.say("stored: %s from %d on", counted(len(got.Records), "record"), got.Records[0].Position)
	case got.Final:
		c.say("absent: it was not stored at %d, and never will be", at)
	default:
		c.say("open: the direction ends at %d; it may still be stored there", got.Tail)
	}
}
