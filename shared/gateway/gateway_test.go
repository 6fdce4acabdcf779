package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentchat/shared/apitest"
	"agentchat/shared/gateway"
)

// A front is a gateway over one function, which plays a role.
type front struct {
	t    testing.TB
	url  string
	g    *gateway.Gateway
	log  *apitest.Buffer
	gate chan string // what functions ask the gate; one answer lets one go on
	open chan struct{}
}

// Both are paths of the family that the function stands for.
const path = "/healthz"

func newFront(t testing.TB, role string, f gateway.Function) *front {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &front{t: t, log: new(apitest.Buffer), gate: make(chan string, 100), open: make(chan struct{}, 100)}
	gate := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.gate <- strings.TrimPrefix(r.URL.Path, "/")
		if r.URL.Path == "/wait" {
			select {
			case <-s.open:
			case <-r.Context().Done():
			}
		}
	}))
	f.Bootstrap, f.Env = self, []string{roleVariable + "=" + role, gateVariable + "=" + gate.URL}
	if f.Timeout == 0 {
		f.Timeout = 30 * time.Second
	}
	s.g = gateway.New(gateway.Options{
		Functions: map[string]gateway.Function{"service": f}, Log: slog.New(slog.NewTextHandler(s.log, nil)), Output: s.log,
	})
	server := httptest.NewServer(s.g)
	s.url = server.URL
	t.Cleanup(func() {
		s.g.Close()
		server.Close()
		gate.CloseClientConnections()
		gate.Close()
	})
	return s
}

// An answer is what a caller got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // the body broke off
}

func (s *front) get(query string) answer {
	s.t.Helper()
	return s.do(s.t.Context(), http.MethodGet, path+"?"+query, nil)
}

func (s *front) do(ctx context.Context, method, target string, body io.Reader, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+target, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := new(http.Client).Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

func (s *front) stream(query string) (*http.Response, *bufio.Reader) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path+"?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := new(http.Client).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, bufio.NewReader(resp.Body)
}

func (s *front) waitFor(what string) {
	s.t.Helper()
	select {
	case got := <-s.gate:
		if got != what {
			s.t.Fatalf("the function is at %q; want %q", got, what)
		}
	case <-time.After(20 * time.Second):
		s.t.Fatalf("the function did not come to %q\n%s", what, s.log.String())
	}
}

func line(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	l, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("read a line: %q, %v", l, err)
	}
	return strings.TrimSpace(l)
}

// One process answers one request after the other.
func TestIdleSandboxIsUsedAgain(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := newFront(t, "host", gateway.Function{Stream: stream})
		first := s.get("")
		if first.status != 200 || first.body != "done\n" || first.err != nil {
			t.Fatalf("stream %v: %+v\n%s", stream, first, s.log.String())
		}
		for range 20 {
			if a := s.get(""); a.header.Get("X-Pid") != first.header.Get("X-Pid") || a.body != "done\n" {
				t.Fatalf("stream %v: %+v; want the process of %+v", stream, a, first)
			}
		}
	}
}

// One that nobody asks for ends, and the next request gets another.
func TestIdleSandboxEnds(t *testing.T) {
	s := newFront(t, "host", gateway.Function{Idle: 50 * time.Millisecond})
	first := s.get("").header.Get("X-Pid")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("process %d lives, 20 s after its only request", pid)
		}
	}
	if a := s.get(""); a.status != 200 || a.header.Get("X-Pid") == first {
		t.Errorf("behind it: %+v; want an answer of another process", a)
	}
}

// What a function flushes arrives while it goes on, and who comes meanwhile gets
// a sandbox of its own, up to the limit.
func TestStreamIsRelayedAsProduced(t *testing.T) {
	s := newFront(t, "host", gateway.Function{Stream: true, Max: 2})
	resp, r := s.stream("wait")
	defer resp.Body.Close()
	if got := line(t, r); got != "one" {
		t.Fatalf("first line %q", got)
	}
	s.waitFor("wait") // it goes on only when it is let
	other := s.get("")
	if other.status != 200 || other.header.Get("X-Pid") == resp.Header.Get("X-Pid") {
		t.Errorf("a second caller: %+v; want another process than %s", other, resp.Header.Get("X-Pid"))
	}
	resp2, r2 := s.stream("wait")
	defer resp2.Body.Close()
	_ = line(t, r2)
	s.waitFor("wait")
	if a := s.get(""); a.status != http.StatusTooManyRequests || !isMessage([]byte(a.body)) {
		t.Errorf("a third caller at once: %+v; want 429", a)
	}
	s.open <- struct{}{}
	s.open <- struct{}{}
	for _, r := range []*bufio.Reader{r, r2} {
		if rest, err := io.ReadAll(r); string(rest) != "two\n" || err != nil {
			t.Errorf("the rest: %q, %v", rest, err)
		}
	}
	if a := s.get(""); a.status != 200 {
		t.Errorf("when they are done: %+v; want 200", a)
	}
}

