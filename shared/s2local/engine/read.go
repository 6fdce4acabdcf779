package engine

import (
	"errors"
	"fmt"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"agentchat/shared/stream"
)

// ReadOptions say what one Read returns.
type ReadOptions struct {
	// Start is a position, or a time: then the first record that is not before it,
	// or the tail if there is none. A position of a record that is no longer
	// retained stands for the first that is.
	Start   stream.Start
	Records int // at most; 0: 1000
	Bytes   int // at most, metered, but for a first record that is larger; 0: 1 MiB
}

// A Batch is a run of consecutive entries. It ends at Tail, or where a limit was
// met. It is shared with other readers and must not be written to.
type Batch struct {
	Entries []stream.Entry
	Start   uint64          // where Start of the options was found to be; not before First
	Tail    stream.Position // durable
	First   uint64          // first retained
}

// Next returns the position behind the batch.
func (b Batch) Next() uint64 { return b.Start + uint64(len(b.Entries)) }

// Read returns one batch of durable entries, empty at the tail. It does not wait.
// A position behind the tail is *RangeError.
func (s *Stream) Read(o ReadOptions) (Batch, error) {
	if err := s.e.enter(); err != nil {
		return Batch{}, err
	}
	defer s.e.leave()
	if o.Records <= 0 || o.Records > stream.MaxPageRecords {
		o.Records = stream.MaxPageRecords
	}
	if o.Bytes <= 0 || o.Bytes > stream.MaxPageBytes {
		o.Bytes = stream.MaxPageBytes
	}
	for {
		st, err := s.locked()
		if err != nil {
			return Batch{}, err
		}
		h, recent := st.durable, st.recent
		st.mu.Unlock()
		b, err := s.read(o, &h, recent)
		if !errors.Is(err, errHole) {
			return b, err
		}
		// A trim or a deletion was in the way: once it is durable it is in
		// the state, or else the records are lost.
		if err := s.e.settle(); err != nil {
			return Batch{}, err
		}
		st, err = s.locked()
		if err != nil {
			return Batch{}, err
		}
		moved := st.durable.first > h.first
		st.mu.Unlock()
		if !moved {
			return Batch{}, fmt.Errorf("%w: %w in %s", ErrStorage, err, s.key.name)
		}
	}
}

// errHole says that records are missing where they should be dense.
var errHole = errors.New("records are missing")

// leastRecord is what a record takes at least, but for few: by it the memory of a
// page goes by the bytes that were asked for.
const leastRecord = 128

// read returns a batch of what h and recent say there is.
func (s *Stream) read(o ReadOptions, h *head, recent []*chunk) (Batch, error) {
	b := Batch{Tail: h.tail(), First: h.first, Start: o.Start.Seq}
	if o.Start.Time != 0 {
		var err error
		if b.Start, err = s.seek(uint64(o.Start.Time), h); err != nil {
			return Batch{}, err
		}
	}
	if b.Start > h.next {
		return Batch{}, &RangeError{Tail: b.Tail}
	}
	b.Start = max(b.Start, h.first)
	if b.Start == h.next {
		return b, nil
	}
	p := page{limit: o, expect: int(min(uint64(o.Records), h.next-b.Start))}
	p.likely = min(p.expect, o.Bytes/leastRecord+1)
	if len(recent) > 0 && recent[0].entries[0].Seq <= b.Start {
		for _, k := range recent[search(recent, b.Start):] {
			if !p.take(k.entries, b.Start, h.next) {
				break
			}
		}
		b.Entries = p.entries
		return b, nil
	}
	err := s.scan(&p, b.Start, h.next)
	b.Entries = p.entries
	return b, err
}

// search returns the index of the chunk that holds seq.
func search(chunks []*chunk, seq uint64) int {
	return sort.Search(len(chunks), func(i int) bool {
		e := chunks[i].entries
		return e[len(e)-1].Seq >= seq
	})
}

// scan fills p from Pebble with the records from from up to end.
func (s *Stream) scan(p *page, from, end uint64) error {
	it, err := s.batches(from)
	if err != nil {
		return err
	}
	p.entries = make([]stream.Entry, 0, p.likely)
	room := arena{next: min(max(p.limit.Bytes, leastRecord), 4<<10)}
	want, more := from, true
	for it.First(); more && want < end; it.Next() {
		if !it.Valid() {
			err = errHole
			break
		}
		var value stored
		if value, err = parse(it.Value()); err != nil || !p.mayTake(value) {
			break
		}
		value = room.copy(value)
		last := lastOf(it.Key())
		first := last + 1 - uint64(value.count())
		if first > want {
			err = errHole
			break
		}
		if more, err = p.add(value, first, from, end); err != nil {
			break
		}
		want = last + 1
	}
	return errors.Join(err, s.closeIter(it))
}

// batches iterates over the stored batches that end at or after from.
func (s *Stream) batches(from uint64) (*pebble.Iterator, error) {
	it, err := s.e.db.NewIter(&pebble.IterOptions{
		LowerBound: batchKey(nil, s.key.basin, s.life, from),
		UpperBound: after(batchKey(nil, s.key.basin, s.life, 0)[:batchKeyLen-8]),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return it, nil
}

func (s *Stream) closeIter(it *pebble.Iterator) error {
	if err := it.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// seek returns the position of the first record whose time is not before at, or
// the tail. Times never decrease, so it halves the positions.
func (s *Stream) seek(at uint64, h *head) (uint64, error) {
	if h.empty() || at > h.time {
		return h.next, nil
	}
	it, err := s.batches(h.first)
	if err != nil {
		return 0, err
	}
	lo, hi := h.first, h.next // the answer is in [lo, hi)
	for lo < hi && err == nil {
		mid := lo + (hi-lo)/2
		var b stored
		if !it.SeekGE(batchKey(nil, s.key.basin, s.life, mid)) {
			err = errHole
			break
		}
		if b, err = parse(it.Value()); err != nil {
			break
		}
		last := lastOf(it.Key())
		first := last + 1 - uint64(b.count())
		switch {
		case b.lastTime() < at:
			lo = last + 1
		case b.time(0) >= at:
			hi = min(mid, first)
		default:
			i := 0
			for b.time(i) < at {
				i++
			}
			lo = max(lo, first+uint64(i))
			hi = lo
		}
	}
	return lo, errors.Join(err, s.closeIter(it))
}

// An arena copies values into blocks that grow, so that a page costs few
// allocations and a short one little memory.
type arena struct {
	block []byte
	next  int // size of the next block
}

func (a *arena) copy(b []byte) []byte {
	if cap(a.block)-len(a.block) < len(b) {
		a.block = make([]byte, 0, max(a.next, len(b)))
		a.next = min(4*a.next, 256<<10)
	}
	at := len(a.block)
	a.block = append(a.block, b...)
	return a.block[at:len(a.block):len(a.block)]
}
