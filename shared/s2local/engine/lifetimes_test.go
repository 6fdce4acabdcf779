package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// Streams that are made, appended to, fenced, trimmed, configured, left to age,
// deleted and made again are at any time what was done to them says: what they
// hold, their tail and its time, their fence, how long each record stays and each
// empty stream, and what watchers are told. So they are when they were just dropped
// from memory, and behind power cuts after which the clock is another.
func TestLifetimes(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 11)), seed: seed, fs: vfs.NewCrashableMem()}
			w.open()
			for w.step = range 150 {
				w.act()
				w.check()
			}
		})
	}
}

// lateness is by how much retention may come late: the sweeper looks once a second.
const lateness = 2500 * time.Millisecond

// A modelStream is a stream as it should be.
type modelStream struct {
	age, wait time.Duration // retention, and how long it may be empty; 0: for ever
	records   []modelRecord // all there ever were
	first     int
	fence     string
	emptied   time.Time // not before that
	seen      time.Time // to be empty
	resolved  time.Time // when its configuration was last written
}

type modelRecord struct {
	body          string
	time, arrival int64 // ms; the arrival is the stream's, which never goes back
}

// A world is the streams, as they are and as they should be.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	seed  uint64
	step  int
	did   string
	fs    *vfs.MemFS
	skew  time.Duration // of the clock
	e     *engine.Engine
	model map[string]*modelStream

	unwatch context.CancelFunc
	ended   chan struct{} // closed when the watcher has ended

	mu    sync.Mutex
	tails map[string]uint64 // as the watcher was told
}

func (w *world) now() time.Time { return time.Now().Add(w.skew) }

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d, step %d (%s): %s", w.seed, w.step, w.did, fmt.Sprintf(format, args...))
}