// A caller that leaves does not end the function, which writes on to nobody.
func TestCallerLeaves(t *testing.T) {
	s := newFront(t, "host", gateway.Function{Stream: true})
	resp, r := s.stream("wait")
	_ = line(t, r)
	s.waitFor("wait")
	_ = resp.Body.Close()
	s.open <- struct{}{}
	s.waitFor("done")
	if a := s.get(""); a.status != 200 {
		t.Errorf("the next caller: %+v; want 200", a)
	}
}

// A panic is a 500, or one stream that breaks off; the sandbox survives both.
func TestPanics(t *testing.T) {
	s := newFront(t, "host", gateway.Function{Stream: true})
	pid := s.get("").header.Get("X-Pid")
	if a := s.get("panic"); a.status != 500 || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("panic before the answer: %+v; want a problem, 500", a)
	}
	if a := s.get("panic-late"); a.status != 200 || a.body != "begun\n" || !errors.Is(a.err, io.ErrUnexpectedEOF) {
		t.Errorf("panic in the answer: %+v; want what was written, and no clean end", a)
	}
	if a := s.get(""); a.header.Get("X-Pid") != pid {
		t.Errorf("afterwards: %+v; want process %s", a, pid)
	}
}

// A handler's context ends before the function's timeout, so that a stream ends
// cleanly; who goes on is killed, and replaced.
func TestTimeout(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := newFront(t, "host", gateway.Function{Stream: stream, Timeout: 1500 * time.Millisecond})
		pid := s.get("").header.Get("X-Pid")
		if a := s.get("deadline"); a.status != 200 || a.body != "one\nend\n" || a.err != nil || a.header.Get("X-Pid") != pid {
			t.Errorf("stream %v, until the deadline: %+v; want a clean end", stream, a)
		}
		switch a := s.get("hang"); {
		case stream && (a.status != 200 || a.body != "one\n" || a.err == nil):
			t.Errorf("stream beyond the timeout: %+v; want it cut off", a)
		case !stream && (a.status != http.StatusBadGateway || !isMessage([]byte(a.body))):
			t.Errorf("beyond the timeout: %+v; want 502", a)
		}
		if a := s.get(""); a.status != 200 || a.header.Get("X-Pid") == pid {
			t.Errorf("stream %v, afterwards: %+v; want another process than %s", stream, a, pid)
		}
	}
}

// However a function does wrong, its caller gets one clean answer, and the log
// says what happened.
func TestRogues(t *testing.T) {
	for _, row := range []struct {
		role   string
		stream bool
		status int
		body   string // "": the front's own
		log    string
	}{
		{"crash", false, 502, "", "the process ended"},
		{"crash", true, 502, "", "the process ended"},
		{"crash-behind-answer", false, 200, "done", ""},
		{"init-error", false, 502, "", "no cheese"},
		{"skips", false, 502, "", "without an answer"},
		{"answers-another", false, 200, "done", ""},
		{"fails", false, 502, "", "no cheese"},
		{"huge", false, 502, "", "over 6291456 bytes"},
		{"raw", false, 200, `["no answer of a function URL"]`, ""},
		{"bad-status", false, 502, "", "status 42"},
		{"bad-prelude", true, 502, "", "eight NUL bytes"},
		{"streams-for-buffered", false, 200, `{"statusCode":201}` + strings.Repeat("\x00", 8) + "body", ""},
		{"streams-for-buffered", true, 201, "body", ""},
	} {
		t.Run(row.role+"/"+strconv.FormatBool(row.stream), func(t *testing.T) {
			t.Parallel()
			s := newFront(t, row.role, gateway.Function{Stream: row.stream})
			for range 3 {
				a := s.get("")
				if a.status != row.status || a.err != nil || row.body != "" && a.body != row.body || row.body == "" && !isMessage([]byte(a.body)) {
					t.Fatalf("%+v; want %d %s\n%s", a, row.status, row.body, s.log.String())
				}
				if a.body != "done" && strings.Contains(a.body, "cheese") {
					t.Errorf("%+v tells the caller why", a)
				}
			}
			if !strings.Contains(s.log.String(), row.log) {
				t.Errorf("log %s; want %q", s.log.String(), row.log)
			}
		})
	}
}

