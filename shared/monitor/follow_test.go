package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// A follower reads a stream in the background and keeps what it was shown.
type follower struct {
	t      testing.TB
	events chan string
	end    context.CancelFunc
	done   chan struct{}
	last   string // cursor
	err    error  // set when done is closed
}

// follow begins a stream. Its events are "INBOX SEQ", "gap INBOX FROM-TO",
// "unavailable INBOX CODE", and "open" for the first, empty batch.
func (f *fleet) follow(q monitor.Query) *follower {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	fo := &follower{t: f.t, events: make(chan string, 1<<16), end: cancel, done: make(chan struct{})}
	m := f.m
	go func() {
		defer close(fo.done)
		for page, err := range m.Follow(ctx, q) {
			if err != nil {
				fo.err = err
				return
			}
			inOrder(fo.t, page.Deliveries)
			for agent, g := range page.Gaps {
				fo.events <- fmt.Sprintf("gap %s %d-%d", agent, g.From, g.To)
			}
			for agent, u := range page.Unavailable {
				fo.events <- fmt.Sprintf("unavailable %s %s", agent, u.Code)
			}
			for _, d := range page.Deliveries {
				fo.events <- fmt.Sprintf("%s %d", d.Inbox, d.SeqNum)
				fo.last = d.Cursor
			}
			if len(page.Gaps)+len(page.Unavailable)+len(page.Deliveries) == 0 {
				fo.events <- "open"
			}
		}
	}()
	f.t.Cleanup(fo.stop)
	return fo
}

func (fo *follower) stop() {
	fo.end()
	<-fo.done
}

// sees waits until all is quiet, and fails the test unless these events, and no
// others, have come.
func (fo *follower) sees(want ...string) {
	fo.t.Helper()
	synctest.Wait()
	got := []string{}
	for len(fo.events) > 0 {
		got = append(got, <-fo.events)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		fo.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// What is there comes at once, what is appended when it is, and a new inbox too.
func TestFollow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.create("alice", "bob")
		f.send("bob", 2)
		live := f.follow(monitor.Query{})
		live.sees("open", "bob 0", "bob 1")
		f.send("alice", 1)
		live.sees("alice 0")
		f.create("carol")
		live.sees()
		f.send("carol", 1)
		live.sees("carol 0")
		time.Sleep(time.Hour)
		f.send("bob", 1)
		live.sees("bob 2")
		live.stop()
		f.send("bob", 2)
		again := f.follow(monitor.Query{Cursor: live.last})
		again.sees("open", "bob 3", "bob 4")
	})
}

// A cursor that is none, or whose checkpoint is gone, is refused before the first batch.
func TestFollowRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		live := f.follow(monitor.Query{Cursor: "43", Parameter: "Last-Event-ID"})
		live.sees()
		if e, ok := errors.AsType[*api.Error](live.err); !ok || e.Code != api.Invalid || e.Parameter != "Last-Event-ID" {
			t.Errorf("refused with %v; want invalid, Last-Event-ID", live.err)
		}
		f = newFleet(t, faultstream.Script(faultstream.Watch, faultstream.Fault{Kind: faultstream.Refused}))
		live = f.follow(monitor.Query{})
		live.sees()
		if e, ok := errors.AsType[*api.Error](live.err); !ok || e.Code != api.Unavailable {
			t.Errorf("ended with %v; want unavailable at once, while it can be a status", live.err)
		}
	})
}

// An inbox that can't be read is told once; the others go on, and it comes in
// when it can be read, with everything.
func TestFollowPartialFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var down atomic.Bool
		f := newFleet(t, refuse("bob", &down))
		f.create("alice", "bob")
		live := f.follow(monitor.Query{})
		live.sees("open")
		down.Store(true)
		f.send("bob", 1)
		live.sees("unavailable bob unavailable")
		f.send("alice", 1)
		f.send("bob", 1)
		live.sees("alice 0")
		time.Sleep(time.Minute)
		live.sees()
		down.Store(false)
		time.Sleep(20 * time.Second)
		live.sees("bob 0", "bob 1")
		down.Store(true)
		f.send("bob", 1)
		live.sees("unavailable bob unavailable")
		down.Store(false)
		time.Sleep(time.Second)
		live.sees("bob 2")
	})
}

// The store may be away for half a minute, and come back with other news.
func TestFollowOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var down atomic.Bool
		f := newFleet(t, func(c faultstream.Call) faultstream.Fault {
			if down.Load() && (c.Op == faultstream.Watch || c.Op == faultstream.Read) {
				return faultstream.Fault{Kind: faultstream.Refused}
			}
			return faultstream.Fault{}
		})
		f.create("alice", "bob")
		f.send("alice", 1)
		live := f.follow(monitor.Query{})
		live.sees("open", "alice 0")
		for range 3 {
			down.Store(true)
			f.store.Restart()
			f.send("bob", 1)
			time.Sleep(25 * time.Second)
			live.sees()
			down.Store(false)
			time.Sleep(5 * time.Second)
			live.sees(fmt.Sprintf("bob %d", f.sent["bob"]-1))
		}
		down.Store(true)
		f.store.Restart()
		time.Sleep(35 * time.Second)
		live.sees()
		select {
		case <-live.done:
		default:
			t.Fatal("it goes on after 35 s without a store")
		}
		if e, ok := errors.AsType[*api.Error](live.err); !ok || e.Code != api.Unavailable {
			t.Errorf("ended with %v; want unavailable", live.err)
		}
	})
}

