package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

// A faultyS2 is the S2 API with a network in front of it that loses every few
// appends' reply or request, answers others with 503, and cuts sessions.
type faultyS2 struct {
	inner  http.Handler
	faulty atomic.Bool
	calls  atomic.Int64
	lost   atomic.Int64 // replies to appends that were carried out
}

func (s *faultyS2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.faulty.Load() || !strings.HasSuffix(r.URL.Path, "/records") {
		s.inner.ServeHTTP(w, r)
		return
	}
	n := s.calls.Add(1)
	switch session := r.Header.Get("Content-Type") == "s2s/proto"; {
	case session:
		ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
		defer cancel()
		s.inner.ServeHTTP(w, r.WithContext(ctx))
		panic(http.ErrAbortHandler)
	case r.Method == http.MethodPost && n%5 == 0:
		s.inner.ServeHTTP(httptest.NewRecorder(), r)
		s.lost.Add(1)
		panic(http.ErrAbortHandler)
	case n%7 == 0:
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	case n%11 == 0:
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, `{"code":"unavailable","message":"later"}`, http.StatusServiceUnavailable)
	default:
		s.inner.ServeHTTP(w, r)
	}
}

// serve serves s on loopback until the test ends.
func (s *faultyS2) serve(t *testing.T, token string) (url string) {
	t.Helper()
	e, err := engine.Open(engine.Options{Memory: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.inner = wire.New(e, wire.Options{Token: token, Log: slog.New(slog.DiscardHandler)}).Handler()
	srv := httptest.NewUnstartedServer(s)
	srv.Config.Protocols = protocols()
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	srv.Start()
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); _ = e.Close() })
	return srv.URL
}

// The running binary in front of a store whose network fails: what it
// acknowledged is stored once and where it said, what it refused is not there,
// and followers miss nothing and see nothing twice.
func TestSendsThroughAFaultyNetwork(t *testing.T) {
	const token = "s2-token-0123456789"
	var s2 faultyS2
	cmd := exec.Command("agent-chat", "serve", "--listen", "127.0.0.1:0")
	cmd.Env = append(cmd.Environ(), "AGENT_CHAT_API_TOKEN="+operator, "AGENT_CHAT_S2_TOKEN="+token, "AGENT_CHAT_S2_ENDPOINT="+s2.serve(t, token), "AGENT_CHAT_BASIN=faulty-network")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`listens on (http://[0-9.:]+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("serve said %q, %v", line, err)
	}
	c, err := client.New(client.Options{URL: m[1], Token: operator})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []ident.Agent{"alice", "bob"} {
		if _, err := c.Register(t.Context(), api.RegisterRequest{Agent: id}); err != nil {
			t.Fatal(err)
		}
	}

	s2.faulty.Store(true)
	following, stopFollowing := context.WithCancel(t.Context())
	defer stopFollowing()
	var followers, senders sync.WaitGroup
	var seen, all views
	followers.Go(func() {
		for d, err := range c.Follow(following, api.InboxRequest{Agent: "bob"}, nil) {
			if err == nil {
				seen.add(d)
			} else if following.Err() == nil {
				t.Errorf("the follower ended: %v", err)
			}
		}
	})
	sending, stopSending := context.WithTimeout(t.Context(), 2*time.Second)
	defer stopSending()
	told := &ledger{stored: map[string]uint64{}, open: map[string]bool{}}
	for who := range 6 {
		senders.Go(func() {
			if err := told.send(sending, c, who, who%2 == 0); err != nil {
				t.Errorf("sender %d: %v", who, err)
			}
		})
	}
	senders.Wait()
	s2.faulty.Store(false)

	for d, err := range c.Replay(t.Context(), api.InboxRequest{Agent: "bob", Limit: new(api.MaxPageItems)}) {
		if err != nil {
			t.Fatal(err)
		}
		all.add(d)
	}
	seen.await(t, len(all.got))
	stopFollowing()
	followers.Wait()
	t.Logf("%d messages, %d acknowledged, %d open, %d replies lost", len(all.got), len(told.stored), len(told.open), s2.lost.Load())
	if diff := cmp.Diff(all.got, seen.got); diff != "" {
		t.Errorf("follower (-replay +seen):\n%s", diff)
	}
	told.check(t, all.got)
	if s2.lost.Load() < 10 {
		t.Errorf("%d replies were lost; the test wants more", s2.lost.Load())
	}
}
