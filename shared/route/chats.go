package route

import (
	"net/http"

	"agentchat/shared/api"
)

var chatRoutes = []Route{
	{
		Op: "chats.acknowledge", Method: http.MethodPost, Path: "/v1/chats/{chat}/receipts", Access: Party,
		Req: api.ChatReceiptRequest{}, Resp: api.ChatAppendResponse{},
		Codes: inChat(api.IDReused, api.OwnerReplaced, api.PositionTaken, api.BatchUnknown, api.AppendTooLarge, api.DeliveryUnknown),
		Doc:   "Acknowledge a presented batch of the peer's.",
	},
	{
		Op: "chats.batch", Method: http.MethodGet, Path: "/v1/chats/{chat}/batch", Access: Party,
		Req: api.BatchRequest{}, Resp: api.ChatBatch{}, Codes: inChat(),
		Doc: "Return what the peer wrote since the reader's last receipt, and acknowledge nothing.",
	},
	{
		Op: "chats.claim", Method: http.MethodPost, Path: "/v1/chats/{chat}/claim", Access: Party,
		Req: api.ClaimRequest{}, Resp: api.ClaimResponse{}, Codes: inChat(api.ClaimStale, api.IDReused),
		Doc: "Take ownership of the agent's own direction, as it was reviewed.",
	},
	{
		Op: "chats.create", Method: http.MethodPost, Path: "/v1/chats", Access: Party,
		Req: api.CreateChatRequest{}, Resp: api.CreateChatResponse{},
		Codes: []api.Code{api.ChatsDisabled, api.AgentNotRegistered, api.RecipientNotFound, api.GenerationChanged, api.StreamMissing, api.PrefixUnavailable},
		Doc:   "Find the chat of two agents, or make it.",
	},
	{
		Op: "chats.get", Method: http.MethodGet, Path: "/v1/chats/{chat}", Access: Party,
		Req: api.ChatRequest{}, Resp: api.Chat{}, Codes: inChat(),
		Doc: "Return a chat, who owns its directions and where they end.",
	},
	{
		Op: "chats.jwks", Method: http.MethodGet, Path: "/.well-known/jwks.json", Access: Public,
		Resp: api.JWKS{}, Fresh: 300,
		Doc: "Return the public keys that verify records, future and retired ones too.",
	},
	{
		Op: "chats.list", Method: http.MethodGet, Path: "/v1/chats", Access: Party,
		Req: api.ListChatsRequest{}, Resp: api.ListChatsResponse{}, Codes: []api.Code{api.ChatsDisabled, api.AgentNotRegistered},
		Doc: "List the chats of an agent.",
	},
	{
		Op: "chats.operation", Method: http.MethodGet, Path: "/v1/chats/{chat}/operations/{operation}", Access: Party,
		Req: api.OperationRequest{}, Resp: api.OperationResponse{}, Codes: inChat(),
		Doc: "Say whether an operation was stored.",
	},
	{
		Op: "chats.permissions", Method: http.MethodGet, Path: "/v1/chats/{chat}/permissions", Access: Party,
		Req: api.ChatRequest{}, Resp: api.PermissionsResponse{}, Codes: []api.Code{api.ChatsDisabled, api.ChatNotFound},
		Doc: "Return what each party lets the other send.",
	},
	{
		Op: "chats.permit", Method: http.MethodPut, Path: "/v1/chats/{chat}/permissions", Access: Party,
		Req: api.PermissionsRequest{}, Resp: api.PermissionsResponse{}, Codes: []api.Code{api.ChatsDisabled, api.ChatNotFound},
		Doc: "Let the peer send, or not, or tighten the policy of the chat.",
	},
	{
		Op: "chats.send", Method: http.MethodPost, Path: "/v1/chats/{chat}/messages", Access: Party,
		Req: api.ChatMessageRequest{}, Resp: api.ChatAppendResponse{},
		Codes: inChat(
			api.IDReused, api.OwnerReplaced, api.PositionTaken, api.BatchUnknown, api.AppendTooLarge, api.DeliveryUnknown,
			api.PermissionRequired, api.PermissionDenied, api.RecipientNotFound, api.PIIRejected,
		),
		Doc: "Sign and append a message, and with it a receipt if there is one.",
	},
	{
		Op: "chats.transcript", Method: http.MethodGet, Path: "/v1/chats/{chat}/transcript", Kind: Events, Access: Party,
		Req: api.TranscriptRequest{}, Resp: api.TranscriptPage{}, Codes: inChat(api.InvalidCursor),
		Stream: Stream{
			Events: []Event{{"message", api.ChatRecord{}}, {"receipt", api.ChatRecord{}}, {"fence", api.ChatRecord{}}},
			Doc:    `an event "message" (ChatRecord) a message, and "receipt" and "fence" if they are included; the id is the live cursor behind it.`,
		},
		Doc: "Read what both parties wrote, or follow it live.",
	},
}

// inChat returns the codes of an operation on one chat: those that any has, and more.
func inChat(more ...api.Code) []api.Code {
	return append(more, api.ChatsDisabled, api.ChatNotFound, api.StreamMissing, api.GenerationChanged, api.PrefixUnavailable)
}
