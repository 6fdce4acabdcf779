package mailbox

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// Deliver returns e as a delivery; ok is false if it is none (a command), or none
// that q asks for. The stored bytes of an envelope are passed on, not decoded, on
// one line.
//
// What this version can't read is delivered as it is: a filter by kind or sender
// goes by its headers, and one by conversation leaves it out.
func (q *Query) Deliver(e stream.Entry) (d api.Delivery, ok bool) {
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
	if schema == api.EnvelopeSchema && slices.Contains(api.Kinds(), api.Kind(kind)) && isObject(e.Body) {
		d.Envelope, d.TraceParent = oneLine(e.Body), trace
		return d, q.ConversationID == "" || conversation(e.Body) == q.ConversationID
	}
	d.Unreadable, d.BodyBase64 = true, e.Body
	d.Headers = make([]api.RecordHeader, len(e.Headers))
	for i, h := range e.Headers {
		d.Headers[i] = api.RecordHeader{Name: strings.ToValidUTF8(h.Name, "\uFFFD"), Value: strings.ToValidUTF8(h.Value, "\uFFFD")}
	}
	return d, q.ConversationID == ""
}

// isObject reports whether b can stand in an answer: one JSON object, in UTF-8.
func isObject(b []byte) bool {
	return len(b) > 0 && b[0] == '{' && jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true))
}

// oneLine returns valid JSON without line breaks, which it can only have between
// tokens: an event has one line of data, and simple clients read no more.
func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
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

// Size is about what d takes in a JSON page. What is unreadable may have headers
// that escapes make several times as long.
func Size(d *api.Delivery) int {
	if d.Unreadable {
		return len(d.AppendJSON(nil))
	}
	return 128 + len(d.Envelope)
}

// closes reports whether e closes the inbox: what comes behind it belongs to
// another registration.
func closes(e stream.Entry) bool {
	return e.Command() == stream.FenceCommand && strings.HasPrefix(string(e.Body), closedEpoch)
}
