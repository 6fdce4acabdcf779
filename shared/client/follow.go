package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/sse"
)

const (
	maxEvent = 8 << 20          // bytes of one event; a record is at most 1 MiB, and base64 and escapes add to it
	maxPause = 10 * time.Minute // whatever a server asks for
	healthy  = 10 * time.Second // a connection that lasted this long ends a row of failures
)

// A State is what became of a Follow's connection.
type State struct {
	Connected bool
	Cursor    *uint64       // where it is, or will be, resumed; nil: where the request said
	Err       error         // why it is not connected
	Pause     time.Duration // until it is tried again
}

// Errors of a live stream that is resumed.
var (
	errEnded = errors.New("the server ended the stream")
	errLeft  = errors.New("the reader left")
)

// Follow yields the deliveries from req.Cursor on and then what comes, each once
// and in order, until ctx ends or the caller breaks. It resumes by itself behind
// the last event that was complete: after a cut, a clean end, 45 seconds without
// a byte (three heartbeats), and an answer that a repeat may better, such as 429
// and 503. Pauses grow with jitter, are never shorter than the server's retry or
// Retry-After asks for, and begin again small once something came.
//
// It ends with an error, yielded once: the *Error of a refusal that would come
// again (400, 401, 403, 404, 410, 416 and the like), what it can't read, or ctx's.
// onState, if it is not nil, is called from the goroutine that ranges.
func (c *Client) Follow(ctx context.Context, req api.InboxRequest, onState func(State)) iter.Seq2[api.Delivery, error] {
	if req.LastEventID != nil && (req.Cursor == nil || *req.Cursor < *req.LastEventID) {
		req.Cursor = req.LastEventID
	}
	follow := true
	req.Follow, req.LastEventID, req.Limit, req.Wait = &follow, nil, nil, nil
	if onState == nil {
		onState = func(State) {}
	}
	return func(yield func(api.Delivery, error) bool) {
		f := &follower{client: c, req: req, onState: onState, yield: yield, waits: backoff.NewExponentialBackOff()}
		f.waits.InitialInterval, f.waits.Multiplier, f.waits.MaxInterval = 400*time.Millisecond, 2, 20*time.Second
		if err := f.run(ctx); !errors.Is(err, errLeft) {
			yield(api.Delivery{}, err)
		}
	}
}

type follower struct {
	client  *Client
	req     api.InboxRequest // its Cursor moves behind every event that was complete
	onState func(State)
	yield   func(api.Delivery, error) bool
	waits   *backoff.ExponentialBackOff
	retry   time.Duration // what the stream's last retry field asked for
}

// run connects again and again; it never returns nil.
func (f *follower) run(ctx context.Context) error {
	for {
		began := time.Now()
		err := f.connect(ctx)
		switch {
		case errors.Is(err, errLeft) || !resumable(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(began) > healthy:
			f.waits.Reset()
		}
		pause := f.pause(err)
		f.onState(State{Cursor: f.req.Cursor, Err: err, Pause: pause})
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

func (f *follower) pause(err error) time.Duration {
	floor := f.retry
	if e, ok := errors.AsType[*Error](err); ok {
		floor = max(floor, e.RetryAfter)
	}
	// Jitter on top of what was asked for, or all that were sent away together come back together.
	floor = min(floor, maxPause) + rand.N(min(floor, maxPause)/4+time.Millisecond)
	return max(f.waits.NextBackOff(), floor)
}

// connect follows over one connection until it ends; it never returns nil.
func (f *follower) connect(ctx context.Context) error {
	r, err := newRequest("inbox.read", &f.req)
	if err != nil {
		return err
	}
	r.header.Set("Accept", "text/event-stream")
	r.header.Set("Accept-Encoding", "identity") // a compressor would hold events back
	res, err := f.client.open(ctx, r)
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
	f.onState(State{Connected: true, Cursor: f.req.Cursor})
	for e, err := range sse.Read(res.Body, maxEvent) {
		if err == nil {
			err = f.event(r, e)
		}
		if err != nil {
			return f.ended(r, err)
		}
	}
	return f.ended(r, errEnded)
}

// ended says of a connection's end whether it is one of the connection only.
func (f *follower) ended(r request, err error) error {
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

// errForeign is of an event that is none of ours: a repeat would bring it again.
var errForeign = errors.New("an event that is no delivery")

// event handles one event. The cursor moves before the delivery is handed over,
// and not at all for what is no delivery.
func (f *follower) event(r request, e sse.Event) error {
	if e.Retry > 0 {
		f.retry = time.Duration(e.Retry) * time.Millisecond
	}
	switch e.Name {
	case "problem":
		p := &Error{Op: r.op}
		if err := json.Unmarshal(e.Data, &p.Problem); err != nil {
			return errEnded // it said that it failed, and no more
		}
		p.Status = p.Problem.Status
		return p
	case "envelope", "":
	default:
		return nil // of a later version
	}
	if len(e.Data) == 0 {
		return nil
	}
	d, next, err := delivery(e)
	if err != nil {
		return fmt.Errorf("%w: event %q: %w", errForeign, e.ID, err)
	}
	if f.req.Cursor != nil && next <= *f.req.Cursor {
		return nil // seen before the cut
	}
	f.req.Cursor = &next
	f.waits.Reset()
	if !f.yield(d, nil) {
		return errLeft
	}
	return nil
}

// delivery returns what an envelope event holds, and the position to resume at:
// its id, or behind its record, whichever is later, as an event without an id has
// that of the one before.
func delivery(e sse.Event) (d api.Delivery, next uint64, err error) {
	var in struct {
		SeqNum *uint64 `json:"seq_num"`
		api.Delivery
	}
	if err := json.Unmarshal(e.Data, &in); err != nil {
		return d, 0, err
	}
	id, err := strconv.ParseUint(e.ID, 10, 64)
	if err != nil {
		id = 0
	}
	switch {
	case in.SeqNum != nil && *in.SeqNum < math.MaxUint64:
		in.Delivery.SeqNum = *in.SeqNum
	case in.SeqNum == nil && id > 0:
		in.Delivery.SeqNum = id - 1
	default:
		return d, 0, errors.New("no position in it")
	}
	return in.Delivery, max(id, in.Delivery.SeqNum+1), nil
}
