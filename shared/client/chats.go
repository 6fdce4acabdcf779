package client

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
	"agentchat/shared/sse"
)

// CreateChat finds the chat of two agents, or makes it. Repeating it changes nothing.
func (c *Client) CreateChat(ctx context.Context, req api.CreateChatRequest) (*api.CreateChatResponse, error) {
	answer, res, err := call[api.CreateChatResponse](ctx, c, "chats.create", &req, true)
	if err != nil {
		return nil, err
	}
	answer.Created = res.status == http.StatusCreated
	return answer, nil
}

// Chats returns a page of an agent's chats.
func (c *Client) Chats(ctx context.Context, req api.ListChatsRequest) (*api.ListChatsResponse, error) {
	return do[api.ListChatsResponse](ctx, c, "chats.list", &req, true)
}

// AllChats yields an agent's chats from req.Cursor on, page after page, the oldest
// first. It ends after the first error. Those that the server can't read are left
// out; ChatPages says which.
func (c *Client) AllChats(ctx context.Context, req api.ListChatsRequest) iter.Seq2[api.Chat, error] {
	return func(yield func(api.Chat, error) bool) {
		for page, err := range c.ChatPages(ctx, req) {
			if err != nil {
				yield(api.Chat{}, err)
				return
			}
			for _, chat := range page.Chats {
				if !yield(chat, nil) {
					return
				}
			}
		}
	}
}

// ChatPages yields the pages of an agent's chats from req.Cursor on. It ends after
// the first error.
func (c *Client) ChatPages(ctx context.Context, req api.ListChatsRequest) iter.Seq2[*api.ListChatsResponse, error] {
	from := uint64(0)
	if req.Cursor != nil {
		from = *req.Cursor
	}
	return pages(from, func(at uint64) ([]*api.ListChatsResponse, *uint64, error) {
		req.Cursor = &at
		page, err := c.Chats(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		return []*api.ListChatsResponse{page}, page.NextCursor, nil
	})
}

// Chat returns a chat, with who owns its directions and where they end.
func (c *Client) Chat(ctx context.Context, req api.ChatRequest) (*api.Chat, error) {
	return do[api.Chat](ctx, c, "chats.get", &req, true)
}

// ClaimDirection takes ownership of the agent's own direction. With a claim id,
// an attempt of unknown outcome is repeated.
func (c *Client) ClaimDirection(ctx context.Context, req api.ClaimRequest) (*api.ClaimResponse, error) {
	return do[api.ClaimResponse](ctx, c, "chats.claim", &req, req.ClaimID != "")
}

// SendToChat signs and appends a message. One whose outcome is unknown
// (ErrUnknown) is never repeated here: the caller looks its operation up.
func (c *Client) SendToChat(ctx context.Context, req api.ChatMessageRequest) (*api.ChatAppendResponse, error) {
	return c.append(ctx, "chats.send", &req)
}

// AcknowledgeBatch appends a receipt, as SendToChat does a message.
func (c *Client) AcknowledgeBatch(ctx context.Context, req api.ChatReceiptRequest) (*api.ChatAppendResponse, error) {
	return c.append(ctx, "chats.acknowledge", &req)
}

func (c *Client) append(ctx context.Context, op string, req any) (*api.ChatAppendResponse, error) {
	answer, res, err := call[api.ChatAppendResponse](ctx, c, op, req, false)
	if err != nil {
		return nil, err
	}
	answer.Replayed = res.header.Get("Idempotent-Replayed") == "true"
	return answer, nil
}

// Batch returns what the peer wrote since the reader's last receipt.
func (c *Client) Batch(ctx context.Context, req api.BatchRequest) (*api.ChatBatch, error) {
	return do[api.ChatBatch](ctx, c, "chats.batch", &req, true)
}

// Operation says whether an operation was stored.
func (c *Client) Operation(ctx context.Context, req api.OperationRequest) (*api.OperationResponse, error) {
	return do[api.OperationResponse](ctx, c, "chats.operation", &req, true)
}

// Permissions returns what the parties of a chat let each other send.
func (c *Client) Permissions(ctx context.Context, req api.ChatRequest) (*api.PermissionsResponse, error) {
	return do[api.PermissionsResponse](ctx, c, "chats.permissions", &req, true)
}

// SetPermissions sets what the agent lets its peer send. Repeating it changes nothing.
func (c *Client) SetPermissions(ctx context.Context, req api.PermissionsRequest) (*api.PermissionsResponse, error) {
	return do[api.PermissionsResponse](ctx, c, "chats.permit", &req, true)
}

// Transcript returns a page of what both parties wrote.
func (c *Client) Transcript(ctx context.Context, req api.TranscriptRequest) (*api.TranscriptPage, error) {
	req.Follow, req.LastEventID = nil, ""
	return do[api.TranscriptPage](ctx, c, "chats.transcript", &req, true)
}

// PublicKeys returns the JWK set that verifies records.
func (c *Client) PublicKeys(ctx context.Context) ([]byte, error) {
	answer, err := do[jsontext.Value](ctx, c, "chats.jwks", nil, true)
	if err != nil {
		return nil, err
	}
	return *answer, nil
}

// A ChatEvent is a record of a chat as it came live, and the cursor behind it.
type ChatEvent struct {
	api.ChatRecord
	Cursor api.ChatCursor
}

// FollowChat yields what both parties wrote from req.Cursor, a live one, on, and
// then what they write: each direction in its order, nothing twice. It resumes
// and ends as Follow does.
func (c *Client) FollowChat(ctx context.Context, req api.TranscriptRequest, onState func(State)) iter.Seq2[ChatEvent, error] {
	on := true
	if req.LastEventID != "" {
		req.Cursor = req.LastEventID
	}
	req.Follow, req.LastEventID, req.Limit = &on, "", nil
	return follow(ctx, c, onState, func(yield func(ChatEvent, error) bool) source {
		return &chatSource{req: req, yield: yield}
	})
}

type chatSource struct {
	req   api.TranscriptRequest // its Cursor moves behind every event that was complete
	yield func(ChatEvent, error) bool
}

func (s *chatSource) request() (request, error) { return newRequest("chats.transcript", &s.req) }

func (s *chatSource) cursor() string { return string(s.req.Cursor) }

func (s *chatSource) event(e sse.Event) (news bool, err error) {
	switch e.Name {
	case "message", "receipt", "fence":
	default:
		return false, nil // of a later version
	}
	ev := ChatEvent{Cursor: api.ChatCursor(e.ID)}
	if err := json.Unmarshal(e.Data, &ev.ChatRecord); err != nil {
		return false, err
	}
	if ev.Cursor == "" || ev.StreamID == "" {
		return false, errors.New("no cursor, or no stream, in it")
	}
	if ev.Cursor == s.req.Cursor { // seen before the cut
		return false, nil
	}
	s.req.Cursor = ev.Cursor
	if !s.yield(ev, nil) {
		return true, errLeft
	}
	return true, nil
}
