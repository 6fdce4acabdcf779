// Package agents is the family of registrations: who there is, and with which
// keys an agent may act.
package agents

import (
	"context"
	"io"
	"net/http"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/directory"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/serve"
	"agentchat/shared/valid"
)

// New returns the handler of the family.
func New(e *env.Env) http.Handler {
	h := &handler{Env: e, agents: directory.New(e.Store, e.Mail)}
	return serve.Mux(e, "agents", map[string]serve.Op{
		"agents.register":   serve.Unary(h.register),
		"agents.get":        serve.Unary(h.get),
		"agents.list":       serve.Unary(h.list),
		"agents.delete":     serve.Unary(h.delete),
		"agents.mint_key":   serve.Unary(h.mintKey),
		"agents.list_keys":  serve.Unary(h.listKeys),
		"agents.revoke_key": serve.Unary(h.revokeKey),
		"agents.whoami":     serve.Unary(h.whoami),
	})
}

type handler struct {
	*env.Env
	agents *directory.Directory
}

func (h *handler) register(ctx context.Context, _ auth.Caller, req *api.RegisterRequest) (*api.RegisterResponse, error) {
	if err := valid.Register(req); err != nil {
		return nil, err
	}
	return h.Mail.Register(ctx, req.Agent, req.Profile)
}

func (h *handler) get(ctx context.Context, _ auth.Caller, req *api.AgentPath) (*api.AgentInfo, error) {
	return h.agents.Get(ctx, req.Agent)
}

func (h *handler) list(ctx context.Context, _ auth.Caller, req *api.ListAgentsRequest) (*api.ListAgentsResponse, error) {
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return nil, err
	}
	return h.agents.List(ctx, req.Cursor, limit)
}

func (h *handler) delete(ctx context.Context, _ auth.Caller, req *api.AgentPath) (*struct{}, error) {
	return nil, h.Mail.Delete(ctx, req.Agent)
}

func (h *handler) mintKey(ctx context.Context, _ auth.Caller, req *api.AgentPath) (*api.MintKeyResponse, error) {
	var secret [32]byte
	if _, err := io.ReadFull(h.Rand, secret[:]); err != nil {
		return nil, err
	}
	id, now := ident.NewKey(h.Rand), api.Time{Time: h.Now()}
	key, hash, lastFour := auth.NewKey(req.Agent, id, secret)
	if err := h.Mail.Mint(ctx, req.Agent, agent.Key{ID: id, Hash: hash, LastFour: lastFour, CreatedAt: now}); err != nil {
		return nil, err
	}
	return &api.MintKeyResponse{ID: id, Key: key, CreatedAt: now}, nil
}

func (h *handler) listKeys(ctx context.Context, _ auth.Caller, req *api.AgentPath) (*api.ListKeysResponse, error) {
	return h.agents.Keys(ctx, req.Agent)
}

func (h *handler) revokeKey(ctx context.Context, _ auth.Caller, req *api.RevokeKeyRequest) (*struct{}, error) {
	return nil, h.Mail.Revoke(ctx, req.Agent, req.Key)
}

func (h *handler) whoami(_ context.Context, by auth.Caller, _ *struct{}) (*api.WhoAmI, error) {
	if by.Kind == auth.Agent {
		return &api.WhoAmI{Credential: "agent_key", Agent: &by.Agent}, nil
	}
	return &api.WhoAmI{Credential: "api_token"}, nil
}
