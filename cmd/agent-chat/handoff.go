package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
)

func (a *app) shareCommand() *cobra.Command {
	var h heading
	var to string
	cmd := &cobra.Command{
		Use:   "share --to AGENT CONTACT",
		Short: "Send the card of a contact to another agent",
		Long: `Send the card of a contact in the sender's address book, as it is now. When this ends
with 0 the share is durable; whoever gets it saves it with "agent-chat accept".

It is repeated under its id as "agent-chat send" is.`,
		Example: "  agent-chat share --to bob carol --from alice\n  agent-chat share --to bob carol --conversation task-42",
		Args:    takes(1, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeContacts(cmd, h.from)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			contact, err := parseAgent(args[0])
			if err != nil {
				return err
			}
			head, err := a.heading(to, h)
			if err != nil {
				return err
			}
			req := api.ShareContactRequest{Heading: head, ContactID: contact}
			return a.deliver(head, func(c *client.Client) (*api.SendResponse, error) { return c.ShareContact(cmd.Context(), req) })
		},
	}
	a.addressed(cmd, &to, &h)
	return cmd
}

func (a *app) acceptCommand() *cobra.Command {
	var owner, from, as string
	var at uint64
	var replace bool
	cmd := &cobra.Command{
		Use:   "accept MESSAGE_ID",
		Short: "Save the card of a contact share",
		Long: `Save the card that came with a contact share into the address book of who received
it. MESSAGE_ID is the share's id, as the inbox shows it. The share itself does not
change; accepting it again changes nothing.

A different card under the same name is kept, and the call refused, unless --as saves
under another name or --replace is given.`,
		Example: `  agent-chat accept cli_0123456789abcdef0123456789abcdef --agent bob
  agent-chat accept msg_0123456789abcdef0123456789abcdef --as carol-2`,
		Args: takes(1, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeReceived(cmd, owner, api.KindContactShare, from)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req := api.AcceptContactRequest{Replace: replace}
			if req.Agent, err = a.agent(owner, "who received it? --agent AGENT"); err != nil {
				return err
			}
			if req.Message, err = parseMessage(args[0]); err != nil {
				return err
			}
			if req.From, err = optionalAgent(from); err != nil {
				return err
			}
			if req.As, err = optionalAgent(as); err != nil {
				return err
			}
			if cmd.Flags().Changed("at") {
				req.At = &at
			}
			return a.with(func(c *client.Client) error { return a.accept(cmd.Context(), c, req) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&owner, "agent", "", "who received it (default $AGENT_CHAT_AGENT)")
	f.StringVar(&from, "from", "", "who sent it, if several `agents` used the id")
	f.StringVar(&as, "as", "", "save it under this `name`")
	f.BoolVar(&replace, "replace", false, "replace a different card of the same name")
	f.Var(number[uint64]{&at, 64}, "at", "its `position` in the inbox, if it is known: nothing is searched")
	completeFlag(cmd, "agent", a.completeAgents)
	completeFlag(cmd, "from", a.completeAgents)
	return cmd
}

func (a *app) accept(ctx context.Context, c *client.Client, req api.AcceptContactRequest) error {
	got, err := c.AcceptContact(ctx, req)
	if err != nil {
		return err
	}
	how := ""
	if f := got.AcceptedFrom; f != nil {
		how = fmt.Sprintf(", shared by %s at %d", f.Agent, f.SeqNum)
	}
	a.saved(got, how)
	return nil
}

func (a *app) receiptCommand() *cobra.Command {
	var h heading
	var to, detail string
	var at uint64
	statuses := make([]string, len(api.ReceiptStatuses()))
	for i, s := range api.ReceiptStatuses() {
		statuses[i] = string(s)
	}
	cmd := &cobra.Command{
		Use:   "receipt --to AGENT MESSAGE_ID STATUS",
		Short: "Tell a sender what became of a message",
		Long: `Tell the sender of a message in one's own inbox what became of it: ` + strings.Join(statuses[:3], ", ") + `
or ` + statuses[3] + `. When this ends with 0 the receipt is durable in the sender's inbox. The
message does not change; any number of receipts may follow it. MESSAGE_ID is the id in
its envelope, which "agent-chat inbox --json" shows.

It is repeated under its id as "agent-chat send" is.`,
		Example: `  agent-chat receipt --to alice msg_0123456789abcdef0123456789abcdef processed --from bob
  agent-chat receipt --to alice msg_0123456789abcdef0123456789abcdef rejected --detail "No access"`,
		Args: takes(2, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return a.completeReceived(cmd, h.from, "", to)
			case 1:
				return statuses, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(statuses, args[1]) {
				return usagef("STATUS %q is none of %s", args[1], strings.Join(statuses, ", "))
			}
			message, err := parseMessage(args[0])
			if err != nil {
				return err
			}
			head, err := a.heading(to, h)
			if err != nil {
				return err
			}
			req := api.SendReceiptRequest{Heading: head, MessageID: message, Status: api.ReceiptStatus(args[1]), Detail: detail}
			if cmd.Flags().Changed("at") {
				req.SeqNum = &at
			}
			return a.deliver(head, func(c *client.Client) (*api.SendResponse, error) { return c.SendReceipt(cmd.Context(), req) })
		},
	}
	a.addressed(cmd, &to, &h)
	cmd.Flags().StringVar(&detail, "detail", "", "a few `words` on it")
	cmd.Flags().Var(number[uint64]{&at, 64}, "at", "the message's `position` in the inbox, if it is known: nothing is searched")
	return cmd
}
