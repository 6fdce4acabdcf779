package client

import (
	"context"

	"agentchat/shared/api"
)

// SendReceipt tells the sender of a received message what became of it. It is
// durable when SendReceipt returns nil; what holds of Send and its ids holds of it.
func (c *Client) SendReceipt(ctx context.Context, req api.SendReceiptRequest) (*api.SendResponse, error) {
	return c.send(ctx, "receipts.send", &req, &req.ID, req.IdempotencyKey)
}
