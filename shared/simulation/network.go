package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"time"
)

var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// A network brings one user's requests to a process, or fails to.
type network struct {
	w   *world
	who string
	rng *rand.Rand
	n   int
}

func (w *world) network(who string) *http.Client {
	return &http.Client{Transport: &network{w: w, who: who, rng: source(w.o.Seed, "network of "+who)}}
}

// A fate is what the network does to a request.
type fate struct {
	refused    bool // there is no connection
	unheard    bool // it never arrives, but who sent it can't know
	unanswered bool // it arrives, and the answer does not
	cutAfter   int  // bytes of the answer that arrive; 0: all
}

func (n *network) fate() (f fate) {
	r, bytes := n.rng.Float64(), 1+n.rng.IntN(4000)
	switch {
	case n.w.calm.Load():
	case r < 0.02:
		f.refused = true
	case r < 0.03:
		f.unheard = true
	case r < 0.06:
		f.unanswered = true
	case r < 0.10:
		f.cutAfter = bytes
	}
	return f
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	p := n.w.process(n.rng.IntN(n.w.o.Processes))
	f := n.fate()
	if f.refused {
		return nil, errRefused
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // from now on it may have been heard
	}
	if f.unheard {
		return nil, errReset
	}
	var body io.Reader
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	n.n++
	c := &conn{n: n.n, header: http.Header{}, status: http.StatusOK, ready: make(chan struct{}), broken: make(chan struct{})}
	c.pr, c.pw = io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	c.cancel = cancel
	stop := context.AfterFunc(r.Context(), cancel)
	in := httptest.NewRequestWithContext(ctx, r.Method, r.URL.RequestURI(), body)
	in.Header = r.Header.Clone()
	in.Header.Set("X-Request-Id", fmt.Sprintf("%s-%d", n.who, n.n)) // by which the process logs it
	go func() {                                                     // ends when the handler does, which hears of the client's leaving
		defer stop()
		p.serve(c, in)
	}()
	select {
	case <-c.ready:
	case <-c.broken:
		return nil, errReset
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if f.unanswered {
		c.breakOff()
		return nil, errReset
	}
	res := &http.Response{
		StatusCode: c.status, Status: http.StatusText(c.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header, ContentLength: -1, Request: r, Body: &answer{c: c, left: f.cutAfter, cuts: f.cutAfter > 0},
	}
	return res, nil
}

// serve answers a request.
func (p *process) serve(c *conn, r *http.Request) {
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
	p.busy.Add(1)
	c.streams = func() { p.busy.Add(-1) }
	p.handler.ServeHTTP(c, r)
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	if !c.flushed {
		p.busy.Add(-1)
		c.begin()
	}
	_ = c.pw.Close() // never fails
	c.cancel()
}

// A conn carries one request. It is the http.ResponseWriter of the handler: what
// is not flushed is kept until the end.
type conn struct {
	n       int
	cancel  context.CancelFunc
	header  http.Header
	status  int
	flushed bool
	streams func()
	kept    bytes.Buffer
	ready   chan struct{} // closed when the head is there
	broken  chan struct{} // closed when nothing passes any more
	once    sync.Once
	pr      *io.PipeReader
	pw      *io.PipeWriter
}

func (c *conn) Header() http.Header              { return c.header }
func (c *conn) WriteHeader(status int)           { c.status = status }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// Write keeps b, or passes it on.
func (c *conn) Write(b []byte) (int, error) {
	if c.flushed {
		return c.pw.Write(b)
	}
	return c.kept.Write(b)
}

// FlushError lets the other side have the head, and what was kept.
func (c *conn) FlushError() error {
	if c.flushed {
		return nil
	}
	c.flushed = true
	c.streams()
	c.begin()
	_, err := c.pw.Write(c.kept.Bytes())
	return err
}

// begin sends the head.
func (c *conn) begin() {
	c.header = c.header.Clone()
	close(c.ready)
}

// breakOff ends both directions.
func (c *conn) breakOff() {
	c.once.Do(func() { close(c.broken) })
	_ = c.pw.CloseWithError(errReset) // never fails
	_ = c.pr.CloseWithError(errReset)
	c.cancel()
}

// An answer is the client's end of an answer.
type answer struct {
	c    *conn
	cuts bool
	left int
}

// Read returns what was kept, or what comes.
func (b *answer) Read(p []byte) (int, error) {
	if b.cuts && b.left == 0 {
		b.c.breakOff()
		return 0, io.ErrUnexpectedEOF
	}
	if b.cuts {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.read(p)
	b.left -= min(n, b.left)
	return n, err
}

func (b *answer) read(p []byte) (int, error) {
	if b.c.flushed {
		return b.c.pr.Read(p)
	}
	select {
	case <-b.c.broken:
		return 0, errReset
	default:
		return b.c.kept.Read(p)
	}
}

// Close leaves.
func (b *answer) Close() error {
	_ = b.c.pr.Close() // never fails
	b.c.cancel()
	return nil
}
