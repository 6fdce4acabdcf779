package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"agentchat/shared/ident"
)

// The bounds of what the readers of a pool have of records. Each has an equal part
// of the whole, but not more than a most and not less than a least.
const (
	allHeld = 32 << 20 // bytes that were read and not yet taken
	maxHeld = 8 << 20
	minHeld = 512 << 10
	typical = 512 << 10 // what a read is expected to bring before one has

	allShown = 64 << 20 // bytes of the batches that are with the readers of streams
	maxShown = 1 << 20
	minShown = 64 << 10
)

// A pool is what the readers of a kind have together: pages one, so that they do
// not wait for streams that catch up, and streams another.
type pool struct {
	calls   chan struct{} // one for each read under way
	readers atomic.Int64
	held    atomic.Int64 // bytes
}

func newPool() *pool { return &pool{calls: make(chan struct{}, maxCalls)} }

// A set is the inboxes that have something behind a reader's positions, and what
// is held of their records.
type set struct {
	*pool
	m       *Monitor
	nth     int // from 0, among the readers of the pool when this one came
	sources map[ident.Agent]*source
	mine    int // bytes held, of the pool's
	typical int // bytes that a read brought lately
	each    int // bytes that every delivery has besides on a page: its cursor

	patience time.Duration // what is lost to one inbox that does not answer; 0: no matter
	probes   int           // under way

	mu      sync.Mutex
	answers []answer // of probes, until they are taken
}

// newSet returns a set, which counts as a reader of p until it is closed.
func (m *Monitor) newSet(p *pool) *set {
	nth := int(p.readers.Add(1)) - 1
	return &set{pool: p, m: m, nth: nth, sources: map[ident.Agent]*source{}, typical: typical}
}

func (w *set) close() {
	w.hold(-w.mine)
	w.readers.Add(-1)
}

// share returns how many bytes w may hold, and batch how many a batch of it may show.
func (w *set) share() int { return w.part(allHeld, minHeld, maxHeld) }
func (w *set) batch() int { return w.part(allShown, minShown, maxShown) }

func (w *set) part(all, least, most int) int {
	return min(max(all/int(w.readers.Load()), least), most)
}

// full reports whether w holds more than it may: its share, and if the others had
// taken more when they were fewer, what they have left of the whole.
func (w *set) full() bool {
	return w.mine > w.share() || w.mine > minHeld && w.held.Load() > allHeld
}

// room returns how many bytes more w may hold; it may be negative.
func (w *set) room() int { return w.share() - w.mine }

func (w *set) hold(n int) {
	w.mine += n
	w.held.Add(int64(n))
}

// shrink lets go of what w holds too much: others have come, and its reader may
// take its time.
func (w *set) shrink() {
	for _, s := range w.sources {
		if !w.full() {
			return
		}
		w.drop(s)
	}
}

// add says that an inbox, of which all before next was read, has reached tail.
func (w *set) add(agent ident.Agent, next, tail uint64) {
	if s := w.sources[agent]; s != nil {
		s.tail = max(s.tail, tail)
	} else if next < tail {
		w.sources[agent] = &source{agent: agent, next: next, tail: tail}
	}
}

// drop lets go of what is held of s.
func (w *set) drop(s *source) {
	w.hold(-s.size)
	s.held, s.size = nil, 0
}

func (w *set) forget(s *source) {
	w.drop(s)
	delete(w.sources, s.agent)
}

// remember keeps the times of the first records that were not taken.
func (w *set) remember() {
	for _, s := range w.sources {
		if at := (spot{s.agent, s.next}); s.known && !w.m.heads.Contains(at) {
			w.m.heads.Add(at, s.head)
		}
	}
}
