// Package event is the form of what journals hold: a record whose body is one
// JSON object, which names its schema and its kind. Headers name both too, so that
// a reader of the raw stream need not look into bodies. It does no I/O.
package event

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// The headers of every record of JSON.
const (
	headerContentType = "content-type"
	headerSchema      = "agent-chat-schema"
	HeaderKind        = "agent-chat-kind"
)

// A Head begins the body of an event, which embeds it.
type Head struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
}

func (h *Head) head() *Head { return h }

// A Body is a pointer to a struct that embeds a Head in front of its own members.
type Body interface{ head() *Head }

// Record returns b, whose Head it fills in, as a record, and alone, as a decision
// returns it. More headers stand behind those of its form.
func Record(schema, kind string, b Body, more ...stream.Header) ([]stream.Record, error) {
	*b.head() = Head{schema, kind}
	text, err := strictjson.Append(nil, b)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return []stream.Record{JSON(schema, kind, text, more...)}, nil
}

// Read reads the event in e into b, which is zero. It is an error for e to be of
// another schema; its kind is for the caller to look at.
func Read(e stream.Entry, schema string, b Body) error {
	if err := json.Unmarshal(e.Body, b); err != nil {
		return fmt.Errorf("event at %d: %w", e.Seq, err)
	}
	if got := b.head().Schema; got != schema {
		return fmt.Errorf("event at %d: schema %q; want %q", e.Seq, got, schema)
	}
	return nil
}

// JSON returns a record of a body that is JSON already. A schema of one kind
// only has none: "".
func JSON(schema, kind string, body []byte, more ...stream.Header) stream.Record {
	headers := append(make([]stream.Header, 0, 3+len(more)),
		stream.Header{Name: headerContentType, Value: "application/json"}, stream.Header{Name: headerSchema, Value: schema})
	if kind != "" {
		headers = append(headers, stream.Header{Name: HeaderKind, Value: kind})
	}
	return stream.Record{Headers: append(headers, more...), Body: body}
}
