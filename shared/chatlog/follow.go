package chatlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/signed"
	"agentchat/shared/sse"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// Follow yields what both parties wrote from a live cursor on, then what they
// write: batches of events, the first, empty, as soon as the cursor is known to
// be good. Each direction comes in its own order, without a gap and with nothing
// twice; between the two there is no order. The id of an event is the cursor
// behind it, which has passed over what is not shown.
//
// It looks again at whether the reader may, and whether the streams are the ones
// that they were, at least as often as idle. It ends with an *api.Error, yielded
// once: lost continuity, or Unavailable (ctx's end included). The caller's break frees everything.
func (l *Log) Follow(ctx context.Context, id ident.Chat, by Actor, q Query, idle time.Duration) iter.Seq2[[]sse.Event, error] {
	return func(yield func([]sse.Event, error) bool) {
		f, err := l.follower(ctx, id, by, q)
		if err != nil {
			yield(nil, err)
			return
		}
		if yield(nil, nil) {
			f.run(ctx, idle, yield)
		}
	}
}

// A follower is one Follow.
type follower struct {
	l    *Log
	id   ident.Chat
	by   Actor
	q    Query
	room *room
	ds   [2]direction
	at   chat.Cursor
}

func (l *Log) follower(ctx context.Context, id ident.Chat, by Actor, q Query) (*follower, error) {
	f := &follower{l: l, id: id, by: by, q: q}
	tails, err := f.check(ctx)
	if err != nil || q.Cursor == "" {
		return f, err
	}
	keys, err := l.secrets(forCursors)
	if err != nil {
		return nil, err
	}
	if f.at, err = f.room.scope().Decode(keys, q.Cursor); err != nil {
		return nil, err
	}
	if f.at.End != nil {
		return nil, api.Errorf(api.InvalidCursor, "this is the cursor of a page of history; follow from a liveCursor, or from the id of an event")
	}
	for i, d := range f.ds {
		if f.at.Next[i] > tails[i] {
			return nil, damaged(d.name, errors.New("it is shorter than it was"))
		}
	}
	return f, nil
}

// check returns the tails, if the reader may read, and both streams are what they were.
func (f *follower) check(ctx context.Context) (tails [2]uint64, err error) {
	if f.room, err = f.l.enter(ctx, f.id, f.by, false); err != nil {
		return tails, err
	}
	f.ds = f.room.directions()
	return f.l.lookBoth(ctx, f.ds)
}

// A part is what came of one direction.
type part struct {
	i    int
	page stream.Page
	err  error
}

func (f *follower) run(ctx context.Context, idle time.Duration, yield func([]sse.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	parts, done := make(chan part), make(chan struct{}, len(f.ds))
	for i, d := range f.ds {
		from := f.at.Next[i]
		go func() {
			defer func() { done <- struct{}{} }()
			for page, err := range f.l.store.Follow(ctx, d.name, from, idle) {
				select {
				case parts <- part{i, page, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	defer func() {
		cancel()
		for range f.ds {
			<-done
		}
	}()
	for checked := time.Now(); ; {
		var p part
		select {
		case p = <-parts:
		case <-ctx.Done():
			yield(nil, journal.Unavailable(ctx.Err()))
			return
		}
		if p.err != nil {
			yield(nil, f.ds[p.i].refusal(p.err))
			return
		}
		if time.Since(checked) >= idle {
			if _, err := f.check(ctx); err != nil {
				yield(nil, err)
				return
			}
			checked = time.Now()
		}
		events, err := f.events(p)
		if len(events) > 0 && !yield(events, nil) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
	}
}

// events returns those of what came, and moves the cursor over all of it.
func (f *follower) events(p part) (events []sse.Event, err error) {
	keys, err := f.l.secrets(forCursors)
	if err != nil {
		return nil, err
	}
	d := f.ds[p.i]
	for _, e := range p.page.Entries {
		it, err := d.take(e, f.at.Next[p.i])
		if err != nil {
			return events, err
		}
		f.at.Next[p.i]++
		if !f.q.shows(it) {
			continue
		}
		data, err := strictjson.Append(nil, d.show(it))
		if err != nil {
			return events, err
		}
		events = append(events, sse.Event{Name: nameOf(it.Type), ID: string(f.room.scope().Encode(keys[0], f.at)), Data: data})
	}
	return events, nil
}

// nameOf returns the name of an event that shows a record of that type.
func nameOf(t signed.Type) string {
	switch t {
	case signed.TypeReceipt:
		return "receipt"
	case signed.TypeFence:
		return "fence"
	case signed.TypeMessage, signed.TypeGenesis:
	}
	return "message"
}
