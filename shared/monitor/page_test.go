package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/strictjson"
)

func spots(page *api.MonitorPage) []string {
	all := []string{}
	for _, d := range page.Deliveries {
		all = append(all, fmt.Sprintf("%s %d", d.Inbox, d.SeqNum))
	}
	return all
}

// refuse returns a Chooser that refuses reads of an inbox while on is set.
func refuse(agent ident.Agent, on *atomic.Bool) faultstream.Chooser {
	return func(c faultstream.Call) faultstream.Fault {
		if on.Load() && c.Op == faultstream.Read && c.Name == stream.Inbox(agent) {
			return faultstream.Fault{Kind: faultstream.Refused}
		}
		return faultstream.Fault{}
	}
}

// An inbox that fails is named and waits; one that was deleted since it was
// listed is gone; the others are read. Nothing is lost and nothing comes twice.
func TestPartialFailure(t *testing.T) {
	var down atomic.Bool
	var f *fleet
	f = newFleet(t, func(c faultstream.Call) faultstream.Fault {
		if down.Load() && c.Op == faultstream.Read && c.Name == stream.Inbox("carol") {
			if err := f.store.Delete(t.Context(), c.Name); err != nil && !errors.Is(err, stream.ErrNotFound) {
				t.Error(err)
			}
		}
		return refuse("bob", &down)(c)
	})
	f.create("alice", "bob", "carol", "dave")
	for _, a := range []ident.Agent{"alice", "bob", "carol", "dave"} {
		f.send(a, 1)
	}
	begin := f.page(monitor.Query{Agents: []ident.Agent{"carol"}}).NextCursor // carol at 1
	f.send("carol", 1)
	f.send("bob", 1)
	down.Store(true)
	page := f.page(monitor.Query{Cursor: begin})
	if diff := cmp.Diff([]string{"alice 0", "dave 0"}, spots(page)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if u := page.Unavailable["bob"]; len(page.Unavailable) != 1 || u.Code != api.Unavailable || u.Status != 503 {
		t.Errorf("unavailable = %+v; want bob", page.Unavailable)
	}
	if diff := cmp.Diff(map[ident.Agent]uint64{"alice": 1, "bob": 2, "dave": 1}, page.Tails); diff != "" {
		t.Errorf("tails (-want +got):\n%s", diff)
	}
	down.Store(false)
	page = f.page(monitor.Query{Cursor: page.NextCursor})
	if diff := cmp.Diff([]string{"bob 0", "bob 1"}, spots(page)); diff != "" {
		t.Errorf("after the recovery (-want +got):\n%s", diff)
	}
}

// If the inboxes can't be listed there is no page.
func TestUnlisted(t *testing.T) {
	f := newFleet(t, faultstream.Script(faultstream.Watch, faultstream.Fault{Kind: faultstream.Cut, After: 1}))
	f.create("bob")
	_, err := f.m.Page(t.Context(), monitor.Query{})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Unavailable {
		t.Errorf("Page: %v; want unavailable", err)
	}
	if page := f.page(monitor.Query{}); len(page.Tails) != 1 {
		t.Errorf("tails %v; want bob's", page.Tails)
	}
}

// waiting is a store whose Watch says nothing for a while, as that of S2 does while the
// store is away or slow. List says which.
type waiting struct {
	stream.Store
	quiet time.Duration
	list  error
}

func (s *waiting) Watch(ctx context.Context, prefix stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		select {
		case <-time.After(s.quiet):
			s.Store.Watch(ctx, prefix)(yield)
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}
}

func (s *waiting) List(ctx context.Context, prefix stream.Prefix, after stream.Name, limit int) ([]stream.Name, bool, error) {
	if s.list != nil {
		return nil, false, s.list
	}
	return s.Store.List(ctx, prefix, after, limit)
}

// A page waits for a store that is slow, and not for one that is away.
func TestPageOfAStoreThatIsAway(t *testing.T) {
	for _, tt := range []struct {
		name string
		list error
		q    monitor.Query
		min  time.Duration
		max  time.Duration
	}{
		{"slow", nil, monitor.Query{}, 20 * time.Second, 21 * time.Second},
		{"away", stream.ErrUnavailable, monitor.Query{}, 0, 5 * time.Second},
		{"away, latest", stream.ErrUnavailable, monitor.Query{Latest: true}, 0, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				inner, closeStore := localstream.Memory()
				t.Cleanup(closeStore)
				if err := inner.Create(t.Context(), stream.Inbox("bob"), stream.Config{}); err != nil {
					t.Fatal(err)
				}
				m, began := monitor.New(&waiting{inner, 20 * time.Second, tt.list}, nil), time.Now()
				page, err := m.Page(t.Context(), tt.q)
				if took := time.Since(began); took < tt.min || took > tt.max {
					t.Errorf("Page took %v; want %v to %v", took, tt.min, tt.max)
				}
				e, _ := errors.AsType[*api.Error](err)
				if away := e != nil && e.Code == api.Unavailable && errors.Is(err, stream.ErrUnavailable); away != (tt.list != nil) {
					t.Errorf("Page: %v, %v; want unavailable, since the store is: %t", page, err, tt.list != nil)
				}
			})
		})
	}
}

