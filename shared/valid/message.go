package valid

import (
	"slices"

	"agentchat/shared/api"
)

// GetMessage checks a messages.get request. With to it looks at what the agent
// sent, and the id alone names that.
func GetMessage(r *api.GetMessageRequest) error {
	if r.To != "" && (r.From != "" || r.At != nil) {
		return api.InvalidParameter("to", "to looks up what the agent sent itself; it goes with neither from nor at")
	}
	return nil
}

// SendReceipt checks a receipts.send request. An empty detail is none.
func SendReceipt(r *api.SendReceiptRequest) error {
	if err := heading(&r.Heading); err != nil {
		return err
	}
	if r.MessageID == "" {
		return api.InvalidField("/message_id", "the message is missing; give the id of one that was received")
	}
	if !slices.Contains(api.ReceiptStatuses(), r.Status) {
		return api.InvalidField("/status", "a status is one of %s", listed(api.ReceiptStatuses()))
	}
	if len(r.Detail) > api.MaxDetailBytes {
		return api.InvalidField("/detail", "%d bytes of UTF-8; a detail has at most %d", len(r.Detail), api.MaxDetailBytes)
	}
	return nil
}

func heading(h *api.Heading) error {
	if err := addressed(h); err != nil {
		return err
	}
	return pairs("/metadata", h.Metadata)
}

// addressed checks to whom something is sent, and under which id.
func addressed(h *api.Heading) error {
	if h.To == "" {
		return api.InvalidField("/to", "the recipient is missing; name a registered agent")
	}
	if h.ID != "" && h.IdempotencyKey != "" && h.ID != h.IdempotencyKey {
		return api.InvalidParameter("Idempotency-Key", "the header and the member id differ; send one of them, or the same in both")
	}
	return nil
}
