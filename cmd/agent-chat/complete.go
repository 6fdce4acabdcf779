package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
)

// offer returns what f finds for completion within a second; a server that can't
// be asked has nothing to offer.
func (a *app) offer(cmd *cobra.Command, f func(context.Context, *client.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	var found []string
	_ = a.with(func(c *client.Client) (err error) {
		found, err = f(ctx, c)
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag panics if cmd has no such flag.
func completeFlag(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// completeAgent offers agents for the first argument.
func (a *app) completeAgent(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeAgents(cmd, args, toComplete)
}

// completeAgents offers the agents that the server knows.
func (a *app) completeAgents(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.offer(cmd, func(ctx context.Context, c *client.Client) (names []string, err error) {
		for got, err := range c.Agents(ctx) {
			if err != nil {
				return nil, err
			}
			names = append(names, cobra.CompletionWithDesc(string(got.Agent), inertLine(got.DisplayName)))
		}
		return names, nil
	})
}

// complete offers contacts for the first argument.
func (c *contacts) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.completeContacts(cmd, c.owner)
}

// completeContacts offers the contacts of the agent called name, or of the agent that the
// environment names.
func (a *app) completeContacts(cmd *cobra.Command, name string) ([]string, cobra.ShellCompDirective) {
	return a.offer(cmd, func(ctx context.Context, remote *client.Client) (names []string, err error) {
		owner, err := a.agent(name, whoseBook)
		if err != nil {
			return nil, err
		}
		for got, err := range remote.Contacts(ctx, api.ListContactsRequest{Agent: owner}) {
			if err != nil {
				return nil, err
			}
			names = append(names, cobra.CompletionWithDesc(string(got.ID), inertLine(got.DisplayName)))
		}
		return names, nil
	})
}

// offered is how many of the last messages completion looks at.
const offered = 50

// completeReceived offers the ids of what an agent received lately, of a kind and
// a sender if they are given.
func (a *app) completeReceived(cmd *cobra.Command, owner string, kind api.Kind, from string) ([]string, cobra.ShellCompDirective) {
	return a.offer(cmd, func(ctx context.Context, c *client.Client) (ids []string, err error) {
		req := api.InboxRequest{Kind: kind}
		if req.Agent, err = a.agent(owner, whoseInbox); err != nil {
			return nil, err
		}
		if req.From, err = optionalAgent(from); err != nil {
			return nil, err
		}
		one := 1
		page, err := c.Inbox(ctx, api.InboxRequest{Agent: req.Agent, Limit: &one})
		if err != nil {
			return nil, err
		}
		if page.Tail > page.NextCursor+offered { // the first positions may be retained no more, or another registration's
			last := page.Tail - offered
			req.Cursor = &last
		}
		if page, err = c.Inbox(ctx, req); err != nil {
			return nil, err
		}
		for _, d := range slices.Backward(page.Deliveries) {
			var e envelope
			if json.Unmarshal(d.Envelope, &e) == nil && e.Kind != string(api.KindReceipt) {
				_, says := told(d)
				ids = append(ids, cobra.CompletionWithDesc(e.ID, cut(inertLine(e.From+": "+strings.Join(says, " ")), 60)))
			}
		}
		return ids, nil
	})
}

// completeChat offers the actor's chats for the first argument.
func (c *chats) completeChat(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.offer(cmd, func(ctx context.Context, remote *client.Client) (names []string, err error) {
		as, err := c.agent(c.as, asWhom)
		if err != nil {
			return nil, err
		}
		for got, err := range remote.AllChats(ctx, api.ListChatsRequest{AgentID: as}) {
			if err != nil {
				return nil, err
			}
			names = append(names, cobra.CompletionWithDesc(string(got.ID), "with "+string(peerOf(got, as).ID)))
		}
		return names, nil
	})
}
