package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
	"agentchat/shared/strictjson"
)

// contacts is what its commands share.
type contacts struct {
	*app
	owner string // the flag
}

func (a *app) contactsCommand() *cobra.Command {
	c := &contacts{app: a}
	list := c.listCommand()
	cmd := &cobra.Command{
		Use:   "contacts",
		Short: "Keep an agent's address book",
		Long: `Keep an agent's address book: cards of agents, portable from book to book with
"agent-chat share" and "agent-chat accept". Who is in it need not be registered.`,
		Example: `  agent-chat contacts put carol --display-name Carol --capability research
  agent-chat contacts --capability research
  agent-chat contacts history carol`,
		Args: cobra.NoArgs,
		RunE: list.RunE,
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.PersistentFlags().StringVar(&c.owner, "agent", "", "whose address book (default $AGENT_CHAT_AGENT)")
	completeFlag(cmd, "agent", a.completeAgents)
	cmd.AddCommand(list, c.showCommand(), c.putCommand(), c.rmCommand(), c.historyCommand())
	return cmd
}

func (c *contacts) listCommand() *cobra.Command {
	var req api.ListContactsRequest
	var labels []string
	cmd := &cobra.Command{
		Use: "list", Short: "List the contacts", Args: takes(0, 0),
		Example: "  agent-chat contacts list --capability research --label team=discovery\n  agent-chat contacts list --json | jq -r .id",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.Labels, err = pairs("--label", labels); err != nil {
				return err
			}
			if req.Agent, err = c.agent(c.owner, whoseBook); err != nil {
				return err
			}
			return c.with(func(remote *client.Client) error { return c.list(cmd.Context(), remote, req) })
		},
	}
	cmd.Flags().StringVar(&req.Capability, "capability", "", "only those that can do this")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only those with the label `KEY=VALUE`; repeatable")
	return cmd
}

func (c *contacts) list(ctx context.Context, remote *client.Client, req api.ListContactsRequest) error {
	rows := [][]string{{"CONTACT", "NAME", "CAPABILITIES", "ENDPOINT", "FROM", "CHANGED"}}
	for got, err := range remote.Contacts(ctx, req) {
		if err != nil {
			return err
		}
		if c.json {
			c.object(c.out, got)
			continue
		}
		from := ""
		if got.AcceptedFrom != nil {
			from = string(got.AcceptedFrom.Agent)
		}
		rows = append(rows, []string{string(got.ID), got.DisplayName, strings.Join(got.Capabilities, ", "), got.Endpoint, from, local(got.UpdatedAt)})
	}
	switch {
	case c.json:
	case len(rows) == 1:
		c.note("No contact: agent-chat contacts put CONTACT")
	default:
		c.table(rows)
	}
	return nil
}

func (c *contacts) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show CONTACT", Short: "Show a contact", Args: takes(1, 1), ValidArgsFunction: c.complete,
		Example: "  agent-chat contacts show carol",
		RunE: c.onContact(func(ctx context.Context, remote *client.Client, p api.ContactPath) error {
			got, err := remote.Contact(ctx, p)
			if err == nil {
				c.contact(*got)
			}
			return err
		}),
	}
}

// contact shows what is set of a contact.
func (c *contacts) contact(got api.Contact) {
	if c.json {
		c.object(c.out, got)
		return
	}
	rows := cardRows("contact", got.ID, got.DisplayName, got.Endpoint, got.Capabilities, got.PublicKey, got.Labels)
	if f := got.AcceptedFrom; f != nil {
		rows = append(rows, []string{"accepted from", fmt.Sprintf("%s, %s at %d", f.Agent, f.MessageID, f.SeqNum)})
	}
	c.facts(append(rows, []string{"since", local(got.CreatedAt)}, []string{"changed", local(got.UpdatedAt)}))
}

