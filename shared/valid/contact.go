package valid

import "agentchat/shared/api"

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
