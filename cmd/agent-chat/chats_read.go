package main

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/signed"
)

type readFlags struct {
	follow, fresh, batch, all bool
	cursor, include           string
	limit                     int
}

func (c *chats) readCommand() *cobra.Command {
	f := readFlags{limit: api.DefaultPageItems}
	cmd := &cobra.Command{
		Use:   "read CHAT",
		Short: "Read a chat, or follow it live",
		Long: `Read what both parties wrote, or with --follow read it and then what comes, until
interrupted. Reading acknowledges nothing.

With --json --all it writes what "agent-chat verify" reads. With --batch it shows what
the peer wrote since the agent's last receipt, and how to acknowledge it.

--follow resumes by itself behind the last record that was shown, and ends with exit
status 3 when the server refuses for good.`,
		Example: `  agent-chat chats read chat_0123456789abcdef0123456789abcdef --as alice --follow
  agent-chat chats read chat_0123456789abcdef0123456789abcdef --as alice --all --limit 0 --json >transcript.ndjson`,
		Args: takes(1, 1), ValidArgsFunction: c.completeChat,
		RunE: c.onChat(func(ctx context.Context, remote *client.Client, p api.ChatRequest, _ []string) error {
			if f.batch {
				return c.batch(ctx, remote, p)
			}
			return c.read(ctx, remote, p, f)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "follow live")
	flags.BoolVar(&f.fresh, "new", false, "begin behind what is there now")
	flags.StringVar(&f.cursor, "cursor", "", "read on behind this `cursor` (default: from the beginning)")
	flags.StringVar(&f.include, "include", "", "show `more` than messages: receipts, fences, or both with a comma")
	flags.BoolVar(&f.all, "all", false, "show receipts and fences too")
	flags.VarP(number[int]{&f.limit, 31}, "limit", "n", "show at most this many `records` without --follow; 0 is all")
	flags.BoolVar(&f.batch, "batch", false, "show what is to be acknowledged")
	cmd.MarkFlagsMutuallyExclusive("cursor", "new", "batch")
	cmd.MarkFlagsMutuallyExclusive("follow", "batch")
	cmd.MarkFlagsMutuallyExclusive("include", "all")
	return cmd
}

func (c *chats) read(ctx context.Context, remote *client.Client, p api.ChatRequest, f readFlags) error {
	req := api.TranscriptRequest{Chat: p.Chat, AgentID: p.AgentID, Cursor: api.ChatCursor(f.cursor), Include: f.include}
	if f.all {
		req.Include = "receipts,fences"
	}
	limit := f.limit
	if f.follow {
		limit = 0
	}
	if f.fresh {
		one := 1
		page, err := remote.Transcript(ctx, api.TranscriptRequest{Chat: p.Chat, AgentID: p.AgentID, Limit: &one})
		if err != nil {
			return err
		}
		req.Cursor = page.LiveCursor
	} else {
		end, err := c.history(ctx, remote, req, limit)
		if err != nil || end == "" {
			return err
		}
		req.Cursor = end
	}
	if !f.follow {
		if !c.json {
			c.note("Read on with --cursor %s", req.Cursor)
		}
		return nil
	}
	for e, err := range remote.FollowChat(ctx, req, c.connection(string(p.Chat))) {
		if err != nil {
			return err
		}
		c.record(e.ChatRecord)
	}
	return nil
}

// history shows up to limit records (0: all) of one snapshot, and returns its
// end; "" if the limit came first.
func (c *chats) history(ctx context.Context, remote *client.Client, req api.TranscriptRequest, limit int) (end api.ChatCursor, err error) {
	for shown := 0; ; {
		size := api.MaxPageItems
		if limit > 0 {
			size = min(limit-shown, size)
		}
		req.Limit = &size
		page, err := remote.Transcript(ctx, req)
		if err != nil {
			return "", err
		}
		for _, r := range page.Items {
			c.record(r)
		}
		shown += len(page.Items)
		switch {
		case page.Cursor == nil && shown == 0 && !c.json:
			c.note("Nothing is there.")
			return page.LiveCursor, nil
		case page.Cursor == nil:
			return page.LiveCursor, nil
		case limit > 0 && shown >= limit:
			c.note("There is more: --cursor %s", *page.Cursor)
			return "", nil
		}
		req.Cursor = *page.Cursor
	}
}

// A said is what people are shown of a record of a chat.
type said struct {
	Author  string `json:"authorAgentId"`
	Type    string `json:"type"`
	Message *struct {
		Content string `json:"content"`
	} `json:"message"`
	Receipt *signed.Receipt `json:"receipt"`
	Fence   *signed.Fence   `json:"fence"`
}

// record writes one record, in the form that verify reads, or as a line.
func (c *chats) record(r api.ChatRecord) {
	if c.json {
		c.object(c.out, r)
		return
	}
	var s said
	text := "(unreadable; --json shows it)"
	switch err := json.Unmarshal(r.Record, &s); {
	case err != nil:
	case s.Message != nil:
		text = s.Message.Content
	case s.Receipt != nil:
		text = fmt.Sprintf("(receipt: %s up to %d)", s.Receipt.PeerStreamID, s.Receipt.NextPosition)
	case s.Fence != nil:
		text = fmt.Sprintf("(fence: owned by %s)", s.Fence.Owner)
	default:
		text = fmt.Sprintf("(%s)", s.Type)
	}
	c.line(api.Delivery{SeqNum: uint64(r.Position), Timestamp: r.Timestamp}, s.Author, "", []string{text})
}

// batch shows what the peer wrote since the agent's last receipt.
func (c *chats) batch(ctx context.Context, remote *client.Client, p api.ChatRequest) error {
	b, err := remote.Batch(ctx, api.BatchRequest{Chat: p.Chat, AgentID: p.AgentID})
	switch {
	case err != nil:
		return err
	case c.json:
		c.object(c.out, b)
		return nil
	case b.BatchID == nil:
		c.note("Everything is acknowledged.")
		return nil
	}
	for _, r := range b.Items {
		c.record(r)
	}
	c.note("Acknowledge it: agent-chat chats ack %s %s --next %d --as %s", p.Chat, *b.BatchID, b.NextPosition, p.AgentID)
	return nil
}
