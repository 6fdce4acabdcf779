package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// naive is what a read should return, from a plain list of all entries ever.
func naive(all []stream.Entry, first uint64, o engine.ReadOptions) (start uint64, entries []stream.Entry, beyond bool) {
	tail := uint64(len(all))
	start = o.Start.Seq
	if o.Start.Time != 0 {
		for start = first; start < tail && all[start].Timestamp < o.Start.Time; start++ {
		}
	}
	if start > tail {
		return 0, nil, true
	}
	start = max(start, first)
	size := 0
	for _, e := range all[start:] {
		size += e.Metered()
		if len(entries) == o.Records && o.Records > 0 || len(entries) == 1000 {
			break
		}
		limit := o.Bytes
		if limit == 0 {
			limit = stream.MaxPageBytes
		}
		if size > limit && len(entries) > 0 {
			break
		}
		entries = append(entries, e)
	}
	return start, entries, false
}

// A read returns what a plain list would, for all batches, trims, starts and
// limits, from memory as from the disk.
func TestReadWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var clock atomic.Int64
		clock.Store(1_000_000)
		o := engine.Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return time.UnixMilli(clock.Load()) }}
		e, err := engine.Open(o)
		if err != nil {
			rt.Fatal(err)
		}
		if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
			rt.Fatal(err)
		}
		var all []stream.Entry
		first := uint64(0)
		for n := range rapid.IntRange(1, 25).Draw(rt, "batches") {
			clock.Add(rapid.Int64Range(0, 3).Draw(rt, "ms"))
			in := engine.Input{}
			for range rapid.IntRange(1, 6).Draw(rt, "records") {
				r := stream.Record{Body: make([]byte, rapid.SampledFrom([]int{0, 1, 50, 3000}).Draw(rt, "body"))}
				for h := range rapid.IntRange(0, 3).Draw(rt, "headers") {
					r.Headers = append(r.Headers, stream.Header{Name: fmt.Sprint("h", h), Value: fmt.Sprint(n)})
				}
				in.Records = append(in.Records, r)
			}
			if rapid.IntRange(0, 5).Draw(rt, "trim?") == 0 {
				to := rapid.Uint64Range(0, uint64(len(all)+8)).Draw(rt, "trim to")
				r := stream.Trim(to)
				in.Records = append(in.Records, r)
				first = max(first, min(to, uint64(len(all)+len(in.Records))))
			}
			for _, r := range in.Records {
				all = append(all, stream.Entry{
					Seq: uint64(len(all)), Timestamp: stream.Timestamp(clock.Load()),
					Record: r,
				})
			}
			if ack, err := e.Append(t.Context(), basin, "s", in); err != nil || ack.End.Seq != uint64(len(all)) {
				rt.Fatalf("append %d: %+v, %v; want the end to be %d", n, ack, err, len(all))
			}
		}
		var reads []engine.ReadOptions
		for range 12 {
			o := engine.ReadOptions{
				Start:   stream.Start{Seq: rapid.Uint64Range(0, uint64(len(all)+2)).Draw(rt, "seq")},
				Records: rapid.SampledFrom([]int{0, 1, 2, 7, 1000}).Draw(rt, "limit"),
				Bytes:   rapid.SampledFrom([]int{0, 1, 8, 60, 3100, 7000}).Draw(rt, "bytes"),
			}
			if rapid.IntRange(0, 3).Draw(rt, "by time") == 0 {
				o.Start = stream.Start{Time: stream.Timestamp(rapid.Uint64Range(1, 100).Draw(rt, "time") + 999_990)}
			}
			reads = append(reads, o)
		}
		compare := func(where string) {
			for _, o := range reads {
				start, want, beyond := naive(all, first, o)
				got, err := e.Read(t.Context(), basin, "s", o)
				if r := (*engine.RangeError)(nil); beyond {
					if !errors.As(err, &r) || r.Tail.Seq != uint64(len(all)) {
						rt.Fatalf("%s: read %+v: err = %v; want a range error with %d", where, o, err, len(all))
					}
					continue
				}
				if err != nil || got.Start != start || got.First != first || got.Tail.Seq != uint64(len(all)) {
					rt.Fatalf("%s: read %+v: %+v, %v; want it from %d, the first is %d", where, o, got, err, start, first)
				}
				if diff := cmp.Diff(want, got.Entries, entriesAlike); diff != "" {
					rt.Fatalf("%s: read %+v (-want +got):\n%s", where, o, diff)
				}
			}
		}
		compare("memory")
		if err := e.Close(); err != nil {
			rt.Fatal(err)
		}
		if e, err = engine.Open(o); err != nil {
			rt.Fatal(err)
		}
		compare("disk")
		if err := e.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// entriesAlike compares entries by content, and bodies all at once.
