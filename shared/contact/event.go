package contact

import (
	"fmt"

	"agentchat/shared/api"
	"agentchat/shared/event"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// Schema is the schema of every event, in its body and in a header.
const Schema = "agent-chat/contact.v1"

// headerContact names the contact, so that a reader of the stream need not look
// into the bodies of the events of others.
const headerContact = "agent-chat-contact"

// A body is that of a record of contacts/{agent}/{generation}.
type body struct {
	event.Head
	ID           ident.Agent       `json:"id"`
	Contact      *api.Card         `json:"contact,omitempty"`
	AcceptedFrom *api.AcceptedFrom `json:"accepted_from,omitempty"`
}

func record(kind api.ContactKind, b body) ([]stream.Record, error) {
	return event.Record(Schema, string(kind), &b, stream.Header{Name: headerContact, Value: string(b.ID)})
}

func parse(e stream.Entry) (kind api.ContactKind, ev body, err error) {
	if err := event.Read(e, Schema, &ev); err != nil {
		return "", body{}, err
	}
	kind = api.ContactKind(ev.Kind)
	from := ev.AcceptedFrom
	if upsert := kind == api.ContactUpsert; upsert != (ev.Contact != nil) || ev.ID == "" || upsert && ev.Contact.ID != ev.ID ||
		from != nil && (from.MessageID == "" || from.Agent == "") {
		return "", body{}, fmt.Errorf("event at %d: a %q that is not whole", e.Seq, kind)
	}
	return kind, ev, nil
}

// Apply returns b after the event in e. An entry that is no event of this
// package, or that can't follow what came before it, is an error.
func (b *Book) Apply(e stream.Entry) (*Book, error) {
	kind, ev, err := parse(e)
	if err != nil {
		return b, err
	}
	now := api.Time{Time: e.Timestamp.Time()}
	i, j, known := b.find(ev.ID)
	switch {
	case kind == api.ContactUpsert:
		c := &api.Contact{Card: *ev.Contact, AcceptedFrom: ev.AcceptedFrom, CreatedAt: now, UpdatedAt: now}
		if known {
			c.CreatedAt = b.shelves[i][j].contact.CreatedAt
		}
		return b.with(entry{c, len(e.Body)}), nil
	case kind == api.ContactRemove && known:
		return b.without(i, j), nil
	}
	return b, fmt.Errorf("event at %d: a %q of %s can't follow", e.Seq, kind, ev.ID)
}

// History returns the event in e if it is one of contact id.
func History(e stream.Entry, id ident.Agent) (h api.ContactEvent, ok bool, err error) {
	if of, _ := e.Header(headerContact); of != string(id) {
		return h, false, nil
	}
	kind, ev, err := parse(e)
	if err != nil {
		return h, false, err
	}
	return api.ContactEvent{
		SeqNum: e.Seq, Timestamp: api.Time{Time: e.Timestamp.Time()}, Kind: kind, Contact: ev.Contact, AcceptedFrom: ev.AcceptedFrom,
	}, true, nil
}
