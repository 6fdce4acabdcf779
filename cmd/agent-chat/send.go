package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// maxInput is what is read of a file or of standard input; the server's limits are lower.
const maxInput = 4 << 20

// unsent is a send whose outcome stayed open.
type unsent struct {
	id    ident.Message
	cause error
}

func (e *unsent) Error() string { return e.cause.Error() }
func (e *unsent) Unwrap() error { return e.cause }

type sendFlags struct {
	from, id, conversation, correlation, contentType, data string
	metadata                                               []string
}

func (a *app) sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send TO [TEXT ...]",
		Short: "Send a message",
		Long: `Send a message. When this ends with 0 the message is durable.

TEXT is joined by spaces; "-" is standard input without its last line end. A TEXT
that begins with "-" goes behind "--".
--data is JSON, "@FILE" a file, "-" standard input.

Every message gets an id before it is sent, so that an attempt whose outcome is
unknown is repeated without doubling it. If it stays unknown, the exit status is 4
and the error names the id to repeat the command with.`,
		Example: `  agent-chat send bob "Please inspect this result" --from alice
  agent-chat send bob --data @result.json --content-type application/json
  git log -1 | agent-chat send bob -`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: a.completeAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.send(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the sender (default $AGENT_CHAT_AGENT)")
	flags.StringVar(&f.data, "data", "", "JSON `data`: text, @FILE, or - for standard input")
	flags.StringVar(&f.id, "id", "", "the message's id; repeating a send with it is harmless")
	flags.StringVar(&f.conversation, "conversation", "", "the conversation's id")
	flags.StringVar(&f.correlation, "correlation", "", "the correlation id")
	flags.StringVar(&f.contentType, "content-type", "", "the media type of the content")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "`KEY=VALUE`; repeatable")
	completeFlag(cmd, "from", a.completeAgents)
	return cmd
}

func (a *app) send(ctx context.Context, args []string, f sendFlags) error {
	req, err := a.message(args, f)
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	sent, err := c.Send(ctx, req)
	if errors.Is(err, client.ErrUnknown) {
		return &unsent{id: req.ID, cause: err}
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
	a.say("sent %s to %s at %d%s", req.ID, req.To, sent.SeqNum, again)
	return nil
}

// message makes the request out of the command line and what it points to.
func (a *app) message(args []string, f sendFlags) (api.SendRequest, error) {
	req := api.SendRequest{ContentType: f.contentType}
	var err error
	if req.Metadata, err = pairs("--metadata", f.metadata); err != nil {
		return req, err
	}
	if req.To, err = parseAgent(args[0]); err != nil {
		return req, err
	}
	if req.Agent, err = a.sender(f.from); err != nil {
		return req, err
	}
	if len(args) == 1 && f.data == "" {
		return req, usagef("nothing to send: give TEXT or --data")
	}
	if len(args) > 1 {
		text := strings.Join(args[1:], " ")
		if text == "-" {
			if f.data == "-" {
				return req, usagef("only one of TEXT and --data can be standard input")
			}
			b, err := read(a.in, "standard input")
			if err != nil {
				return req, err
			}
			text = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		}
		if !utf8.ValidString(text) {
			return req, usagef("the text is not UTF-8")
		}
		req.Text = &text
	}
	if req.Data, err = a.data(f.data); err != nil {
		return req, err
	}
	return req, f.ids(&req)
}

// ids puts the ids of the flags into req, and makes one for the message if it has none.
func (f sendFlags) ids(req *api.SendRequest) error {
	req.ID = client.NewID(rand.Reader)
	for _, id := range []struct {
		flag, value string
		set         func([]byte) error
	}{
		{"--id", f.id, req.ID.UnmarshalText},
		{"--conversation", f.conversation, req.ConversationID.UnmarshalText},
		{"--correlation", f.correlation, req.CorrelationID.UnmarshalText},
	} {
		if id.value == "" {
			continue
		}
		if err := id.set([]byte(id.value)); err != nil {
			return usage{fmt.Errorf("%s: %w", id.flag, err)}
		}
	}
	return nil
}

func (a *app) sender(from string) (ident.Agent, error) {
	if from != "" {
		return parseAgent(from)
	}
	id, err := a.agent(nil)
	if err != nil {
		return "", usagef("from whom? --from AGENT, or set AGENT_CHAT_AGENT")
	}
	return id, nil
}

// data returns the JSON that a --data flag means, nil for "".
func (a *app) data(flag string) ([]byte, error) {
	var b []byte
	var err error
	switch name, isFile := strings.CutPrefix(flag, "@"); {
	case flag == "":
		return nil, nil
	case flag == "-":
		b, err = read(a.in, "standard input")
	case isFile:
		b, err = readFile(name)
	default:
		b = []byte(flag)
	}
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSpace(b)
	if !jsontext.Value(b).IsValid() {
		return nil, usagef("--data is not JSON; text goes in quotes: --data '\"text\"', a file is --data @FILE")
	}
	return b, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usage{err}
	}
	defer func() { _ = f.Close() }() // it was only read
	return read(f, name)
}

func read(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > maxInput {
		return nil, usagef("%s is longer than any message may be", name)
	}
	return b, nil
}
