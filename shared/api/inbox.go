package api

import (
	"encoding/json"

	"agentchat/shared/ident"
)

// InboxRequest reads or follows an inbox (Agent Chat v1, Replay and live follow).
type InboxRequest struct {
	Agent          ident.Agent        `json:"-" path:"agent" doc:"Whose inbox."`
	Cursor         *uint64            `json:"-" query:"cursor" doc:"The position to begin at; default the first retained one of this registration."`
	Limit          *int               `json:"-" query:"limit" doc:"Deliveries a page, 1-1000; default 100. A page is also cut at 4 MiB."`
	Wait           *int               `json:"-" query:"wait" doc:"Seconds to wait at the tail for something to come, 0-20; default 0. Replay only."`
	Follow         *bool              `json:"-" query:"follow" doc:"true: follow over server-sent events, as Accept: text/event-stream asks too."`
	LastEventID    *uint64            `json:"-" header:"Last-Event-ID" doc:"The id of the last event seen. The larger of it and cursor wins. Follow only."`
	Kind           Kind               `json:"-" query:"kind" doc:"Only envelopes of this kind."`
	From           ident.Agent        `json:"-" query:"from" doc:"Only envelopes of this sender."`
	ConversationID ident.Conversation `json:"-" query:"conversation_id" doc:"Only envelopes of this conversation."`
}

// InboxPage is a page of an inbox. Deliveries is never null; NextCursor moves
// over what was filtered out.
type InboxPage struct {
	Deliveries []Delivery `json:"deliveries" doc:"The records from cursor on, without those filtered out."`
	NextCursor uint64     `json:"next_cursor" doc:"The position behind the page: where to read on."`
	Tail       uint64     `json:"tail" doc:"The position that the next record will get."`
}

// A Delivery is a record of an inbox: the envelope as it was stored, or, if this
// version can't read it, the record as it is.
type Delivery struct {
	SeqNum      uint64          `json:"seq_num" doc:"Its position in the recipient's inbox."`
	Timestamp   Time            `json:"timestamp" doc:"When it arrived in the inbox."`
	Envelope    json.RawMessage `json:"envelope,omitempty" doc:"The envelope exactly as it is stored."`
	TraceParent string          `json:"traceparent,omitempty" doc:"The W3C trace context that it was sent with."`

	Unreadable bool           `json:"unreadable,omitempty" doc:"Whether this version can't read the record."`
	Headers    []RecordHeader `json:"headers,omitempty" doc:"The record's headers, bytes that are not UTF-8 replaced."`
	BodyBase64 []byte         `json:"body_base64,omitempty" doc:"The record's body."`
}

// A RecordHeader is a header of an unreadable record; bytes that are not UTF-8
// are replaced.
type RecordHeader struct {
	Name  string `json:"name" doc:"The header's name."`
	Value string `json:"value" doc:"The header's value."`
}
