package s2stream_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

func kilobyte() stream.Batch {
	return stream.Batch{Records: []stream.Record{{Headers: []stream.Header{{Name: "kind", Value: "message"}}, Body: bytes.Repeat([]byte("x"), 1000)}}}
}

// Appends over the wire to a store in memory: what the SDK and HTTP cost.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			s := open(b, s2stream.Options{Token: token, Endpoint: serve(b, nil).url})
			create(b, s, inbox)
			var group sync.WaitGroup
			for range writers {
				group.Go(func() {
					for range (b.N + writers - 1) / writers {
						if _, err := s.Append(b.Context(), inbox, kilobyte()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// One op is the replay of 20,000 records of 1 KiB.
func BenchmarkReplay(b *testing.B) {
	s := open(b, s2stream.Options{Token: token, Endpoint: serve(b, nil).url})
	create(b, s, inbox)
	const total = 20000
	for range total / 500 {
		var in stream.Batch
		for range 500 {
			in.Records = append(in.Records, kilobyte().Records...)
		}
		if _, err := s.Append(b.Context(), inbox, in); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("follow", func(b *testing.B) {
		pages := 0
		for b.Loop() {
			for page, err := range s.Follow(b.Context(), inbox, 0, time.Minute) {
				if err != nil {
					b.Fatal(err)
				}
				pages++
				if page.Next(0) == total {
					break
				}
			}
		}
		b.ReportMetric(float64(b.N)*total/b.Elapsed().Seconds(), "records/s")
		b.ReportMetric(float64(b.N)*total/float64(pages), "records/page")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			for from := uint64(0); from < total; {
				page, err := s.Read(b.Context(), inbox, stream.Start{Seq: from}, stream.Limit{})
				if err != nil {
					b.Fatal(err)
				}
				from = page.Next(from)
			}
		}
		b.ReportMetric(float64(b.N)*total/b.Elapsed().Seconds(), "records/s")
	})
}

// The memory that a follower at the tail holds, the server's part included.
func BenchmarkIdleFollower(b *testing.B) {
	s := open(b, s2stream.Options{Token: token, Endpoint: serve(b, nil).url})
	create(b, s, inbox)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithCancel(b.Context())
	var open, ended sync.WaitGroup
	open.Add(b.N)
	slots := make(chan struct{}, 64)
	for range b.N {
		slots <- struct{}{}
		ended.Go(func() {
			for _, err := range s.Follow(ctx, inbox, 0, time.Hour) {
				if err == nil {
					<-slots
					open.Done()
				}
			}
		})
	}
	open.Wait()
	timer := time.NewTimer(time.Second) // for the sessions, which open after the first page
	<-timer.C
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/float64(b.N), "B/follower")
	cancel()
	ended.Wait()
}
