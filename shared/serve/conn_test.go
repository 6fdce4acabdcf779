package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/sse"
)

// A wire is a listener whose connections have no buffer: what nobody reads
// can't be written, and its time is the bubble's.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "wire"} }

// dial returns a connection to a server of h, as cmd would set one up, that
// ends with the test.
func dial(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	w := &wire{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Minute}
	go func() { _ = srv.Serve(w) }()
	client, server := net.Pipe()
	w.conns <- server
	t.Cleanup(func() {
		srv.Close()
		client.Close()
	})
	return client
}

func request(t *testing.T, conn net.Conn, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, format, args...); err != nil {
		t.Fatalf("write the request: %v", err)
	}
}

// A reader that stops reading is gone half a minute later; its source too. (The
// bubble would not end if a goroutine were left.)
func TestStuckReaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, env.Config{})
		begun := time.Now()
		var ended time.Duration
		conn := dial(t, inbox(w.Env, nil, func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
			return func(yield func([]sse.Event, error) bool) {
				big := sse.Event{ID: "1", Data: []byte(strings.Repeat("x", 1<<20))}
				for yield([]sse.Event{big}, nil) { // until nobody wants more
				}
				ended = time.Since(begun)
			}
		}))
		request(t, conn, "GET /v1/agents/alice/inbox?follow=true HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", aliceKey)
		r := bufio.NewReaderSize(conn, 16)
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("status line %q, %v; want 200", line, err)
		}
		time.Sleep(time.Hour) // the bubble's hour
		synctest.Wait()
		if ended != 30*time.Second {
			t.Errorf("the source ended after %v; want 30 s", ended)
		}
		if line := w.lines(t)[0]; line["ended"] != "client" {
			t.Errorf("logged %v; want ended: client", line)
		}
	})
}

// So is one that does not take a single answer.
func TestStuckReaderOfAnAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, env.Config{})
		conn := dial(t, messages(w.Env, nil, func(context.Context, caller, *api.GetMessageRequest) (*api.Delivery, error) {
			return &api.Delivery{TraceParent: strings.Repeat("x", 1<<20)}, nil
		}))
		begun := time.Now()
		request(t, conn, "GET /v1/agents/alice/messages/m1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", aliceKey)
		r := bufio.NewReaderSize(conn, 16)
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("status line %q, %v; want 200", line, err)
		}
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if n := len(w.lines(t)); n != 0 {
			t.Errorf("%d lines logged after %v; want the answer still on its way", n, time.Since(begun))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(w.lines(t)); n != 1 {
			t.Errorf("%d lines logged after %v; want the answer given up", n, time.Since(begun))
		}
	})
}

// A slow reader that does read keeps its stream as long as it likes.
func TestSlowReaderGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := dial(t, inbox(newWorld(t, env.Config{}).Env, nil, func(ctx context.Context, _ caller, _ *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
			return func(yield func([]sse.Event, error) bool) {
				for i := range 20 {
					if !yield([]sse.Event{event(fmt.Sprint(i))}, nil) {
						return
					}
				}
			}
		}))
		request(t, conn, "GET /v1/agents/alice/inbox?follow=true HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", aliceKey)
		resp, err := http.ReadResponse(bufio.NewReaderSize(slow{conn}, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || strings.Count(string(body), "\nid: ") != 20 {
			t.Errorf("read %d events, %v; want 20", strings.Count(string(body), "\nid: "), err)
		}
	})
}

// slow takes a second to read each piece.
type slow struct{ net.Conn }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(time.Second) // the bubble's second
	return s.Conn.Read(b)
}

// The deadline of one answer is not that of the next on the same connection,
// however long after it comes.
func TestConnectionIsUsedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []api.SendRequest
		conn := dial(t, sink(newWorld(t, env.Config{}).Env, &got))
		r := bufio.NewReader(conn)
		for range 3 {
			const body = `{"to":"bob","text":"hi"}`
			request(t, conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", sendPath, operator, len(body))
			if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
				t.Fatalf("before the body: %q, %v; want 100 Continue", line, err)
			}
			if _, err := r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			request(t, conn, "%s", body)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			resp.Body.Close()
			time.Sleep(5 * time.Minute) // the bubble's minutes
		}
		if len(got) != 3 {
			t.Errorf("the operation ran %d times; want 3", len(got))
		}
	})
}

// A body that does not come is given up after half a minute.
func TestSlowBodyIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []api.SendRequest
		begun := time.Now()
		conn := dial(t, sink(newWorld(t, env.Config{}).Env, &got))
		request(t, conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: 50\r\n\r\n{", sendPath, operator)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		resp.Body.Close()
		if took := time.Since(begun); resp.StatusCode != http.StatusBadRequest || took != 30*time.Second || !resp.Close || len(got) > 0 {
			t.Errorf("answered %d after %v, closing: %v; want 400 after 30 s, and the connection closed", resp.StatusCode, took, resp.Close)
		}
	})
}

// An operation that waits longer than a body may take is not ended by the
// body's deadline, and has its own.
func TestOperationTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		conn := dial(t, messages(newWorld(t, env.Config{}).Env, func(ctx context.Context, _ caller, _ *api.SendRequest) (*api.SendResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil))
		const body = `{"to":"bob","text":"hi"}`
		request(t, conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", sendPath, operator, len(body), body)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if took := time.Since(begun); err != nil || took != 28*time.Second || !strings.Contains(string(answer), `"outcome":"unknown"`) {
			t.Errorf("answered %d %s after %v, %v; want an unknown outcome after 28 s", resp.StatusCode, answer, took, err)
		}
	})
}

// A stream is not ended by the deadline of the body that its request had.
func TestStreamOutlivesTheBodysDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := dial(t, inbox(newWorld(t, env.Config{}).Env, nil, steps(step{}, step{after: 70 * time.Second, events: []sse.Event{event("1")}})))
		request(t, conn, "GET /v1/agents/alice/inbox?follow=true HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}", aliceKey)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		// Closing the body would read it to its end, which never comes.
		defer conn.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if lines.Text() == "id: 1" {
				return
			}
		}
		t.Errorf("the stream ended without its event: %v", lines.Err())
	})
}

// Followers that leave, politely or not, leave nothing behind.
func TestFollowersLeaveNothing(t *testing.T) {
	h := inbox(newWorld(t, env.Config{}).Env, nil, steps(step{events: []sse.Event{event("1")}}))
	srv := httptest.NewServer(h)
	defer srv.Close()
	before := runtime.NumGoroutine()
	for range 3 {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = fmt.Fprintf(conn, "GET /v1/agents/alice/inbox?follow=true HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", aliceKey)
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
					t.Errorf("first byte: %v", err)
				}
				if i%2 == 0 {
					_ = conn.(*net.TCPConn).SetLinger(0) // a reset
				}
			})
		}
		wg.Wait()
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+5; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}
