// Package lambdahost runs a family's http.Handler as an AWS Lambda function
// behind a function URL. It is the only importer of aws-lambda-go and of
// aws-lambda-go-api-proxy, whose faults it corrects, so that a handler answers
// as it does behind net/http.
//
// One binary serves both invoke modes of a function URL. AGENT_CHAT_INVOKE_MODE
// says which: RESPONSE_STREAM, where bytes leave as the handler flushes them, or
// BUFFERED (the default), where the answer is one JSON document.
package lambdahost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/serve"
)

// margin is what a handler leaves of an invocation's time, so that its answer
// can still be delivered: Lambda kills the sandbox at the deadline itself.
const margin = 500 * time.Millisecond

// Start serves a family by the handler that newHandler makes, for ever. The configuration
// comes from the environment, where a variable NAME may be replaced by
// NAME_SECRET, the ARN of a secret in Secrets Manager: see Secrets. It is read
// at the first invocation, not before, so that a broken one is an answer and a
// line in the log rather than a function that never starts.
func Start(family string, newHandler func(*env.Env) http.Handler) {
	log := lambdacontext.NewLogger()
	secrets := &Secrets{Family: family, Getenv: os.Getenv, New: newHandler, Log: log}
	h := &Host{Mode: ModeOf(os.Getenv("AGENT_CHAT_INVOKE_MODE")), Handler: secrets.Handler, Log: log}
	lambda.StartWithOptions(h.Invoke)
}

// A Mode is how a function URL takes answers.
type Mode int

// The modes.
const (
	Buffered Mode = iota
	Stream
)

// ModeOf returns the mode that a function URL's InvokeMode asks for.
func ModeOf(invokeMode string) Mode {
	if invokeMode == "RESPONSE_STREAM" {
		return Stream
	}
	return Buffered
}

// A Host answers the events of a function URL with a handler. One Host may
// answer several events at once.
type Host struct {
	Mode    Mode
	Handler func(context.Context) (http.Handler, error) // the one to answer with, now
	Log     *slog.Logger
}

// Invoke answers one event of payload version 2.0: what it returns is for
// aws-lambda-go. An event that is none (a console test, a warmer, another
// version) gets one 400, and a server without its configuration one 503. The
// sandbox outlives whatever the handler does.
func (h *Host) Invoke(ctx context.Context, event json.RawMessage) (any, error) {
	ctx, cancel := withMargin(ctx)
	r, err := Request(ctx, event)
	if err != nil {
		err = api.Errorf(api.Invalid, "this is no request of a function URL (payload version 2.0): %v", err)
		return h.serve(cancel, serve.Refusal(h.Log, err), placeholder(ctx)) //nolint:contextcheck // the request carries it
	}
	handler, err := h.Handler(ctx)
	if err != nil {
		err = api.Errorf(api.Unavailable, "the server is not configured, or can't read its secrets; its log says why").Because(err)
		handler = serve.Refusal(h.Log, err)
	}
	return h.serve(cancel, handler, r) //nolint:contextcheck // the request carries it
}

func (h *Host) serve(cancel context.CancelFunc, handler http.Handler, r *http.Request) (any, error) {
	if h.Mode == Stream {
		return h.stream(cancel, handler, r), nil
	}
	defer cancel()
	return h.buffer(handler, r)
}

// guard runs handler; an error tells of a panic.
func guard(handler http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler: // compared as net/http does; whoever panics with it has logged why
			err = errors.New("the handler gave its answer up")
		default:
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	handler.ServeHTTP(w, r)
	return nil
}

// withMargin ends ctx a little before the invocation's deadline.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-margin))
	}
	return context.WithCancel(ctx)
}
