package localstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// List lists names; see stream.Store.
func (s *Store) List(ctx context.Context, prefix stream.Prefix, after stream.Name, limit int) ([]stream.Name, bool, error) {
	if ctx.Err() != nil {
		return nil, false, failed("list", prefix.String(), ctx.Err())
	}
	infos, more, err := s.engine.ListStreams(ctx, s.basin(prefix.Basin()), prefix.String(), after.String(), limit)
	if err != nil {
		return nil, false, failed("list", prefix.String(), definite(err))
	}
	names := make([]stream.Name, 0, len(infos))
	for _, info := range infos {
		if name, ok := prefix.Name(info.Name); ok {
			names = append(names, name)
		}
	}
	return names, more, nil
}

// Watch yields streams that moved; see stream.Store. A reader that is behind by
// more streams than the engine keeps in memory is told of all of them again.
func (s *Store) Watch(ctx context.Context, prefix stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		if ctx.Err() != nil {
			yield(nil, failed("watch", prefix.String(), ctx.Err()))
			return
		}
		for batch, err := range s.engine.Watch(ctx, s.basin(prefix.Basin()), prefix.String()) {
			if err != nil {
				yield(nil, failed("watch", prefix.String(), definite(err)))
				return
			}
			moved := make([]stream.Moved, 0, len(batch))
			for _, m := range batch {
				if name, ok := prefix.Name(m.Name); ok {
					moved = append(moved, stream.Moved{Name: name, Tail: m.Tail})
				}
			}
			if !yield(moved, nil) {
				return
			}
		}
	}
}

// Create makes a stream of exactly c, whatever its basin's default is.
func (s *Store) Create(ctx context.Context, name stream.Name, c stream.Config) error {
	if ctx.Err() != nil {
		return canceled(ctx, "create", name)
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	_, _, err := s.engine.CreateStream(ctx, s.basin(name.Basin()), name.String(), config(c), "")
	if err != nil {
		return changed(err, "create", name.String())
	}
	return nil
}

// Delete removes a stream; its name is free when Delete returns.
func (s *Store) Delete(ctx context.Context, name stream.Name) error {
	if ctx.Err() != nil {
		return canceled(ctx, "delete", name)
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	if err := s.engine.DeleteStream(ctx, s.basin(name.Basin()), name.String()); err != nil {
		return changed(err, "delete", name.String())
	}
	return nil
}

// Ensure makes both basins what they should be.
func (s *Store) Ensure(ctx context.Context) error {
	if ctx.Err() != nil {
		return failed("ensure basin", s.base, ctx.Err())
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	for _, b := range []stream.Basin{stream.Main, stream.Ops} {
		if _, _, err := s.engine.EnsureBasin(ctx, s.basin(b), basin(b)); err != nil {
			return changed(err, "ensure basin", s.basin(b))
		}
	}
	return nil
}

// Check reports whether both basins are what Ensure makes them, and the disk takes
// what it is given.
func (s *Store) Check(ctx context.Context) error {
	if s.engine.Stalled() {
		return failed("write to", s.base, fmt.Errorf("%w: the disk takes nothing", stream.ErrUnavailable))
	}
	for _, b := range []stream.Basin{stream.Main, stream.Ops} {
		got, err := s.engine.BasinConfig(ctx, s.basin(b))
		if err != nil {
			return failed("check basin", s.basin(b), definite(err))
		}
		if diff := differs(got, basin(b)); diff != "" {
			return failed("check basin", s.basin(b), errors.New(diff))
		}
	}
	return nil
}

// basin is b.Config in the engine's words.
func basin(b stream.Basin) engine.BasinConfig {
	c := b.Config()
	return engine.BasinConfig{Default: config(c.Default), CreateOnAppend: c.CreateOnAppend}
}

func config(c stream.Config) engine.StreamConfig {
	return engine.StreamConfig{RetentionAge: &c.Retention, DeleteOnEmptyAge: &c.DeleteOnEmpty}
}

// differs says what of a basin's configuration is not as it should be.
func differs(got, want engine.BasinConfig) string {
	age := func(d *time.Duration) string {
		if d == nil {
			return "the default"
		}
		if *d == 0 {
			return "never"
		}
		return d.String()
	}
	for _, m := range []struct{ what, got, want string }{
		{"streams created on append", fmt.Sprint(got.CreateOnAppend), fmt.Sprint(want.CreateOnAppend)},
		{"streams created on read", fmt.Sprint(got.CreateOnRead), fmt.Sprint(want.CreateOnRead)},
		{"default retention", age(got.Default.RetentionAge), age(want.Default.RetentionAge)},
		{"default delete-on-empty", age(got.Default.DeleteOnEmptyAge), age(want.Default.DeleteOnEmptyAge)},
	} {
		if m.got != m.want {
			return fmt.Sprintf("%s: %s, want %s", m.what, m.got, m.want)
		}
	}
	return ""
}
