// Package messages is the family of single messages: send one, look one up.
package messages

import (
	"cmp"
	"context"
	"net/http"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/mailbox"
	"agentchat/shared/serve"
	"agentchat/shared/valid"
)

// New returns the handler of the family.
func New(e *env.Env) http.Handler {
	h := &handler{e}
	return serve.Mux(e, "messages", map[string]serve.Op{
		"messages.send": serve.Unary(h.send),
		"messages.get":  serve.Unary(h.get),
	})
}

type handler struct{ *env.Env }

func (h *handler) send(ctx context.Context, _ auth.Caller, req *api.SendRequest) (*api.SendResponse, error) {
	if err := valid.Send(req); err != nil {
		return nil, err
	}
	return h.Mail.Send(ctx, draft(req))
}

// draft returns the message of a valid request.
func draft(req *api.SendRequest) mailbox.Draft {
	trace, _ := valid.TraceParent(req.TraceParent)
	return mailbox.Draft{
		Op: "messages.send", Kind: api.KindMessage,
		From: req.Agent, To: req.To, ID: cmp.Or(req.ID, req.IdempotencyKey),
		ConversationID: req.ConversationID, CorrelationID: req.CorrelationID, CreatedAt: req.CreatedAt,
		Message:  &api.Content{Text: req.Text, Data: req.Data, ContentType: req.ContentType},
		Metadata: req.Metadata, TraceParent: trace,
	}
}

func (h *handler) get(ctx context.Context, _ auth.Caller, req *api.GetMessageRequest) (*api.Delivery, error) {
	if err := valid.GetMessage(req); err != nil {
		return nil, err
	}
	if req.To != "" {
		return h.Mail.FindSent(ctx, req.Agent, req.To, req.Message)
	}
	return h.Mail.Find(ctx, req.Agent, req.Message, req.From, req.At)
}
