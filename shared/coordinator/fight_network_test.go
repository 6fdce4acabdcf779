package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"time"
)

var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// A network brings the requests of one life to a process, or fails to.
type network struct{ l *life }

func (l *life) network() *http.Client { return &http.Client{Transport: network{l}} }

// RoundTrip implements http.RoundTripper.
func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	w, what := n.l.w, r.Method+" "+r.URL.Path[len("/v1/"):]
	f := w.park(n.l, "asks "+what)
	var proc int
	var refused bool
	w.sync(func() { proc, refused = n.l.rng.IntN(len(w.procs)), n.l.rng.IntN(2) == 0 })
	if f == lost && refused {
		return nil, errRefused
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // from now on it may have been heard
	}
	if f == lost || f == gone && refused {
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
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	in := httptest.NewRequestWithContext(ctx, r.Method, r.URL.RequestURI(), body)
	in.Header = r.Header.Clone()
	pr, pw := io.Pipe()
	c := &conn{life: n.l, header: http.Header{}, status: http.StatusOK, begun: make(chan struct{}), pr: pr, pw: pw, cancel: cancel}
	context.AfterFunc(r.Context(), c.leave)
	w.serving.Go(func() { // ends with the handler, which hears of the client's leaving
		w.procs[proc].handler.ServeHTTP(c, in)
		c.begin()
		_ = pw.Close() // never fails
	})
	select {
	case <-c.begun:
	case <-r.Context().Done():
		cancel()
		return nil, r.Context().Err()
	}
	if w.park(n.l, "hears "+what) != pass || n.l.deaf != "" && strings.HasSuffix(what, n.l.deaf) {
		c.leave()
		return nil, errReset
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: c.status, Status: http.StatusText(c.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header, ContentLength: -1, Request: r, Body: c,
	}, nil
}

// A conn carries one answer. What is not flushed is kept until the end.
type conn struct {
	life   *life
	header http.Header
	status int
	kept   bytes.Buffer
	isOpen bool
	begun  chan struct{} // closed when the head is there
	pr     *io.PipeReader
	pw     *io.PipeWriter
	cancel context.CancelFunc
}

func (c *conn) Header() http.Header              { return c.header }
func (c *conn) WriteHeader(status int)           { c.status = status }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// begin sends the head, once.
func (c *conn) begin() {
	if !c.isOpen {
		c.isOpen = true
		c.header = c.header.Clone()
		close(c.begun)
		_, _ = c.pw.Write(c.kept.Bytes()) // the other side may have left
	}
}

// Write keeps b, or passes it on.
func (c *conn) Write(b []byte) (int, error) {
	if c.isOpen {
		return c.pw.Write(b)
	}
	return c.kept.Write(b)
}

// FlushError lets the other side have the head, and what was kept.
func (c *conn) FlushError() error {
	c.begin()
	return nil
}

// Read returns what comes, once the life is not stopped.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.pr.Read(p)
	var frozen chan struct{}
	c.life.w.sync(func() { frozen = c.life.frozen })
	if frozen != nil {
		<-frozen
	}
	return n, err
}

// leave breaks the connection off.
func (c *conn) leave() {
	c.cancel()
	_ = c.pr.CloseWithError(errReset) // never fails
}

// Close implements io.Closer.
func (c *conn) Close() error {
	c.leave()
	return nil
}
