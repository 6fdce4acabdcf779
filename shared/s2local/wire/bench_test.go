package wire_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// What the Go SDK gets out of the server, durable on disk.

func BenchmarkUnaryAppend(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			st := benchHost(b).sdk(nil).Stream("s")
			b.SetParallelism(writers)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := st.Append(b.Context(), benchInput(1)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkAppendSession(b *testing.B) {
	for _, records := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d records a batch", records), func(b *testing.B) {
			session, err := benchHost(b).sdk(nil).Stream("s").AppendSession(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			in := benchInput(records)
			for b.Loop() {
				f, err := session.Submit(in)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if err := session.Close(); err != nil { // waits for the acks
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

func BenchmarkReadSession(b *testing.B) {
	h := benchHost(b)
	const batches, records = 100, 1000
	in := engine.Input{}
	for range records {
		in.Records = append(in.Records, stream.Record{Body: bytes.Repeat([]byte("x"), 256)})
	}
	for range batches {
		if _, err := h.engine.Append(b.Context(), basin, "s", in); err != nil {
			b.Fatal(err)
		}
	}
	st := h.sdk(nil).Stream("s")
	for b.Loop() {
		session, err := st.ReadSession(b.Context(), &s2.ReadOptions{SeqNum: new(uint64(0)), Count: new(uint64(batches * records))})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for session.Next() {
			n++
		}
		if n != batches*records || session.Err() != nil {
			b.Fatalf("read %d records, err = %v; want %d", n, session.Err(), batches*records)
		}
	}
	b.ReportMetric(float64(b.N*batches*records)/b.Elapsed().Seconds(), "records/s")
}

func benchHost(b *testing.B) *host {
	b.Helper()
	e := openEngine(b, engine.Options{Dir: b.TempDir()})
	if _, _, err := e.CreateBasin(b.Context(), basin, engine.BasinConfig{CreateOnAppend: true}, ""); err != nil {
		b.Fatal(err)
	}
	return startHost(b, e, "127.0.0.1:0")
}

func benchInput(records int) *s2.AppendInput {
	in := new(s2.AppendInput)
	for range records {
		in.Records = append(in.Records, s2.AppendRecord{Body: bytes.Repeat([]byte("x"), 256)})
	}
	return in
}
