package contact

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// Schema is the schema of every event, in its body and in a header.
const Schema = "agent-chat/contact.v1"

// The headers of an event, so that a reader of the stream need not look into the
// bodies of those of other contacts.
const (
	headerKind    = "agent-chat-kind"
	headerContact = "agent-chat-contact"
)

// An event is the body of a record of contacts/{agent}/{generation}.
type event struct {
	Schema       string            `json:"schema"`
	Kind         api.ContactKind   `json:"kind"`
	ID           ident.Agent       `json:"id"`
	Contact      *api.Card         `json:"contact,omitempty"`
	AcceptedFrom *api.AcceptedFrom `json:"accepted_from,omitempty"`
}

func (e event) record() (stream.Record, error) {
	e.Schema = Schema
	body, err := strictjson.Append(nil, &e)
	if err != nil {
		return stream.Record{}, fmt.Errorf("encode %s: %w", e.Kind, err)
	}
	return stream.Record{
		Headers: []stream.Header{
			{Name: "content-type", Value: "application/json"},
			{Name: "agent-chat-schema", Value: Schema},
			{Name: headerKind, Value: string(e.Kind)},
			{Name: headerContact, Value: string(e.ID)},
		},
		Body: body,
	}, nil
}

func parse(e stream.Entry) (event, error) {
	var ev event
	if err := json.Unmarshal(e.Body, &ev); err != nil {
		return event{}, fmt.Errorf("event at %d: %w", e.Seq, err)
	}
	if ev.Schema != Schema {
		return event{}, fmt.Errorf("event at %d: schema %q; want %q", e.Seq, ev.Schema, Schema)
	}
	from := ev.AcceptedFrom
	if upsert := ev.Kind == api.ContactUpsert; upsert != (ev.Contact != nil) || ev.ID == "" || upsert && ev.Contact.ID != ev.ID ||
		from != nil && (from.MessageID == "" || from.Agent == "") {
		return event{}, fmt.Errorf("event at %d: a %q that is not whole", e.Seq, ev.Kind)
	}
	return ev, nil
}

// Apply returns b after the event in e. An entry that is no event of this
// package, or that can't follow what came before it, is an error.
func (b *Book) Apply(e stream.Entry) (*Book, error) {
	ev, err := parse(e)
	if err != nil {
		return b, err
	}
	now := api.Time{Time: e.Timestamp.Time()}
	i, j, known := b.find(ev.ID)
	switch {
	case ev.Kind == api.ContactUpsert:
		c := &api.Contact{Card: *ev.Contact, AcceptedFrom: ev.AcceptedFrom, CreatedAt: now, UpdatedAt: now}
		if known {
			c.CreatedAt = b.shelves[i][j].contact.CreatedAt
		}
		return b.with(entry{c, len(e.Body)}), nil
	case ev.Kind == api.ContactRemove && known:
		return b.without(i, j), nil
	}
	return b, fmt.Errorf("event at %d: a %q of %s can't follow", e.Seq, ev.Kind, ev.ID)
}

// History returns the event in e if it is one of contact id.
func History(e stream.Entry, id ident.Agent) (h api.ContactEvent, ok bool, err error) {
	if of, _ := e.Header(headerContact); of != string(id) {
		return h, false, nil
	}
	ev, err := parse(e)
	if err != nil {
		return h, false, err
	}
	return api.ContactEvent{
		SeqNum: e.Seq, Timestamp: api.Time{Time: e.Timestamp.Time()}, Kind: ev.Kind, Contact: ev.Contact, AcceptedFrom: ev.AcceptedFrom,
	}, true, nil
}
