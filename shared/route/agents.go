package route

import (
	"net/http"

	"agentchat/shared/api"
)

var agentRoutes = []Route{
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
}
