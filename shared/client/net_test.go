package client_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"

	"agentchat/shared/client"
)

// A pipeNet is a network in memory, so that inside a synctest bubble its time is
// the bubble's. It can refuse connections.
type pipeNet struct {
	conns chan net.Conn
	done  chan struct{}

	mu      sync.Mutex
	refused int  // connections that were refused
	down    bool // refuse all
}

func newPipeNet() *pipeNet {
	return &pipeNet{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (n *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	down := n.down
	if down {
		n.refused++
	}
	n.mu.Unlock()
	if down {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	select {
	case n.conns <- far:
		return near, nil
	case <-n.done:
	case <-ctx.Done():
	}
	return nil, errors.New("connection refused")
}

func (n *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *pipeNet) Close() error   { close(n.done); return nil }
func (n *pipeNet) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// start serves h on a network of its own and returns a client of it; both end
// with the test.
func start(t *testing.T, h http.HandlerFunc, o client.Options) (*client.Client, *pipeNet) {
	t.Helper()
	n := newPipeNet()
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(n) }()
	o.URL = "http://chat.example/base"
	if o.Token == "" {
		o.Token = "secret-token-0123456789"
	}
	tr := &http.Transport{DialContext: n.dial, MaxResponseHeaderBytes: 1 << 20}
	o.HTTP = &http.Client{Transport: tr}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		_ = srv.Close()
		<-ended
	})
	return c, n
}