// told is a store whose Watch says something else.
type told struct {
	stream.Store
	watch func(stream.Moved) stream.Moved
}

func (s *told) Watch(ctx context.Context, prefix stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		for moved, err := range s.Store.Watch(ctx, prefix) {
			for i := range moved {
				moved[i] = s.watch(moved[i])
			}
			if !yield(moved, err) {
				return
			}
		}
	}
}

// An inbox whose tail the store can't tell is named, and its position stays.
func TestUntoldTail(t *testing.T) {
	f := newFleet(t, nil)
	f.create("alice", "bob")
	f.send("alice", 1)
	f.send("bob", 1)
	m := monitor.New(&told{f.store, func(mv stream.Moved) stream.Moved {
		if mv.Name == stream.Inbox("bob") {
			mv.Err = stream.ErrUnavailable
		}
		return mv
	}}, nil)
	page, err := m.Page(t.Context(), monitor.Query{})
	if err != nil || len(page.Unavailable) != 1 || page.Unavailable["bob"].Code != api.Unavailable || len(page.Deliveries) != 1 || page.Tails["bob"] != 0 {
		t.Errorf("%+v, %v; want alice's, and bob's out of reach", page, err)
	}
	if page := f.page(monitor.Query{Cursor: page.NextCursor}); len(page.Deliveries) != 1 || page.Deliveries[0].Inbox != "bob" {
		t.Errorf("after that: %+v; want bob's", page)
	}
	var got []string
	for page, err := range m.Follow(t.Context(), monitor.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, spots(page)...)
		for agent := range page.Unavailable {
			got = append(got, "unavailable "+string(agent))
		}
		if len(got) > 1 {
			break
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"alice 0", "unavailable bob"}, got); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
}

// Records that are no longer retained are a gap for who had read before them, and
// no more than the beginning for who had not.
func TestGaps(t *testing.T) {
	f := newFleet(t, nil)
	f.create("bob", "carol")
	f.send("bob", 1)
	f.send("carol", 1)
	begun := f.page(monitor.Query{}).NextCursor
	f.send("bob", 4)
	f.append("bob", stream.Trim(3))
	f.send("carol", 2)
	f.append("carol", stream.Trim(4)) // all of it, itself included
	page := f.page(monitor.Query{Cursor: begun})
	want := map[ident.Agent]api.Gap{"bob": {From: 1, To: 3, Code: api.HistoryTrimmed}, "carol": {From: 1, To: 4, Code: api.HistoryTrimmed}}
	if diff := cmp.Diff(want, page.Gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bob 3", "bob 4"}, spots(page)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if next := f.page(monitor.Query{Cursor: page.NextCursor}); next.NextCursor != page.NextCursor || next.Gaps != nil {
		t.Errorf("the next page: %+v; want nothing, at the same cursor", next)
	}
	page = f.page(monitor.Query{})
	if page.Gaps != nil || len(page.Deliveries) != 2 {
		t.Errorf("from the beginning: %+v; want two deliveries, no gap", page)
	}
}

