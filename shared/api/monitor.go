package api

import "agentchat/shared/ident"

// MonitorRequest reads or follows every inbox (Agent Chat v1, Administrative
// aggregate monitor).
type MonitorRequest struct {
	Cursor         string             `json:"-" query:"cursor" doc:"What a page or a delivery said: read on behind it. Default the first retained record of every inbox."`
	Latest         *bool              `json:"-" query:"latest" doc:"true: begin behind what is there now: an empty page, whose next_cursor is that place. Without cursor and follow."`
	LastEventID    string             `json:"-" header:"Last-Event-ID" doc:"The id of the last event seen, which is a cursor. Used if there is no cursor in the query."`
	Limit          *int               `json:"-" query:"limit" doc:"Deliveries a page, over all inboxes, 1-1000; default 100. A page is also cut at 4 MiB."`
	Follow         *bool              `json:"-" query:"follow" doc:"true: follow over server-sent events, as Accept: text/event-stream asks too."`
	Agents         []ident.Agent      `json:"-" query:"agent" doc:"Only this inbox; may be repeated."`
	Kind           Kind               `json:"-" query:"kind" doc:"Only envelopes of this kind."`
	From           ident.Agent        `json:"-" query:"from" doc:"Only envelopes of this sender."`
	ConversationID ident.Conversation `json:"-" query:"conversation_id" doc:"Only envelopes of this conversation."`
}

// MonitorPage is a page over many inboxes. Deliveries and Tails are never null.
// NextCursor moves over what was filtered out; there is nothing more exactly if
// it is the cursor that was sent.
type MonitorPage struct {
	Deliveries  []MonitorDelivery           `json:"deliveries" doc:"Records behind the cursor, sorted by timestamp, inbox and position."`
	NextCursor  string                      `json:"next_cursor" doc:"Where to read on; that of the request if there was nothing."`
	Tails       map[ident.Agent]uint64      `json:"tails" doc:"The position that the next record of each inbox will get."`
	Unavailable map[ident.Agent]Unreachable `json:"unavailable,omitempty" doc:"Inboxes that could not be read. The cursor has not moved over them."`
	Gaps        map[ident.Agent]Gap         `json:"gaps,omitempty" doc:"Inboxes of which records were lost to the reader. The cursor has moved over them."`
}

// A MonitorDelivery is a record of one of the inboxes.
type MonitorDelivery struct {
	Inbox  ident.Agent `json:"inbox" doc:"Whose inbox it is in."`
	Cursor string      `json:"cursor" doc:"Reads on right behind this delivery, and loses nothing that comes after it here."`
	Delivery
}

// A Gap says what can't be read any more: the positions from From up to, and without, To.
type Gap struct {
	From uint64 `json:"from" doc:"The position that was to be read."`
	To   uint64 `json:"to" doc:"The first position that can be read."`
	Code Code   `json:"code" doc:"Why."`
}

// UnavailableEvent is the data of an event "unavailable": an inbox can't be read
// for now. What it holds comes when it can.
type UnavailableEvent struct {
	Inbox ident.Agent `json:"inbox"`
	Unreachable
}

// GapEvent is the data of an event "gap".
type GapEvent struct {
	Inbox ident.Agent `json:"inbox"`
	Gap
}
