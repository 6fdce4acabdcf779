package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// CreateStream makes a stream of c, unset members from the basin and then from
// S2. If there is one: Noop if it was made by a create with the same request
// token, not "", and the same c; else ErrExists.
func (e *Engine) CreateStream(ctx context.Context, basin, name string, c StreamConfig, requestToken string) (Info, Provision, error) {
	if err := checkRequestToken(requestToken); err != nil {
		return Info{}, 0, err
	}
	var info Info
	provision := Created
	err := e.changeStream(ctx, basin, name, c, func(g *group, b *basinMeta, st *state) (err error) {
		if st == nil {
			if st, err = g.create(b, name, c, requestToken); err == nil {
				info = st.life.info(name)
			}
			return err
		}
		if requestToken == "" || st.life.Token != requestToken || !st.life.Asked.equal(c) {
			return fmt.Errorf("%w: stream %s", ErrExists, name)
		}
		info, provision = st.life.info(name), Noop
		return nil
	})
	if err != nil {
		return Info{}, 0, err // the change may be running yet
	}
	return info, provision, nil
}

// EnsureStream makes a stream of c, or makes c, unset members from the basin and
// then from S2, the configuration of the one that there is.
func (e *Engine) EnsureStream(ctx context.Context, basin, name string, c StreamConfig) (Info, Provision, error) {
	var info Info
	provision := Created
	err := e.changeStream(ctx, basin, name, c, func(g *group, b *basinMeta, st *state) (err error) {
		if st == nil {
			st, err = g.create(b, name, c, "")
		} else if resolved := c.resolve(b.Config); st.life.Config.equal(resolved) {
			provision = Noop
		} else {
			provision = Updated
			g.reconfigure(st, resolved)
		}
		if err == nil {
			info = st.life.info(name)
		}
		return err
	})
	if err != nil {
		return Info{}, 0, err // the change may be running yet
	}
	return info, provision, nil
}

// ReconfigureStream lets change edit the configuration, in which no member is
// nil; one that change sets to nil falls to the basin's default, then to S2's.
// change runs in the committer: it must be quick and call nothing of the engine.
func (e *Engine) ReconfigureStream(ctx context.Context, basin, name string, change func(*StreamConfig)) (StreamConfig, error) {
	var resolved StreamConfig
	err := e.changeStream(ctx, basin, name, StreamConfig{}, func(g *group, b *basinMeta, st *state) error {
		if st == nil {
			return fmt.Errorf("%w: %s", ErrStreamNotFound, name)
		}
		c := st.life.Config.clone()
		change(&c)
		if err := c.validate(); err != nil {
			return err
		}
		resolved = c.resolve(b.Config)
		g.reconfigure(st, resolved)
		return nil
	})
	if err != nil {
		return StreamConfig{}, err
	}
	return resolved.clone(), nil
}

// DeleteStream removes a stream and its records. When it returns the name is free.
func (e *Engine) DeleteStream(ctx context.Context, basin, name string) error {
	return e.changeStream(ctx, basin, name, StreamConfig{}, func(g *group, _ *basinMeta, st *state) error {
		if st == nil {
			return fmt.Errorf("%w: %s", ErrStreamNotFound, name)
		}
		g.remove(st)
		return nil
	})
}

// StreamConfig returns the configuration: no member is nil.
func (e *Engine) StreamConfig(ctx context.Context, basin, name string) (StreamConfig, error) {
	if err := ctx.Err(); err != nil {
		return StreamConfig{}, err
	}
	if err := e.enter(); err != nil {
		return StreamConfig{}, err
	}
	defer e.leave()
	b, err := e.basin(basin)
	if err != nil {
		return StreamConfig{}, err
	}
	if err := CheckStreamName(name); err != nil {
		return StreamConfig{}, err
	}
	st, err := e.lookup(streamKey{b.Number, name})
	if err != nil {
		return StreamConfig{}, err
	}
	if st != nil {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.now != nil {
			return st.now.Config.clone(), nil
		}
	}
	return StreamConfig{}, fmt.Errorf("%w: %s", ErrStreamNotFound, name)
}