// What this version can't read is delivered as the inbox does it, and fences
// move the cursor only. A record that is not where it should be stops its inbox.
func TestForeignRecords(t *testing.T) {
	f := newFleet(t, nil)
	f.create("bob")
	f.append("bob", stream.Record{Body: []byte("?"), Headers: []stream.Header{{Name: "agent-chat-kind", Value: "later"}}})
	f.append("bob", stream.Fence("epoch"))
	f.send("bob", 1)
	page := f.page(monitor.Query{})
	if diff := cmp.Diff([]string{"bob 0", "bob 2"}, spots(page)); diff != "" || !page.Deliveries[0].Unreadable {
		t.Errorf("deliveries (-want +got):\n%s\n%+v", diff, page.Deliveries)
	}
	broken := monitor.New(&altered{Store: f.store, read: func(_ stream.Name, e *stream.Entry) { e.Seq++ }}, nil)
	got, err := broken.Page(t.Context(), monitor.Query{})
	if err != nil || got.Unavailable["bob"].Code != api.StateLost || len(got.Deliveries) != 0 {
		t.Errorf("%+v, %v; want bob's inbox out of reach, as damaged", got, err)
	}
}

// altered changes what is read.
type altered struct {
	stream.Store
	read func(stream.Name, *stream.Entry)
}

func (s *altered) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	p, err := s.Store.Read(ctx, name, start, limit)
	p.Entries = slices.Clone(p.Entries)
	for i := range p.Entries {
		s.read(name, &p.Entries[i])
	}
	return p, err
}

