package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Retention is looked at no more often than this, for so many streams at once,
// and no less often than this once anything is scheduled.
const (
	sweepEvery = time.Second
	sweepMost  = 256
	sweepLeast = 24 * 60 * 60 * 1000 // ms
)

// sweepBack is how far before its last look the sweeper looks, in ms: over the
// tombstones of all that it has removed it would take ever longer.
const sweepBack = 60 * 1000

// sweep removes what is past its retention, and streams that were empty for too
// long, when they are due. It runs until the engine is closed.
func (e *Engine) sweep() {
	for from := int64(0); ; {
		began := e.nowMS()
		next, err := e.sweepOnce(from)
		if err != nil {
			if !errors.Is(err, ErrClosed) {
				e.log.Error("retention stopped", slog.Any("error", err))
			}
			return
		}
		from = max(0, began-sweepBack)
		wait := time.Duration(min(next-e.nowMS(), sweepLeast)) * time.Millisecond
		timer := time.NewTimer(max(sweepEvery, wait))
		if next == math.MaxInt64 {
			timer.Stop() // nothing is due before the committer says so
		}
		select {
		case <-timer.C:
		case <-e.kick:
			timer.Stop()
		case <-e.quit:
			timer.Stop()
			return
		case <-e.ended:
			timer.Stop()
			return
		}
	}
}

func (e *Engine) kickSweeper() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// sweepOnce handles what became due since from and returns when to do it again, in ms.
func (e *Engine) sweepOnce(from int64) (next int64, err error) {
	// Whatever is scheduled from here on kicks.
	e.sweepAt.Store(math.MaxInt64)
	for {
		due, next, err := e.dueNow(from)
		if err != nil {
			return 0, err
		}
		changes := make([]*change, len(due)) // all in one commit, or few
		for i, d := range due {
			if changes[i], err = e.expire(d); err != nil {
				return 0, err
			}
		}
		for _, c := range changes {
			select {
			case <-c.done:
				err = c.err
			case <-e.ended:
				err = e.err()
			}
			if err != nil {
				return 0, err
			}
		}
		if len(due) == 0 {
			e.sweepAt.Store(next)
			return next, nil
		}
	}
}

// A dueLife is a life whose retention is to be looked at.
type dueLife struct {
	key streamKey
	id  uint64
	at  int64
}

// dueNow returns some of what became due since from, and if that is none, when
// something will be.
func (e *Engine) dueNow(from int64) (due []dueLife, next int64, err error) {
	if err := e.enter(); err != nil {
		return nil, 0, err
	}
	defer e.leave()
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: streamKey{}.due(from), UpperBound: []byte{keyDue + 1}})
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	now := e.nowMS()
	next = math.MaxInt64
	for it.First(); it.Valid() && len(due) < sweepMost; it.Next() {
		k, at, ok := parseDue(it.Key())
		if !ok || len(it.Value()) != 8 {
			_ = it.Close()
			return nil, 0, fmt.Errorf("%w: %w", ErrStorage, errCodec)
		}
		if at > now {
			next = at
			break
		}
		due = append(due, dueLife{key: k, at: at, id: binary.BigEndian.Uint64(it.Value())})
	}
	if err := it.Close(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return due, next, e.settle()
}

// expire submits what is due of one life, which schedules what is due next.
func (e *Engine) expire(d dueLife) (*change, error) {
	cut, oldest, err := e.expired(d)
	if err != nil {
		return nil, err
	}
	c := &change{done: make(chan struct{}), do: func(g *group) error {
		st, err := g.find(d.key)
		if err != nil {
			return err
		}
		if st == nil || st.id != d.id || st.staged.due != d.at {
			g.delete(d.key.due(d.at)) // of an earlier life
			return nil
		}
		h := &st.staged
		g.touch(st)
		g.unschedule(st)
		if wait := *st.life.Config.DeleteOnEmptyAge; h.empty() && wait > 0 && g.now >= h.emptied+wait.Milliseconds() {
			g.remove(st)
			return nil
		}
		h.first = max(h.first, cut)
		if h.oldest = oldest; oldest == 0 {
			h.oldest = g.now // what came since is a little younger than it has to be
		}
		return nil
	}}
	return c, e.put(c)
}

// expired returns the first position of d that is within its retention, and the
// arrival of that batch, 0 if all durable ones are past it.
func (e *Engine) expired(d dueLife) (cut uint64, oldest int64, err error) {
	if err := e.enter(); err != nil {
		return 0, 0, err
	}
	defer e.leave()
	st, err := e.lookup(d.key)
	if err != nil || st == nil {
		return 0, 0, err
	}
	st.mu.Lock()
	h, now := st.durable, st.now
	st.mu.Unlock()
	if now == nil || now.ID != d.id || h.empty() || *now.Config.RetentionAge == 0 {
		return 0, h.oldest, nil // as it is: its batches are not looked at
	}
	s := &Stream{e: e, key: d.key, life: d.id}
	it, err := s.batches(h.first)
	if err != nil {
		return 0, 0, err
	}
	limit := e.nowMS() - now.Config.RetentionAge.Milliseconds()
	lo, hi := h.first, h.next
	for lo < hi && err == nil {
		mid := lo + (hi-lo)/2
		if !it.SeekGE(batchKey(nil, d.key.basin, d.id, mid)) {
			hi = mid // trimmed meanwhile
			continue
		}
		var b stored
		if b, err = parse(it.Value()); err != nil {
			break
		}
		last := lastOf(it.Key())
		if b.arrival() <= limit {
			lo = last + 1
			continue
		}
		oldest = b.arrival()
		hi = min(mid, last+1-uint64(b.count()))
	}
	if lo >= h.next {
		oldest = 0
	}
	return min(lo, h.next), oldest, errors.Join(err, s.closeIter(it))
}
