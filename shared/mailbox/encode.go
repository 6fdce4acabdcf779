package mailbox

import (
	"maps"
	"slices"

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

func appendMap(b []byte, m map[string]string) []byte {
	open := len(b)
	for _, k := range slices.Sorted(maps.Keys(m)) {
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

// appendString appends s with the escapes that JSON demands and no other (RFC
// 8259, section 7).
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			const hex = "0123456789abcdef"
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&0xf])
		}
	}
	return append(append(b, s[from:]...), '"')
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
	for k, v := range env.Metadata {
		n += len(k) + len(v) + 6
	}
	return n
}