// Deliveries are sorted by the instant, then by inbox as bytes, then by position,
// and that does not depend on who was read first.
func TestOrder(t *testing.T) {
	f := newFleet(t, nil)
	at := map[stream.Name][]stream.Timestamp{}
	for i, a := range []ident.Agent{"b", "a", "a-b", "a.b", "a0", "b.c"} {
		f.create(a)
		f.send(a, 5)
		at[stream.Inbox(a)] = []stream.Timestamp{100, 100, stream.Timestamp(100 + i%2), 150, 1000}
	}
	m := monitor.New(&altered{Store: f.store, read: func(n stream.Name, e *stream.Entry) { e.Timestamp = at[n][e.Seq] }}, nil)
	var first *api.MonitorPage
	for i := range 50 {
		page, err := m.Page(t.Context(), monitor.Query{Limit: 30})
		if err != nil {
			t.Fatal(err)
		}
		inOrder(t, page.Deliveries)
		if i == 0 {
			first = page
		}
		if !reflect.DeepEqual(first, page) {
			t.Fatalf("page %d differs:\n%s", i, cmp.Diff(first, page))
		}
	}
	if got := strings.Join(spots(first)[:6], ", "); got != "a 0, a 1, a-b 0, a-b 1, a-b 2, a.b 0" {
		t.Errorf("the first are %s", got)
	}
	// The same in pages of every size, as the heads are remembered or not.
	for limit := 1; limit < 30; limit++ {
		var all []string
		for cursor := ""; ; {
			page, err := m.Page(t.Context(), monitor.Query{Cursor: cursor, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if page.NextCursor == cursor {
				break
			}
			cursor, all = page.NextCursor, append(all, spots(page)...)
		}
		if diff := cmp.Diff(spots(first), all); diff != "" {
			t.Fatalf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
}

// busy counts reads at once.
type busy struct {
	stream.Store
	now, most, reads atomic.Int64
}

func (s *busy) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	s.reads.Add(1)
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-time.After(time.Millisecond) // all that are made at once overlap
	return s.Store.Read(ctx, name, start, limit)
}

// A fleet larger than one listing is read whole, in few calls: of an inbox that
// has not moved nothing is asked, and no more than 64 are asked at once.
// Behind everything begins a reader of Latest, with a short cursor however many
// inboxes there are, and nothing that comes is lost to it.
func TestLatest(t *testing.T) {
	f := newFleet(t, nil)
	for i := range 300 {
		f.create(name(i))
		f.send(name(i), 1)
	}
	page := f.page(monitor.Query{Latest: true})
	if len(page.Deliveries) != 0 || len(page.Tails) != 300 || version(page.NextCursor) != 2 || len(page.NextCursor) > 200 {
		t.Fatalf("%d deliveries, %d tails, cursor of %d bytes, version %d; want none, 300, and a short one of version 2",
			len(page.Deliveries), len(page.Tails), len(page.NextCursor), version(page.NextCursor))
	}
	f.send(name(7), 1)
	f.send(name(299), 2)
	if got := len(f.page(monitor.Query{Cursor: page.NextCursor}).Deliveries); got != 3 {
		t.Errorf("%d deliveries behind it; want the 3 that came", got)
	}
}

func TestFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner, closeStore := localstream.Memory()
		defer closeStore()
		count := &busy{Store: inner}
		f := fleetOn(t, faultstream.New(t, count, faultstream.Options{}))
		var agents []ident.Agent
		for i := range 1205 {
			agents = append(agents, ident.Agent(fmt.Sprintf("agent-%04d", i)))
		}
		f.create(agents...)
		f.send("agent-1204", 1)
		page := f.page(monitor.Query{})
		if diff := cmp.Diff([]string{"agent-1204 0"}, spots(page)); diff != "" || len(page.Tails) != 1205 {
			t.Errorf("%d tails; deliveries (-want +got):\n%s", len(page.Tails), diff)
		}
		if n := count.reads.Load(); n != 1 {
			t.Errorf("%d reads; want that of the one that moved", n)
		}
		before := len(f.store.Calls())
		f.page(monitor.Query{Cursor: page.NextCursor})
		if n := len(f.store.Calls()) - before; n != 1 {
			t.Errorf("a page with nothing new makes %d calls; want the one that watches", n)
		}
		for _, a := range agents {
			f.send(a, 2)
		}
		total, cursor := 0, page.NextCursor
		for pages := 0; ; pages++ {
			page := f.page(monitor.Query{Cursor: cursor, Limit: 1000})
			if page.NextCursor == cursor {
				break
			}
			cursor, total = page.NextCursor, total+len(page.Deliveries)
			if pages == 0 && version(cursor) != 2 {
				t.Errorf("the cursor of %d inboxes is %s", len(page.Tails), cursor)
			}
		}
		if total != 2410 {
			t.Errorf("%d deliveries; want 2410", total)
		}
		if n := count.most.Load(); n != 64 {
			t.Errorf("%d reads at once; want 64", n)
		}
		if n := count.reads.Load(); n > 8000 {
			t.Errorf("%d reads for 2410 records of 1205 inboxes", n)
		}
	})
}

// A page is cut at 4 MiB as it travels: the cursor that each delivery has counts,
// and so does whose inbox it is.
func TestPageSize(t *testing.T) {
	for _, inboxes := range []int{1, 20, 40} { // short cursors, the longest that hold all positions, and checkpoints
		f := newFleet(t, nil)
		for i := range inboxes {
			f.create(name(i))
		}
		for i := range 1000 {
			to := name(i % inboxes)
			f.append(to, envelope(api.KindMessage, "alice", fmt.Sprintf("m-%d", i), 4000))
		}
		total := 0
		for at := ""; ; {
			page := f.page(monitor.Query{Cursor: at, Limit: 1000})
			if page.NextCursor == at {
				break
			}
			at, total = page.NextCursor, total+len(page.Deliveries)
			b, err := strictjson.Append(nil, page)
			if err != nil {
				t.Fatal(err)
			}
			if most := api.MaxPageBytes + 16<<10; len(b) > most { // the tails come on top
				t.Errorf("of %d inboxes: a page of %d deliveries and %d bytes; want %d at most", inboxes, len(page.Deliveries), len(b), most)
			}
		}
		if total != 1000 {
			t.Errorf("of %d inboxes: %d deliveries; want 1000", inboxes, total)
		}
	}
}
