package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"agentchat/shared/stream"
)

// A basinMeta is what is known of a basin; it is replaced, never changed.
type basinMeta struct {
	Number  uint32      `json:"number"`
	Created time.Time   `json:"created"`
	Config  BasinConfig `json:"config"`
	Token   string      `json:"token,omitempty"` // of the create that made it
	Asked   BasinConfig `json:"asked"`           // by that create
	name    string
}

func (b *basinMeta) info() Info {
	return Info{Name: b.name, CreatedAt: b.Created, Cipher: b.Config.StreamCipher}
}

// A life is the part of a stream that its owner decides: one incarnation, from
// a create to a delete, and its configuration. It is replaced, never changed.
type life struct {
	ID      uint64       `json:"-"`
	Created time.Time    `json:"created"`
	Config  StreamConfig `json:"config"` // resolved
	Token   string       `json:"token,omitempty"`
	Asked   StreamConfig `json:"asked"`
	Cipher  *string      `json:"cipher,omitempty"`
}

func (l *life) info(name string) Info {
	return Info{Name: name, CreatedAt: l.Created, Cipher: l.Cipher}
}

// encode puts the number in front, where a sweep finds it without a parser.
func (l *life) encode() ([]byte, error) {
	text, err := json.Marshal(l)
	return append(binary.BigEndian.AppendUint64(nil, l.ID), text...), err
}

func decodeLife(b []byte) (*life, error) {
	if len(b) < 8 {
		return nil, errCodec
	}
	l := &life{ID: binary.BigEndian.Uint64(b)}
	if err := json.Unmarshal(b[8:], l); err != nil {
		return nil, fmt.Errorf("stored stream: %w", err)
	}
	return l, nil
}

// A head is the part of a stream that appends move. Times are milliseconds. It is
// not written with each batch: where the last one ends, follow finds out.
type head struct {
	next    uint64 // position of the next record
	time    uint64 // timestamp of the last record
	first   uint64 // first retained position
	arrival int64  // arrival of the last batch
	oldest  int64  // arrival of the first retained batch, or somewhat before it
	emptied int64  // since when the stream has been empty, if it is
	due     int64  // when its retention is looked at next; 0: never
	fence   string
}

const headLen = 7 * 8

func (h *head) empty() bool { return h.first == h.next }

func (h *head) encode(b []byte) []byte {
	for _, v := range []uint64{h.next, h.time, h.first, uint64(h.arrival), uint64(h.oldest), uint64(h.emptied), uint64(h.due)} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return append(b, h.fence...)
}

