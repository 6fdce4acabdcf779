package route

import (
	"net/http"

	"agentchat/shared/api"
)

var serviceRoutes = []Route{
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
		Resp: api.Readiness{}, Codes: []api.Code{api.Unavailable},
		Doc: "Say whether the store can be reached and is configured, and what else is not as it should be.",
	},
}

// OpenAPI stands for an OpenAPI document, a JSON object of any members.
type OpenAPI struct{}
