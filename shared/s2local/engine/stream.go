package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"agentchat/shared/stream"
)

// A Stream is one life of a stream, from its creation to its deletion: unlike a
// name it never turns into another's. After the deletion it gives ErrDeleted.
type Stream struct {
	e     *Engine
	key   streamKey
	life  uint64
	state atomic.Pointer[state]
}

// Stream returns the present life of a stream, made first if its basin creates on read.
func (e *Engine) Stream(ctx context.Context, basin, name string) (*Stream, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	b, err := e.basin(basin)
	if err != nil {
		return nil, err
	}
	k := streamKey{b.Number, name}
	if err := CheckStreamName(name); err != nil {
		return nil, err
	}
	for {
		st, err := e.lookup(k)
		if err != nil {
			return nil, err
		}
		if st != nil {
			st.mu.Lock()
			now, evicted := st.now, st.evicted
			st.mu.Unlock()
			if evicted {
				continue
			}
			if now != nil {
				s := &Stream{e: e, key: k, life: now.ID}
				s.state.Store(st)
				return s, nil
			}
		}
		if !b.Config.CreateOnRead {
			return nil, fmt.Errorf("%w: %s", ErrStreamNotFound, name)
		}
		if err := e.createOnRead(ctx, b, name); err != nil {
			return nil, err
		}
	}
}

// Read is Stream.Read of the present life.
func (e *Engine) Read(ctx context.Context, basin, name string, o ReadOptions) (Batch, error) {
	s, err := e.Stream(ctx, basin, name)
	if err != nil {
		return Batch{}, err
	}
	b, err := s.Read(o)
	return b, notFound(err, name)
}

// Tail is Stream.Tail of the present life.
func (e *Engine) Tail(ctx context.Context, basin, name string) (stream.Position, error) {
	s, err := e.Stream(ctx, basin, name)
	if err != nil {
		return stream.Position{}, err
	}
	tail, err := s.Tail()
	return tail, notFound(err, name)
}

// Changed is Stream.Changed of the present life.
func (e *Engine) Changed(basin, name string, seq uint64) (<-chan struct{}, error) {
	s, err := e.Stream(context.Background(), basin, name)
	if err != nil {
		return nil, err
	}
	c, err := s.Changed(seq)
	return c, notFound(err, name)
}

// notFound is what a deletion during a call by name looks like.
func notFound(err error, name string) error {
	if errors.Is(err, ErrDeleted) {
		return fmt.Errorf("%w: %s", ErrStreamNotFound, name)
	}
	return err
}

// locked returns the state of s with its lock held. The engine is entered.
func (s *Stream) locked() (*state, error) {
	for {
		if err := s.e.err(); err != nil {
			return nil, err
		}
		st := s.state.Load()
		st.mu.Lock()
		if !st.evicted {
			if st.gone {
				st.mu.Unlock()
				return nil, fmt.Errorf("%w: %s", ErrDeleted, s.key.name)
			}
			st.used = true
			return st, nil
		}
		st.mu.Unlock()
		next, err := s.reload()
		if err != nil {
			return nil, err
		}
		s.state.Store(next)
	}
}

// reload finds the state of s again after it was evicted.
func (s *Stream) reload() (*state, error) {
	st, err := s.e.lookup(s.key)
	if err != nil {
		return nil, err
	}
	if st == nil || st.id != s.life {
		return nil, fmt.Errorf("%w: %s", ErrDeleted, s.key.name)
	}
	return st, nil
}

// Tail returns the position that the next record will get, and the timestamp of
// the last one. It counts durable records only.
func (s *Stream) Tail() (stream.Position, error) {
	if err := s.e.enter(); err != nil {
		return stream.Position{}, err
	}
	defer s.e.leave()
	st, err := s.locked()
	if err != nil {
		return stream.Position{}, err
	}
	defer st.mu.Unlock()
	return st.durable.tail(), nil
}

func (h *head) tail() stream.Position {
	return stream.Position{Seq: h.next, Timestamp: stream.Timestamp(h.time)}
}

// Changed returns a channel that is closed when the durable tail has moved past
// seq, when the stream is deleted, or when the engine ends. It may be closed for
// no such reason, so that the caller has to read and to ask again.
func (s *Stream) Changed(seq uint64) (<-chan struct{}, error) {
	if err := s.e.enter(); err != nil {
		return nil, err
	}
	defer s.e.leave()
	st, err := s.locked()
	if err != nil {
		return nil, err
	}
	defer st.mu.Unlock()
	if st.changed == nil {
		st.changed = make(chan struct{})
	}
	c := st.changed
	if st.durable.next > seq || s.e.err() != nil {
		st.touch()
	}
	return c, nil
}
