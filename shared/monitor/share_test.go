package monitor_test

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// endless is a fleet of inboxes whose records are of 1 MiB, each made when it is read.
type endless struct {
	stream.Store
	inboxes int
	each    uint64
	record  stream.Record
}

func (s *endless) Watch(ctx context.Context, _ stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		moved := make([]stream.Moved, s.inboxes)
		for i := range moved {
			moved[i] = stream.Moved{Name: stream.Inbox(name(i)), Tail: s.each}
		}
		if yield(moved, nil) && yield(nil, nil) {
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
}

func (s *endless) Read(ctx context.Context, n stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	if n == stream.Checkpoints() {
		return s.Store.Read(ctx, n, start, limit)
	}
	r := s.record
	r.Body = bytes.Clone(r.Body)
	return stream.Page{Entries: []stream.Entry{{Seq: start.Seq, Timestamp: 1, Record: r}}, Tail: s.each}, nil
}

// What a page holds does not grow with the fleet, nor with what its inboxes hold.
func TestMemory(t *testing.T) {
	inner, closeStore := localstream.Memory()
	defer closeStore()
	m := monitor.New(&endless{inner, 2000, 1000, envelope(api.KindMessage, "alice", "id", 1<<20-512)}, nil)
	var peak atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			metrics.Read(samples)
			peak.Store(max(peak.Load(), samples[0].Value.Uint64()))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	at := ""
	for range 3 {
		page, err := m.Page(t.Context(), monitor.Query{Cursor: at, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Deliveries); n < 3 || n > 4 {
			t.Fatalf("a page of %d MiB", n)
		}
		at = page.NextCursor
	}
	close(stop)
	<-stopped
	if got := peak.Load(); got > 64<<20 || got == 0 {
		t.Errorf("%d MiB live while a page of 4 MiB was made", got>>20)
	}
}

// What many streams hold whose readers stand still does not grow with their number.
func TestMemoryOfMany(t *testing.T) {
	inner, closeStore := localstream.Memory()
	defer closeStore()
	const readers = 40
	m := monitor.New(&endless{inner, 200, 1000, envelope(api.KindMessage, "alice", "id", 1<<20-512)}, nil)
	var reading sync.WaitGroup
	standing, over := make(chan struct{}, readers), make(chan struct{})
	for range readers {
		reading.Go(func() {
			for page, err := range m.Follow(t.Context(), monitor.Query{}) {
				if err != nil {
					t.Error(err)
				}
				if err != nil || len(page.Deliveries) > 0 {
					standing <- struct{}{}
					<-over
					return
				}
			}
		})
	}
	for range readers {
		<-standing
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	close(over)
	reading.Wait()
	if got := mem.HeapAlloc >> 20; got > 192 {
		t.Errorf("%d readers hold %d MiB", readers, got)
	}
}

// Readers that come one by one do not add up what each may hold while it is alone:
// the bound is of all together, whatever the first ones took.
func TestMemoryOfLatecomers(t *testing.T) {
	inner, closeStore := localstream.Memory()
	defer closeStore()
	const readers, each = 50, 130 // inboxes, of more than one reader may hold
	m := monitor.New(&endless{inner, readers * each, 1000, envelope(api.KindMessage, "alice", "id", 64<<10)}, nil)
	var reading sync.WaitGroup
	standing, over := make(chan struct{}), make(chan struct{})
	for i := range readers {
		var agents []ident.Agent // of this reader, so that it has to look at them
		for k := range each {
			agents = append(agents, name(i*each+k))
		}
		reading.Go(func() {
			for page, err := range m.Follow(t.Context(), monitor.Query{Agents: agents}) {
				if err != nil {
					t.Error(err)
				}
				if err != nil || len(page.Deliveries) > 0 {
					standing <- struct{}{}
					<-over
					return
				}
			}
		})
		<-standing
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	close(over)
	reading.Wait()
	if got := mem.HeapAlloc >> 20; got > 112 || got < 20 { // 32 that all may hold, or 25 as the least of each, and what a batch has of each
		t.Errorf("%d readers hold %d MiB", readers, got)
	}
}

// A gated is a store that does not answer the reads of some callers.
type gated struct {
	stream.Store
	waiting atomic.Int64
}

type gate struct{}

func (s *gated) Read(ctx context.Context, n stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	if ctx.Value(gate{}) != nil {
		s.waiting.Add(1)
		<-ctx.Done()
		s.waiting.Add(-1)
		return stream.Page{}, stream.ErrUnavailable
	}
	return s.Store.Read(ctx, n, start, limit)
}

// A page does not wait for streams that have as many reads under way as they may.
func TestPageBesideStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, nil)
		for i := range 100 {
			f.create(name(i))
			f.send(name(i), 1)
		}
		store := &gated{Store: f.store}
		m := monitor.New(store, nil)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), gate{}, true))
		var streams sync.WaitGroup
		for range 40 {
			streams.Go(func() {
				for range m.Follow(ctx, monitor.Query{}) {
				}
			})
		}
		synctest.Wait()
		if n := store.waiting.Load(); n != 64 {
			t.Fatalf("%d reads of streams are under way; want all that there may be", n)
		}
		begun := time.Now()
		for _, q := range []monitor.Query{{Limit: 1000}, {Agents: []ident.Agent{name(0), name(1)}}, {Latest: true}} {
			if _, err := m.Page(t.Context(), q); err != nil || time.Since(begun) > 100*time.Millisecond {
				t.Errorf("a page of %+v: %v after %v; want it at once", q, err, time.Since(begun))
			}
		}
		cancel()
		streams.Wait()
	})
}

// A paced is a store that takes a moment for a read.
type paced struct {
	stream.Store
	reads atomic.Int64
}

func (s *paced) Read(ctx context.Context, n stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	s.reads.Add(1)
	time.Sleep(time.Millisecond)
	return s.Store.Read(ctx, n, start, limit)
}

// Readers that begin together find out the first records of the inboxes for each other.
func TestLooksAreShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const readers, inboxes = 20, 500
		f := newFleet(t, nil)
		for i := range inboxes {
			f.create(name(i))
			f.append(name(i), envelope(api.KindMessage, "alice", "id", 64<<10))
		}
		store := &paced{Store: f.store}
		m := monitor.New(store, nil)
		var reading sync.WaitGroup
		for range readers {
			reading.Go(func() {
				for page, err := range m.Follow(t.Context(), monitor.Query{}) {
					if err != nil {
						t.Error(err)
					}
					if err != nil || len(page.Deliveries) > 0 {
						return
					}
				}
			})
		}
		reading.Wait()
		if n := store.reads.Load(); n < inboxes || n > 6*inboxes {
			t.Errorf("%d readers made %d reads for a first batch each of %d inboxes; want far fewer than each alone would make", readers, n, inboxes)
		}
	})
}
