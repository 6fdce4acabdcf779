package monitor_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/cursor"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// many returns a fleet whose cursors name checkpoints, and the cursor of all of it.
func many(t *testing.T, n int, choose faultstream.Chooser) (*fleet, string) {
	t.Helper()
	f := newFleet(t, choose)
	for i := range n {
		f.create(name(i))
		f.send(name(i), 1)
	}
	cursor := f.page(monitor.Query{Limit: 1000}).NextCursor
	if version(cursor) != 2 {
		t.Fatalf("the cursor of %d inboxes is %s", n, cursor)
	}
	return f, cursor
}

func (f *fleet) refused(c string) *api.Error {
	f.t.Helper()
	_, err := f.m.Page(f.t.Context(), monitor.Query{Cursor: c, Parameter: "cursor"})
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		f.t.Fatalf("Page(%.200s): %v; want an *api.Error", c, err)
	}
	return e
}

// A checkpoint that is no more, that is another one, or that never was has expired.
func TestExpired(t *testing.T) {
	f, good := many(t, 40, nil)
	c, err := cursor.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*cursor.Ref)) string {
		base := *c.Base
		change(&base)
		return cursor.Cursor{Base: &base, Moved: c.Moved}.String()
	}
	for what, s := range map[string]string{
		"another hash":    changed(func(r *cursor.Ref) { r.Hash[7]++ }),
		"more moves":      changed(func(r *cursor.Ref) { r.N++ }),
		"behind the tail": changed(func(r *cursor.Ref) { r.Position++ }),
		"far behind it":   changed(func(r *cursor.Ref) { r.Position = 1<<64 - 1 }),
		"far too many":    changed(func(r *cursor.Ref) { r.N = 1<<64 - 1 }),
	} {
		if e := f.refused(s); e.Code != api.CursorExpired {
			t.Errorf("%s: %v; want cursor_expired", what, e)
		}
	}
	f.page(monitor.Query{Cursor: changed(func(r *cursor.Ref) { r.N = 0 })}) // nothing of it
	if err := f.store.Delete(t.Context(), stream.Checkpoints()); err != nil {
		t.Fatal(err)
	}
	if e := f.refused(good); e.Code != api.CursorExpired {
		t.Errorf("without its stream: %v; want cursor_expired", e)
	}
	// Who begins anew gets a stream anew.
	again := f.page(monitor.Query{Limit: 1000}).NextCursor
	f.page(monitor.Query{Cursor: again})
	if e := f.refused(good); e.Code != api.CursorExpired {
		t.Errorf("with another checkpoint in its place: %v; want cursor_expired", e)
	}
}

// A record in the place of a checkpoint that is none is no fault of ours.
func TestForeignCheckpoint(t *testing.T) {
	f, good := many(t, 40, nil)
	c, _ := cursor.Parse(good)
	for _, body := range []string{``, `{}`, `{"schema":"agent-chat/checkpoint.v1"}`, `{"schema":"x","since":1,"sum":1}`, `{"schema":"agent-chat/checkpoint.v1","since":1,"sum":1,"moves":"bob"}`} {
		ack, err := f.store.Append(t.Context(), stream.Checkpoints(), stream.Batch{Records: []stream.Record{{Body: []byte(body)}}})
		if err != nil {
			t.Fatal(err)
		}
		c.Base.Position = ack.First
		if e := f.refused(c.String()); e.Code != api.CursorExpired {
			t.Errorf("%s: %v; want cursor_expired", body, e)
		}
	}
}

// An append of a checkpoint whose outcome is unknown is made again; no cursor
// names one that may not be there. Without any, there is no page.
func TestUnknownCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		kinds := []faultstream.Fault{{Kind: faultstream.Lost}, {Kind: faultstream.Stored}, {Kind: faultstream.Late, After: 3}, {Kind: faultstream.Refused}, {}}
		down := false
		f, at := many(t, 40, func(c faultstream.Call) faultstream.Fault {
			switch {
			case c.Name != stream.Checkpoints() || c.Op != faultstream.Append:
				return faultstream.Fault{}
			case down:
				return faultstream.Fault{Kind: faultstream.Refused}
			}
			n++
			return kinds[n%len(kinds)]
		})
		for i := range 20 {
			for j := range 40 {
				f.send(name(j), i%3)
			}
			at = f.page(monitor.Query{Cursor: at, Limit: 60}).NextCursor
			f.m = monitor.New(f.store, nil)
		}
		for next := ""; next != at; {
			next, at = at, f.page(monitor.Query{Cursor: at}).NextCursor
		}
		if got := f.page(monitor.Query{Cursor: at}); len(got.Deliveries) != 0 || !maps.Equal(got.Tails, f.sent) {
			t.Errorf("at the end: %+v", got)
		}
		down = true
		for j := range 40 {
			f.send(name(j), 1)
		}
		if e := f.refused(at); e.Code != api.Unavailable {
			t.Errorf("without checkpoints: %v; want unavailable", e)
		}
		f.page(monitor.Query{Cursor: at, Limit: 1}) // needs none
	})
}

