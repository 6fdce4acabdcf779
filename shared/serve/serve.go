// Package serve turns typed functions into an http.Handler: it is the seam in
// which everything that all operations have in common happens once.
package serve

import (
	"context"
	"iter"
	"net/http"

	"agentchat/shared/auth"
	"agentchat/shared/env"
	"agentchat/shared/sse"
)

// An Op is one operation, ready to be put into a Mux.
type Op struct{}

// Mux returns the handler of a family. It panics on a missing or an extra op.
func Mux(e *env.Env, family string, ops map[string]Op) http.Handler { panic("unwritten") }

// All returns the handler of a host that serves several families.
func All(e *env.Env, families map[string]http.Handler) http.Handler { panic("unwritten") }

// Unary is an operation that answers with one JSON value: nil is 204. An answer
// may say Status() (int, http.Header), and may have AppendJSON([]byte) []byte,
// which is then used in place of strictjson.
func Unary[Q, R any](f func(context.Context, auth.Caller, *Q) (*R, error)) Op { panic("unwritten") }

// Events is an operation that answers a page as JSON, or follows over SSE. follow
// yields batches of events, an empty one for a heartbeat; its first batch, or
// error, is awaited before the status line.
func Events[Q, R any](
	page func(context.Context, auth.Caller, *Q) (*R, error),
	follow func(context.Context, auth.Caller, *Q) iter.Seq2[[]sse.Event, error],
) Op {
	panic("unwritten")
}
