package mailbox

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
)

// appendEnvelope appends env as JSON, byte for byte as strictjson does: every
// send encodes one, and by reflection that would be a tenth of its cost. The
// strings are valid UTF-8 and the data is compact, as the draft's were.
func appendEnvelope(b []byte, env *api.Envelope) []byte {
	b = appendMember(append(b, '{'), "schema", env.Schema)
	b = appendMember(append(b, ','), "id", string(env.ID))
	b = appendMember(append(b, ','), "kind", string(env.Kind))
	b = appendMember(append(b, ','), "from", string(env.From))
	b = appendMember(append(b, ','), "to", string(env.To))
	b = appendMember(append(b, ','), "conversation_id", string(env.ConversationID))
	if env.CorrelationID != "" {
		b = appendMember(append(b, ','), "correlation_id", string(env.CorrelationID))
	}
	b = append(b, `,"created_at":"`...)
	b, _ = env.CreatedAt.AppendText(b) // never fails
	b = append(b, '"')
	if env.Message != nil {
		b = appendContent(append(b, `,"message":`...), env.Message)
	}
	if env.Contact != nil {
		b = appendCard(append(b, `,"contact":`...), env.Contact)
	}
	if env.Receipt != nil {
		b = appendReceipt(append(b, `,"receipt":`...), env.Receipt)
	}
	if len(env.Metadata) > 0 {
		b = appendMap(append(b, `,"metadata":`...), env.Metadata)
	}
	return append(b, '}')
}

func appendContent(b []byte, c *api.Content) []byte {
	open := len(b)
	if c.Text != nil {
		b = appendMember(append(b, ','), "text", *c.Text)
	}
	if len(c.Data) > 0 {
		b = append(append(b, `,"data":`...), c.Data...)
	}
	if c.ContentType != "" {
		b = appendMember(append(b, ','), "content_type", c.ContentType)
	}
	if len(b) == open {
		b = append(b, ',')
	}
	b[open] = '{'
	return append(b, '}')
}

func appendCard(b []byte, c *api.Card) []byte {
	b = appendMember(append(b, '{'), "id", string(c.ID))
	for _, m := range []struct{ name, value string }{{"display_name", c.DisplayName}, {"endpoint", c.Endpoint}} {
		if m.value != "" {
			b = appendMember(append(b, ','), m.name, m.value)
		}
	}
	if len(c.Capabilities) > 0 {
		b = append(b, `,"capabilities":`...)
		open := len(b)
		for _, v := range c.Capabilities {
			b = appendString(append(b, ','), v)
		}
		b[open] = '['
		b = append(b, ']')
	}
	if c.PublicKey != "" {
		b = appendMember(append(b, ','), "public_key", c.PublicKey)
	}
	if len(c.Labels) > 0 {
		b = appendMap(append(b, `,"labels":`...), c.Labels)
	}
	return append(b, '}')
}

func appendReceipt(b []byte, r *api.Receipt) []byte {
	b = appendMember(append(b, '{'), "message_id", string(r.MessageID))
	b = appendMember(append(b, ','), "status", string(r.Status))
	if r.Detail != "" {
		b = appendMember(append(b, ','), "detail", r.Detail)
	}
	return append(b, '}')
}

func appendMap(b []byte, m map[string]string) []byte {
	open := len(b)
	var room [8]string // most maps are small
	keys := slices.AppendSeq(room[:0], maps.Keys(m))
	slices.Sort(keys)
	for _, k := range keys {
		b = appendString(append(b, ','), k)
		b = appendString(append(b, ':'), m[k])
	}
	b[open] = '{'
	return append(b, '}')
}

// appendMember appends a member whose name needs no escapes.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	return appendString(append(b, `":`...), value)
}

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // fails only for what is not UTF-8
	return b
}

// envelopeSize returns about as many bytes as appendEnvelope will need.
func envelopeSize(env *api.Envelope) int {
	n := 300 + len(env.ID) + len(env.From) + len(env.To) + len(env.ConversationID) + len(env.CorrelationID)
	if c := env.Message; c != nil {
		n += len(c.Data) + len(c.ContentType)
		if c.Text != nil {
			n += len(*c.Text) + len(*c.Text)/16 // some escapes
		}
	}
	if c := env.Contact; c != nil {
		n += 100 + len(c.ID) + len(c.DisplayName) + len(c.Endpoint) + len(c.PublicKey) + mapSize(c.Labels)
		for _, v := range c.Capabilities {
			n += len(v) + 3
		}
	}
	if r := env.Receipt; r != nil {
		n += 60 + len(r.MessageID) + len(r.Status) + len(r.Detail) + len(r.Detail)/16
	}
	return n + mapSize(env.Metadata)
}

func mapSize(m map[string]string) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v) + 6
	}
	return n
}