// A function that failed, or answered twice, is used again, as AWS does; one
// that ended is replaced.
func TestReplacement(t *testing.T) {
	s := newFront(t, "answers-twice", gateway.Function{})
	first, second := s.get(""), s.get("")
	if second.header.Get("X-Pid") != first.header.Get("X-Pid") || second.header.Get("X-Last") != "400" {
		t.Errorf("answers-twice: %v, then %v; want one process, whose second answer was refused", first.header, second.header)
	}
	s = newFront(t, "fails", gateway.Function{})
	s.get("")
	s.get("")
	words := strings.Split(s.log.String(), "no cheese ")
	if len(words) != 3 || words[1][:3] != words[2][:3] {
		t.Errorf("fails: log %s; want two failures of one process", s.log.String())
	}
	s = newFront(t, "crash-behind-answer", gateway.Function{})
	if a, b := s.get(""), s.get(""); a.header.Get("X-Pid") == b.header.Get("X-Pid") {
		t.Errorf("crash-behind-answer: %v, then %v; want two processes", a.header, b.header)
	}
}

// A crash in the middle of a stream breaks it off, and nothing else.
func TestCrashMidStream(t *testing.T) {
	s := newFront(t, "crash-mid-stream", gateway.Function{Stream: true})
	for range 2 {
		resp, r := s.stream("")
		b := make([]byte, len("begun"))
		if _, err := io.ReadFull(r, b); string(b) != "begun" || err != nil {
			t.Fatalf("read %q, %v", b, err)
		}
		s.waitFor("wait")
		s.open <- struct{}{}
		if rest, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) || len(rest) > 0 {
			t.Errorf("the rest: %q, %v; want it to break off", rest, err)
		}
		_ = resp.Body.Close()
	}
}

// The limits of an event hold before a function sees it.
func TestRequestLimits(t *testing.T) {
	s := newFront(t, "host", gateway.Function{})
	for _, row := range []struct {
		name        string
		body        int
		contentType string
		header      int
		want        int
	}{
		{"5 MiB of text", 5 << 20, "text/plain", 0, 200},
		{"6 MiB of text", 6 << 20, "text/plain", 0, 413},
		{"4 MiB of bytes", 4 << 20, "application/octet-stream", 0, 200},
		{"5 MiB of bytes, which base64 makes more", 5 << 20, "application/octet-stream", 0, 413},
		{"9 KiB of headers", 0, "text/plain", 9 << 10, 200},
		{"10 KiB of headers", 0, "text/plain", 10 << 10, 431},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := s.do(t.Context(), http.MethodPost, path, bytes.NewReader(bytes.Repeat([]byte("x"), row.body)),
				"Content-Type", row.contentType, "X-Long", strings.Repeat("x", row.header))
			if a.status != row.want || a.err != nil {
				t.Errorf("%d %s, %v; want %d", a.status, a.body, a.err, row.want)
			}
		})
	}
}

// Close ends what is at work, what is idle and what starts, and leaves nothing behind.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, role := range []string{"host", "never-answers", "never-asks"} {
		s := newFront(t, role, gateway.Function{Stream: true, Timeout: time.Minute})
		var wg sync.WaitGroup
		answers := make(chan answer, 2)
		pid := ""
		switch role {
		case "host":
			pid = s.get("").header.Get("X-Pid") // idle, while another one waits
			wg.Go(func() { answers <- s.get("wait") })
			wg.Go(func() { answers <- s.get("wait") })
			s.waitFor("wait")
			s.waitFor("wait")
		case "never-answers":
			wg.Go(func() { answers <- s.get("") })
			s.waitFor("wait")
		case "never-asks":
			wg.Go(func() { answers <- s.get("") })
		}
		begun := time.Now()
		s.g.Close()
		wg.Wait()
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: Close took %v", role, took)
		}
		close(answers)
		for a := range answers {
			if a.err == nil && a.status < 500 {
				t.Errorf("%s: %+v; want it broken off", role, a)
			}
		}
		if a := s.get(""); a.status != http.StatusServiceUnavailable {
			t.Errorf("%s, closed: %+v; want 503", role, a)
		}
		if pid == "" {
			continue
		}
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatalf("%s: pid %q", role, pid)
		}
		if err := syscall.Kill(n, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: process %d: %v; want it gone", role, n, err)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+10 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before+10 {
		buf := make([]byte, 64<<10)
		t.Errorf("%d goroutines before, %d afterwards\n%s", before, now, buf[:runtime.Stack(buf, true)])
	}
}
