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

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// A submitted is one frame of an append session on its way to its answer.
type submitted struct {
	pending *engine.Pending
	size    int64
	err     error // instead: the frame can't be submitted, and is the last
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
	// Reading must end before this returns, as the body is the server's then.
	ctx, cancel := context.WithCancel(r.Context())
	in := make(chan submitted, sessionBatches)
	budget := semaphore.NewWeighted(sessionBytes)
	go func() {
		defer close(in)
		s.submit(ctx, r.Body, session, budget, in)
	}()
	defer func() {
		cancel()
		_ = out.control.SetReadDeadline(time.Unix(1, 0)) // a server that can't is one without sessions to end
		for range in {                                   // until the reader is gone
		}
	}()
	draining := s.draining
	for {
		select {
		case <-draining:
			// What was submitted is answered; the reader stops taking more.
			draining = nil
			_ = out.control.SetReadDeadline(time.Unix(1, 0))
		case next, more := <-in:
			switch {
			case !more && draining == nil:
				pause(r.Context(), ackPause)
				out.end(faultf(serverDraining, "the server is shutting down"))
				return nil
			case !more:
				return nil
			}
			if err := out.answer(ctx, next, len(in) == 0); err != nil {
				if r.Context().Err() == nil {
					out.end(s.told(ctx, err))
				}
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

// answer waits for the outcome of in and sends its ack; flush says that nothing
// comes right behind it.
func (o *session) answer(ctx context.Context, in submitted, flush bool) error {
	if in.err != nil {
		return in.err
	}
	ack, err := in.pending.Wait(ctx)
	if err != nil {
		return err
	}
	var at int
	o.buf, at = beginFrame(o.buf[:0])
	o.buf = ackProto(o.buf, ack)
	endFrame(o.buf, at)
	return o.write(flush)
}

// submit reads frames and submits them until the body, the session or the server
// ends.
func (s *Server) submit(ctx context.Context, body io.Reader, to *engine.Session, budget *semaphore.Weighted, out chan<- submitted) {
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		next, err := s.nextInput(ctx, r, to, budget)
		if err != nil {
			if errors.Is(err, io.EOF) || s.isDraining() {
				return
			}
			next.err = err
		}
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

func (s *Server) nextInput(ctx context.Context, r *bufio.Reader, to *engine.Session, budget *semaphore.Weighted) (submitted, error) {
	b, err := s.codings.nextFrame(r)
	if errors.Is(err, errFrame) {
		return submitted{}, faultf(badFrame, "%v", err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return submitted{}, faultf(clientHangup, "the body broke off")
	}
	if err != nil {
		return submitted{}, err
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
	if s.isDraining() {
		return submitted{}, faultf(serverDraining, "the server is shutting down")
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
