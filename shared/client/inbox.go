package client

import (
	"context"
	"iter"
	"time"

	"agentchat/shared/api"
)

// Inbox returns a page of an inbox. With req.Wait the server waits for something
// to come.
func (c *Client) Inbox(ctx context.Context, req api.InboxRequest) (*api.InboxPage, error) {
	req.Follow, req.LastEventID = nil, nil
	r, err := newRequest("inbox.read", &req)
	if err != nil {
		return nil, err
	}
	if req.Wait != nil {
		r.wait = time.Duration(*req.Wait) * time.Second
	}
	answer, _, err := run[api.InboxPage](ctx, c, r, true)
	return answer, err
}

// Replay yields the deliveries from req.Cursor on, page after page, up to the
// tail. It ends after the first error. Behind a delivery one resumes at its
// SeqNum + 1.
func (c *Client) Replay(ctx context.Context, req api.InboxRequest) iter.Seq2[api.Delivery, error] {
	req.Wait = nil
	return func(yield func(api.Delivery, error) bool) {
		for {
			page, err := c.Inbox(ctx, req)
			if err != nil {
				yield(api.Delivery{}, err)
				return
			}
			for _, d := range page.Deliveries {
				if !yield(d, nil) {
					return
				}
			}
			// A page that does not move would be asked for again and again.
			if page.NextCursor >= page.Tail || req.Cursor != nil && page.NextCursor <= *req.Cursor {
				return
			}
			req.Cursor = &page.NextCursor
		}
	}
}