func decodeHead(b []byte) (head, error) {
	if len(b) < headLen {
		return head{}, errCodec
	}
	var v [7]uint64
	for i := range v {
		v[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return head{
		next: v[0], time: v[1], first: v[2],
		arrival: int64(v[3]), oldest: int64(v[4]), emptied: int64(v[5]), due: int64(v[6]),
		fence: string(b[headLen:]),
	}, nil
}

// saved reports whether a head that was stored as old, and what the batches behind
// it say, give h.
func (h head) saved(old head) bool {
	old.next, old.time, old.arrival = h.next, h.time, h.arrival
	return h == old
}

// follow moves h, as it was stored, to the end of the last batch of its life. it is
// any iterator; its bounds are changed.
func (h *head) follow(it *pebble.Iterator, basin uint32, life uint64) error {
	if !h.last(it, basin, life) {
		return it.Error()
	}
	b, err := parse(it.Value())
	if err != nil {
		return err
	}
	h.next, h.time, h.arrival = lastOf(it.Key())+1, b.lastTime(), b.arrival()
	return nil
}

// last moves it to the last batch of a life, if that is behind what h, as it was
// stored, knows of; false: it is not, or the iterator failed. The batch itself,
// which may be large, is not read unless its value is asked for.
func (h *head) last(it *pebble.Iterator, basin uint32, life uint64) bool {
	from := batchKey(nil, basin, life, h.next)
	it.SetBounds(from, after(from[:batchKeyLen-8]))
	return it.Last()
}

// dueNext returns when retention has to be looked at, 0 for never.
func (h *head) dueNext(c StreamConfig) int64 {
	switch {
	case !h.empty() && *c.RetentionAge > 0:
		return h.oldest + c.RetentionAge.Milliseconds()
	case h.empty() && *c.DeleteOnEmptyAge > 0:
		return h.emptied + c.DeleteOnEmptyAge.Milliseconds()
	}
	return 0
}

// A state is a stream in memory. The committer changes what is staged; what is
// durable follows when the commit is, and readers see nothing else.
type state struct {
	key streamKey
	id  uint64 // of the life; a later one is another state

	// The committer's own.
	staged    head
	stored    head // as it was last written
	life      *life
	dead      bool     // deleted in the group being staged
	dirty     bool     // in the group being staged
	chunks    []*chunk // appended in the group being staged
	trimmedTo uint64   // staged.first as it was before the group

	mu        sync.Mutex
	durable   head
	now       *life         // durable life; nil: not there yet, or no longer
	gone      bool          // was there, is no longer
	evicted   bool          // no longer kept up to date: look the stream up again
	recent    []*chunk      // the last batches, contiguous up to the tail; possibly none
	forgotten int           // chunks that recent's array still holds in front
	changed   chan struct{} // closed at the next change; nil if nobody asked
	used      bool          // since the last round of eviction
}

// A chunk is a batch in memory.
type chunk struct {
	of      *state
	entries []stream.Entry
	size    int
}

// touch wakes who waits for a change. st.mu is held.
func (st *state) touch() {
	if st.changed != nil {
		close(st.changed)
		st.changed = nil
	}
}

// A registry holds the states in use. It loads under its lock, so that no state
// can appear that was read before a change and inserted after it.
type registry struct {
	mu      sync.Mutex
	streams map[streamKey]*state
	basins  map[string]*basinMeta
	numbers map[uint32]*basinMeta
	most    int // so many streams may be in memory before the next eviction
}

// defaultHot is Options.Hot if nobody said.
const defaultHot = 1 << 16

func (e *Engine) basin(name string) (*basinMeta, error) {
	e.reg.mu.Lock()
	defer e.reg.mu.Unlock()
	if b := e.reg.basins[name]; b != nil {
		return b, nil
	}
	if err := stream.CheckBasinName(name); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s", ErrBasinNotFound, name)
}

// lookup returns the state of a stream, nil if there is none. One may be
// returned that is not durable yet, or is deleted: see state.now.
func (e *Engine) lookup(k streamKey) (*state, error) {
	e.reg.mu.Lock()
	defer e.reg.mu.Unlock()
	if st := e.reg.streams[k]; st != nil {
		return st, nil
	}
	meta, err := e.get(k.in(keyLife))
	if err != nil || meta == nil {
		return nil, err
	}
	l, err := decodeLife(meta)
	if err != nil {
		return nil, err
	}
	value, err := e.get(k.in(keyHead))
	if err != nil {
		return nil, err
	}
	h, err := decodeHead(value)
	if err != nil {
		return nil, fmt.Errorf("head of %q: %w", k.name, err)
	}
	st := &state{key: k, id: l.ID, life: l, now: l, stored: h, used: true}
	if err := e.followed(&h, k.basin, l.ID); err != nil {
		return nil, fmt.Errorf("tail of %q: %w", k.name, err)
	}
	st.staged, st.durable = h, h
	e.reg.streams[k] = st
	return st, nil
}

// followed is h.follow with an iterator of its own.
func (e *Engine) followed(h *head, basin uint32, life uint64) error {
	it, err := e.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	if err := errors.Join(h.follow(it, basin, life), it.Close()); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// inMemory returns the durable tail of a stream whose state is in memory.
func (e *Engine) inMemory(k streamKey) (tail uint64, ok bool) {
	e.reg.mu.Lock()
	st := e.reg.streams[k]
	e.reg.mu.Unlock()
	if st == nil {
		return 0, false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.durable.next, st.now != nil
}

// get returns a copy of the value under key, nil if there is none.
func (e *Engine) get(key []byte) ([]byte, error) {
	v, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	v = append(make([]byte, 0, len(v)), v...)
	return v, closer.Close()
}

// evict drops states that were not used since the last round once there are too
// many. Only the committer calls it, between groups, so none has anything staged.
func (e *Engine) evict() {
	e.reg.mu.Lock()
	defer e.reg.mu.Unlock()
	if len(e.reg.streams) <= e.reg.most {
		return
	}
	for k, st := range e.reg.streams {
		st.mu.Lock()
		if st.used {
			st.used = false
		} else {
			st.evicted, st.recent = true, nil
			st.touch()
			delete(e.reg.streams, k)
		}
		st.mu.Unlock()
	}
	e.reg.most = max(e.hot, len(e.reg.streams)*5/4) // a round is not free
}
