package s2stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
)

// An effect is what a call does to the store, which decides what a failure of it means.
type effect bool

const (
	reads  effect = false
	writes effect = true
)

const (
	maxTries    = 6
	retryBudget = 2 * time.Second // after which nothing is tried again: the last try needs time, too
)

// delays returns the pauses between tries: growing, jittered, capped. With the
// longest of them maxTries fit into retryBudget.
func delays() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = 40*time.Millisecond, 2, time.Second
	return b
}

// call runs op within the store's bound and returns its result, or an error of
// package stream. It tries again what may be tried again; a write only if the
// failure was definite.
func call[T any](ctx context.Context, s *Store, e effect, what string, op func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var failure error
	v, err := backoff.Retry(bounded, func() (T, error) {
		// Until a connection was got no byte can have been sent.
		var sent atomic.Bool
		v, err := op(httptrace.WithClientTrace(bounded, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}))
		if err == nil {
			return v, nil
		}
		var again bool
		failure, again = judge(err, e, sent.Load())
		if !again {
			return v, backoff.Permanent(failure)
		}
		return v, failure
	}, backoff.WithBackOff(delays()), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(min(retryBudget, s.o.Timeout)))
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil: // the caller's end, not our bound
		return v, fmt.Errorf("%s: %w: %w", what, failure, ctx.Err())
	default:
		return v, fmt.Errorf("%s: %w", what, failure)
	}
}

// judge returns the error of package stream that err is, and whether the call may
// be made again. Causes are kept as text only: the end of our own bound must not
// pass for the end of the caller's context.
func judge(err error, e effect, sent bool) (_ error, again bool) {
	var (
		seq   *s2.SeqNumMismatchError
		fence *s2.FencingTokenMismatchError
		api   *s2.S2Error
	)
	switch {
	case errors.As(err, &seq):
		return &stream.PositionError{Tail: seq.ExpectedSeqNum}, false
	case errors.As(err, &fence):
		return &stream.FencedError{Token: fence.ExpectedFencingToken}, false
	case errors.As(err, &api):
		if again, definite, kind := answer(api); definite {
			return fmt.Errorf("%w: %s", kind, err.Error()), again
		}
	case !sent:
		return fmt.Errorf("%w: %s", stream.ErrUnavailable, err.Error()), true
	}
	if e == writes {
		return fmt.Errorf("%w: %s", stream.ErrUnknown, err.Error()), false
	}
	return fmt.Errorf("%w: %s", stream.ErrUnavailable, err.Error()), true
}

// errDeleting says that a stream is being deleted: unavailable, and it will not come back.
var errDeleting = fmt.Errorf("%w: being deleted", stream.ErrUnavailable)

// answer returns what an error that S2 answered with means. definite is false
// where the request may have been carried out, or may still be.
func answer(e *s2.S2Error) (again, definite bool, kind error) {
	switch e.Status {
	case 0: // the SDK's own validation
		return false, e.Origin == "sdk", stream.ErrInvalid
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		// S2 gives a code. Without one it is a proxy's, and says nothing about the request.
		if e.Code == "" {
			return false, true, stream.ErrUnavailable
		}
		return false, true, stream.ErrInvalid
	case http.StatusRequestEntityTooLarge: // whoever says it, it will not become smaller
		return false, true, stream.ErrInvalid
	case http.StatusNotFound:
		// A missing basin, or a proxy's 404, says nothing about the stream.
		if e.Code == "stream_not_found" {
			return false, true, stream.ErrNotFound
		}
		return false, true, stream.ErrUnavailable
	case http.StatusConflict:
		switch e.Code {
		case "resource_already_exists":
			return false, true, stream.ErrExists
		case "stream_deletion_pending":
			return false, true, errDeleting
		}
		return e.Code == "transaction_conflict", true, stream.ErrUnavailable
	case http.StatusTooManyRequests:
		return true, true, stream.ErrUnavailable
	case http.StatusBadGateway:
		return true, e.Code == "hot_server", stream.ErrUnavailable
	case http.StatusRequestTimeout, 499: // somebody gave up waiting for it
		return false, false, nil
	}
	return false, e.Status >= 400 && e.Status < 500, stream.ErrUnavailable
}
