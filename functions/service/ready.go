package service

import (
	"context"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
)

const (
	patience = 3 * time.Second // how long the store may take
	recent   = time.Second     // how old a check may be
)

// A checker asks the store once for all who ask at about the same time: anybody
// may ask, and a store may cost by the call.
type checker struct {
	*env.Env

	turn chan struct{} // holds one value; who took it may ask the store, and owns:
	at   time.Time
	err  error
}

func newChecker(e *env.Env) *checker {
	c := &checker{Env: e, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// ready fails while the process ends, too, so that nothing new is sent to it.
func (c *checker) ready(ctx context.Context, _ auth.Caller, _ *struct{}) (*api.Health, error) {
	select {
	case <-c.Draining:
		return nil, api.Errorf(api.Unavailable, "this server is about to end")
	default:
	}
	if err := c.check(ctx); err != nil {
		return nil, api.Errorf(api.Unavailable, "the store can't be reached, or its basins are not configured").Because(err)
	}
	return &api.Health{Status: "ok", Version: c.Config.Version}, nil
}

func (c *checker) check(ctx context.Context) error {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !c.at.IsZero() && c.Now().Sub(c.at) < recent {
		return c.err
	}
	// Others wait for the answer, so it must not end with the one who asked first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	c.err = c.Store.Check(ctx)
	c.at = c.Now()
	return c.err
}
