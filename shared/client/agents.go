package client

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// Register registers an agent, or replaces its whole profile. Repeating it
// changes nothing.
func (c *Client) Register(ctx context.Context, req api.RegisterRequest) (*api.RegisterResponse, error) {
	answer, res, err := call[api.RegisterResponse](ctx, c, "agents.register", &req, true)
	if err != nil {
		return nil, err
	}
	answer.Created = res.status == http.StatusCreated
	return answer, nil
}

// Agent returns a registered agent.
func (c *Client) Agent(ctx context.Context, id ident.Agent) (*api.AgentInfo, error) {
	return do[api.AgentInfo](ctx, c, "agents.get", &api.AgentPath{Agent: id}, true)
}

// ListAgents returns a page of agents.
func (c *Client) ListAgents(ctx context.Context, req api.ListAgentsRequest) (*api.ListAgentsResponse, error) {
	return do[api.ListAgentsResponse](ctx, c, "agents.list", &req, true)
}

// Agents yields all agents, page after page, in bytewise order. It ends after
// the first error.
func (c *Client) Agents(ctx context.Context) iter.Seq2[api.AgentInfo, error] {
	return pages("", func(cursor ident.Agent) ([]api.AgentInfo, *ident.Agent, error) {
		page, err := c.ListAgents(ctx, api.ListAgentsRequest{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		return page.Agents, page.NextCursor, nil
	})
}

// DeleteAgent removes an agent: its keys die, its inbox takes no more messages.
func (c *Client) DeleteAgent(ctx context.Context, id ident.Agent) error {
	return c.remove(ctx, "agents.delete", &api.AgentPath{Agent: id}, api.AgentNotRegistered)
}

// MintKey makes a key that acts as one agent. It is not repeated when the
// outcome is open: look at Keys, revoke what is too many, and mint another.
func (c *Client) MintKey(ctx context.Context, id ident.Agent) (*api.MintKeyResponse, error) {
	return do[api.MintKeyResponse](ctx, c, "agents.mint_key", &api.AgentPath{Agent: id}, false)
}

// Keys returns the live keys of an agent, oldest first.
func (c *Client) Keys(ctx context.Context, id ident.Agent) ([]api.KeyInfo, error) {
	answer, err := do[api.ListKeysResponse](ctx, c, "agents.list_keys", &api.AgentPath{Agent: id}, true)
	if err != nil {
		return nil, err
	}
	return answer.Keys, nil
}

// RevokeKey revokes a key of an agent, everywhere within 5 seconds.
func (c *Client) RevokeKey(ctx context.Context, id ident.Agent, key ident.Key) error {
	return c.remove(ctx, "agents.revoke_key", &api.RevokeKeyRequest{Agent: id, Key: key}, api.KeyNotFound)
}

// WhoAmI says what the client's credential is.
func (c *Client) WhoAmI(ctx context.Context) (*api.WhoAmI, error) {
	return do[api.WhoAmI](ctx, c, "agents.whoami", nil, true)
}

// remove calls a DELETE, again if its outcome is open: that what was to go is not
// there any more is then success, and an error if it was so at first.
func (c *Client) remove(ctx context.Context, op string, req any, gone api.Code) error {
	r, err := newRequest(op, req)
	if err != nil {
		return err
	}
	open := false
	_, err = c.repeat(ctx, func() (reply, error) {
		_, res, err := once[struct{}](ctx, c, r)
		if e, ok := errors.AsType[*Error](err); ok && open && e.Problem.Code == gone {
			return res, nil
		}
		return res, err
	}, func(err error) bool { open = open || errors.Is(err, ErrUnknown); return true })
	return err
}
