package serve

import (
	"context"
	"errors"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
)

// lastWord is how long what a call was reading has to say why it ends, before the
// end of the credential does: an inbox tells of its deletion itself, behind its
// last message.
const lastWord = 250 * time.Millisecond

// guard returns a context that ends, with the refusal as its cause, within 5 s of
// the moment from which c's credential opens nothing any more. stop frees it.
func (c *call) guard(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if c.by.Kind != auth.Agent {
		return ctx, func() { cancel(nil) }
	}
	idle := make(chan *time.Timer, 1) // holds the timer unless a look is under way
	look := func() {
		timer := <-idle
		defer func() { idle <- timer }()
		if ctx.Err() != nil {
			return
		}
		refusal := c.env.Auth.Still(ctx, c.by)
		if refusal == nil {
			timer.Reset(auth.LookEvery)
			return
		}
		select {
		case <-time.After(lastWord):
			cancel(refusal)
		case <-ctx.Done():
		}
	}
	idle <- time.AfterFunc(auth.LookEvery, look)
	return ctx, func() {
		cancel(nil)
		timer := <-idle // no look is under way, and none that begins looks at anything
		timer.Stop()
		idle <- timer
	}
}

// refused returns why the context of a guard ended, if that was the credential.
func refused(ctx context.Context) error {
	if e, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		return e
	}
	return nil
}
