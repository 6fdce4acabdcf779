package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"reflect"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"agentchat/shared/route"
	"agentchat/shared/strictjson"
)

// A reply is what is left of an answer when its body has been read.
type reply struct {
	status int
	header http.Header
}

// budget bounds the repeats of one call, Retry-After included.
const budget = 30 * time.Second

// newRequest returns the call of op with req: the table says where each field
// of it travels.
func newRequest(op string, req any) (request, error) {
	rt := route.Of(op)
	r := request{op: op, method: rt.Method, target: rt.Path, header: http.Header{}}
	r.header.Set("Accept", "application/json")
	if req == nil {
		return r, nil
	}
	target, err := rt.Target(req)
	if err != nil {
		return request{}, err
	}
	r.target = target
	for f, v := range route.Fields(req) {
		if f.In == route.InHeader && v != "" {
			r.header.Set(f.Name, v)
		}
	}
	if route.HasBody(reflect.TypeOf(req)) {
		if r.body, err = strictjson.Append(nil, req); err != nil {
			return request{}, fmt.Errorf("%s: encode the request: %w", op, err)
		}
	}
	return r, nil
}

// do calls op and decodes its answer, which is nil if it has none. A failure that
// proves that nothing was done is repeated; one that leaves the outcome open only
// if again says that a repeat is harmless.
func do[R any](ctx context.Context, c *Client, op string, req any, again bool) (*R, error) {
	answer, _, err := call[R](ctx, c, op, req, again)
	return answer, err
}

// call is do, and tells the reply too.
func call[R any](ctx context.Context, c *Client, op string, req any, again bool) (*R, reply, error) {
	r, err := newRequest(op, req)
	if err != nil {
		return nil, reply{}, err
	}
	return run[R](ctx, c, r, again)
}

// run is call for a request that is made already.
func run[R any](ctx context.Context, c *Client, r request, again bool) (*R, reply, error) {
	var answer *R
	res, err := c.repeat(ctx, func() (reply, error) {
		var res reply
		var err error
		answer, res, err = once[R](ctx, c, r)
		return res, err
	}, func(err error) bool { return again && errors.Is(err, ErrUnknown) || !r.writes() })
	if err != nil {
		return nil, res, err
	}
	return answer, res, nil
}

// repeat runs attempt until it succeeds, fails for good, or the budget is spent.
// Failures that are open in their outcome are repeated if harmless says so; the
// outcome is open, then, until an attempt is answered that decides it.
func (c *Client) repeat(ctx context.Context, attempt func() (reply, error), harmless func(error) bool) (reply, error) {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.Multiplier, waits.MaxInterval = 200*time.Millisecond, 2, 5*time.Second
	var last, open error
	res, err := backoff.Retry(ctx, func() (reply, error) {
		res, err := attempt()
		last = err
		if errors.Is(err, ErrUnknown) {
			open = err
		}
		switch {
		case err == nil:
			return res, nil
		case !repeatable(err, harmless):
			return res, backoff.Permanent(err)
		}
		if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
			// Not all that were sent away together come back together.
			return res, &backoff.RetryAfterError{Duration: e.RetryAfter + rand.N(e.RetryAfter/10+time.Millisecond)}
		}
		return res, err
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(uint(c.tries)), backoff.WithMaxElapsedTime(budget)) // tries is positive
	if err == nil {
		return res, nil
	}
	if open != nil && !errors.Is(last, ErrUnknown) && !decides(last) {
		last = fmt.Errorf("%w; an attempt before it may have been carried out: %w", last, open)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(last, cause) {
		return res, fmt.Errorf("%w (%w)", last, cause)
	}
	return res, last
}

// decides reports whether err, of a repeat, says that nothing came of the attempts
// before it either: it is a refusal for what the request is, or for what is stored.
// Who asks, and whether the server can be reached, may have changed in between.
func decides(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Permanent() && e.Problem.Code != "" &&
		e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden
}

// repeatable reports whether the call that ended with err may be made again.
func repeatable(err error, harmless func(error) bool) bool {
	if e, ok := errors.AsType[*ConnError](err); ok {
		return !e.Sent || harmless(err)
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || e.Permanent():
		return false
	case e.Status == http.StatusTooManyRequests:
		return true
	case errors.Is(err, ErrUnknown):
		return harmless(err)
	case e.Problem.Code != "":
		return e.Problem.Trait().Retry
	}
	return harmless(err)
}

// once makes one attempt.
func once[R any](ctx context.Context, c *Client, r request) (*R, reply, error) {
	res, err := c.open(ctx, r)
	if err != nil {
		return nil, reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	got := reply{res.StatusCode, res.Header}
	if res.StatusCode/100 != 2 {
		return nil, got, errorOf(r, res)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, got, &ConnError{Op: r.op, Sent: true, Write: r.writes(), Err: fmt.Errorf("read the answer: %w", err)}
	}
	if route.Of(r.op).Resp == nil {
		return nil, got, nil
	}
	answer := new(R)
	if len(b) > maxAnswer {
		err = fmt.Errorf("longer than %d bytes", maxAnswer)
	} else {
		err = json.Unmarshal(b, answer)
	}
	switch {
	case err != nil && r.writes():
		return nil, got, fmt.Errorf("%s: %w: the answer is none of agent-chat's; is this the right URL? %w", r.op, ErrUnknown, err)
	case err != nil:
		return nil, got, fmt.Errorf("%s: the answer is none of agent-chat's; is this the right URL? %w", r.op, err)
	}
	return answer, got, nil
}

// pages yields the items of the page at a cursor, then of the next one, up to the
// page that has none. It ends after the first error.
func pages[T, C any](from C, page func(C) (items []T, next *C, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := &from; next != nil; {
			items, after, err := page(*next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			next = after
		}
	}
}
