package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"mime"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"agentchat/shared/sse"
)

const (
	maxEvent = 8 << 20          // bytes of one event; a record is at most 1 MiB, and base64 and escapes add to it
	maxPause = 10 * time.Minute // whatever a server asks for
	healthy  = 10 * time.Second // a connection that lasted this long ends a row of failures
)

// A State is what became of the connection of a live stream.
type State struct {
	Connected bool
	Cursor    string        // where it is, or will be, resumed, as it stands on the wire; "": where the request said
	Err       error         // why it is not connected
	Pause     time.Duration // until it is tried again
}

// Errors of a live stream that is resumed.
var (
	errEnded = errors.New("the server ended the stream")
	errLeft  = errors.New("the reader left")
)

// errForeign is of an event that is none of ours: a repeat would bring it again.
var errForeign = errors.New("an event that is no delivery")

// A source is what a live stream brings, and how far it has come.
type source interface {
	// request returns the call that goes on where the source has come to.
	request() (request, error)
	// cursor returns that place as it stands on the wire; "" before there is one.
	cursor() string
	// event takes an event that has data and is no problem. The source moves
	// before what it brings is handed over, and not at all for what is nothing
	// new, which is false. The error is errLeft if whoever it was handed to has
	// enough; any other is of an event that can't be read.
	event(e sse.Event) (news bool, err error)
}

// A live stream goes over one connection after the other.
type live struct {
	source
	client  *Client
	onState func(State)
	waits   *backoff.ExponentialBackOff
	retry   time.Duration // what the stream's last retry field asked for
}

// follow yields what the source of of(yield) brings, until it ends with an error, yielded last.
func follow[D any](ctx context.Context, c *Client, onState func(State), of func(yield func(D, error) bool) source) iter.Seq2[D, error] {
	if onState == nil {
		onState = func(State) {}
	}
	return func(yield func(D, error) bool) {
		l := &live{source: of(yield), client: c, onState: onState, waits: backoff.NewExponentialBackOff()}
		l.waits.InitialInterval, l.waits.Multiplier, l.waits.MaxInterval = 400*time.Millisecond, 2, 20*time.Second
		if err := l.run(ctx); !errors.Is(err, errLeft) {
			var none D
			yield(none, err)
		}
	}
}

// run connects again and again; it never returns nil.
func (l *live) run(ctx context.Context) error {
	for {
		began := time.Now()
		err := l.connect(ctx)
		switch {
		case errors.Is(err, errLeft) || !resumable(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(began) > healthy:
			l.waits.Reset()
		}
		pause := l.pause(err)
		l.onState(State{Cursor: l.cursor(), Err: err, Pause: pause})
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// resumable reports whether err is worth another connection.
func resumable(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return !e.Permanent()
	}
	_, unanswered := errors.AsType[*ConnError](err)
	return unanswered
}

func (l *live) pause(err error) time.Duration {
	floor := l.retry
	if e, ok := errors.AsType[*Error](err); ok {
		floor = max(floor, e.RetryAfter)
	}
	// Jitter on top of what was asked for, or all that were sent away together come back together.
	floor = min(floor, maxPause) + rand.N(min(floor, maxPause)/4+time.Millisecond)
	return max(l.waits.NextBackOff(), floor)
}

// connect follows over one connection until it ends; it never returns nil.
func (l *live) connect(ctx context.Context) error {
	r, err := l.request()
	if err != nil {
		return err
	}
	r.header.Set("Accept", "text/event-stream")
	r.header.Set("Accept-Encoding", "identity") // a compressor would hold events back
	res, err := l.client.open(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errorOf(r, res)
	}
	if t, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || t != "text/event-stream" {
		return fmt.Errorf("%s: the answer is %q, not an event stream; is this the right URL?", r.op, res.Header.Get("Content-Type"))
	}
	l.onState(State{Connected: true, Cursor: l.cursor()})
	for e, err := range sse.Read(res.Body, maxEvent) {
		if err == nil {
			err = l.take(r, e)
		}
		if err != nil {
			return ended(r, err)
		}
	}
	return ended(r, errEnded)
}

// take handles one event.
func (l *live) take(r request, e sse.Event) error {
	if e.Retry > 0 {
		l.retry = time.Duration(e.Retry) * time.Millisecond
	}
	if e.Name == "problem" {
		p := &Error{Op: r.op}
		if err := json.Unmarshal(e.Data, &p.Problem); err != nil {
			return errEnded // it said that it failed, and no more
		}
		p.Status = p.Problem.Status
		return p
	}
	if len(e.Data) == 0 {
		return nil
	}
	news, err := l.event(e)
	if news {
		l.waits.Reset()
	}
	if err != nil && !errors.Is(err, errLeft) {
		return fmt.Errorf("%w: event %q: %w", errForeign, e.ID, err)
	}
	return err
}

// ended says of a connection's end whether it is one of the connection only.
func ended(r request, err error) error {
	switch {
	case errors.Is(err, errLeft), errors.Is(err, sse.ErrTooLarge), errors.Is(err, errForeign):
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = errEnded
	}
	return &ConnError{Op: r.op, Sent: true, Err: err}
}
