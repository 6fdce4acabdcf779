package wire

import (
	"context"
	"iter"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// heartbeat is how long a reader at the tail hears nothing. S2 sends one every
// 5 to 15 s; the SDKs take a session for dead after 20 s.
const heartbeat = 10 * time.Second

// A reading is one read of a stream by S2's rules, whatever the form of its
// answer.
type reading struct {
	of    *engine.Stream
	from  stream.Start
	tail  stream.Position // the last that was seen
	query readQuery

	// What is left of the query's bounds.
	count, bytes uint64
}

// A part is what a reader gets at once: entries, with the tail if it reaches
// it, or a heartbeat, which is the tail alone.
type part struct {
	entries []stream.Entry
	tail    *stream.Position
}

// reading resolves where the read begins, and refuses what can't be read.
func (s *Server) reading(ctx context.Context, basin, name string, q readQuery) (*reading, error) {
	if q.timestamp != nil && q.until != nil && *q.timestamp >= *q.until {
		return nil, faultf(invalid, "the start timestamp exceeds or equals until")
	}
	of, err := s.engine.Stream(ctx, basin, name)
	if err != nil {
		return nil, err
	}
	tail, err := of.Tail()
	if err != nil {
		return nil, err
	}
	r := &reading{of: of, tail: tail, query: q, count: orMax(q.count), bytes: orMax(q.bytes)}
	switch {
	case q.seq != nil:
		r.from.Seq = *q.seq
	case q.timestamp != nil:
		r.from.Time = stream.Timestamp(*q.timestamp)
	case q.offset != nil:
		r.from.Seq = tail.Seq - min(tail.Seq, *q.offset)
	default:
		r.from.Seq = tail.Seq
	}
	if r.from.Seq > tail.Seq || r.from.Time > tail.Timestamp {
		if !q.clamp {
			return nil, unwritten(tail)
		}
		r.from = stream.Start{Seq: tail.Seq}
	}
	// A start by time never is at the tail, even where it resolves to it.
	if r.from.Time == 0 && q.timestamp == nil && r.from.Seq == tail.Seq && !q.follows() {
		return nil, unwritten(tail)
	}
	return r, nil
}

func orMax(n *uint64) uint64 {
	if n == nil {
		return ^uint64(0)
	}
	return *n
}

// parts yields the read. It ends by itself when a bound is met or, if the query
// does not follow, at the tail. Its last element may be an error, which is ctx's,
// a *fault, or the engine's.
func (r *reading) parts(ctx context.Context, draining <-chan struct{}) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		deadline := newDeadline(r.query.wait)
		defer deadline.stop()
		told := false // the reader knows that it is at the tail
		for r.count > 0 && r.bytes > 0 {
			if r.from.Time > 0 || r.from.Seq < r.tail.Seq {
				p, bound, err := r.next()
				switch {
				case err != nil:
					yield(part{}, err)
					return
				case len(p.entries) > 0:
					if !yield(p, nil) {
						return
					}
					told = p.tail != nil
					deadline.reset()
				}
				if bound {
					return
				}
				continue
			}
			if !r.query.follows() {
				return
			}
			if !told && !yield(part{tail: &r.tail}, nil) {
				return
			}
			told = true
			beat, err := r.wait(ctx, deadline, draining)
			switch {
			case err != nil:
				yield(part{}, err)
				return
			case beat == expired:
				return
			case beat == silent:
				told = false
			}
		}
	}
}

// next reads one part from the stream. bound says that the read ends with it.
func (r *reading) next() (p part, bound bool, err error) {
	b, err := r.of.Read(engine.ReadOptions{Start: r.from, Records: int(min(r.count, stream.MaxPageRecords))}) // up to 1000
	if err != nil {
		return part{}, false, err
	}
	r.tail = b.Tail
	if len(b.Entries) == 0 {
		r.from = stream.Start{Seq: b.Tail.Seq} // all up to the tail was trimmed
		return part{}, false, nil
	}
	n := r.allowed(b.Entries)
	if n == 0 {
		return part{}, true, nil
	}
	p.entries = b.Entries[:n]
	r.from = stream.Start{Seq: p.entries[n-1].Seq + 1}
	if r.from.Seq == b.Tail.Seq {
		p.tail = &b.Tail
	}
	return p, n < len(b.Entries), nil
}

// allowed returns how many of entries the bounds allow, and takes them off.
func (r *reading) allowed(entries []stream.Entry) int {
	for i, e := range entries {
		size := uint64(e.Metered()) // a length
		if r.count == 0 || size > r.bytes || r.query.until != nil && uint64(e.Timestamp) >= *r.query.until {
			return i
		}
		r.count--
		r.bytes -= size
	}
	return len(entries)
}

// A wake says why wait returned.
type wake int

const (
	moved wake = iota
	silent
	expired
)

// wait waits at the tail.
func (r *reading) wait(ctx context.Context, deadline *deadline, draining <-chan struct{}) (wake, error) {
	changed, err := r.of.Changed(r.from.Seq)
	if err != nil {
		return 0, err
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	deadline.arm()
	select {
	case <-changed:
		tail, err := r.of.Tail()
		r.tail = tail
		return moved, err
	case <-beat.C:
		return silent, nil
	case <-deadline.expired():
		return expired, nil
	case <-draining:
		return 0, errDraining()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// A deadline ends a read that got no record for as long as the query said. It
// runs from the first time that the reader is at the tail.
type deadline struct {
	wait  *time.Duration
	timer *time.Timer
}

func newDeadline(wait *time.Duration) *deadline { return &deadline{wait: wait} }

func (d *deadline) arm() {
	if d.timer == nil {
		d.reset()
	}
}

func (d *deadline) reset() {
	if d.wait == nil {
		return
	}
	d.stop()
	d.timer = time.NewTimer(*d.wait)
}

func (d *deadline) expired() <-chan time.Time {
	if d.timer == nil {
		return nil
	}
	return d.timer.C
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
