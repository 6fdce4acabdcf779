package functions_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/cursor"
	"agentchat/shared/sse"
	"agentchat/shared/stream/faultstream"
)

// A pipes is a network without a network, so that a test can own the time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve serves w over pipes, as a host does, until the test ends.
func (w *world) serve() *http.Client {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &http.Server{Handler: w.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go s.Serve(p) // ends with Close
	tr := &http.Transport{DialContext: p.dial}
	w.t.Cleanup(func() { tr.CloseIdleConnections(); s.Close() })
	return &http.Client{Transport: tr}
}

// opener returns the token that opens a stream.
func opener(target string) string {
	if strings.Contains(target, "/v1/monitor") {
		return adminToken
	}
	return apiToken
}

// The streams there are, on which bob's inbox is followed.
var streams = []string{"/v1/agents/bob/inbox", "/v1/monitor"}

// A line of a stream, and when it came.
type line struct {
	text string
	at   time.Duration
}

// follow opens a stream of target and returns what will come.
func follow(ctx context.Context, t testing.TB, c *http.Client, target string) <-chan line {
	t.Helper()
	return followAs(ctx, t, c, opener(target), target)
}

// followAs is follow with another token.
func followAs(ctx context.Context, t testing.TB, c *http.Client, token, target string) <-chan line {
	t.Helper()
	begun := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := c.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %+v, %v", target, resp, err)
	}
	lines := make(chan line, 1000)
	go func() { // ends with the stream
		defer close(lines)
		defer resp.Body.Close()
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			lines <- line{s.Text(), time.Since(begun)}
		}
	}()
	return lines
}

// An idle stream is heard of within a second and then every 15, lives on
// whatever else times out, and delivers at once what comes in the end. Nothing
// but envelopes carries an id.
func TestIdleFollow(t *testing.T) {
	for _, target := range streams {
		t.Run(target, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { idleFollow(t, target) }) })
	}
}

func idleFollow(t *testing.T, target string) {
	w := newWorld(t, nil)
	c := w.serve()
	w.register("alice", "bob")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := follow(ctx, t, c, "http://pipes"+target)
	time.Sleep(10*time.Minute + time.Second)
	synctest.Wait()
	if first := <-lines; !strings.HasPrefix(first.text, ":") || first.at > time.Second {
		t.Errorf("first %q after %v; want a comment within 1 s", first.text, first.at)
	}
	for beat := 1; beat <= 40; beat++ {
		l := <-lines
		if want := time.Duration(beat*api.HeartbeatSeconds) * time.Second; l.text != ": keep-alive" || l.at < want-time.Second || l.at > want+time.Second {
			t.Fatalf("heartbeat %d: %q after %v; want it after %v", beat, l.text, l.at, want)
		}
	}
	sent := time.Now()
	if r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"at last"}`); r.Code != http.StatusCreated {
		t.Fatalf("send: %d %s", r.Code, r.Body)
	}
	synctest.Wait()
	var event []string
	for len(event) < 5 {
		event = append(event, (<-lines).text)
	}
	if took := time.Since(sent); took > time.Second {
		t.Errorf("the event came after %v", took)
	}
	id := map[string]string{streams[0]: "1", streams[1]: "eyJ2IjoxLCJwIjp7ImJvYiI6MX19"}[target]
	if event[0] != "event: envelope" || event[3] != "id: "+id || event[4] != "" || !slices.Contains(event, "retry: 1000") {
		t.Errorf("event: %q", event)
	}
	time.Sleep(31 * time.Second)
	cancel()
	for l := range lines {
		if l.text != ": keep-alive" {
			t.Errorf("after the event: %q; want heartbeats", l.text)
		}
	}
}

// A wait ends when it is over, whatever else goes on in the house, and as soon
// as there is something.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.register("alice", "bob", "carol")
		stop := make(chan struct{})
		var senders sync.WaitGroup
		senders.Go(func() {
			tick := time.NewTicker(900 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"carol","text":"not yours"}`)
					w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"not asked for"}`)
				case <-stop:
					return
				}
			}
		})
		for _, wait := range []int{1, 5, 20} {
			begun := time.Now()
			r := w.do(http.MethodGet, fmt.Sprintf("/v1/agents/bob/inbox?from=carol&wait=%d", wait), "")
			if page := decode[api.InboxPage](t, r); r.Code != http.StatusOK || page.Deliveries == nil || len(page.Deliveries) != 0 {
				t.Errorf("wait of %d s = %d %s; want an empty page", wait, r.Code, r.Body)
			}
			if took, want := time.Since(begun), time.Duration(wait)*time.Second; took < want || took > want+time.Second {
				t.Errorf("wait of %d s took %v", wait, took)
			}
		}
		begun := time.Now()
		tail := decode[api.InboxPage](t, w.do(http.MethodGet, "/v1/agents/bob/inbox?limit=1", "")).Tail
		r := w.do(http.MethodGet, fmt.Sprintf("/v1/agents/bob/inbox?wait=20&cursor=%d", tail), "")
		if page := decode[api.InboxPage](t, r); len(page.Deliveries) == 0 || time.Since(begun) > time.Second {
			t.Errorf("wait for the next = %d %s after %v; want it at once", r.Code, r.Body, time.Since(begun))
		}
		close(stop)
		senders.Wait()
	})
}

// A store that fails under a stream ends it with an event that says why and has
// no id, so that the reader goes on behind what it saw.
func TestFollowFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c faultstream.Call) faultstream.Fault {
			if c.Op == faultstream.Follow {
				return faultstream.Fault{Kind: faultstream.Cut, After: 2}
			}
			return faultstream.Fault{}
		})
		c := w.serve()
		w.register("alice", "bob")
		lines := follow(t.Context(), t, c, "http://pipes/v1/agents/bob/inbox")
		w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"one"}`)
		var all []string
		for l := range lines {
			all = append(all, l.text)
		}
		text := strings.Join(all, "\n")
		if n := strings.Count(text, "\nid: "); n != 1 || !strings.Contains(text, "\nid: 1\n") {
			t.Errorf("%d ids; want that of the envelope:\n%s", n, text)
		}
		if !strings.Contains(text, "event: problem\ndata: {") || !strings.Contains(text, `"code":"unavailable"`) {
			t.Errorf("no event says that the store is unavailable:\n%s", text)
		}
	})
}

