package client

import (
	"context"
	"errors"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// Send sends a message. It is durable when Send returns nil.
//
// With an id, req.ID or req.IdempotencyKey, an attempt of unknown outcome is
// repeated with the same id, and the message is stored once. Without one only
// what was certainly not stored is sent again, unless the server tells the id
// under which it may have stored it; so when the connection breaks at the wrong
// moment Send ends with ErrUnknown, and it is the caller who must decide. See NewID.
func (c *Client) Send(ctx context.Context, req api.SendRequest) (*api.SendResponse, error) {
	return c.send(ctx, "messages.send", &req, &req.ID, req.IdempotencyKey)
}

// send calls op, one of those that put an envelope into an inbox. id is within
// req; key is the other place of the envelope's id.
func (c *Client) send(ctx context.Context, op string, req any, id *ident.Message, key ident.Message) (*api.SendResponse, error) {
	var answer *api.SendResponse
	_, err := c.repeat(ctx, func() (reply, error) {
		r, err := newRequest(op, req)
		if err != nil {
			return reply{}, err
		}
		var res reply
		answer, res, err = once[api.SendResponse](ctx, c, r)
		if err == nil {
			answer.Replayed = res.header.Get("Idempotent-Replayed") == "true"
		}
		return res, err
	}, func(err error) bool {
		if *id == "" && key == "" {
			if e, ok := errors.AsType[*Error](err); ok {
				*id = e.Problem.Message // the repeat asks for this very message
			}
		}
		return *id != "" || key != ""
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Message looks a message up: in the agent's own inbox, or with req.To among what
// it sent with ids of its own.
func (c *Client) Message(ctx context.Context, req api.GetMessageRequest) (*api.Delivery, error) {
	return do[api.Delivery](ctx, c, "messages.get", &req, true)
}
