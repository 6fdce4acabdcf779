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

// Kinds returns every kind.
func Kinds() []Kind { return []Kind{KindMessage, KindContactShare, KindReceipt} }

// A Heading is what the requests that send something have in common.
type Heading struct {
	Agent          ident.Agent   `json:"-" path:"agent" doc:"The sender."`
	IdempotencyKey ident.Message `json:"-" header:"Idempotency-Key" doc:"The envelope's id, if the body has none."`
	TraceParent    string        `json:"-" header:"traceparent" doc:"W3C trace context, kept with the record."`

	To             ident.Agent        `json:"to" doc:"The recipient."`
	ID             ident.Message      `json:"id,omitempty" doc:"Chosen by the sender: the same request with the same id is stored once, and answers 200. Recognised for 7 days."`
	ConversationID ident.Conversation `json:"conversation_id,omitempty" doc:"The conversation; a new one if left out."`
	CorrelationID  ident.Correlation  `json:"correlation_id,omitempty" doc:"The id of the question that this answers."`
	CreatedAt      *Time              `json:"created_at,omitempty" doc:"When the sender made it; the server's time if left out. Any RFC 3339 instant, kept in UTC to the millisecond."`
	Metadata       map[string]string  `json:"metadata,omitempty" doc:"At most 16 KiB, keys and values together."` // bounds as of Profile.Labels
}

// SendRequest is the body of messages.send (Agent Chat v1, Message envelope).
// At least one of Text and Data is there.
type SendRequest struct {
	Heading
	Text        *string         `json:"text,omitempty" doc:"At most 512 KiB of UTF-8; may be empty."`
	Data        json.RawMessage `json:"data,omitempty" doc:"Any JSON, null too; at most 512 KiB without white space. Number tokens and the order of members are kept."`
	ContentType string          `json:"content_type,omitempty" doc:"The media type of the content."` // at most 255 bytes
}

// An Envelope is a message as it is stored and returned. Absent optional
// members are left out, never null.
type Envelope struct {
	Schema         string             `json:"schema" doc:"The form of the envelope."`
	ID             ident.Message      `json:"id" doc:"The message's id."`
	Kind           Kind               `json:"kind" doc:"What the envelope carries."`
	From           ident.Agent        `json:"from" doc:"The sender."`
	To             ident.Agent        `json:"to" doc:"The recipient."`
	ConversationID ident.Conversation `json:"conversation_id" doc:"The conversation."`
	CorrelationID  ident.Correlation  `json:"correlation_id,omitempty" doc:"The id of the question that this answers."`
	CreatedAt      Time               `json:"created_at" doc:"When the sender made it."`
	Message        *Content           `json:"message,omitempty" doc:"The content, of kind message."`
	Contact        *Card              `json:"contact,omitempty" doc:"The card, of kind contact.share."`
	Receipt        *Receipt           `json:"receipt,omitempty" doc:"The receipt, of kind receipt."`
	Metadata       map[string]string  `json:"metadata,omitempty" doc:"At most 16 KiB, keys and values together."`
}

// Content is what a message says.
type Content struct {
	Text        *string         `json:"text,omitempty" doc:"At most 512 KiB of UTF-8; may be empty."`
	Data        json.RawMessage `json:"data,omitempty" doc:"Any JSON, null too; at most 512 KiB without white space. Number tokens and the order of members are kept."`
	ContentType string          `json:"content_type,omitempty" doc:"The media type of the content."`
}

// SendResponse says what was stored and where. Envelope holds the very bytes
// of the record: an Envelope.
type SendResponse struct {
	Envelope   json.RawMessage `json:"envelope" doc:"The envelope exactly as it is stored."`
	SeqNum     uint64          `json:"seq_num" doc:"Its position in the recipient's inbox."`
	NextCursor uint64          `json:"next_cursor" doc:"The position behind it: where to read on."`
	Timestamp  Time            `json:"timestamp" doc:"When it arrived in the inbox."`
	Once
}

// GetMessageRequest looks a message up by its id.
type GetMessageRequest struct {
	Agent   ident.Agent   `json:"-" path:"agent" doc:"Whose inbox, or with to, who sent it."`
	Message ident.Message `json:"-" path:"message" doc:"The message id."`
	From    ident.Agent   `json:"-" query:"from" doc:"The sender, if several used the id."`
	To      ident.Agent   `json:"-" query:"to" doc:"The recipient: look up what the agent sent with an id of its own, within 7 days."`
	At      *uint64       `json:"-" query:"at" doc:"The position, if it is known: one record is read."`
}

// MessageExtensions is what a problem tells of a message.
type MessageExtensions struct {
	Senders []ident.Agent `json:"senders,omitempty" doc:"With ambiguous_message_id: who used the id."`
	Message ident.Message `json:"message_id,omitempty" doc:"With outcome_unknown: the id to repeat the request with."`
}
