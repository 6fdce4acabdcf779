package chatlog

import (
	"context"
	"errors"
	"iter"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A Query selects what is read of a transcript.
type Query struct {
	Cursor  api.ChatCursor // "": the beginning
	Limit   int            // items a page; 0: api.DefaultPageItems. Of Transcript only
	Include []signed.Type  // shown besides messages
}

// shows reports whether it is an item of the transcript.
func (q *Query) shows(it item) bool {
	return it.Type == signed.TypeMessage || slices.Contains(q.Include, it.Type)
}

// Transcript returns a page of what both parties wrote, by timestamp, participant
// and position. Without a cursor, or with a live one, it begins a snapshot: the ends
// of both directions, beyond which no page of it goes, so that the same pages come
// again however much is written. It reads only, and acknowledges nothing.
func (l *Log) Transcript(ctx context.Context, id ident.Chat, by Actor, q Query) (*api.TranscriptPage, error) {
	r, err := l.enter(ctx, id, by, false)
	if err != nil {
		return nil, err
	}
	keys, err := l.secrets(forCursors)
	if err != nil {
		return nil, err
	}
	at := chat.Cursor{}
	if q.Cursor != "" {
		if at, err = r.scope().Decode(keys, q.Cursor); err != nil {
			return nil, err
		}
	}
	ds := r.directions()
	tails, err := l.lookBoth(ctx, ds)
	if err != nil {
		return nil, err
	}
	if at.End == nil {
		at.End = &tails
	}
	for i := range ds {
		if at.End[i] > tails[i] || at.Next[i] > at.End[i] {
			return nil, damaged(ds[i].name, errors.New("it is shorter than it was"))
		}
	}
	page := &api.TranscriptPage{Items: []api.ChatRecord{}, LiveCursor: r.scope().Encode(keys[0], chat.Cursor{Next: *at.End})}
	if err := l.fill(ctx, ds, &at, q, page); err != nil {
		return nil, err
	}
	if page.HasMore {
		page.Cursor = new(r.scope().Encode(keys[0], at))
	}
	return page, nil
}

// fill adds items to a page until it is full, or at the snapshot's end, and moves
// at on.
func (l *Log) fill(ctx context.Context, ds [2]direction, at *chat.Cursor, q Query, page *api.TranscriptPage) error {
	limit := q.Limit
	if limit <= 0 {
		limit = api.DefaultPageItems
	}
	var heads [2]*head
	passed := 0
	for i, d := range ds {
		next, stop := iter.Pull2(l.read(ctx, d, at.Next[i], at.End[i], limit))
		defer stop()
		heads[i] = &head{next: next, at: &at.Next[i], passed: &passed, q: &q}
		if err := heads[i].advance(); err != nil {
			return d.orDamaged(err)
		}
	}
	for size := 0; ; {
		i := first(heads)
		if i < 0 {
			page.HasMore = passed >= maxPassed && (at.Next[0] < at.End[0] || at.Next[1] < at.End[1])
			return nil
		}
		h := heads[i]
		size += len(h.it.Body) + aroundItem
		if len(page.Items) == limit || len(page.Items) > 0 && size > api.MaxPageBytes {
			page.HasMore = true
			return nil
		}
		page.Items = append(page.Items, ds[i].show(*h.it))
		*h.at = h.it.Seq + 1
		if err := h.advance(); err != nil {
			return ds[i].orDamaged(err)
		}
	}
}

// aroundItem is about what an item has besides its record, in JSON.
const aroundItem = 200

// A head is the next item of a direction.
type head struct {
	next   func() (item, error, bool)
	it     *item // nil: none is left, or enough was passed over
	at     *uint64
	passed *int
	q      *Query
}

// advance moves on to the next item, and at over what is not shown before it.
func (h *head) advance() error {
	h.it = nil
	for *h.passed < maxPassed {
		it, err, ok := h.next()
		if err != nil || !ok {
			return err
		}
		if h.q.shows(it) {
			h.it = &it
			return nil
		}
		*h.at = it.Seq + 1
		*h.passed++
	}
	return nil
}

// first returns which head comes first, -1 if there is none. Where one has passed
// over enough without finding its next item, nobody knows.
func first(heads [2]*head) int {
	a, b := heads[0].it, heads[1].it
	switch {
	case *heads[0].passed >= maxPassed && (a == nil || b == nil), a == nil && b == nil:
		return -1
	case b == nil:
		return 0
	case a == nil:
		return 1
	}
	place := func(it *item) chat.Place {
		return chat.Place{Timestamp: it.Timestamp, Author: it.Author, Position: it.Seq}
	}
	if place(a).Compare(place(b)) <= 0 {
		return 0
	}
	return 1
}
