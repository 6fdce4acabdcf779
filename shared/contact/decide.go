package contact

import (
	"maps"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// A Decision says what is to be appended to an address book in state b: records,
// nothing (the book is as wanted), or a refusal, an *api.Error. It is pure.
type Decision = func(b *Book) ([]stream.Record, error)

// Put saves a card, in the place of the one under its id. From then on it is the
// agent's own: it is not what was accepted any more, unless it is the same.
func Put(c api.Card) Decision {
	return func(b *Book) ([]stream.Record, error) {
		if was, ok := b.Get(c.ID); ok && equal(was.Card, c) {
			return nil, nil
		}
		return b.upsert(c, nil)
	}
}

// Remove removes a contact.
func Remove(id ident.Agent) Decision {
	return func(b *Book) ([]stream.Record, error) {
		if _, ok := b.Get(id); !ok {
			return nil, NotFound(id)
		}
		return record(api.ContactRemove, body{ID: id})
	}
}

// Accept saves a card that was shared. It is done if the contact is what was
// accepted from this very share; a contact with another card gives way only if replace.
func Accept(c api.Card, from api.AcceptedFrom, replace bool) Decision {
	return func(b *Book) ([]stream.Record, error) {
		was, ok := b.Get(c.ID)
		switch {
		case ok && was.AcceptedFrom != nil && *was.AcceptedFrom == from:
			return nil, nil
		case ok && !replace && !equal(was.Card, c):
			return nil, api.Errorf(api.ContactExists, "there is another contact %s; save the card as another one, or replace that", c.ID)
		}
		return b.upsert(c, &from)
	}
}

// NotFound is the refusal of what only a contact can have or be.
func NotFound(id ident.Agent) error {
	return api.Errorf(api.ContactNotFound, "there is no contact %s in the address book", id)
}

// upsert returns the record that saves c, if the book has room for it.
func (b *Book) upsert(c api.Card, from *api.AcceptedFrom) ([]stream.Record, error) {
	records, err := record(api.ContactUpsert, body{ID: c.ID, Contact: &c, AcceptedFrom: from})
	if err != nil {
		return nil, err
	}
	was, known := b.entry(c.ID)
	if !known && b.count >= api.MaxContacts || b.bytes-was.bytes+len(records[0].Body) > api.MaxContactsBytes {
		return nil, api.Errorf(api.ContactsFull, "an address book holds %d contacts and %d bytes at most; remove some first",
			api.MaxContacts, api.MaxContactsBytes)
	}
	return records, nil
}

// equal holds nil and empty lists and maps for the same, as JSON leaves both out.
func equal(a, b api.Card) bool {
	return a.ID == b.ID && a.DisplayName == b.DisplayName && a.Endpoint == b.Endpoint && a.PublicKey == b.PublicKey &&
		slices.Equal(a.Capabilities, b.Capabilities) && maps.Equal(a.Labels, b.Labels)
}
