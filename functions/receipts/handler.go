// Package receipts is the family of receipts: who received a message tells its
// sender what became of it.
package receipts

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
	return serve.Mux(e, "receipts", map[string]serve.Op{
		"receipts.send": serve.Unary(h.send),
	})
}

type handler struct{ *env.Env }

func (h *handler) send(ctx context.Context, _ auth.Caller, req *api.SendReceiptRequest) (*api.SendResponse, error) {
	if err := valid.SendReceipt(req); err != nil {
		return nil, err
	}
	d := mailbox.NewDraft("receipts.send", api.KindReceipt, &req.Heading)
	d.Receipt = &api.Receipt{MessageID: req.MessageID, Status: req.Status, Detail: req.Detail}
	return h.Mail.SendReceipt(ctx, d, req.SeqNum)
}