// cardRows returns what a card says, as rows of facts; the labels come last.
func cardRows(what string, id ident.Agent, name, endpoint string, capabilities []string, publicKey string, labels map[string]string) [][]string {
	var ls [][]string
	for k, v := range labels {
		ls = append(ls, []string{"label " + k, v})
	}
	slices.SortFunc(ls, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
	return append([][]string{
		{what, string(id)},
		{"name", name},
		{"endpoint", endpoint},
		{"capabilities", strings.Join(capabilities, ", ")},
		{"public key", publicKey},
	}, ls...)
}

func (c *contacts) putCommand() *cobra.Command {
	var card api.Card
	var labels []string
	var data string
	cmd := &cobra.Command{
		Use:   "put CONTACT",
		Short: "Save a card, or replace it whole",
		Long: `Save a card under CONTACT, or replace the one there whole. Doing it again changes
nothing.

--data is the card as JSON, "@FILE" a file, "-" standard input. The server never
connects to --endpoint; it is for agents to read.`,
		Example: `  agent-chat contacts put carol --display-name Carol --capability research --label team=discovery
  agent-chat contacts put carol --data @carol.json --agent alice`,
		Args: takes(1, 1), ValidArgsFunction: c.complete,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if card.Labels, err = pairs("--label", labels); err != nil {
				return err
			}
			if data != "" {
				if err := c.card(data, &card); err != nil {
					return err
				}
			}
			return c.onContact(func(ctx context.Context, remote *client.Client, p api.ContactPath) error {
				return c.put(ctx, remote, p, card)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&card.DisplayName, "display-name", "", "a `name` for people")
	f.StringVar(&card.Endpoint, "endpoint", "", "an http or https `URL` of the agent's own")
	f.StringArrayVar(&card.Capabilities, "capability", nil, "what it can do; repeatable")
	f.StringArrayVar(&labels, "label", nil, "`KEY=VALUE`; repeatable")
	f.StringVar(&card.PublicKey, "public-key", "", "its public `key`")
	f.StringVar(&data, "data", "", "the whole `card`: JSON, @FILE, or - for standard input")
	for _, name := range []string{"display-name", "endpoint", "capability", "label", "public-key"} {
		cmd.MarkFlagsMutuallyExclusive("data", name)
	}
	return cmd
}

// card reads the card that --data means.
func (c *contacts) card(data string, card *api.Card) error {
	b, err := c.data(data)
	if err != nil {
		return err
	}
	err = strictjson.Decode(b, card)
	if e, ok := errors.AsType[*api.Error](err); ok {
		return usagef("--data is no card: %s (%s)", e.Detail, e.Field)
	}
	return err
}

func (c *contacts) put(ctx context.Context, remote *client.Client, p api.ContactPath, card api.Card) error {
	got, err := remote.PutContact(ctx, api.PutContactRequest{
		Agent: p.Agent, Contact: p.Contact, ID: card.ID, DisplayName: card.DisplayName, Endpoint: card.Endpoint,
		Capabilities: card.Capabilities, PublicKey: card.PublicKey, Labels: card.Labels,
	})
	if err != nil {
		return err
	}
	c.saved(got, "")
	return nil
}

// saved says what became of a card.
func (a *app) saved(got *api.SaveContactResponse, how string) {
	switch {
	case a.json:
		a.object(a.out, struct {
			api.Contact
			Created bool `json:"created"`
		}{got.Contact, got.Created})
	case got.Created:
		a.say("saved %s%s", got.ID, how)
	default:
		a.say("%s is up to date%s", got.ID, how)
	}
}

func (c *contacts) rmCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm CONTACT", Short: "Remove a contact; its history stays", Args: takes(1, 1), ValidArgsFunction: c.complete,
		Example: "  agent-chat contacts rm carol --agent alice",
		RunE: c.onContact(func(ctx context.Context, remote *client.Client, p api.ContactPath) error {
			if err := remote.RemoveContact(ctx, p); err != nil {
				return err
			}
			if c.json {
				c.object(c.out, map[string]any{"done": "removed", "agent": p.Agent, "contact": p.Contact})
				return nil
			}
			c.say("removed %s", p.Contact)
			return nil
		}),
	}
}

func (c *contacts) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "history CONTACT", Short: "Show what happened to a contact, oldest first", Args: takes(1, 1), ValidArgsFunction: c.complete,
		Example: "  agent-chat contacts history carol --json",
		RunE: c.onContact(func(ctx context.Context, remote *client.Client, p api.ContactPath) error {
			rows := [][]string{{"POSITION", "WHEN", "WHAT", "FROM", "CARD"}}
			for e, err := range remote.ContactHistory(ctx, api.ContactHistoryRequest{Agent: p.Agent, Contact: p.Contact}) {
				if err != nil {
					return err
				}
				if c.json {
					c.object(c.out, e)
					continue
				}
				rows = append(rows, eventRow(e))
			}
			switch {
			case c.json:
			case len(rows) == 1:
				c.note("Nothing ever happened to %s.", p.Contact)
			default:
				c.table(rows)
			}
			return nil
		}),
	}
}

func eventRow(e api.ContactEvent) []string {
	from, card := "", ""
	if e.AcceptedFrom != nil {
		from = string(e.AcceptedFrom.Agent)
	}
	if e.Contact != nil {
		if b, err := strictjson.Append(nil, e.Contact); err == nil { // it came as JSON
			card = cardText(b)
		}
	}
	return []string{fmt.Sprint(e.SeqNum), local(e.Timestamp), string(e.Kind), from, card}
}

// onContact makes a command's RunE out of f, which gets the contact in the first argument.
func (c *contacts) onContact(f func(context.Context, *client.Client, api.ContactPath) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		var p api.ContactPath
		if p.Contact, err = parseAgent(args[0]); err != nil {
			return err
		}
		if p.Agent, err = c.agent(c.owner, whoseBook); err != nil {
			return err
		}
		return c.with(func(remote *client.Client) error { return f(cmd.Context(), remote, p) })
	}
}
