package api

import (
	"encoding/json"

	"agentchat/shared/ident"
)

// EnvelopeSchema is the schema member and header of every envelope (Agent Chat
// v1, Message envelope).
const EnvelopeSchema = "agent-chat/envelope.v1"

// A Kind is what an envelope carries.
type Kind string

// The kinds of Agent Chat v1.
const (
	KindMessage      Kind = "message"
	KindContactShare Kind = "contact.share"
	KindReceipt      Kind = "receipt"
)

// SendRequest is the body of messages.send (Agent Chat v1, Message envelope).
// At least one of Text and Data is there.
type SendRequest struct {
	Agent          ident.Agent   `json:"-" path:"agent" doc:"The sender."`
	IdempotencyKey ident.Message `json:"-" header:"Idempotency-Key" doc:"The message id, if the body has none."`
	TraceParent    string        `json:"-" header:"traceparent" doc:"W3C trace context, kept with the record."`

	To             ident.Agent        `json:"to"`
	ID             ident.Message      `json:"id,omitempty"`
	ConversationID ident.Conversation `json:"conversation_id,omitempty"`
	CorrelationID  ident.Correlation  `json:"correlation_id,omitempty"`
	CreatedAt      *Time              `json:"created_at,omitempty"`
	Text           *string            `json:"text,omitempty"`         // at most 512 KiB of UTF-8; may be empty
	Data           json.RawMessage    `json:"data,omitempty"`         // any JSON, null too; at most 512 KiB compacted
	ContentType    string             `json:"content_type,omitempty"` // a media type, at most 255 bytes
	Metadata       map[string]string  `json:"metadata,omitempty"`     // bounds as of Profile.Labels
}

// An Envelope is a message as it is stored and returned. Absent optional
// members are left out, never null.
type Envelope struct {
	Schema         string             `json:"schema"`
	ID             ident.Message      `json:"id"`
	Kind           Kind               `json:"kind"`
	From           ident.Agent        `json:"from"`
	To             ident.Agent        `json:"to"`
	ConversationID ident.Conversation `json:"conversation_id"`
	CorrelationID  ident.Correlation  `json:"correlation_id,omitempty"`
	CreatedAt      Time               `json:"created_at"`
	Message        *Content           `json:"message,omitempty"` // of KindMessage
	Metadata       map[string]string  `json:"metadata,omitempty"`
}

// Content is what a message says.
type Content struct {
	Text        *string         `json:"text,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	ContentType string          `json:"content_type,omitempty"`
}

// SendResponse says what was stored and where. Envelope holds the very bytes
// of the record: an Envelope.
type SendResponse struct {
	Envelope   json.RawMessage `json:"envelope"`
	SeqNum     uint64          `json:"seq_num"`
	NextCursor uint64          `json:"next_cursor"`
	Timestamp  Time            `json:"timestamp"`
	Replayed   bool            `json:"-"` // an earlier send with this id: 200 and Idempotent-Replayed
}

// GetMessageRequest looks a message up by its id.
type GetMessageRequest struct {
	Agent   ident.Agent   `json:"-" path:"agent" doc:"Whose inbox, or with to, who sent it."`
	Message ident.Message `json:"-" path:"message" doc:"The message id."`
	From    ident.Agent   `json:"-" query:"from" doc:"The sender, if several used the id."`
	To      ident.Agent   `json:"-" query:"to" doc:"The recipient: look up what the agent sent with an id of its own, within 7 days."`
	At      *uint64       `json:"-" query:"at" doc:"The position, if it is known: one record is read."`
}
