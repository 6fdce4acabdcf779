package route

import (
	"net/http"

	"agentchat/shared/api"
)

// Table lists the operations, sorted by Op. A line each: Op, Method, Path, Kind and
// Access; Req, Resp and Codes; Doc.
var Table = []Route{
	{
		"agents.delete", http.MethodDelete, "/v1/agents/{agent}", Unary, Operator,
		api.AgentPath{}, nil, []api.Code{api.AgentNotRegistered},
		"Remove an agent: its keys die and its inbox takes no more messages.",
	},
	{
		"agents.get", http.MethodGet, "/v1/agents/{agent}", Unary, Any,
		api.AgentPath{}, api.AgentInfo{}, []api.Code{api.AgentNotRegistered},
		"Return a registered agent.",
	},
	{
		"agents.list", http.MethodGet, "/v1/agents", Unary, Any,
		api.ListAgentsRequest{}, api.ListAgentsResponse{}, nil,
		"List the registered agents.",
	},
	{
		"agents.list_keys", http.MethodGet, "/v1/agents/{agent}/keys", Unary, Operator,
		api.AgentPath{}, api.ListKeysResponse{}, []api.Code{api.AgentNotRegistered},
		"List the keys of an agent.",
	},
	{
		"agents.mint_key", http.MethodPost, "/v1/agents/{agent}/keys", Unary, Operator,
		api.AgentPath{}, api.MintKeyResponse{}, []api.Code{api.AgentNotRegistered},
		"Make a key that acts as one agent; it is shown this once.",
	},
	{
		"agents.register", http.MethodPut, "/v1/agents/{agent}", Unary, Operator,
		api.RegisterRequest{}, api.RegisterResponse{}, nil,
		"Register an agent, or replace its profile.",
	},
	{
		"agents.revoke_key", http.MethodDelete, "/v1/agents/{agent}/keys/{key}", Unary, Operator,
		api.RevokeKeyRequest{}, nil, []api.Code{api.AgentNotRegistered, api.KeyNotFound},
		"Revoke a key of an agent, everywhere within 5 seconds.",
	},
	{
		"agents.whoami", http.MethodGet, "/v1/whoami", Unary, Any,
		nil, api.WhoAmI{}, nil,
		"Say what the credential of this call is.",
	},
	{
		"inbox.read", http.MethodGet, "/v1/agents/{agent}/inbox", Events, Self,
		api.InboxRequest{}, api.InboxPage{}, []api.Code{api.AgentNotRegistered, api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail},
		"Replay an inbox from a position, or follow it live.",
	},
	{
		"messages.get", http.MethodGet, "/v1/agents/{agent}/messages/{message}", Unary, Self,
		api.GetMessageRequest{}, api.Delivery{}, []api.Code{
			api.AgentNotRegistered, api.MessageNotFound, api.AmbiguousMessageID, api.GenerationChanged, api.HistoryTrimmed,
			api.CursorBeyondTail, api.SearchIncomplete,
		},
		"Look up a message by its id.",
	},
	{
		"messages.send", http.MethodPost, "/v1/agents/{agent}/messages", Unary, Self,
		api.SendRequest{}, api.SendResponse{}, []api.Code{api.AgentNotRegistered, api.RecipientNotFound, api.IDReused, api.HistoryTrimmed, api.RecordTooLarge},
		"Send a message; it is durable when this answers.",
	},
	{
		"service.health", http.MethodGet, "/healthz", Unary, Public,
		nil, api.Health{}, nil,
		"Say that the process is alive.",
	},
	{
		"service.limits", http.MethodGet, "/v1/limits", Unary, Public,
		nil, api.Limits{}, nil,
		"Return every limit of this server.",
	},
	{
		"service.openapi", http.MethodGet, "/openapi.json", Unary, Public,
		nil, OpenAPI{}, nil,
		"Return this description as OpenAPI 3.1.",
	},
	{
		"service.ready", http.MethodGet, "/readyz", Unary, Public,
		nil, api.Health{}, []api.Code{api.Unavailable},
		"Say whether the store can be reached and is configured.",
	},
}

// OpenAPI stands for an OpenAPI document, a JSON object of any members.
type OpenAPI struct{}