// A process that is about to end sends its readers away, with a time to come
// back and not for ever; it takes no new ones, lets nobody wait for what may
// come, and finishes what it is asked.
func TestDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c := w.serve()
		w.register("alice", "bob")
		lines := follow(t.Context(), t, c, "http://pipes"+streams[0])
		audited := follow(t.Context(), t, c, "http://pipes"+streams[1])
		w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"one"}`)
		polled := make(chan *httptest.ResponseRecorder, 1)
		go func() { polled <- w.do(http.MethodGet, "/v1/agents/bob/inbox?cursor=1&wait=20", "") }()
		synctest.Wait()
		drained := time.Now()
		close(w.drain)
		if r := <-polled; r.Code != http.StatusOK || time.Since(drained) > time.Second {
			t.Errorf("long poll = %d %s after %v; want an empty page at once", r.Code, r.Body, time.Since(drained))
		}
		for _, lines := range []<-chan line{lines, audited} {
			var all []string
			for l := range lines {
				all = append(all, l.text)
			}
			n := len(all)
			if n < 3 || !strings.HasPrefix(all[n-2], "retry: ") || !strings.HasPrefix(all[n-1], ":") || !slices.ContainsFunc(all, isID) {
				t.Errorf("stream: %q; want the event, a retry and a comment", all)
			}
		}
		for _, target := range streams {
			for l := range follow(t.Context(), t, c, "http://pipes"+target) {
				if isID(l.text) {
					t.Errorf("a new stream began: %q", l.text)
				}
			}
		}
		if r := w.do(http.MethodGet, "/readyz", ""); r.Code != http.StatusServiceUnavailable {
			t.Errorf("ready = %d %s; want 503", r.Code, r.Body)
		}
		if r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"two"}`); r.Code != http.StatusCreated {
			t.Errorf("send = %d %s; want 201", r.Code, r.Body)
		}
	})
}

func isID(line string) bool { return strings.HasPrefix(line, "id: ") }

// followIDs yields the ids of a stream until it ends or ctx does.
func followIDs(ctx context.Context, t *testing.T, url, lastID string, yield func(id string) bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header = http.Header{"Authorization": {"Bearer " + opener(url)}, "Accept": {"text/event-stream"}}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("follow behind %q: %+v, %v", lastID, resp, err)
		return
	}
	defer resp.Body.Close()
	for e, err := range sse.Read(resp.Body, 1<<20) {
		if err != nil || e.Name == "envelope" && !yield(e.ID) {
			return
		}
	}
}

// Readers that come at any time, and come back, see every message once and in
// order while it is being written: of an inbox, and of all of them.
func TestFollowersMissNothing(t *testing.T) {
	followers, messages := 20, 2000
	if testing.Short() {
		followers, messages = 5, 400
	}
	w := newWorld(t, nil)
	s := httptest.NewServer(w.handler)
	defer s.Close()
	w.register("alice", "bob")
	var written atomic.Int64
	var all sync.WaitGroup
	for n := range followers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for join := r.Int64N(int64(messages)); written.Load() < join; {
				<-tick.C
			}
			seen, lastID, target := 0, "", streams[n%len(streams)]
			for stay := 1; seen < messages; stay++ {
				leave := messages
				if stay <= 2 {
					leave = seen + 1 + r.IntN(messages/2)
				}
				before := seen
				followIDs(t.Context(), t, s.URL+target, lastID, func(id string) bool {
					seen++
					want := strconv.Itoa(seen)
					if target == streams[1] {
						want = cursor.Cursor{Moved: cursor.Vector{"bob": uint64(seen)}}.String()
					}
					if id != want {
						t.Errorf("follower %d of %s: id %s behind %q; want %s", n, target, id, lastID, want)
						seen = messages
					}
					lastID = id
					return seen < min(leave, messages)
				})
				if seen == before {
					t.Errorf("follower %d: nothing behind %q", n, lastID)
					return
				}
			}
		})
	}
	for i := range messages {
		if r := w.do(http.MethodPost, "/v1/agents/alice/messages", fmt.Sprintf(`{"to":"bob","text":"%d"}`, i)); r.Code != http.StatusCreated {
			t.Fatalf("send: %d %s", r.Code, r.Body)
		}
		written.Add(1)
	}
	all.Wait()
}

// Readers that leave, politely or not, leave no goroutine behind.
func TestFollowersLeaveNothing(t *testing.T) {
	followers, rounds := 100, 3
	if testing.Short() {
		followers = 20
	}
	w := newWorld(t, nil)
	s := httptest.NewServer(w.handler)
	defer s.Close()
	w.register("bob")
	before := runtime.NumGoroutine()
	for range rounds {
		var conns []net.Conn
		for range followers {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
			target := streams[len(conns)/2%len(streams)] // half of each is reset
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n", target, opener(target))
		}
		for i, c := range conns {
			if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 200"))); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				c.(*net.TCPConn).SetLinger(0) // a reset
			}
			c.Close()
		}
	}
	late := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > before+5 {
		select {
		case <-tick.C:
		case <-late:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines; there were %d\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
