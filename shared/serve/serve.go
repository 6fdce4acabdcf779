// Package serve turns typed functions into an http.Handler: it is the seam in
// which everything that all operations have in common happens once.
//
// A request passes, in this order: request id, access log and recovery; CORS;
// the route (404, 405); the credential (401) and what it may do (403), before a
// byte of the body is read and before anything about the target is looked up;
// path, query and header values, then the body (400, 413, 415); the operation.
// Whatever ends it is one JSON value, one problem document, or a stream.
package serve

import (
	"context"
	"iter"
	"reflect"

	"agentchat/shared/auth"
	"agentchat/shared/deadline"
	"agentchat/shared/sse"
)

// An Op is one operation, ready to be put into a Mux.
type Op struct {
	request reflect.Type
	events  bool
	run     func(context.Context, *call) error
}

// Unary is an operation that answers with one JSON value: nil is 204. An answer
// may say Status() (int, http.Header), and may have AppendJSON([]byte) []byte,
// which is then used in place of strictjson; both may be on R or on *R.
//
// f's request has been bound from path, query, header and body, each value of
// its type, but not checked across fields. Its context ends when the caller
// leaves, and after 28 s at the latest.
//
// An error that is no *api.Error is told to the caller as internal, or, if it
// wraps an error of package stream or of a context that ended, as what that
// means for the operation; the log has it whole.
func Unary[Q, R any](f func(context.Context, auth.Caller, *Q) (*R, error)) Op {
	return Op{request: reflect.TypeFor[Q](), run: func(ctx context.Context, c *call) error {
		q := new(Q)
		if err := c.decode(q); err != nil {
			return err
		}
		return answer(ctx, c, q, f)
	}}
}

// Events is an operation that answers a page as JSON, or follows over SSE if
// the request says follow=true or accepts text/event-stream and does not say
// follow=false. page is as of Unary, and nil if the route has no Resp: it then
// always follows.
//
// follow yields batches of events, the first as soon as it knows that it can
// follow at all, empty if there is nothing yet. An error in place of the first
// batch is answered with its status; a later one is an event "problem", and the
// end. It may reuse a batch once yield has returned. Heartbeats are made here;
// an empty batch writes nothing. The context ends when the caller leaves or the
// stream has to end, and follow must then return.
//
// Both may take long, so both end within 5 s of the end of the caller's
// credential, with the refusal that a new call gets.
func Events[Q, R any](
	page func(context.Context, auth.Caller, *Q) (*R, error),
	follow func(context.Context, auth.Caller, *Q) iter.Seq2[[]sse.Event, error],
) Op {
	return Op{request: reflect.TypeFor[Q](), events: true, run: func(ctx context.Context, c *call) error {
		q := new(Q)
		if err := c.decode(q); err != nil {
			return err
		}
		if c.endpoint.route.Resp != nil && !c.wantsStream() {
			return answer(ctx, c, q, guarded(c, page))
		}
		return c.stream(ctx, func(ctx context.Context) iter.Seq2[[]sse.Event, error] { return follow(ctx, c.by, q) })
	}}
}

func answer[Q, R any](ctx context.Context, c *call, q *Q, f func(context.Context, auth.Caller, *Q) (*R, error)) error {
	ctx, cancel := deadline.Within(ctx, requestTime)
	defer cancel()
	r, err := f(ctx, c.by, q)
	if err != nil {
		return err
	}
	if r == nil {
		return c.noContent()
	}
	return c.answer(r)
}

// guarded is page, as long as the credential of its caller opens something: it
// may wait for longer than a revoked key lives.
func guarded[Q, R any](c *call, page func(context.Context, auth.Caller, *Q) (*R, error)) func(context.Context, auth.Caller, *Q) (*R, error) {
	return func(ctx context.Context, by auth.Caller, q *Q) (*R, error) {
		ctx, stop := c.guard(ctx)
		defer stop()
		r, err := page(ctx, by, q)
		if refusal := refused(ctx); refusal != nil {
			return nil, refusal
		}
		return r, err
	}
}
