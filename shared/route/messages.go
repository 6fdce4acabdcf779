package route

import (
	"net/http"

	"agentchat/shared/api"
)

// messageRoutes are those of inbox, messages, monitor and receipts.
var messageRoutes = []Route{
	{
		Op: "inbox.read", Method: http.MethodGet, Path: "/v1/agents/{agent}/inbox", Kind: Events, Access: Self,
		Req: api.InboxRequest{}, Resp: api.InboxPage{}, Codes: []api.Code{api.AgentNotRegistered, api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail},
		Stream: Stream{
			Events: []Event{{"envelope", api.Delivery{}}},
			Doc:    `an event "envelope" a delivery, whose id is the next cursor.`,
		},
		Doc: "Replay an inbox from a position, or follow it live.",
	},
	{
		Op: "messages.get", Method: http.MethodGet, Path: "/v1/agents/{agent}/messages/{message}", Access: Self,
		Req: api.GetMessageRequest{}, Resp: api.Delivery{}, Codes: []api.Code{
			api.AgentNotRegistered, api.MessageNotFound, api.AmbiguousMessageID, api.GenerationChanged,
			api.HistoryTrimmed, api.CursorBeyondTail, api.SearchIncomplete,
		},
		Doc: "Look up a message by its id.",
	},
	{
		Op: "messages.send", Method: http.MethodPost, Path: "/v1/agents/{agent}/messages", Access: Self,
		Req: api.SendRequest{}, Resp: api.SendResponse{}, Codes: []api.Code{
			api.AgentNotRegistered, api.RecipientNotFound, api.IDReused, api.HistoryTrimmed,
			api.RecordTooLarge,
		},
		Doc: "Send a message; it is durable when this answers.",
	},
	{
		Op: "monitor.read", Method: http.MethodGet, Path: "/v1/monitor", Kind: Events, Access: Admin,
		Req: api.MonitorRequest{}, Resp: api.MonitorPage{}, Codes: []api.Code{api.MonitorDisabled, api.CursorExpired},
		Stream: Stream{
			Events: []Event{{"envelope", api.MonitorDelivery{}}, {"gap", api.GapEvent{}}, {"unavailable", api.UnavailableEvent{}}},
			Doc:    `an event "envelope" a delivery, whose id is the next cursor.`,
			More: `"gap" (GapEvent) tells of records that are no longer retained, "unavailable" (UnavailableEvent) ` +
				`of an inbox that can't be read for now; neither has an id.`,
		},
		Doc: "Replay every inbox from a cursor, or follow them all live.",
	},
	{
		Op: "receipts.send", Method: http.MethodPost, Path: "/v1/agents/{agent}/receipts", Access: Self,
		Req: api.SendReceiptRequest{}, Resp: api.SendResponse{}, Codes: []api.Code{
			api.AgentNotRegistered, api.RecipientNotFound, api.MessageNotFound, api.ReceiptMisaddressed, api.ReceiptOfReceipt, api.IDReused,
			api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail, api.RecordTooLarge, api.SearchIncomplete,
		},
		Doc: "Tell the sender of a message what became of it.",
	},
}
