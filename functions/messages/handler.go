// Package messages is the family of single messages: send one, look one up.
package messages

import (
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
	d := mailbox.NewDraft("messages.send", api.KindMessage, &req.Heading)
	d.Message = &api.Content{Text: req.Text, Data: req.Data, ContentType: req.ContentType}
	return h.Mail.Send(ctx, d)
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
