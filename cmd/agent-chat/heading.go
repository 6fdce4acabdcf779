package main

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// A heading is what the commands that send something have in common.
type heading struct {
	from, id, conversation, correlation string
	metadata                            []string
}

// flags gives cmd the flags of a heading.
func (h *heading) flags(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&h.from, "from", "", "the sender (default $AGENT_CHAT_AGENT)")
	flags.StringVar(&h.id, "id", "", "an id for what is sent; repeating it with the same one is harmless")
	flags.StringVar(&h.conversation, "conversation", "", "the conversation's id")
	flags.StringVar(&h.correlation, "correlation", "", "the correlation id")
	flags.StringArrayVar(&h.metadata, "metadata", nil, "`KEY=VALUE`; repeatable")
	completeFlag(cmd, "from", a.completeAgents)
}

// addressed gives a command the flags of a heading, and --to.
func (a *app) addressed(cmd *cobra.Command, to *string, h *heading) {
	cmd.Flags().StringVar(to, "to", "", "the recipient")
	if err := cmd.MarkFlagRequired("to"); err != nil {
		panic(err) // it is there
	}
	completeFlag(cmd, "to", a.completeAgents)
	h.flags(a, cmd)
}

// heading returns what the flags say, with an id in any case.
func (a *app) heading(to string, h heading) (api.Heading, error) {
	req := api.Heading{ID: client.NewID(rand.Reader)}
	var err error
	if req.Metadata, err = pairs("--metadata", h.metadata); err != nil {
		return req, err
	}
	if req.To, err = parseAgent(to); err != nil {
		return req, err
	}
	if req.Agent, err = a.agent(h.from, fromWhom); err != nil {
		return req, err
	}
	for _, id := range []struct {
		flag, value string
		set         func([]byte) error
	}{
		{"--id", h.id, req.ID.UnmarshalText},
		{"--conversation", h.conversation, req.ConversationID.UnmarshalText},
		{"--correlation", h.correlation, req.CorrelationID.UnmarshalText},
	} {
		if id.value == "" {
			continue
		}
		if err := id.set([]byte(id.value)); err != nil {
			return req, usage{fmt.Errorf("%s: %w", id.flag, err)}
		}
	}
	return req, nil
}

// deliver sends with send and says where it went.
func (a *app) deliver(h api.Heading, send func(*client.Client) (*api.SendResponse, error)) error {
	return a.with(func(c *client.Client) error {
		sent, err := send(c)
		if errors.Is(err, client.ErrUnknown) {
			return &unsent{id: h.ID, cause: err}
		}
		if err != nil {
			return err
		}
		if a.json {
			a.object(a.out, struct {
				api.SendResponse
				Replayed bool `json:"replayed"`
			}{*sent, sent.Replayed})
			return nil
		}
		again := ""
		if sent.Replayed {
			again = " (it was there already)"
		}
		a.say("sent %s to %s at %d%s", h.ID, h.To, sent.SeqNum, again)
		return nil
	})
}

// unsent is a send whose outcome stayed open.
type unsent struct {
	id    ident.Message
	cause error
}

func (e *unsent) Error() string { return e.cause.Error() }
func (e *unsent) Unwrap() error { return e.cause }
