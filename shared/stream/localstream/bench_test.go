package localstream_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// BenchmarkFollowers is one append that a thousand followers of its stream have
// all seen, and what an idle one of them holds.
func BenchmarkFollowers(b *testing.B) {
	s, end := localstream.Memory()
	defer end()
	bob := stream.Inbox(ident.Agent("bob"))
	if err := s.Create(b.Context(), bob, stream.Config{}); err != nil {
		b.Fatal(err)
	}
	const followers = 1000
	var before, idle runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithCancel(b.Context())
	var there, seen, gone sync.WaitGroup
	there.Add(followers)
	for range followers {
		gone.Go(func() {
			first := true
			for p, err := range s.Follow(ctx, bob, 0, time.Hour) {
				if err != nil {
					return
				}
				if first {
					first = false
					there.Done()
				}
				for range p.Entries {
					seen.Done()
				}
			}
		})
	}
	there.Wait()
	runtime.GC()
	runtime.ReadMemStats(&idle)
	held := idle.HeapAlloc + idle.StackInuse - before.HeapAlloc - before.StackInuse
	in := stream.Batch{Records: []stream.Record{{Body: make([]byte, 1<<10)}}}
	for b.Loop() {
		seen.Add(followers)
		if _, err := s.Append(b.Context(), bob, in); err != nil {
			b.Fatal(err)
		}
		seen.Wait()
	}
	b.ReportMetric(float64(held)/followers, "B/follower")
	cancel()
	gone.Wait()
}
