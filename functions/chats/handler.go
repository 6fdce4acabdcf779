// Package chats is the family of signed chats: two directional streams between
// two agents, each with one writer at a time, and a proof of every record.
package chats

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/chat"
	"agentchat/shared/chatlog"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/serve"
	"agentchat/shared/sse"
	"agentchat/shared/valid"
)

// New returns the handler of the family. Without keys to sign with it answers
// every call that there are no chats, and publishes an empty key set.
func New(e *env.Env) http.Handler {
	h := &handler{Env: e}
	if e.Keys.Complete() {
		h.chats = chatlog.New(e.Store, e.Journal, e.Mail, chatlog.Options{
			Keys: e.Keys, Policy: e.Config.PIIPolicy, GrantsRequired: e.Config.ChatGrants, Now: e.Now, Rand: e.Rand, Log: e.Log,
		})
	}
	return serve.Mux(e, "chats", map[string]serve.Op{
		"chats.acknowledge": serve.Unary(on(h, (*handler).acknowledge)),
		"chats.batch":       serve.Unary(on(h, (*handler).batch)),
		"chats.claim":       serve.Unary(on(h, (*handler).claim)),
		"chats.create":      serve.Unary(on(h, (*handler).create)),
		"chats.get":         serve.Unary(on(h, (*handler).get)),
		"chats.list":        serve.Unary(on(h, (*handler).list)),
		"chats.operation":   serve.Unary(on(h, (*handler).operation)),
		"chats.permissions": serve.Unary(on(h, (*handler).permissions)),
		"chats.permit":      serve.Unary(on(h, (*handler).permit)),
		"chats.send":        serve.Unary(on(h, (*handler).send)),
		"chats.transcript":  serve.Events(on(h, (*handler).page), h.follow),
		"chats.jwks":        serve.Unary(h.keys),
	})
}

type handler struct {
	*env.Env
	chats *chatlog.Log // nil: there are no keys to sign with
}

// on returns f for a server that has chats.
func on[Q, R any](h *handler, f func(*handler, context.Context, auth.Caller, *Q) (*R, error)) func(context.Context, auth.Caller, *Q) (*R, error) {
	return func(ctx context.Context, by auth.Caller, req *Q) (*R, error) {
		if h.chats == nil {
			return nil, disabled()
		}
		return f(h, ctx, by, req)
	}
}

func disabled() error {
	return api.Errorf(api.ChatsDisabled, "this server has no keys to sign with; its operator sets them")
}

func actor(by auth.Caller, id ident.Agent) chatlog.Actor {
	return chatlog.Actor{Agent: id, Operator: by.Kind == auth.Operator}
}

// author is actor for what takes an agent key where the server says so.
func (h *handler) author(by auth.Caller, id ident.Agent) (chatlog.Actor, error) {
	if h.Config.AgentKeys && by.Kind != auth.Agent {
		return chatlog.Actor{}, api.Errorf(api.Forbidden, "here this takes the agent's own key, not the API token")
	}
	return actor(by, id), nil
}

func (h *handler) create(ctx context.Context, by auth.Caller, req *api.CreateChatRequest) (*api.CreateChatResponse, error) {
	if err := valid.CreateChat(req); err != nil {
		return nil, err
	}
	return h.chats.Create(ctx, actor(by, req.AgentID), req.PeerID)
}

func (h *handler) list(ctx context.Context, by auth.Caller, req *api.ListChatsRequest) (*api.ListChatsResponse, error) {
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return nil, err
	}
	from := uint64(0)
	if req.Cursor != nil {
		from = *req.Cursor
	}
	return h.chats.List(ctx, actor(by, req.AgentID), from, limit)
}

func (h *handler) get(ctx context.Context, by auth.Caller, req *api.ChatRequest) (*api.Chat, error) {
	return h.chats.Get(ctx, req.Chat, actor(by, req.AgentID))
}

func (h *handler) claim(ctx context.Context, by auth.Caller, req *api.ClaimRequest) (*api.ClaimResponse, error) {
	who, err := h.author(by, req.AgentID)
	if err != nil {
		return nil, err
	}
	if err := valid.Claim(req); err != nil {
		return nil, err
	}
	rev := chatlog.Review{Owner: req.ReviewedOwner.Value, ClaimID: req.ClaimID}
	if req.ReviewedTail.Set {
		rev.Tail = (*uint64)(&req.ReviewedTail.Value)
	}
	return h.chats.Claim(ctx, req.Chat, who, rev)
}

