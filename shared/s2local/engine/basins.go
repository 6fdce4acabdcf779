package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentchat/shared/stream"
)

// CreateBasin makes a basin. If there is one: Noop if it was made by a create
// with the same request token, not "", and the same c; else ErrExists.
func (e *Engine) CreateBasin(ctx context.Context, name string, c BasinConfig, requestToken string) (Info, Provision, error) {
	if err := checkRequestToken(requestToken); err != nil {
		return Info{}, 0, err
	}
	var info Info
	provision := Created
	err := e.changeBasin(ctx, name, c, func(g *group, b *basinMeta) error {
		if b == nil {
			b = g.createBasin(name, c, requestToken)
		} else if requestToken != "" && b.Token == requestToken && b.Asked.equal(c) {
			provision = Noop
		} else {
			return fmt.Errorf("%w: basin %s", ErrExists, name)
		}
		info = b.info()
		return nil
	})
	if err != nil {
		return Info{}, 0, err // the change may be running yet
	}
	return info, provision, nil
}

// EnsureBasin makes a basin of c, or makes c the configuration of the one that there is.
func (e *Engine) EnsureBasin(ctx context.Context, name string, c BasinConfig) (Info, Provision, error) {
	var info Info
	provision := Created
	err := e.changeBasin(ctx, name, c, func(g *group, b *basinMeta) error {
		switch {
		case b == nil:
			b = g.createBasin(name, c, "")
		case b.Config.equal(c):
			provision = Noop
		default:
			provision = Updated
			b = g.reconfigureBasin(b, c)
		}
		info = b.info()
		return nil
	})
	if err != nil {
		return Info{}, 0, err // the change may be running yet
	}
	return info, provision, nil
}

// ReconfigureBasin lets change edit the configuration. Streams keep theirs.
// change runs in the committer: it must be quick and call nothing of the engine.
func (e *Engine) ReconfigureBasin(ctx context.Context, name string, change func(*BasinConfig)) (BasinConfig, error) {
	var c BasinConfig
	err := e.changeBasin(ctx, name, BasinConfig{}, func(g *group, b *basinMeta) error {
		if b == nil {
			return fmt.Errorf("%w: %s", ErrBasinNotFound, name)
		}
		c = b.Config.clone()
		change(&c)
		if err := c.validate(); err != nil {
			return err
		}
		g.reconfigureBasin(b, c)
		return nil
	})
	if err != nil {
		return BasinConfig{}, err
	}
	return c.clone(), nil
}

// DeleteBasin removes a basin, its streams and their records. When it returns the name is free.
func (e *Engine) DeleteBasin(ctx context.Context, name string) error {
	return e.changeBasin(ctx, name, BasinConfig{}, func(g *group, b *basinMeta) error {
		if b == nil {
			return fmt.Errorf("%w: %s", ErrBasinNotFound, name)
		}
		g.removeBasin(b)
		return nil
	})
}

// BasinConfig returns the configuration of a basin.
func (e *Engine) BasinConfig(ctx context.Context, name string) (BasinConfig, error) {
	if err := ctx.Err(); err != nil {
		return BasinConfig{}, err
	}
	if err := e.err(); err != nil {
		return BasinConfig{}, err
	}
	b, err := e.basin(name)
	if err != nil {
		return BasinConfig{}, err
	}
	return b.Config.clone(), nil
}

// ListBasins returns up to limit basins (0: 1000) whose names begin with prefix
// and come bytewise after the given one, and whether there are more.
func (e *Engine) ListBasins(ctx context.Context, prefix, after string, limit int) ([]Info, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if err := e.err(); err != nil {
		return nil, false, err
	}
	if limit <= 0 || limit > maxList {
		limit = maxList
	}
	var list []Info
	e.reg.mu.Lock()
	for name, b := range e.reg.basins {
		if strings.HasPrefix(name, prefix) && name > after {
			list = append(list, b.info())
		}
	}
	e.reg.mu.Unlock()
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	if len(list) > limit {
		return list[:limit], true, nil
	}
	return list, false, nil
}

// changeBasin runs do in the committer in a group of its own, so that what is
// staged of basins is always what is durable.
func (e *Engine) changeBasin(ctx context.Context, name string, c BasinConfig, do func(*group, *basinMeta) error) error {
	if err := stream.CheckBasinName(name); err != nil {
		return err
	}
	if err := c.validate(); err != nil {
		return err
	}
	return e.change(ctx, func(g *group) error {
		g.flush()
		g.e.reg.mu.Lock()
		b := g.e.reg.basins[name]
		g.e.reg.mu.Unlock()
		if err := do(g, b); err != nil {
			return err
		}
		g.flush()
		return g.err
	})
}

func (g *group) createBasin(name string, c BasinConfig, token string) *basinMeta {
	b := &basinMeta{
		name:    name,
		Number:  uint32(g.give()),
		Created: time.UnixMilli(g.now).UTC(),
		Config:  c.clone(),
		Token:   token,
		Asked:   c.clone(),
	}
	g.writeBasin(b)
	return b
}

func (g *group) reconfigureBasin(old *basinMeta, c BasinConfig) *basinMeta {
	b := *old
	b.Config = c.clone()
	g.writeBasin(&b)
	return &b
}

func (g *group) writeBasin(b *basinMeta) {
	value, err := json.Marshal(b)
	g.check(err)
	g.set(append([]byte{keyBasin}, b.name...), value)
	g.publish = append(g.publish, func() {
		g.e.reg.mu.Lock()
		defer g.e.reg.mu.Unlock()
		g.e.reg.basins[b.name], g.e.reg.numbers[b.Number] = b, b
	})
}

// removeBasin stages the deletion of b and of everything in it: three ranges.
func (g *group) removeBasin(b *basinMeta) {
	g.delete(append([]byte{keyBasin}, b.name...))
	for _, family := range []byte{keyLife, keyHead, keyBatch} {
		all := binary.BigEndian.AppendUint32([]byte{family}, b.Number)
		g.check(g.batch.DeleteRange(all, after(all), nil))
	}
	g.publish = append(g.publish, func() {
		g.e.reg.mu.Lock()
		defer g.e.reg.mu.Unlock()
		delete(g.e.reg.basins, b.name)
		delete(g.e.reg.numbers, b.Number)
		for k, st := range g.e.reg.streams {
			if k.basin != b.Number {
				continue
			}
			st.dead = true
			st.mu.Lock()
			st.now, st.gone, st.recent = nil, true, nil
			st.touch()
			st.mu.Unlock()
			delete(g.e.reg.streams, k)
		}
	})
}

func (c BasinConfig) clone() BasinConfig {
	c.Default = c.Default.clone()
	c.StreamCipher = copied(c.StreamCipher)
	return c
}
