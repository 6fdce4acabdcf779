// Package directory is the registered agents as others see them: one by name,
// all by pages, and the keys of one.
package directory

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// atOnce is how many registrations are read at the same time for one page.
const atOnce = 64

// Registrations returns the fold of an agent's registration, at most maxAge
// old. *mailbox.Mailbox is one.
type Registrations interface {
	Registration(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error)
}

// A Directory looks agents up. Its methods may be called concurrently.
type Directory struct {
	store stream.Store
	regs  Registrations
}

// New returns a Directory of the agents in store.
func New(store stream.Store, regs Registrations) *Directory {
	return &Directory{store: store, regs: regs}
}

// Get returns a registered agent as of now, else agent_not_registered.
func (d *Directory) Get(ctx context.Context, id ident.Agent) (*api.AgentInfo, error) {
	s, err := d.registered(ctx, id)
	if err != nil {
		return nil, err
	}
	info := s.Info(id)
	return &info, nil
}

// Keys returns the live keys of a registered agent as of now, oldest first,
// without what opens anything.
func (d *Directory) Keys(ctx context.Context, id ident.Agent) (*api.ListKeysResponse, error) {
	s, err := d.registered(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &api.ListKeysResponse{Keys: make([]api.KeyInfo, 0, len(s.Keys))}
	for _, k := range s.Keys {
		r.Keys = append(r.Keys, api.KeyInfo{ID: k.ID, LastFour: k.LastFour, CreatedAt: k.CreatedAt})
	}
	return r, nil
}

func (d *Directory) registered(ctx context.Context, id ident.Agent) (agent.State, error) {
	s, err := d.regs.Registration(ctx, id, 0)
	if err != nil {
		return agent.State{}, err
	}
	if s.Phase != agent.Registered {
		return agent.State{}, agent.NotRegistered(id)
	}
	return s, nil
}

// List returns the registered agents among the next limit names behind after
// ("": from the first), in bytewise order, as far as a page holds api.MaxPageBytes. Names that are not registered any
// more take room on a page, so that one page costs a bounded number of reads.
func (d *Directory) List(ctx context.Context, after ident.Agent, limit int) (*api.ListAgentsResponse, error) {
	ids, more, err := d.names(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	states, err := d.states(ctx, ids)
	if err != nil {
		return nil, err
	}
	r := &api.ListAgentsResponse{Agents: make([]api.AgentInfo, 0, len(ids))}
	size, scratch := 0, []byte(nil)
	for i, s := range states {
		if s.Phase != agent.Registered {
			continue
		}
		info := s.Info(ids[i])
		if scratch, err = strictjson.Append(scratch[:0], info); err != nil {
			return nil, fmt.Errorf("encode agent %s: %w", ids[i], err)
		}
		if size += len(scratch); size > api.MaxPageBytes && len(r.Agents) > 0 {
			r.NextCursor = &ids[i-1]
			return r, nil
		}
		r.Agents = append(r.Agents, info)
	}
	if more {
		r.NextCursor = &ids[len(ids)-1]
	}
	return r, nil
}

// names returns the next limit names behind after. Streams that are no agent's,
// put there by somebody else, are passed over, so that a run of them can't end
// the list early.
func (d *Directory) names(ctx context.Context, after ident.Agent, limit int) (ids []ident.Agent, more bool, err error) {
	var last stream.Name
	if after != "" {
		last = stream.Agent(after)
	}
	for {
		names, rest, err := d.store.List(ctx, stream.Agents, last, limit)
		if err != nil {
			return nil, false, fmt.Errorf("list agents behind %q: %w", after, err)
		}
		for i, n := range names {
			if id, ok := stream.AgentOf(n); ok {
				ids = append(ids, id)
			}
			if len(ids) == limit {
				return ids, rest || i < len(names)-1, nil
			}
		}
		if !rest {
			return ids, false, nil
		}
		last = names[len(names)-1]
	}
}

// states reads the registrations of ids, a bounded number of them at a time.
func (d *Directory) states(ctx context.Context, ids []ident.Agent) ([]agent.State, error) {
	states := make([]agent.State, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, id := range ids {
		g.Go(func() (err error) {
			states[i], err = d.regs.Registration(ctx, id, agent.MaxAge)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return states, nil
}