// ListStreams returns up to limit streams (0: 1000) whose names begin with prefix
// and come bytewise after the given one, and whether there are more.
func (e *Engine) ListStreams(ctx context.Context, basin, prefix, after string, limit int) ([]Info, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if err := e.enter(); err != nil {
		return nil, false, err
	}
	defer e.leave()
	b, err := e.basin(basin)
	if err != nil {
		return nil, false, err
	}
	if limit <= 0 || limit > maxList {
		limit = maxList
	}
	it, err := e.names(keyLife, b.Number, prefix, after)
	if err != nil {
		return nil, false, err
	}
	var list []Info
	for it.First(); it.Valid() && len(list) < limit; it.Next() {
		l, err := decodeLife(it.Value())
		if err != nil {
			_ = it.Close()
			return nil, false, err
		}
		list = append(list, l.info(string(it.Key()[5:])))
	}
	more := it.Valid()
	if err := it.Close(); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return list, more, e.settle()
}

const maxList = 1000

// names iterates over what a family has of the streams of a basin that begin
// with prefix and come behind from.
func (e *Engine) names(family byte, basin uint32, prefix, from string) (*pebble.Iterator, error) {
	lower := streamKey{basin, prefix}.in(family)
	if from >= prefix && from != "" {
		lower = append(streamKey{basin, from}.in(family), 0)
	}
	it, err := e.db.NewIter(&pebble.IterOptions{
		LowerBound: lower,
		UpperBound: after(streamKey{basin, prefix}.in(family)),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return it, nil
}

// changeStream runs do in the committer with the basin and the stream as staged,
// nil if there is none.
func (e *Engine) changeStream(ctx context.Context, basin, name string, c StreamConfig, do func(*group, *basinMeta, *state) error) error {
	b, err := e.basin(basin)
	if err != nil {
		return err
	}
	if err := CheckStreamName(name); err != nil {
		return err
	}
	if err := c.validate(); err != nil {
		return err
	}
	k := streamKey{b.Number, name}
	return e.change(ctx, func(g *group) error {
		b := g.basinOf(k)
		if b == nil {
			return fmt.Errorf("%w: %s", ErrBasinNotFound, basin)
		}
		st, err := g.find(k)
		if err != nil {
			return err
		}
		return do(g, b, st)
	})
}

func (e *Engine) createOnRead(ctx context.Context, b *basinMeta, name string) error {
	return e.changeStream(ctx, b.name, name, StreamConfig{}, func(g *group, b *basinMeta, st *state) error {
		if st != nil {
			return nil
		}
		_, err := g.create(b, name, StreamConfig{}, "")
		return err
	})
}

// create stages a new stream, which the group's staged state does not have.
func (g *group) create(b *basinMeta, name string, c StreamConfig, token string) (*state, error) {
	k := streamKey{b.Number, name}
	if st, err := g.e.lookup(k); err != nil {
		return nil, err
	} else if st != nil {
		g.flush() // deleted in this very group: readers see that life until it is durably gone
	}
	id := g.give()
	st := &state{key: k, id: id, used: true, life: &life{
		ID:      id,
		Created: time.UnixMilli(g.now).UTC(),
		Config:  c.resolve(b.Config).clone(),
		Token:   token,
		Asked:   c.clone(),
		Cipher:  b.Config.StreamCipher,
	}}
	st.staged.emptied = g.now
	g.touch(st)
	g.writeLife(st)
	g.e.reg.mu.Lock()
	g.e.reg.streams[k] = st
	g.e.reg.mu.Unlock()
	return st, nil
}

func (g *group) writeLife(st *state) {
	value, err := st.life.encode()
	g.check(err)
	g.set(st.key.in(keyLife), value)
}

func (g *group) reconfigure(st *state, c StreamConfig) {
	l := *st.life
	l.Config = c.clone()
	st.life = &l
	g.touch(st)
	g.writeLife(st)
}

// remove stages the deletion of st, records and all.
func (g *group) remove(st *state) {
	g.touch(st)
	st.dead = true
	g.delete(st.key.in(keyLife))
	g.delete(st.key.in(keyHead))
	g.unschedule(st)
	if st.staged.empty() && st.staged.first == st.trimmedTo {
		return // an earlier trim took all that there was
	}
	first := batchKey(nil, st.key.basin, st.id, 0)
	g.check(g.batch.DeleteRange(first, after(first[:batchKeyLen-8]), nil))
}

// clone returns a copy of c that shares nothing with it.
func (c StreamConfig) clone() StreamConfig {
	return StreamConfig{
		StorageClass:     copied(c.StorageClass),
		RetentionAge:     copied(c.RetentionAge),
		TimestampMode:    copied(c.TimestampMode),
		Uncapped:         copied(c.Uncapped),
		DeleteOnEmptyAge: copied(c.DeleteOnEmptyAge),
	}
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