// A watch that is cut off, or tells twice, shows nothing twice and loses nothing.
func TestFollowCutWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := 0
		f := newFleet(t, func(c faultstream.Call) faultstream.Fault {
			if c.Op != faultstream.Watch {
				return faultstream.Fault{}
			}
			if n++; n > 4 {
				return faultstream.Fault{Kind: faultstream.Again}
			}
			return faultstream.Fault{Kind: faultstream.Cut, After: 3 + n%3}
		})
		f.create("alice", "bob")
		live := f.follow(monitor.Query{})
		live.sees("open")
		for i := range 30 {
			f.send("bob", 1)
			time.Sleep(time.Second)
			live.sees(fmt.Sprintf("bob %d", i))
		}
		if n < 5 {
			t.Errorf("the watch was opened %d times; want it to have been cut", n)
		}
	})
}

// What is trimmed under a reader is told, and it goes on behind.
func TestFollowGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.create("alice", "bob")
		f.send("bob", 1)
		begun := f.page(monitor.Query{}).NextCursor
		f.send("bob", 3)
		f.append("bob", stream.Trim(3))
		live := f.follow(monitor.Query{Cursor: begun})
		live.sees("open", "gap bob 1-3", "bob 3")
		f.append("bob", stream.Trim(99)) // removes itself too, and nobody can know that there was nothing else
		live.sees("gap bob 5-6")
		f.send("alice", 1)
		live.sees("alice 0")
		f.send("bob", 1)
		live.sees("bob 6")
	})
}

// A cursor beyond a tail is told at the beginning; the inbox comes in when it
// has grown past it.
func TestFollowBeyondTail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.create("alice", "bob")
		f.send("bob", 3)
		f.send("alice", 1)
		ahead := f.page(monitor.Query{}).NextCursor
		if err := f.store.Delete(t.Context(), stream.Inbox("bob")); err != nil {
			t.Fatal(err)
		}
		f.create("bob") // as no operator should
		live := f.follow(monitor.Query{Cursor: ahead})
		live.sees("open", "unavailable bob cursor_beyond_tail")
		f.send("bob", 3)
		live.sees()
		f.send("bob", 1)
		live.sees("bob 3")
	})
}

// Filters leave out events, not positions: a cursor goes on behind what was left out.
func TestFollowFilters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.create("alice", "bob", "carol")
		q := monitor.Query{Kind: api.KindReceipt, Agents: []ident.Agent{"alice", "bob"}}
		live := f.follow(q)
		f.send("alice", 3)
		live.sees("open") // so that it has come by them before it tells of a place
		f.append("bob", envelope(api.KindReceipt, "x", "r", 0))
		f.append("carol", envelope(api.KindReceipt, "x", "r", 0))
		live.sees("bob 0")
		live.stop()
		q.Kind = ""
		q.Cursor = live.last
		before := f.store.Count(faultstream.Read)
		f.follow(q).sees("open")
		if n := f.store.Count(faultstream.Read) - before; n != 0 {
			t.Errorf("%d reads of what was passed over", n)
		}
	})
}

// A fleet that was never read is streamed in bounded batches, in order within
// each, and its cursors stay short. What comes meanwhile comes too.
func TestFollowFromZero(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		total := 0
		for i := range 100 {
			f.create(name(i))
			f.send(name(i), 10)
			total += 10
			time.Sleep(time.Millisecond)
		}
		seen, biggest := map[string]bool{}, 0
		for page, err := range f.m.Follow(t.Context(), monitor.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			inOrder(t, page.Deliveries)
			biggest = max(biggest, len(page.Deliveries))
			for _, d := range page.Deliveries {
				seen[fmt.Sprintf("%s %d", d.Inbox, d.SeqNum)] = true
				if len(d.Cursor) > 2048 || version(d.Cursor) == 2 && len(d.Cursor) > 200 {
					t.Fatalf("a cursor of %d bytes", len(d.Cursor))
				}
			}
			if len(seen) < 500 && len(page.Deliveries) > 0 {
				f.send(name(0), 1)
				total++
			}
			if len(seen) == total {
				break
			}
		}
		if biggest > 1000 {
			t.Errorf("a batch of %d", biggest)
		}
	})
}

// Events: only deliveries have an id, and it is the cursor in them.
func TestEvents(t *testing.T) {
	page := &api.MonitorPage{
		Gaps:        map[ident.Agent]api.Gap{"b": {From: 1, To: 2, Code: api.HistoryTrimmed}, "a": {From: 0, To: 9, Code: api.HistoryTrimmed}},
		Unavailable: map[ident.Agent]api.Unreachable{"c": {Code: api.Unavailable}},
		Deliveries:  []api.MonitorDelivery{{Inbox: "d", Cursor: "abc", Delivery: api.Delivery{SeqNum: 4, Envelope: []byte(`{}`)}}},
	}
	var got []string
	for events, err := range monitor.Events(func(yield func(*api.MonitorPage, error) bool) {
		_ = yield(page, nil) && yield(nil, errors.New("the end"))
	}) {
		if err != nil {
			got = append(got, err.Error())
		}
		for _, e := range events {
			data, _, _ := strings.Cut(string(e.Data), ",")
			got = append(got, e.Name+" "+e.ID+" "+data)
		}
	}
	want := []string{`gap  {"inbox":"a"`, `gap  {"inbox":"b"`, `unavailable  {"inbox":"c"`, `envelope abc {"inbox":"d"`, "the end"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
