package monitor_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// A silent is a store that does not answer reads of some inboxes, up to the 5
// seconds that calls of a store take at most; or answers late.
type silent struct {
	stream.Store
	inboxes func(stream.Name) bool
	late    atomic.Int64 // nanoseconds; 0: never
	reading atomic.Int64
	most    atomic.Int64
}

func (s *silent) Read(ctx context.Context, n stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	late := time.Duration(s.late.Load())
	if !s.inboxes(n) || late < 0 {
		return s.Store.Read(ctx, n, start, limit)
	}
	s.most.Store(max(s.most.Load(), s.reading.Add(1)))
	defer s.reading.Add(-1)
	bound := 5 * time.Second
	if late > 0 {
		bound = late
	}
	select {
	case <-ctx.Done():
		return stream.Page{}, fmt.Errorf("%w: %w", stream.ErrUnavailable, ctx.Err())
	case <-time.After(bound):
	}
	if late == 0 {
		return stream.Page{}, stream.ErrUnavailable
	}
	return s.Store.Read(ctx, n, start, limit)
}

// A stream waits once, for seconds, for inboxes that do not answer; from
// then on the others go on as if it were not there. What it holds comes when it
// can be read, also if that always takes long.
func TestFollowSilent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner, closeStore := localstream.Memory()
		t.Cleanup(closeStore)
		store := &silent{Store: inner, inboxes: func(n stream.Name) bool { a, ok := stream.AgentOf(n); return ok && a[0] == 's' }}
		m := monitor.New(store, nil)
		send := func(to ident.Agent, n int) {
			ack, err := inner.Append(t.Context(), stream.Inbox(to), stream.Batch{Records: []stream.Record{envelope("message", "alice", "id", 0)}})
			if err != nil || ack.First != uint64(n) {
				t.Fatal(ack, err)
			}
		}
		const silents = 40
		for i := range silents {
			name := ident.Agent(fmt.Sprintf("s%02d", i))
			if err := inner.Create(t.Context(), stream.Inbox(name), stream.Config{}); err != nil {
				t.Fatal(err)
			}
			send(name, 0)
		}
		if err := inner.Create(t.Context(), stream.Inbox("bob"), stream.Config{}); err != nil {
			t.Fatal(err)
		}
		seen, lost := map[ident.Agent]uint64{}, 0
		var mark atomic.Uint64 // of bob
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for page, err := range m.Follow(ctx, monitor.Query{}) {
				if err != nil {
					return
				}
				lost += len(page.Unavailable)
				for _, d := range page.Deliveries {
					if d.SeqNum != seen[d.Inbox] {
						t.Errorf("%s %d after %d", d.Inbox, d.SeqNum, seen[d.Inbox])
					}
					seen[d.Inbox]++
					mark.Store(seen["bob"])
				}
			}
		}()
		time.Sleep(10 * time.Second)
		for i := range 120 {
			send("bob", i)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if got := mark.Load(); got != uint64(i)+1 {
				t.Fatalf("%d of bob's %d messages came", got, i+1)
			}
			time.Sleep(time.Second)
		}
		if got := store.most.Load(); got > 64 {
			t.Errorf("%d reads at once", got)
		}
		store.late.Store(int64(3 * time.Second)) // longer than the others wait
		time.Sleep(3 * time.Minute)
		send("s00", 1)
		time.Sleep(time.Minute)
		store.late.Store(-1)
		send("s01", 1)
		time.Sleep(time.Minute)
		cancel()
		<-done
		if len(seen) != silents+1 || seen["s00"] != 2 || seen["s01"] != 2 {
			t.Errorf("%d inboxes were seen, s00 to %d, s01 to %d; want all %d, to 2", len(seen), seen["s00"], seen["s01"], silents+1)
		}
		if lost < silents || lost > silents+2 {
			t.Errorf("%d times an inbox was called unavailable; want once each, and once more for s00", lost)
		}
	})
}
