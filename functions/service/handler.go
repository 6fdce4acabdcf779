// Package service is the family of what a server says of itself: that it lives,
// that its store does, what it offers and what it refuses.
package service

import (
	"context"
	"net/http"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/openapi"
	"agentchat/shared/serve"
)

// New returns the handler of the family.
func New(e *env.Env) http.Handler {
	h := &handler{Env: e, openapi: openapi.Document(e.Config.Version)}
	return serve.Mux(e, "service", map[string]serve.Op{
		"service.health":  serve.Unary(h.health),
		"service.ready":   serve.Unary(newChecker(e).ready),
		"service.limits":  serve.Unary(h.limits),
		"service.openapi": serve.Unary(h.describe),
	})
}

type handler struct {
	*env.Env
	openapi document
}

// A document is a JSON document that is served as it is.
type document []byte

// AppendJSON appends the document.
func (d document) AppendJSON(b []byte) []byte { return append(b, d...) }

func (h *handler) health(context.Context, auth.Caller, *struct{}) (*api.Health, error) {
	return &api.Health{Status: "ok", Version: h.Config.Version}, nil
}

func (h *handler) describe(context.Context, auth.Caller, *struct{}) (*document, error) {
	return &h.openapi, nil
}