var entriesAlike = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b stream.Record) bool {
	return bytes.Equal(a.Body, b.Body) && slices.Equal(a.Headers, b.Headers)
})}

// Readers at the tail, behind it, and far behind see every record once and in
// order while writers and trims go on.
func TestReadersBesideWriters(t *testing.T) {
	e := memory(t)
	const records = 3000
	done := make(chan error, 4)
	for r := range 4 {
		go func() { done <- follow(t, e, records, uint64(r)*100) }()
	}
	for i := range records / 3 {
		add(t, e, "s", input(fmt.Sprint(3*i), fmt.Sprint(3*i+1), fmt.Sprint(3*i+2)))
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// follow reads "s" from a position until it has seen all of so many records.
func follow(t *testing.T, e *engine.Engine, records int, from uint64) error {
	s, err := e.Stream(t.Context(), basin, "s")
	if err != nil {
		return err
	}
	for from < uint64(records) {
		b, err := s.Read(engine.ReadOptions{Start: stream.Start{Seq: from}})
		if r := (*engine.RangeError)(nil); errors.As(err, &r) {
			b.Tail.Seq, err = from-1, nil // not there yet
		}
		if err != nil {
			return err
		}
		for _, entry := range b.Entries {
			if entry.Seq != from || string(entry.Body) != fmt.Sprint(from) {
				return fmt.Errorf("%q at %d; want record %d", entry.Body, entry.Seq, from)
			}
			from++
		}
		if from < uint64(records) && from == b.Tail.Seq {
			changed, err := s.Changed(from)
			if err != nil {
				return err
			}
			<-changed
		}
	}
	return nil
}

// What a read of few bytes keeps is little, however many records there are.
func TestReadKeepsLittle(t *testing.T) {
	o := engine.Options{Dir: "data", FS: vfs.NewMem()}
	e := open(t, o)
	create(t, e, "s")
	fill(t, e, "s", 2000, 1)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, o)
	s, err := e.Stream(t.Context(), basin, "s") // from the disk
	if err != nil {
		t.Fatal(err)
	}
	const reads = 1000
	kept := make([][]stream.Entry, reads)
	live := func() int {
		var mem runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools held goes with the second
		runtime.ReadMemStats(&mem)
		return int(mem.HeapAlloc)
	}
	before := live()
	for i := range kept {
		b, err := s.Read(engine.ReadOptions{Start: stream.Start{Seq: uint64(i)}, Bytes: 300})
		if err != nil || len(b.Entries) == 0 {
			t.Fatalf("Read: %d entries, %v", len(b.Entries), err)
		}
		kept[i] = b.Entries
	}
	if got := (live() - before) / reads; got > 4<<10 {
		t.Errorf("a read of 300 bytes keeps %d", got)
	}
	runtime.KeepAlive(kept)
}

// A trim while its stream is read is either seen whole or not at all.
func TestReadersBesideTrims(t *testing.T) {
	o := engine.Options{Dir: "data", FS: vfs.NewMem()}
	e := open(t, o)
	create(t, e, "s")
	fill(t, e, "s", 20_000, 1) // more than is kept in memory, so that reads go to the disk
	stop := make(chan struct{})
	done := make(chan error, 3)
	for range 3 {
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				b, err := e.Read(t.Context(), basin, "s", engine.ReadOptions{Records: 50})
				if err == nil && (len(b.Entries) == 0 || b.Entries[0].Seq != b.First || b.Start != b.First) {
					err = fmt.Errorf("read gives %d records from %d; want them from %d", len(b.Entries), b.Start, b.First)
				}
				if err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for to := range uint64(1500) {
		add(t, e, "s", command(stream.Trim(7*to)))
	}
	close(stop)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
