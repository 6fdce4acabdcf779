package monitor_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// sizes are of fleets.
func sizes() []int { return []int{100, 1000, 10_000} }

// benchFleet returns inboxes with so many messages of 1 KiB each.
func benchFleet(b *testing.B, dir string, inboxes, each int) stream.Store {
	b.Helper()
	store, end, err := localstream.Open(b.Context(), engine.Options{Dir: dir, Memory: dir == ""}, "bench-basin")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = end() })
	for i := range inboxes {
		if err := store.Create(b.Context(), stream.Inbox(short(i)), stream.Config{}); err != nil {
			b.Fatal(err)
		}
	}
	for range each {
		for i := range inboxes {
			post(b, store, i)
		}
	}
	return store
}

func short(i int) ident.Agent { return ident.Agent(fmt.Sprintf("agent-%05d", i)) }

func post(b *testing.B, store stream.Store, i int) {
	b.Helper()
	r := envelope(api.KindMessage, "alice", "id", 900)
	if _, err := store.Append(b.Context(), stream.Inbox(short(i)), stream.Batch{Records: []stream.Record{r}}); err != nil {
		b.Fatal(err)
	}
}

// A page over a fleet in which nothing is new.
func BenchmarkIdlePage(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := monitor.New(benchFleet(b, "", n, 1), nil)
			at := ""
			for next := "-"; next != at; {
				page, err := m.Page(b.Context(), monitor.Query{Cursor: at, Limit: 1000})
				if err != nil {
					b.Fatal(err)
				}
				next, at = at, page.NextCursor
			}
			var buf []byte
			for b.Loop() {
				page, err := m.Page(b.Context(), monitor.Query{Cursor: at})
				if err != nil || len(page.Deliveries) != 0 {
					b.Fatal(err, len(page.Deliveries))
				}
				buf = page.AppendJSON(buf[:0])
			}
		})
	}
}

// Pages of 1,000 over a fleet that was never read: 20,000 records of 1 KiB.
func BenchmarkCatchUpPages(b *testing.B) {
	const records = 20_000
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := benchFleet(b, "", n, records/n)
			var buf []byte
			for b.Loop() {
				m, at, seen := monitor.New(store, nil), "", 0
				for {
					page, err := m.Page(b.Context(), monitor.Query{Cursor: at, Limit: 1000})
					if err != nil {
						b.Fatal(err)
					}
					if page.NextCursor == at {
						break
					}
					at, seen = page.NextCursor, seen+len(page.Deliveries)
					buf = page.AppendJSON(buf[:0])
				}
				if seen != records {
					b.Fatal(seen)
				}
			}
			b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// A stream over the same.
func BenchmarkCatchUpStream(b *testing.B) {
	const records = 20_000
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := benchFleet(b, "", n, records/n)
			for b.Loop() {
				seen := 0
				for events, err := range monitor.Events(monitor.New(store, nil).Follow(b.Context(), monitor.Query{})) {
					if err != nil {
						b.Fatal(err)
					}
					if seen += len(events); seen == records {
						break
					}
				}
			}
			b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// A message at a time, 1,000 a second, each into another inbox, on a disk: how
// long after it was acknowledged it is an event.
func BenchmarkLive(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := benchFleet(b, b.TempDir(), n, 1)
			ctx, cancel := context.WithCancel(b.Context())
			came := make(chan time.Time, 1<<16)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for events, err := range monitor.Events(monitor.New(store, nil).Follow(ctx, monitor.Query{})) {
					if err != nil {
						return
					}
					for range events {
						came <- time.Now()
					}
				}
			}()
			for range n {
				<-came
			}
			var late, sent []time.Duration
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			i := 0
			for b.Loop() {
				<-tick.C
				i++
				begun := time.Now()
				post(b, store, i*7919%n)
				acked := time.Now()
				sent = append(sent, acked.Sub(begun))
				late = append(late, max((<-came).Sub(acked), 0))
			}
			cancel()
			<-done
			slices.Sort(late)
			slices.Sort(sent)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(sent[len(sent)/2].Nanoseconds())/1e3, "µs-send-p50")
			b.ReportMetric(float64(late[len(late)/2].Nanoseconds())/1e3, "µs-added-p50")
			b.ReportMetric(float64(late[len(late)*99/100].Nanoseconds())/1e3, "µs-added-p99")
		})
	}
}