// open opens the engine on what is on the disk, and a watcher.
func (w *world) open() {
	e, err := engine.Open(engine.Options{Dir: "data", FS: w.fs, Now: w.now, Hot: 2})
	if err != nil {
		w.fatalf("open: %v", err)
	}
	if _, _, err := e.EnsureBasin(w.t.Context(), basin, engine.BasinConfig{}); err != nil {
		w.fatalf("ensure: %v", err)
	}
	w.e = e
	if w.model == nil {
		w.model = map[string]*modelStream{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	tails, ended := map[string]uint64{}, make(chan struct{})
	w.tails, w.unwatch, w.ended = tails, cancel, ended
	w.t.Cleanup(func() {
		cancel()
		_ = e.Close()
	})
	go func() {
		defer close(ended)
		for moved, err := range e.Watch(ctx, basin, "") {
			if err != nil {
				return
			}
			w.mu.Lock()
			for _, m := range moved {
				tails[m.Name] = m.Tail
			}
			w.mu.Unlock()
		}
	}()
}

func (w *world) close() {
	w.unwatch()
	<-w.ended
	if err := w.e.Close(); err != nil {
		w.fatalf("close: %v", err)
	}
}

// act does one thing, to the engine and to the model.
func (w *world) act() {
	name := fmt.Sprintf("s%d", w.rng.IntN(4))
	m := w.model[name]
	kind := w.rng.IntN(20)
	switch {
	case kind == 0: // the power fails, and the clock that comes back is another
		w.did = "power cut"
		after := w.fs.CrashClone(vfs.CrashCloneCfg{})
		w.close()
		w.fs = after
		w.skew += time.Duration(w.rng.IntN(161)-80) * time.Second
		w.did = fmt.Sprintf("power cut, clock %v off", w.skew)
		w.open()
	case kind <= 4:
		w.did = "time goes by"
		time.Sleep(time.Duration(w.rng.IntN(80)) * time.Second)
	case m == nil:
		w.did = "create " + name
		w.create(name)
	case kind == 5:
		w.did = "delete " + name
		if err := w.e.DeleteStream(w.t.Context(), basin, name); err != nil {
			w.fatalf("%v", err)
		}
		delete(w.model, name)
	case kind == 6:
		w.did = "configure " + name
		w.configure(name, m)
	default:
		w.did = "append to " + name
		w.append(name, m)
	}
}

func (w *world) config() (c engine.StreamConfig, age, wait time.Duration) {
	age = []time.Duration{0, 40 * time.Second, 4 * time.Minute}[w.rng.IntN(3)]
	wait = []time.Duration{0, 20 * time.Second, 2 * time.Minute}[w.rng.IntN(3)]
	return engine.StreamConfig{RetentionAge: &age, DeleteOnEmptyAge: &wait}, age, wait
}

func (w *world) create(name string) {
	c, age, wait := w.config()
	if _, _, err := w.e.CreateStream(w.t.Context(), basin, name, c, ""); err != nil {
		w.fatalf("%v", err)
	}
	w.model[name] = &modelStream{age: age, wait: wait, emptied: w.now(), seen: w.now(), resolved: w.now()}
}

func (w *world) configure(name string, m *modelStream) {
	c, age, wait := w.config()
	if _, _, err := w.e.EnsureStream(w.t.Context(), basin, name, c); err != nil {
		w.fatalf("%v", err)
	}
	m.age, m.wait, m.resolved = age, wait, w.now()
}

func (w *world) append(name string, m *modelStream) {
	in, batch, now := engine.Input{}, len(m.records), w.now().UnixMilli()
	r := modelRecord{time: now, arrival: now}
	if batch > 0 {
		r.time, r.arrival = max(now, m.records[batch-1].time), max(now, m.records[batch-1].arrival)
	}
	for i := range 1 + w.rng.IntN(3) {
		record := stream.Record{Body: fmt.Appendf(nil, "%d/%d", w.step, i)}
		switch w.rng.IntN(8) {
		case 0:
			record = stream.Fence(fmt.Sprint("f", w.rng.IntN(2)))
			m.fence = string(record.Body)
		case 1:
			to := max(0, batch+2-w.rng.IntN(8))
			record = stream.Trim(uint64(to))
			m.first = max(m.first, min(to, batch+i+1))
		}
		in.Records = append(in.Records, record)
		r.body = string(record.Body)
		m.records = append(m.records, r)
	}
	ack, err := w.e.Append(w.t.Context(), basin, name, in)
	if err != nil || ack.Start.Seq != uint64(batch) {
		w.fatalf("ack %+v, %v; want it at %d", ack, err, batch)
	}
	if m.first == len(m.records) {
		m.emptied, m.seen = w.now(), w.now()
	}
}

// check compares the engine with the model, once all is quiet.
func (w *world) check() {
	w.t.Helper()
	time.Sleep(time.Second) // a look of the sweeper's may be due
	synctest.Wait()
	for name, m := range w.model {
		b, err := w.e.Read(w.t.Context(), basin, name, engine.ReadOptions{})
		if errors.Is(err, engine.ErrStreamNotFound) {
			w.removed(name, m)
			continue
		}
		if err != nil {
			w.fatalf("read %s: %v", name, err)
		}
		w.compare(name, m, b)
	}
	w.watched()
}

// removed judges a stream that is not there any more.
func (w *world) removed(name string, m *modelStream) {
	if m.first < len(m.records) { // its last records may have gone just before
		w.aged(name, m, len(m.records))
	}
	if m.first < len(m.records) || m.wait == 0 || w.now().Before(m.emptied.Add(m.wait)) {
		w.fatalf("%s is gone at %v; it holds %d to %d, and goes %v behind %v", name, w.now(), m.first, len(m.records), m.wait, m.emptied)
	}
	delete(w.model, name)
}

// aged judges that the first record of a stream is now another.
func (w *world) aged(name string, m *modelStream, first int) {
	for _, r := range m.records[m.first:first] {
		if m.age == 0 || w.now().UnixMilli() < r.arrival+m.age.Milliseconds() {
			w.fatalf("%s lost a record of %d, at %d, with a retention of %v", name, r.arrival, w.now().UnixMilli(), m.age)
		}
	}
	if m.first = first; first == len(m.records) {
		m.emptied, m.seen = time.UnixMilli(m.records[first-1].arrival).Add(m.age), w.now()
	}
}

func (w *world) compare(name string, m *modelStream, b engine.Batch) {
	now := w.now()
	if first := int(b.First); first > m.first {
		w.aged(name, m, first)
	}
	next := len(m.records)
	if b.First != uint64(m.first) || b.Tail.Seq != uint64(next) || b.Start != b.First || len(b.Entries) != next-m.first {
		w.fatalf("%s: %d records from %d, first %d, tail %v; want %d to %d", name, len(b.Entries), b.Start, b.First, b.Tail, m.first, next)
	}
	for i, e := range b.Entries {
		if want := m.records[m.first+i]; string(e.Body) != want.body || int64(e.Timestamp) != want.time {
			w.fatalf("%s at %d: %q of %d; want %q of %d", name, e.Seq, e.Body, e.Timestamp, want.body, want.time)
		}
	}
	if next > 0 && int64(b.Tail.Timestamp) != m.records[next-1].time {
		w.fatalf("%s: tail of %d; want %d", name, b.Tail.Timestamp, m.records[next-1].time)
	}
	// What should have gone.
	if m.first < next && m.age > 0 {
		if r := m.records[m.first]; time.UnixMilli(r.arrival).Add(m.age+lateness).Before(now) && m.resolved.Add(lateness).Before(now) {
			w.fatalf("%s still has a record of %d at %d, with a retention of %v", name, r.arrival, now.UnixMilli(), m.age)
		}
	}
	if m.first == next && m.wait > 0 && m.seen.Add(m.wait+2*lateness).Before(now) && m.resolved.Add(lateness).Before(now) {
		w.fatalf("%s is still there at %v; it was empty at %v, and goes after %v", name, now, m.seen, m.wait)
	}
	probe := input("x")
	probe.Token = new("no such token")
	var fenced *stream.FencedError
	if _, err := w.e.Append(w.t.Context(), basin, name, probe); !errors.As(err, &fenced) || fenced.Token != m.fence {
		w.fatalf("the fence of %s: %v; want %q", name, err, m.fence)
	}
}

// watched compares what watchers are told: one that has been there, and a new one.
func (w *world) watched() {
	w.t.Helper()
	now := map[string]uint64{}
	for moved, err := range w.e.Watch(w.t.Context(), basin, "") {
		if err != nil {
			w.fatalf("watch: %v", err)
		}
		if len(moved) == 0 {
			break
		}
		for _, m := range moved {
			now[m.Name] = m.Tail
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, m := range w.model {
		want := uint64(len(m.records))
		if told, all := w.tails[name], now[name]; told != want || all != want {
			w.fatalf("watchers were told that %s is at %d, and at first at %d; want %d", name, told, all, want)
		}
	}
	if len(now) != len(w.model) {
		w.fatalf("a watcher sees %d streams; want %d", len(now), len(w.model))
	}
}
