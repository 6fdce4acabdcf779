package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/sse"
)

// Monitor returns a page over many inboxes. The client's token is an admin token.
func (c *Client) Monitor(ctx context.Context, req api.MonitorRequest) (*api.MonitorPage, error) {
	req = monitorFrom(req)
	return do[api.MonitorPage](ctx, c, "monitor.read", &req, true)
}

// MonitorPages yields page after page from req.Cursor on, up to where the inboxes
// ended when it began; what comes meanwhile may be among it. It ends after the
// first error. Behind a page one resumes at its NextCursor, behind a delivery at
// its Cursor.
func (c *Client) MonitorPages(ctx context.Context, req api.MonitorRequest) iter.Seq2[*api.MonitorPage, error] {
	return func(yield func(*api.MonitorPage, error) bool) {
		req := monitorFrom(req)
		var first map[ident.Agent]uint64 // the tails of the first page
		for {
			page, err := c.Monitor(ctx, req)
			if err != nil {
				yield(nil, err)
				return
			}
			if first == nil {
				first = page.Tails
			}
			if !yield(page, nil) || page.NextCursor == req.Cursor || allLater(page.Deliveries, first) {
				return
			}
			req.Cursor = page.NextCursor
		}
	}
}

// allLater reports whether ds, in the order of their timestamps, are all behind
// the tails: then so is whatever follows them.
func allLater(ds []api.MonitorDelivery, tails map[ident.Agent]uint64) bool {
	for _, d := range ds {
		if d.SeqNum < tails[d.Inbox] {
			return false
		}
	}
	return len(ds) > 0
}

// monitorFrom returns req with the one cursor that it begins at, and as a page.
func monitorFrom(req api.MonitorRequest) api.MonitorRequest {
	req.Cursor = cmp.Or(req.Cursor, req.LastEventID)
	req.Follow, req.LastEventID = nil, ""
	return req
}

// A MonitorEvent is what a follower of the monitor gets: one of its members is set.
type MonitorEvent struct {
	Delivery    *api.MonitorDelivery  `json:"delivery,omitempty"`
	Gap         *api.GapEvent         `json:"gap,omitempty"`         // records of an inbox that can't be read any more
	Unavailable *api.UnavailableEvent `json:"unavailable,omitempty"` // an inbox that can't be read for now: what it holds comes when it can
}

// FollowMonitor yields what is behind req.Cursor in all inboxes and then what
// comes: the deliveries of an inbox each once and in order, gaps where an inbox
// has lost records. It resumes and ends as Follow does. Unlike a position, a
// cursor may expire while nothing is followed: 410 cursor_expired ends it.
func (c *Client) FollowMonitor(ctx context.Context, req api.MonitorRequest, onState func(State)) iter.Seq2[MonitorEvent, error] {
	on := true
	req = monitorFrom(req)
	req.Follow, req.Limit = &on, nil
	return follow(ctx, c, onState, func(yield func(MonitorEvent, error) bool) source {
		return &monitorSource{req: req, yield: yield, seen: map[ident.Agent]uint64{}}
	})
}

type monitorSource struct {
	req   api.MonitorRequest // its Cursor moves behind every event that was complete
	yield func(MonitorEvent, error) bool
	seen  map[ident.Agent]uint64 // the position behind the last delivery of each inbox
}

func (s *monitorSource) request() (request, error) { return newRequest("monitor.read", &s.req) }

func (s *monitorSource) cursor() string { return s.req.Cursor }

func (s *monitorSource) event(e sse.Event) (news bool, err error) {
	var got MonitorEvent
	switch e.Name {
	case "envelope", "":
		var d struct {
			SeqNum *uint64 `json:"seq_num"`
			api.MonitorDelivery
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return false, err
		}
		cursor := cmp.Or(d.Cursor, e.ID)
		if d.SeqNum == nil || d.Inbox == "" || cursor == "" {
			return false, errors.New("no inbox, position or cursor in it")
		}
		d.Delivery.SeqNum, d.Cursor = *d.SeqNum, cursor
		if *d.SeqNum < s.seen[d.Inbox] {
			return false, nil // before the cut
		}
		s.seen[d.Inbox] = *d.SeqNum + 1
		s.req.Cursor = cursor
		got.Delivery = &d.MonitorDelivery
	case "gap":
		err = json.Unmarshal(e.Data, &got.Gap)
	case "unavailable":
		err = json.Unmarshal(e.Data, &got.Unavailable)
	default:
		return false, nil // of a later version
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", e.Name, err)
	}
	if !s.yield(got, nil) {
		return true, errLeft
	}
	return got.Delivery != nil, nil // a gap may be told over and over
}
