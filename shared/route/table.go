package route

import (
	"net/http"

	"agentchat/shared/api"
)

// Table lists the operations, sorted by Op.
var Table = []Route{
	{
		Op: "agents.delete", Method: http.MethodDelete, Path: "/v1/agents/{agent}", Access: Operator,
		Req: api.AgentPath{}, Codes: []api.Code{api.AgentNotRegistered},
		Doc: "Remove an agent: its keys die and its inbox takes no more messages.",
	},
	{
		Op: "agents.get", Method: http.MethodGet, Path: "/v1/agents/{agent}", Access: Any,
		Req: api.AgentPath{}, Resp: api.AgentInfo{}, Codes: []api.Code{api.AgentNotRegistered},
		Doc: "Return a registered agent.",
	},
	{
		Op: "agents.list", Method: http.MethodGet, Path: "/v1/agents", Access: Any,
		Req: api.ListAgentsRequest{}, Resp: api.ListAgentsResponse{},
		Doc: "List the registered agents.",
	},
	{
		Op: "agents.list_keys", Method: http.MethodGet, Path: "/v1/agents/{agent}/keys", Access: Operator,
		Req: api.AgentPath{}, Resp: api.ListKeysResponse{}, Codes: []api.Code{api.AgentNotRegistered},
		Doc: "List the keys of an agent.",
	},
	{
		Op: "agents.mint_key", Method: http.MethodPost, Path: "/v1/agents/{agent}/keys", Access: Operator,
		Req: api.AgentPath{}, Resp: api.MintKeyResponse{}, Codes: []api.Code{api.AgentNotRegistered},
		Doc: "Make a key that acts as one agent; it is shown this once.",
	},
	{
		Op: "agents.register", Method: http.MethodPut, Path: "/v1/agents/{agent}", Access: Operator,
		Req: api.RegisterRequest{}, Resp: api.RegisterResponse{},
		Doc: "Register an agent, or replace its profile.",
	},
	{
		Op: "agents.revoke_key", Method: http.MethodDelete, Path: "/v1/agents/{agent}/keys/{key}", Access: Operator,
		Req: api.RevokeKeyRequest{}, Codes: []api.Code{api.AgentNotRegistered, api.KeyNotFound},
		Doc: "Revoke a key of an agent, everywhere within 5 seconds.",
	},
	{
		Op: "agents.whoami", Method: http.MethodGet, Path: "/v1/whoami", Access: Any,
		Resp: api.WhoAmI{},
		Doc:  "Say what the credential of this call is.",
	},
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
		Req: api.ClaimRequest{}, Resp: api.ClaimResponse{}, Codes: inChat(api.ClaimStale),
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
		Doc: "Read what both parties wrote, or follow it live.",
	},
	{
		Op: "contacts.accept", Method: http.MethodPost, Path: "/v1/agents/{agent}/contact-shares/{message}/accept", Access: Self, Empty: true,
		Req: api.AcceptContactRequest{}, Resp: api.SaveContactResponse{}, Codes: []api.Code{
			api.AgentNotRegistered, api.MessageNotFound, api.AmbiguousMessageID, api.NotAContactShare, api.ContactExists, api.ContactsFull,
			api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail, api.SearchIncomplete,
		},
		Doc: "Save the card of a contact share that was received.",
	},
	{
		Op: "contacts.get", Method: http.MethodGet, Path: "/v1/agents/{agent}/contacts/{contact}", Access: Self,
		Req: api.ContactPath{}, Resp: api.Contact{}, Codes: []api.Code{api.AgentNotRegistered, api.ContactNotFound},
		Doc: "Return a contact.",
	},
	{
		Op: "contacts.history", Method: http.MethodGet, Path: "/v1/agents/{agent}/contacts/{contact}/history", Access: Self,
		Req: api.ContactHistoryRequest{}, Resp: api.ContactHistoryResponse{}, Codes: []api.Code{api.AgentNotRegistered, api.CursorBeyondTail},
		Doc: "Return what happened to a contact, oldest first.",
	},
	{
		Op: "contacts.list", Method: http.MethodGet, Path: "/v1/agents/{agent}/contacts", Access: Self,
		Req: api.ListContactsRequest{}, Resp: api.ListContactsResponse{}, Codes: []api.Code{api.AgentNotRegistered},
		Doc: "List the contacts in an address book.",
	},
	{
		Op: "contacts.put", Method: http.MethodPut, Path: "/v1/agents/{agent}/contacts/{contact}", Access: Self,
		Req: api.PutContactRequest{}, Resp: api.SaveContactResponse{}, Codes: []api.Code{api.AgentNotRegistered, api.ContactsFull},
		Doc: "Save a contact, or replace its card.",
	},
	{
		Op: "contacts.remove", Method: http.MethodDelete, Path: "/v1/agents/{agent}/contacts/{contact}", Access: Self,
		Req: api.ContactPath{}, Codes: []api.Code{api.AgentNotRegistered, api.ContactNotFound},
		Doc: "Remove a contact; its history stays.",
	},
	{
		Op: "contacts.share", Method: http.MethodPost, Path: "/v1/agents/{agent}/contact-shares", Access: Self,
		Req: api.ShareContactRequest{}, Resp: api.SendResponse{}, Codes: []api.Code{
			api.AgentNotRegistered, api.RecipientNotFound, api.ContactNotFound, api.IDReused, api.HistoryTrimmed, api.RecordTooLarge,
		},
		Doc: "Send a contact's card to another agent.",
	},
	{
		Op: "inbox.read", Method: http.MethodGet, Path: "/v1/agents/{agent}/inbox", Kind: Events, Access: Self,
		Req: api.InboxRequest{}, Resp: api.InboxPage{}, Codes: []api.Code{api.AgentNotRegistered, api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail},
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
	{
		Op: "service.health", Method: http.MethodGet, Path: "/healthz", Access: Public,
		Resp: api.Health{},
		Doc:  "Say that the process is alive.",
	},
	{
		Op: "service.limits", Method: http.MethodGet, Path: "/v1/limits", Access: Public,
		Resp: api.Limits{},
		Doc:  "Return every limit of this server.",
	},
	{
		Op: "service.openapi", Method: http.MethodGet, Path: "/openapi.json", Access: Public,
		Resp: OpenAPI{},
		Doc:  "Return this description as OpenAPI 3.1.",
	},
	{
		Op: "service.ready", Method: http.MethodGet, Path: "/readyz", Access: Public,
		Resp: api.Health{}, Codes: []api.Code{api.Unavailable},
		Doc: "Say whether the store can be reached and is configured.",
	},
}

// OpenAPI stands for an OpenAPI document, a JSON object of any members.
type OpenAPI struct{}

// inChat returns the codes of an operation on one chat: those that any has, and more.
func inChat(more ...api.Code) []api.Code {
	return append(more, api.ChatsDisabled, api.ChatNotFound, api.StreamMissing, api.GenerationChanged, api.PrefixUnavailable)
}
