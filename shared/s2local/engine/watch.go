package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Moved is a stream and its new tail.
type Moved struct {
	Name string
	Tail uint64
}

// Watch yields the streams of a basin whose name begins with prefix and whose
// durable tail moved, in batches of at most 1000: first every stream there is,
// then an empty batch, then what moves, new streams included. Moves are joined.
// A reader that is behind by more than Options.Hot streams is given all again,
// moved or not. It ends with an error, yielded once with a nil batch.
func (e *Engine) Watch(ctx context.Context, basin, prefix string) iter.Seq2[[]Moved, error] {
	return func(yield func([]Moved, error) bool) {
		b, err := e.basin(basin)
		if err == nil {
			err = e.err()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		w := &watcher{basin: b.Number, prefix: prefix, signal: make(chan struct{}, 1), moved: map[string]uint64{}}
		e.watchMu.Lock()
		e.watchers[w] = struct{}{}
		e.watchMu.Unlock()
		defer func() {
			e.watchMu.Lock()
			delete(e.watchers, w)
			e.watchMu.Unlock()
		}()
		if err := w.run(ctx, e, yield); err != nil {
			yield(nil, err)
		}
	}
}

// A watcher collects the moves that one Watch has not yielded yet.
type watcher struct {
	basin  uint32
	prefix string
	signal chan struct{} // holds one if there is something new

	mu    sync.Mutex
	moved map[string]uint64 // tails
	lost  bool              // there were too many: sweep again
}

// run yields until the reader has enough, then returns nil, or until an error.
func (w *watcher) run(ctx context.Context, e *Engine, yield func([]Moved, error) bool) error {
	enough, err := w.sweep(ctx, e, yield)
	if enough || err != nil {
		return err
	}
	if !yield([]Moved{}, nil) {
		return nil
	}
	for {
		select {
		case <-w.signal:
		case <-e.ended:
		case <-ctx.Done():
			return fmt.Errorf("watch: %w", ctx.Err())
		}
		if err := e.err(); err != nil {
			return err
		}
		batch, lost := w.take()
		if lost {
			batch = nil // the sweep tells all of it, or what came later
			if enough, err := w.sweep(ctx, e, yield); enough || err != nil {
				return err
			}
		}
		for part := range slices.Chunk(batch, maxList) {
			if !yield(part, nil) {
				return nil
			}
		}
	}
}

// take returns what moved, by name, and forgets it.
func (w *watcher) take() (batch []Moved, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch = make([]Moved, 0, len(w.moved))
	for name, tail := range w.moved {
		batch = append(batch, Moved{name, tail})
	}
	clear(w.moved)
	lost, w.lost = w.lost, false
	slices.SortFunc(batch, func(a, b Moved) int { return strings.Compare(a.Name, b.Name) })
	return batch, lost
}

// sweep yields every stream there is.
func (w *watcher) sweep(ctx context.Context, e *Engine, yield func([]Moved, error) bool) (enough bool, err error) {
	for from, more := "", true; more; {
		if ctx.Err() != nil {
			return false, fmt.Errorf("watch: %w", ctx.Err())
		}
		var batch []Moved
		if batch, more, err = w.part(e, from); err != nil {
			return false, err
		}
		if len(batch) > 0 {
			from = batch[len(batch)-1].Name
			if !yield(batch, nil) {
				return true, nil
			}
		}
	}
	return false, nil
}

// part returns the next streams behind from.
func (w *watcher) part(e *Engine, from string) (batch []Moved, more bool, err error) {
	if err := e.enter(); err != nil {
		return nil, false, err
	}
	defer e.leave()
	batch, more, err = e.tails(w.basin, w.prefix, from)
	if err != nil {
		return nil, false, err
	}
	if err := e.settle(); err != nil { // some of it may not have been durable when it was read
		return nil, false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range batch {
		if tail, ok := w.moved[m.Name]; ok && tail == m.Tail {
			delete(w.moved, m.Name) // the sweep tells it
		}
	}
	return batch, more, nil
}

// tails returns the next streams behind from, and their tails.
func (e *Engine) tails(basin uint32, prefix, from string) (batch []Moved, more bool, err error) {
	lives, err := e.names(keyLife, basin, prefix, from)
	if err != nil {
		return nil, false, err
	}
	var heads *pebble.Iterator // of the same moment
	for lives.First(); err == nil && lives.Valid() && len(batch) < maxList; lives.Next() {
		k := streamKey{basin, string(lives.Key()[5:])}
		tail, ok := e.inMemory(k)
		if !ok {
			if heads == nil {
				heads, err = lives.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{}})
			}
			if err == nil {
				tail, err = storedTail(heads, k, lives.Value())
			}
		}
		batch = append(batch, Moved{k.name, tail})
	}
	more = lives.Valid()
	if heads != nil {
		err = errors.Join(err, heads.Close())
	}
	if err = errors.Join(err, lives.Close()); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return batch, more, nil
}

// storedTail returns the tail of the stream k of a stored life.
func storedTail(it *pebble.Iterator, k streamKey, life []byte) (uint64, error) {
	if len(life) < 8 {
		return 0, errCodec
	}
	key := k.in(keyHead)
	it.SetBounds(key, append(key, 0))
	if !it.First() {
		return 0, errors.Join(errHole, it.Error())
	}
	h, err := decodeHead(it.Value())
	if err != nil {
		return 0, err
	}
	if h.last(it, k.basin, binary.BigEndian.Uint64(life)) {
		return lastOf(it.Key()) + 1, nil
	}
	return h.next, it.Error()
}

// moved tells the watchers of st's durable tail.
func (e *Engine) moved(st *state) {
	e.watchMu.Lock()
	defer e.watchMu.Unlock()
	for w := range e.watchers {
		if w.basin == st.key.basin && strings.HasPrefix(st.key.name, w.prefix) {
			w.add(st, e.hot)
		}
	}
}

func (w *watcher) add(st *state, most int) {
	w.mu.Lock()
	if len(w.moved) >= most {
		clear(w.moved)
		w.lost = true
	}
	w.moved[st.key.name] = st.durable.next
	w.mu.Unlock()
	w.wake()
}

func (w *watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}
