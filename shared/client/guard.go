package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// errSilent is why a guarded connection was given up.
var errSilent = errors.New("the connection was silent for too long")

// A guarded connection is cut when nothing has come over it for a while. A
// timeout of the whole request would end healthy streams; none at all would
// keep dead ones for ever.
type guarded struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	body   io.ReadCloser
}

func guard(ctx context.Context, limit time.Duration) (context.Context, *guarded) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &guarded{ctx: ctx, cancel: cancel, timer: time.AfterFunc(limit, func() { cancel(errSilent) })}
}

// over guards a body from now on.
func (g *guarded) over(body io.ReadCloser) io.ReadCloser {
	g.body = body
	g.timer.Reset(silentTimeout)
	return g
}

// Read reads the body; every byte is a sign of life.
func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	if n > 0 {
		g.timer.Reset(silentTimeout)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = g.reason(err)
	}
	return n, err
}

// Close ends the guard and the body.
func (g *guarded) Close() error {
	g.stop()
	return g.body.Close()
}

func (g *guarded) stop() {
	g.timer.Stop()
	g.cancel(nil)
}

// reason returns errSilent if that is what err comes from.
func (g *guarded) reason(err error) error {
	if errors.Is(context.Cause(g.ctx), errSilent) {
		return errSilent
	}
	return err
}

// roundTrip sends r once. Sent in its error is false only if no connection was
// there to send it over.
func (c *Client) roundTrip(ctx context.Context, r request) (*http.Response, *ConnError) {
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.target, bytes.NewReader(r.body))
	if err != nil {
		return nil, &ConnError{Op: r.op, Err: fmt.Errorf("make the request: %w", err)}
	}
	req.Header = r.header.Clone()
	req.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	}
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the rest of it is in Op and Trace
		}
		return nil, &ConnError{Op: r.op, Sent: connected, Write: r.writes(), Err: err}
	}
	return res, nil
}
