package service

import (
	"context"
	"fmt"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
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

// ready fails while the process ends, too, so that nothing new is sent to it. What
// only part of the calls needs does not make it fail: every process has the same
// keys, and to send all calls away would help nobody.
func (c *checker) ready(ctx context.Context, _ auth.Caller, _ *struct{}) (*api.Readiness, error) {
	select {
	case <-c.Draining:
		return nil, api.Errorf(api.Unavailable, "this server is about to end")
	default:
	}
	if err := c.check(ctx); err != nil {
		return nil, api.Errorf(api.Unavailable, "the store can't be reached, or its basins are not configured").Because(err)
	}
	answer := &api.Readiness{Status: api.OK, Version: c.Config.Version, Components: []api.Component{{Name: api.StoreComponent, Status: api.OK}}}
	add := func(name api.ComponentName, reason string) {
		part := api.Component{Name: name, Status: api.OK, Reason: reason}
		if reason != "" {
			part.Status, answer.Status = api.Degraded, api.Degraded
		}
		answer.Components = append(answer.Components, part)
	}
	if !c.Keys.Empty() {
		add(api.SigningComponent, unsigned(c.Keys.Unready(signed.ES256, c.Now())))
	}
	if clock, ok := c.Store.(stream.Clock); ok {
		add(api.ClockComponent, apart(clock.Ahead()))
	}
	return answer, nil
}

// unsigned says why chats can't be written to, or "".
func unsigned(err error) string {
	if err == nil {
		return ""
	}
	return "nothing is written to signed chats: " + err.Error()
}

// apart says how far this machine's clock is from the store's, or "" if that is near enough.
func apart(ahead time.Duration) string {
	if ahead.Abs() <= signed.MaxSkew {
		return ""
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	return fmt.Sprintf("this server's clock is %v %s the store's: what it signs does not verify", ahead.Abs().Round(time.Second), way)
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
