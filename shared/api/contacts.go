package api

import "agentchat/shared/ident"

// A Card is what agents tell each other about an agent (Agent Chat v1, Contact
// handoff): it is portable, and says nothing of whose address book it is in.
// Absent members are left out. The server never connects to Endpoint.
type Card struct {
	ID           ident.Agent       `json:"id" doc:"Whom the card is of."`
	DisplayName  string            `json:"display_name,omitempty" doc:"At most 256 bytes."`
	Endpoint     string            `json:"endpoint,omitempty" doc:"An http or https URL without user info. The server never connects to it."`
	Capabilities []string          `json:"capabilities,omitempty" doc:"What the agent can do."`
	PublicKey    string            `json:"public_key,omitempty" doc:"At most 4 KiB."`
	Labels       map[string]string `json:"labels,omitempty" doc:"At most 16 KiB, keys and values together."`
}

// A Contact is a card in an address book.
type Contact struct {
	Card
	AcceptedFrom *AcceptedFrom `json:"accepted_from,omitempty" doc:"The share that the card was accepted from, as long as it is that card."`
	CreatedAt    Time          `json:"created_at" doc:"When the contact came into the address book."`
	UpdatedAt    Time          `json:"updated_at" doc:"When it was last changed."`
}

// AcceptedFrom names a received envelope of kind contact.share, which does not change.
type AcceptedFrom struct {
	MessageID ident.Message `json:"message_id" doc:"The id of the envelope."`
	Agent     ident.Agent   `json:"agent" doc:"Who shared the card."`
	SeqNum    uint64        `json:"seq_num" doc:"The envelope's position in the inbox."`
	ContactID ident.Agent   `json:"contact_id,omitempty" doc:"The id in the shared card, if the contact is saved under another."`
}

// PutContactRequest replaces a contact's card, or saves a new one.
type PutContactRequest struct {
	Agent        ident.Agent       `json:"-" path:"agent" doc:"Whose address book."`
	Contact      ident.Agent       `json:"-" path:"contact" doc:"The contact."`
	ID           ident.Agent       `json:"id,omitempty" doc:"The contact, as in the path; may be left out."`
	DisplayName  string            `json:"display_name,omitempty" doc:"At most 256 bytes."`
	Endpoint     string            `json:"endpoint,omitempty" doc:"An http or https URL without user info. The server never connects to it."`
	Capabilities []string          `json:"capabilities,omitempty" doc:"What the agent can do."`
	PublicKey    string            `json:"public_key,omitempty" doc:"At most 4 KiB."`
	Labels       map[string]string `json:"labels,omitempty" doc:"At most 16 KiB, keys and values together."`
}

// Card returns the card that r asks for.
func (r *PutContactRequest) Card() Card {
	return Card{
		ID: r.Contact, DisplayName: r.DisplayName, Endpoint: r.Endpoint,
		Capabilities: r.Capabilities, PublicKey: r.PublicKey, Labels: r.Labels,
	}
}

// SaveContactResponse is the contact as saved, and whether it is new.
type SaveContactResponse struct {
	Contact
	Made
}

// ContactPath is a request about one contact.
type ContactPath struct {
	Agent   ident.Agent `json:"-" path:"agent" doc:"Whose address book."`
	Contact ident.Agent `json:"-" path:"contact" doc:"The contact."`
}

// ListContactsRequest asks for a page of an address book, in bytewise order of
// ids. A contact passes if it passes every filter.
type ListContactsRequest struct {
	Agent      ident.Agent       `json:"-" path:"agent" doc:"Whose address book."`
	Limit      *int              `json:"-" query:"limit" doc:"Contacts a page, 1-1000; default 100. A page is also cut at 4 MiB."`
	Cursor     ident.Agent       `json:"-" query:"cursor" doc:"The next_cursor of the page before."`
	Capability string            `json:"-" query:"capability" doc:"Only contacts with this capability."`
	Labels     map[string]string `json:"-" query:"label." doc:"label.KEY=VALUE: only contacts whose label KEY is VALUE, which may be empty."`
}

// ListContactsResponse is a page of an address book. Only a null NextCursor ends
// the list.
type ListContactsResponse struct {
	Contacts   []Contact    `json:"contacts" doc:"The page, in bytewise order of ids."`
	NextCursor *ident.Agent `json:"next_cursor" doc:"The cursor of the next page; null ends the list."`
}

// ContactHistoryRequest asks for what happened to one contact, oldest first.
type ContactHistoryRequest struct {
	Agent   ident.Agent `json:"-" path:"agent" doc:"Whose address book."`
	Contact ident.Agent `json:"-" path:"contact" doc:"The contact."`
	Limit   *int        `json:"-" query:"limit" doc:"Events a page, 1-1000; default 100. A page is also cut at 4 MiB."`
	Cursor  uint64      `json:"-" query:"cursor" doc:"The next_cursor of the page before."`
}

// ContactHistoryResponse is a page of a contact's history. It may hold fewer
// events than asked for, or none, and yet not be the last: only a null NextCursor
// ends it.
type ContactHistoryResponse struct {
	Events     []ContactEvent `json:"events" doc:"The page, oldest first."`
	NextCursor *uint64        `json:"next_cursor" doc:"The cursor of the next page; null ends the history."`
}

// A ContactKind is what happened to a contact.
type ContactKind string

// The kinds of events of an address book.
const (
	ContactUpsert ContactKind = "contact.upsert" // its card was saved or replaced
	ContactRemove ContactKind = "contact.remove"
)

// ContactKinds returns every kind.
func ContactKinds() []ContactKind { return []ContactKind{ContactUpsert, ContactRemove} }

// A ContactEvent is one event of an address book.
type ContactEvent struct {
	SeqNum       uint64        `json:"seq_num" doc:"Its position in the address book's stream."`
	Timestamp    Time          `json:"timestamp" doc:"When it was stored."`
	Kind         ContactKind   `json:"kind" doc:"What happened."`
	Contact      *Card         `json:"contact,omitempty" doc:"The card from then on, of a contact.upsert."`
	AcceptedFrom *AcceptedFrom `json:"accepted_from,omitempty" doc:"The share that the card was accepted from."`
}

// ShareContactRequest sends a contact's card to another agent.
type ShareContactRequest struct {
	Heading
	ContactID ident.Agent `json:"contact_id" doc:"A contact of the sender's."`
}

// AcceptContactRequest saves a received card. Its body may be left out.
type AcceptContactRequest struct {
	Agent   ident.Agent   `json:"-" path:"agent" doc:"Who received the card."`
	Message ident.Message `json:"-" path:"message" doc:"The id of the contact.share."`
	From    ident.Agent   `json:"-" query:"from" doc:"Who shared it, if several used the id."`
	At      *uint64       `json:"-" query:"at" doc:"Its position in the inbox, if it is known: one record is read."`
	As      ident.Agent   `json:"as,omitempty" doc:"The contact to save it as; the id in the card if left out."`
	Replace bool          `json:"replace,omitempty" doc:"Whether it may take the place of a different contact."`
}
