package client

import (
	"context"
	"errors"
	"iter"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/sse"
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
	on := true
	req.Follow, req.LastEventID, req.Limit, req.Wait = &on, nil, nil, nil
	return follow(ctx, c, onState, func(yield func(api.Delivery, error) bool) source {
		return &inboxSource{req: req, yield: yield}
	})
}

type inboxSource struct {
	req   api.InboxRequest // its Cursor moves behind every event that was complete
	yield func(api.Delivery, error) bool
}

func (s *inboxSource) request() (request, error) { return newRequest("inbox.read", &s.req) }

func (s *inboxSource) cursor() string {
	if s.req.Cursor == nil {
		return ""
	}
	return strconv.FormatUint(*s.req.Cursor, 10)
}

func (s *inboxSource) event(e sse.Event) (news bool, err error) {
	if e.Name != "envelope" && e.Name != "" {
		return false, nil // of a later version
	}
	d, next, err := delivery(e)
	if err != nil || s.req.Cursor != nil && next <= *s.req.Cursor { // seen before the cut
		return false, err
	}
	s.req.Cursor = &next
	if !s.yield(d, nil) {
		return true, errLeft
	}
	return true, nil
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