func (h *handler) send(ctx context.Context, by auth.Caller, req *api.ChatMessageRequest) (*api.ChatAppendResponse, error) {
	who, err := h.author(by, req.AgentID)
	if err != nil {
		return nil, err
	}
	if err := valid.ChatMessage(req); err != nil {
		return nil, err
	}
	return h.chats.Append(ctx, req.Chat, who, chatlog.Draft{
		Token: req.Token, Position: uint64(*req.ExpectedPosition), MessageID: req.MessageID, Content: req.Content, Ack: req.Ack,
	})
}

func (h *handler) acknowledge(ctx context.Context, by auth.Caller, req *api.ChatReceiptRequest) (*api.ChatAppendResponse, error) {
	who, err := h.author(by, req.AgentID)
	if err != nil {
		return nil, err
	}
	if err := valid.ChatReceipt(req); err != nil {
		return nil, err
	}
	return h.chats.Append(ctx, req.Chat, who, chatlog.Draft{Token: req.Token, Position: uint64(*req.ExpectedPosition), Ack: &req.Acknowledgement})
}

func (h *handler) batch(ctx context.Context, by auth.Caller, req *api.BatchRequest) (*api.ChatBatch, error) {
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return nil, err
	}
	return h.chats.Batch(ctx, req.Chat, actor(by, req.AgentID), limit)
}

func (h *handler) operation(ctx context.Context, by auth.Caller, req *api.OperationRequest) (*api.OperationResponse, error) {
	if err := valid.Operation(req); err != nil {
		return nil, err
	}
	return h.chats.Operation(ctx, req.Chat, actor(by, req.AgentID), req.Operation, uint64(*req.ExpectedPosition))
}

func (h *handler) permissions(ctx context.Context, by auth.Caller, req *api.ChatRequest) (*api.PermissionsResponse, error) {
	return h.chats.Permissions(ctx, req.Chat, actor(by, req.AgentID))
}

// permit takes the grant of a recipient from its own key alone where the server
// says so; a policy, from the API token alone.
func (h *handler) permit(ctx context.Context, by auth.Caller, req *api.PermissionsRequest) (*api.PermissionsResponse, error) {
	if err := valid.Permissions(req); err != nil {
		return nil, err
	}
	if req.PIIPolicy != "" && by.Kind != auth.Operator {
		return nil, api.Errorf(api.Forbidden, "the policy of a chat needs the API token")
	}
	if req.State != "" {
		if _, err := h.author(by, req.AgentID); err != nil {
			return nil, err
		}
	}
	return h.chats.Permit(ctx, req.Chat, actor(by, req.AgentID), req.State, req.PIIPolicy)
}

func (h *handler) page(ctx context.Context, by auth.Caller, req *api.TranscriptRequest) (*api.TranscriptPage, error) {
	q, err := query(req)
	if err != nil {
		return nil, err
	}
	q.Cursor = req.Cursor
	return h.chats.Transcript(ctx, req.Chat, actor(by, req.AgentID), q)
}

func (h *handler) follow(ctx context.Context, by auth.Caller, req *api.TranscriptRequest) iter.Seq2[[]sse.Event, error] {
	refused := func(err error) iter.Seq2[[]sse.Event, error] {
		return func(yield func([]sse.Event, error) bool) { yield(nil, err) }
	}
	if h.chats == nil {
		return refused(disabled())
	}
	q, err := query(req)
	if err != nil {
		return refused(err)
	}
	q.Cursor = cmp.Or(req.LastEventID, req.Cursor)
	return h.chats.Follow(ctx, req.Chat, actor(by, req.AgentID), q, api.HeartbeatSeconds*time.Second)
}

// query returns what a request asks for, but for its cursor.
func query(req *api.TranscriptRequest) (q chatlog.Query, err error) {
	if q.Limit, err = valid.Limit(req.Limit); err == nil {
		q.Include, err = chat.Included(req.Include)
	}
	return q, err
}

// keys is the JWK set, as bytes that the set itself makes.
func (h *handler) keys(context.Context, auth.Caller, *struct{}) (*jwks, error) {
	return &jwks{body: h.Keys.Public()}, nil
}

type jwks struct{ body []byte }

func (k jwks) AppendJSON(b []byte) []byte { return append(b, k.body...) }