// A chain is short, costs little, and lasts: each cursor on the way can be
// resolved, days later too, though the first checkpoint is gone by then.
func TestChains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const inboxes, messages = 300, 800
		f, at := many(t, inboxes, nil)
		live := f.follow(monitor.Query{Cursor: at})
		live.sees("open")
		cursors := map[string]map[ident.Agent]uint64{}
		for i := range messages {
			to := name(i * 7919 % inboxes)
			f.send(to, 1)
			live.sees(fmt.Sprintf("%s %d", to, f.sent[to]-1))
			if i%50 == 0 {
				cursors[live.last] = maps.Clone(f.sent)
			}
			time.Sleep(time.Second)
		}
		n, bytes := 0, 0
		for _, c := range f.store.Calls() {
			if c.Op == faultstream.Append && c.Name == stream.Checkpoints() {
				n++
				for _, r := range c.Batch.Records {
					bytes += r.Metered()
				}
			}
		}
		t.Logf("%d messages in %d inboxes: %d checkpoints, %d bytes a message", messages, inboxes, n, bytes/messages)
		if n > messages {
			t.Errorf("%d checkpoints for %d messages", n, messages)
		}
		for c, was := range cursors {
			before := f.store.Count(faultstream.Read)
			left := 0
			for a, tail := range f.sent {
				left += int(tail - was[a])
			}
			page := f.page(monitor.Query{Cursor: c, Limit: 1000})
			if want := min(left, 1000); len(page.Deliveries) != want {
				t.Fatalf("%d deliveries behind a cursor; want %d", len(page.Deliveries), want)
			}
			if reads := f.store.Count(faultstream.Read) - before; reads > 20+2*min(left, inboxes) {
				t.Errorf("%d reads for %d deliveries", reads, left)
			}
		}
	})
}

// A checkpoint does not stand on one that would expire long before it.
func TestChainsAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, at := many(t, 100, nil)
		base := func(s string) uint64 {
			c, err := cursor.Parse(s)
			if err != nil || c.Base == nil {
				t.Fatalf("%s: %v", s, err)
			}
			return c.Base.Position
		}
		for range 2 {
			time.Sleep(25 * time.Hour)
			for i := range 10 {
				f.send(name(i), 1)
			}
			was := base(at)
			at = f.page(monitor.Query{Cursor: at}).NextCursor
			if base(at) == was {
				t.Fatal("10 moves made no checkpoint")
			}
			f.trimCheckpoints(base(at)) // all before it
			f.page(monitor.Query{Cursor: at})
		}
	})
}

func (f *fleet) trimCheckpoints(to uint64) {
	f.t.Helper()
	if _, err := f.store.Append(f.t.Context(), stream.Checkpoints(), stream.Batch{Records: []stream.Record{stream.Trim(to)}}); err != nil {
		f.t.Fatal(err)
	}
}

// A fleet whose positions no record has room for has a checkpoint of several.
func TestManyRecords(t *testing.T) {
	v := cursor.Vector{}
	for i := range 20_000 {
		v[name(i)] = uint64(i) + 1
	}
	f := newFleet(t, nil)
	f.create(name(0), name(30_000))
	f.send(name(0), 2)
	f.send(name(30_000), 1)
	page := f.page(monitor.Query{Cursor: cursor.Cursor{Moved: v}.String(), Agents: []ident.Agent{name(0), name(30_000)}})
	if len(page.Deliveries) != 2 || version(page.NextCursor) != 2 {
		t.Fatalf("%d deliveries, then %s", len(page.Deliveries), page.NextCursor)
	}
	if n := f.store.Count(faultstream.Append) - 3; n < 4 {
		t.Errorf("%d appends; want several, of 1.5 MiB", n)
	}
	for _, d := range page.Deliveries {
		next := f.page(monitor.Query{Cursor: d.Cursor, Agents: []ident.Agent{name(0), name(30_000)}})
		if d.Cursor == page.NextCursor && len(next.Deliveries) != 0 || d.Cursor != page.NextCursor && len(next.Deliveries) != 1 {
			t.Errorf("behind %s %d: %+v", d.Inbox, d.SeqNum, next)
		}
	}
	if strings.Contains(page.NextCursor, "=") {
		t.Errorf("padding in %s", page.NextCursor)
	}
}
