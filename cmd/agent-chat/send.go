package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
)

// maxInput is what is read of a file or of standard input; the server's limits are lower.
const maxInput = 4 << 20

type sendFlags struct {
	heading
	contentType, data string
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
	f.flags(a, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", "JSON `data`: text, @FILE, or - for standard input")
	flags.StringVar(&f.contentType, "content-type", "", "the media type of the content")
	return cmd
}

func (a *app) send(ctx context.Context, args []string, f sendFlags) error {
	req, err := a.message(args, f)
	if err != nil {
		return err
	}
	return a.deliver(req.Heading, func(c *client.Client) (*api.SendResponse, error) { return c.Send(ctx, req) })
}

// message makes the request out of the command line and what it points to.
func (a *app) message(args []string, f sendFlags) (api.SendRequest, error) {
	h, err := a.heading(args[0], f.heading)
	if err != nil {
		return api.SendRequest{}, err
	}
	req := api.SendRequest{Heading: h, ContentType: f.contentType}
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
	req.Data, err = a.data(f.data)
	return req, err
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
	v := jsontext.Value(b)
	switch {
	case v.IsValid():
	case v.IsValid(jsontext.AllowDuplicateNames(true)):
		return nil, usagef("--data: an object in it has a member twice, which is not taken")
	case v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		return nil, usagef("--data is not UTF-8, or has half of a surrogate pair")
	default:
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
