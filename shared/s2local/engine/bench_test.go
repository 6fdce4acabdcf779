package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// BenchmarkAppend is durable appends of 1 KiB from concurrent writers, each to a
// stream of its own.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			e := open(b, engine.Options{Dir: b.TempDir()})
			for i := range writers {
				create(b, e, fmt.Sprintf("inbox/%d", i))
			}
			in := engine.Input{Records: []stream.Record{message(1 << 10)}}
			b.SetBytes(1 << 10)
			b.ReportAllocs()
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			for i := range writers {
				name := fmt.Sprintf("inbox/%d", i)
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := e.Append(context.Background(), basin, name, in); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkReplay reads 100,000 records of 1 KiB, each a batch of its own, by
// pages of 1000.
func BenchmarkReplay(b *testing.B) {
	e := open(b, engine.Options{Dir: b.TempDir()})
	create(b, e, "inbox/bob")
	fill(b, e, "inbox/bob", 100_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		from := uint64(0)
		for from < 100_000 {
			batch, err := e.Read(context.Background(), basin, "inbox/bob", engine.ReadOptions{Start: stream.Start{Seq: from}})
			if err != nil {
				b.Fatal(err)
			}
			from = batch.Next()
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
