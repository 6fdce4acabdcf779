package valid

import (
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// PutContact checks a contacts.put request. Empty strings are no strings.
func PutContact(r *api.PutContactRequest) error {
	if r.ID != "" && r.ID != r.Contact {
		return api.InvalidField("/id", "the path says another contact; send the same id, or none")
	}
	c := r.Card()
	return Card(&c)
}

// Card checks what a card says, whoever wrote it.
func Card(c *api.Card) error {
	if c.ID == "" {
		return api.InvalidField("/id", "the card is nobody's")
	}
	if err := portrait(c, "http", "https"); err != nil {
		return err
	}
	return size("card", c)
}

// ShareContact checks a contacts.share request.
func ShareContact(r *api.ShareContactRequest) error {
	if err := heading(&r.Heading); err != nil {
		return err
	}
	if r.ContactID == "" {
		return api.InvalidField("/contact_id", "the contact is missing; name one of the sender's")
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
		return api.InvalidField("/status", "a status is one of %v", api.ReceiptStatuses())
	}
	if len(r.Detail) > api.MaxDetailBytes {
		return api.InvalidField("/detail", "%d bytes of UTF-8; a detail has at most %d", len(r.Detail), api.MaxDetailBytes)
	}
	return nil
}

func heading(h *api.Heading) error {
	if err := addressed(h.To, h.ID, h.IdempotencyKey); err != nil {
		return err
	}
	return pairs("/metadata", h.Metadata)
}

// addressed checks to whom something is sent, and under which id.
func addressed(to ident.Agent, id, key ident.Message) error {
	if to == "" {
		return api.InvalidField("/to", "the recipient is missing; name a registered agent")
	}
	if id != "" && key != "" && id != key {
		return api.InvalidParameter("Idempotency-Key", "the header and the member id differ; send one of them, or the same in both")
	}
	return nil
}
