package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/env"
	"agentchat/shared/stream/localstream"
)

// A pipe is a listener with one connection, in memory.
type pipe struct {
	conn chan net.Conn
	done chan struct{}
}

func (p pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conn:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipe) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// serving runs a host in memory inside a bubble, with one connection to it, until
// ctx ends; what serve returned, and when, comes over the channel.
func serving(ctx context.Context, t *testing.T, failed <-chan struct{}) (conn net.Conn, ended <-chan error) {
	store, closeStore := localstream.Memory()
	near, far := net.Pipe()
	p := pipe{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	p.conn <- far
	h := newHost(env.Config{APITokens: []string{operator}}, store, slog.New(slog.DiscardHandler))
	h.failed = failed
	end := make(chan error, 1)
	go func() {
		err := h.serve(ctx, p, func() {})
		closeStore()
		end <- err
	}()
	t.Cleanup(func() { _ = near.Close() })
	return near, end
}

// What the operator says of the collector holds, also if it is what Go does by itself.
func TestCollectLess(t *testing.T) {
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	for gogc, want := range map[string]int{"": gcPercent, "100": 100} {
		debug.SetGCPercent(100)
		collectLess(gogc)
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: the heap grows by %d %%; want %d", gogc, got, want)
		}
	}
}

// A host ends when its store is broken, and says so: it could only answer 503.
func TestBrokenStoreEndsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan struct{})
		_, ended := serving(t.Context(), t, failed)
		close(failed)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "the store is broken") {
			t.Errorf("serve: %v; want that the store is broken", err)
		}
	})
}

// The end of a host lets a call in progress finish, and is bounded: a caller that
// never sends the rest of its body holds it for 15 seconds, no longer.
func TestDrainIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // when the rest of the body comes
		least time.Duration // how long the host stays
		most  time.Duration
		want  string
	}{
		{"the rest comes", 3 * time.Second, 3 * time.Second, 4 * time.Second, "HTTP/1.1 404 Not Found"},
		{"the rest never comes", time.Hour, 14 * time.Second, 16 * time.Second, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				conn, ended := serving(ctx, t, nil)
				body := `{"to":"bob","text":"hi"}`
				_, err := io.WriteString(conn, "POST /v1/agents/alice/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+operator+"\r\nContent-Length: 24\r\n\r\n"+body[:9])
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				began := time.Now()
				end()
				go func() {
					select {
					case <-time.After(tt.after):
						_, _ = io.WriteString(conn, body[9:])
					case <-t.Context().Done():
					}
				}()
				status := make(chan string, 1)
				go func() {
					line, _ := bufio.NewReader(conn).ReadString('\n')
					status <- strings.TrimSpace(line)
				}()
				err = <-ended
				if took := time.Since(began); err != nil || took < tt.least || took > tt.most {
					t.Errorf("serve: %v after %v; want nil after %v to %v", err, took, tt.least, tt.most)
				}
				_ = conn.Close()
				if got := <-status; tt.want != "" && got != tt.want {
					t.Errorf("the caller got %q; want %q", got, tt.want)
				}
			})
		})
	}
}

// A stream outlives every timeout of the host, kept alive by heartbeats, and ends
// by itself when the host ends: between events, as the protocol has it.
func TestDrainEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		conn, ended := serving(ctx, t, nil)
		answers := bufio.NewReader(conn)
		ask := func(method, path, body string, want int) *http.Response {
			t.Helper()
			if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", method, path, operator, len(body), body); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(answers, nil)
			if err != nil || res.StatusCode != want {
				t.Fatalf("%s %s: %+v, %v; want %d", method, path, res, err, want)
			}
			return res
		}
		res := ask(http.MethodPut, "/v1/agents/bob", "{}", http.StatusCreated)
		_, _ = io.Copy(io.Discard, res.Body)
		res = ask(http.MethodGet, "/v1/agents/bob/inbox?follow=true", "", http.StatusOK)
		go func() {
			<-time.After(5*time.Minute + time.Second)
			end()
		}()
		b, err := io.ReadAll(res.Body)
		beats := strings.Count(string(b), ": keep-alive\n")
		if err != nil || !strings.HasPrefix(string(b), ":") || beats != 20 || strings.Contains(string(b), "\n\n") {
			t.Errorf("stream: %q, %v; want 20 heartbeats and a clean end", b, err)
		}
		_ = conn.Close()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}
