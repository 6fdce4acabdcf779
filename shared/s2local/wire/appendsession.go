package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"agentchat/shared/s2local/engine"
)

// What one append session may have submitted and not been answered: enough to
// keep the committer's groups full, little enough that a client which never
// reads its acks is stopped by the flow control of its own session.
const (
	sessionBatches = 256
	sessionBytes   = 8 << 20 // metered
)

// ackPause is how long a client gets to take its last acks before it is told that
// the server ends. The Go SDK picks at random between an ack and an end that it
// has both received, and sends again what it believes to be unanswered.
const ackPause = 100 * time.Millisecond

// A submitted is one frame of an append session on its way to its answer.
type submitted struct {
	pending *engine.Pending
	size    int64
	err     error // instead: why there will be no more frames, if not for the client's clean end
}

// appendSession answers each input of the session in order. The first that is
// refused ends it: nothing that the client sent after that one is written, and
// what was accepted before it is acknowledged first.
func (s *Server) appendSession(w http.ResponseWriter, r *http.Request, basin, name string) error {
	if err := s.appendable(r.Context(), basin, name); err != nil {
		return err
	}
	session := s.engine.Session(basin, name)
	out := s.beginSession(w)
	ctx, cancel := context.WithCancel(r.Context())
	in := make(chan submitted, sessionBatches)
	budget := semaphore.NewWeighted(sessionBytes)
	go func() {
		defer close(in)
		s.submit(ctx, r.Body, session, budget, in)
	}()
	// The body is the server's once this has returned: nobody may read it then.
	defer func() {
		cancel()
		out.stopReading()
		for range in { // until the reader is gone
		}
	}()
	draining := s.draining
	for {
		if len(in) == 0 && out.flush() != nil {
			return nil
		}
		select {
		case <-draining:
			draining = nil
			out.stopReading() // what was submitted is answered; then comes the reader's error
		case next, more := <-in:
			if !more {
				_ = out.flush() // the client is gone
				return nil
			}
			if err := out.answer(ctx, next); err != nil {
				f := s.told(ctx, err)
				if f.code == serverDraining && out.flush() == nil {
					pause(ctx, ackPause)
				}
				out.end(f)
				return nil
			}
			budget.Release(next.size)
		}
	}
}

// appendable returns an error if there is no such stream and an append would not
// make it, so that the client is told by the status.
func (s *Server) appendable(ctx context.Context, basin, name string) error {
	_, err := s.engine.StreamConfig(ctx, basin, name)
	if !errors.Is(err, engine.ErrStreamNotFound) {
		return err
	}
	config, noBasin := s.engine.BasinConfig(ctx, basin)
	if noBasin != nil {
		return noBasin
	}
	if !config.CreateOnAppend {
		return err
	}
	return nil
}

// answer waits for the outcome of in and writes its ack. It flushes what was
// written before if it has to wait.
func (o *session) answer(ctx context.Context, in submitted) error {
	if in.err != nil {
		return in.err
	}
	select {
	case <-in.pending.Done():
	default:
		if err := o.flush(); err != nil {
			return err
		}
	}
	ack, err := in.pending.Wait(ctx)
	if err != nil {
		return err
	}
	var at int
	o.buf, at = beginFrame(o.buf[:0])
	o.buf = ackProto(o.buf, ack)
	endFrame(o.buf, at)
	return o.write()
}

// stopReading makes a read of the request's body fail, now and later. A server
// that can't do it has no body of which the end is not known.
func (o *session) stopReading() { _ = o.control.SetReadDeadline(time.Unix(1, 0)) }

// submit reads frames and submits them until the body, the session or the server
// ends.
func (s *Server) submit(ctx context.Context, body io.Reader, to *engine.Session, budget *semaphore.Weighted, out chan<- submitted) {
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		next, err := s.nextInput(ctx, r, to, budget)
		if errors.Is(err, io.EOF) {
			return
		}
		next.err = err
		select {
		case out <- next:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// nextInput reads one frame and submits it. io.EOF is the client's clean end.
func (s *Server) nextInput(ctx context.Context, r *bufio.Reader, to *engine.Session, budget *semaphore.Weighted) (submitted, error) {
	b, err := s.codings.nextFrame(r)
	switch {
	case errors.Is(err, io.EOF):
		return submitted{}, io.EOF
	case s.isDraining():
		return submitted{}, errDraining()
	case errors.Is(err, errFrame):
		return submitted{}, faultf(badFrame, "%v", err)
	case err != nil:
		return submitted{}, faultf(clientHangup, "the body broke off")
	}
	in, err := inputOfProto(b)
	if err != nil {
		return submitted{}, err
	}
	if err := sendable(in); err != nil {
		return submitted{}, err
	}
	size := min(int64(len(b)), sessionBytes)
	if err := budget.Acquire(ctx, size); err != nil {
		return submitted{}, err
	}
	return submitted{pending: to.Submit(in), size: size}, nil
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

func errDraining() *fault { return faultf(serverDraining, "the server is shutting down") }

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
