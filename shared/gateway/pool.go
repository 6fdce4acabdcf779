package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

var (
	errRefused = errors.New("not given to a function")
	errBusy    = fmt.Errorf("%w: all sandboxes of it are at work", errRefused)
	errClosed  = fmt.Errorf("%w: the gateway is closed", errRefused)
)

// A pool keeps the sandboxes of one function.
type pool struct {
	name   string
	f      Function
	output io.Writer

	mu     sync.Mutex
	idle   []*sandbox            // each asks for an invocation
	all    map[*sandbox]struct{} // these, those at work, and those that start
	closed bool
}

// get returns a sandbox for one invocation: an idle one, or a new one.
func (p *pool) get(ctx context.Context) (*sandbox, error) {
	s, err := p.take()
	if s != nil || err != nil {
		return s, err
	}
	s = newSandbox()
	p.mu.Lock()
	switch {
	case p.closed:
		err = errClosed
	case len(p.all) >= p.f.Max:
		err = errBusy
	default:
		p.all[s] = struct{}{} // its place is taken before it is started, and close sees it
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, p.name, p.f, p.output); err != nil {
		p.drop(s)
		return nil, fmt.Errorf("start a sandbox: %w", err)
	}
	return s, nil
}

// take returns an idle sandbox, nil if there is none.
func (p *pool) take() (*sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		s.rest.Stop()
		if s.alive() {
			return s, nil
		}
		delete(p.all, s) // it ended by itself while it was idle
		s.kill()
	}
	return nil, nil
}

// put waits until the process asks for another invocation and keeps it for that.
// One that does not ask before ctx ends, or has ended, is gone.
func (p *pool) put(ctx context.Context, s *sandbox) {
	select {
	case <-s.asked:
	case <-s.died:
	case <-ctx.Done():
		s.kill()
	}
	p.mu.Lock()
	keep := s.alive() && ctx.Err() == nil && !p.closed
	if keep {
		p.idle = append(p.idle, s)
		s.rest = time.AfterFunc(p.f.Idle, func() { p.retire(s) })
	}
	p.mu.Unlock()
	if !keep {
		p.drop(s)
	}
}

// retire ends s, unless it was taken meanwhile.
func (p *pool) retire(s *sandbox) {
	p.mu.Lock()
	i := slices.Index(p.idle, s)
	if i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		p.drop(s)
	}
}

func (p *pool) drop(s *sandbox) {
	s.kill()
	<-s.died
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, s)
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	all := make([]*sandbox, 0, len(p.all))
	for s := range p.all {
		all = append(all, s)
	}
	for _, s := range p.idle {
		s.rest.Stop()
	}
	p.idle = nil
	p.mu.Unlock()
	for _, s := range all {
		s.kill()
		<-s.died
	}
}

// explain returns what a caller is told of err, as AWS tells it.
func explain(err error) (status int, message string) {
	switch {
	case errors.Is(err, errBusy):
		return http.StatusTooManyRequests, "Rate Exceeded."
	case errors.Is(err, errClosed):
		return http.StatusServiceUnavailable, "Service Unavailable"
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge, err.Error()
	case errors.Is(err, errHeaders):
		return http.StatusRequestHeaderFieldsTooLarge, err.Error()
	case errors.Is(err, errUnreadable):
		return http.StatusBadRequest, err.Error()
	}
	return http.StatusBadGateway, "Internal Server Error"
}
