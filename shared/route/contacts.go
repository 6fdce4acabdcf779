package route

import (
	"net/http"

	"agentchat/shared/api"
)

var contactRoutes = []Route{
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
}
