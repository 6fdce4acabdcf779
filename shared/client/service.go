package client

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
)

// Health reports whether the process is alive.
func (c *Client) Health(ctx context.Context) (*api.Health, error) {
	return do[api.Health](ctx, c, "service.health", nil, true)
}

// Ready reports whether the server's store can be reached and is configured: if
// not, it is an error; and how its other components are.
func (c *Client) Ready(ctx context.Context) (*api.Readiness, error) {
	return do[api.Readiness](ctx, c, "service.ready", nil, true)
}

// Limits returns every limit of the server.
func (c *Client) Limits(ctx context.Context) (*api.Limits, error) {
	return do[api.Limits](ctx, c, "service.limits", nil, true)
}

// OpenAPI returns the server's description of itself, a JSON object.
func (c *Client) OpenAPI(ctx context.Context) ([]byte, error) {
	answer, err := do[jsontext.Value](ctx, c, "service.openapi", nil, true)
	if err != nil {
		return nil, err
	}
	return *answer, nil
}
