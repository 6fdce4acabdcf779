package mailbox

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// deliver returns e as a delivery; ok is false if it is none (a command), or none
// that q asks for. The stored bytes of an envelope are passed on, not decoded.
//
// What this version can't read is delivered as it is: a filter by kind or sender
// goes by its headers, and one by conversation leaves it out.
func (q *Query) deliver(e stream.Entry) (d api.Delivery, ok bool) {
	if e.Command() != stream.None {
		return d, false
	}
	var schema, kind, from, trace string
	for _, h := range e.Headers {
		switch h.Name {
		case headerSchema:
			schema = h.Value
		case headerKind:
			kind = h.Value
		case headerFrom:
			from = h.Value
		case headerTrace:
			trace = h.Value
		}
	}
	if q.Kind != "" && kind != string(q.Kind) || q.From != "" && from != string(q.From) {
		return d, false
	}
	d = api.Delivery{SeqNum: e.Seq, Timestamp: api.Time{Time: e.Timestamp.Time()}}
	if schema == api.EnvelopeSchema && isKnown(api.Kind(kind)) && isObject(e.Body) {
		d.Envelope, d.TraceParent = e.Body, trace
		return d, q.ConversationID == "" || conversation(e.Body) == q.ConversationID
	}
	d.Unreadable, d.BodyBase64 = true, e.Body
	d.Headers = make([]api.RecordHeader, len(e.Headers))
	for i, h := range e.Headers {
		d.Headers[i] = api.RecordHeader{Name: strings.ToValidUTF8(h.Name, "\uFFFD"), Value: strings.ToValidUTF8(h.Value, "\uFFFD")}
	}
	return d, q.ConversationID == ""
}

func isKnown(k api.Kind) bool {
	return k == api.KindMessage || k == api.KindContactShare || k == api.KindReceipt
}

// isObject reports whether b can stand in an answer as it is: one JSON object,
// in UTF-8, on whatever lines.
func isObject(b []byte) bool {
	return len(b) > 0 && b[0] == '{' && jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true))
}

func conversation(envelope []byte) ident.Conversation {
	var c struct {
		ID ident.Conversation `json:"conversation_id"`
	}
	if err := json.Unmarshal(envelope, &c, jsontext.AllowDuplicateNames(true)); err != nil {
		return ""
	}
	return c.ID
}

// size is about what d takes in a JSON page.
func size(d *api.Delivery) int {
	n := 128 + len(d.Envelope) + (len(d.BodyBase64)+2)/3*4
	for _, h := range d.Headers {
		n += 24 + len(h.Name) + len(h.Value)
	}
	return n
}

// closes reports whether e closes the inbox: what comes behind it belongs to
// another registration.
func closes(e stream.Entry) bool {
	return e.Command() == stream.FenceCommand && strings.HasPrefix(string(e.Body), closedEpoch)
}
