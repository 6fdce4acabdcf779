package engine

import (
	"errors"
	"fmt"
)

// ErrAfterRefusal is the outcome of an append of a session in which one before
// it was refused. It was not written.
var ErrAfterRefusal = errors.New("an append before it in its session was refused")

// A Session is a row of appends to one stream, of which the first that is refused
// is the last: those behind it are refused too, though they were submitted
// before its outcome was known. It stays with the life of the stream that its
// first append found, and gives ErrDeleted for another's.
type Session struct {
	e           *Engine
	basin, name string
	broken      bool // an append was refused by Submit, whose goroutine's it is

	// The committer's own.
	refused bool
	life    uint64 // 0: no append yet
}

// Session returns a new session of the stream, which need not be there yet.
func (e *Engine) Session(basin, name string) *Session {
	return &Session{e: e, basin: basin, name: name}
}

// Submit is Engine.Submit within the session. One goroutine at a time may call it.
func (s *Session) Submit(in Input) *Pending {
	p := &Pending{done: make(chan struct{})}
	if s.broken {
		p.settle(ErrAfterRefusal)
		return p
	}
	if err := s.e.prepare(p, s.basin, s.name, in); err != nil {
		s.broken = true
		p.settle(err)
		return p
	}
	if err := s.e.put(sessionAppend{p, s}); err != nil {
		s.broken = true
		p.settle(err)
	}
	return p
}

// A sessionAppend is the append of a session as a task.
type sessionAppend struct {
	*Pending
	session *Session
}

func (a sessionAppend) stage(g *group) {
	s := a.session
	if s.refused {
		a.err = ErrAfterRefusal
		return
	}
	if a.err = s.sameLife(g, a.key); a.err == nil {
		a.Pending.stage(g)
	}
	s.refused = a.err != nil
	if !s.refused {
		s.life = a.state.id
	}
}

func (s *Session) sameLife(g *group, k streamKey) error {
	if s.life == 0 {
		return nil
	}
	st, err := g.find(k)
	if err == nil && (st == nil || st.id != s.life) {
		err = fmt.Errorf("%w: %s", ErrDeleted, k.name)
	}
	return err
}
