package lambdahost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/lambdahost"
)

// The answer of a handler is what net/http would send, in both modes.
func TestAnswers(t *testing.T) {
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		want    answer
	}{
		{
			"nothing", func(http.ResponseWriter, *http.Request) {},
			answer{status: 200},
		},
		{
			"status and body", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusTeapot)
				_, _ = io.WriteString(w, "tea")
			}, answer{status: 418, headers: map[string]string{"Content-Type": "text/plain"}, body: "tea"},
		},
		{
			"the first status counts", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				w.WriteHeader(http.StatusTeapot)
			}, answer{status: 201},
		},
		{
			"an informational status does not", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusAccepted)
			}, answer{status: 202},
		},
		{
			"a header behind the status is not sent", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("A", "1")
				w.WriteHeader(http.StatusOK)
				w.Header().Set("A", "2")
				w.Header().Set("B", "2")
			}, answer{status: 200, headers: map[string]string{"A": "1"}},
		},
		{
			"repeated headers are one, cookies are apart", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Add("Vary", "Origin")
				w.Header().Add("Vary", "Accept")
				w.Header().Add("Set-Cookie", "a=1, b")
				w.Header().Add("Set-Cookie", "c=2")
				w.WriteHeader(http.StatusNoContent)
			}, answer{status: 204, headers: map[string]string{"Vary": "Origin, Accept"}, cookies: []string{"a=1, b", "c=2"}},
		},
		{
			"no body where there is none", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNotModified)
				_, _ = io.WriteString(w, "tea")
			}, answer{status: 304},
		},
		{
			"bytes", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				_, _ = w.Write([]byte("a\xff\x00<&\u2028"))
			}, answer{status: 200, headers: map[string]string{"Content-Type": "application/octet-stream"}, body: "a\xff\x00<&\u2028"},
		},
		{
			"flushed", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "a")
				if err := http.NewResponseController(w).Flush(); err != nil {
					panic(err)
				}
				_, _ = io.WriteString(w, "b")
			}, answer{status: 200, headers: map[string]string{"Content-Type": "text/plain"}, body: "ab"},
		},
	} {
		for name, mode := range modes() {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				got := invoke(t, host(mode, row.handler), event())
				if got.headers == nil {
					got.headers = map[string]string{}
				}
				want := row.want
				if want.headers == nil {
					want.headers = map[string]string{}
				}
				if len(got.cookies) == 0 {
					got.cookies = nil
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// An answer to HEAD has the headers of the one to GET, and no body.
func TestHead(t *testing.T) {
	for name, mode := range modes() {
		t.Run(name, func(t *testing.T) {
			h := host(mode, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "3")
				_, _ = io.WriteString(w, "tea")
			})
			if a := invoke(t, h, event("requestContext.http.method", "HEAD")); a.body != "" || a.headers["Content-Length"] != "3" {
				t.Errorf("body %q, headers %v; want none, and its length", a.body, a.headers)
			}
		})
	}
}

// A panic before the answer is a 500 with nothing of the handler's in it, the log
// says why, and the next event is answered as if nothing had been.
func TestPanicIsAnAnswer(t *testing.T) {
	for name, mode := range modes() {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h := host(mode, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "panic" {
					w.Header().Set("X-Secret", "s")
					panic("out of cheese")
				}
			})
			h.Log = slog.New(slog.NewTextHandler(&log, nil))
			a := invoke(t, h, event("rawQueryString", "panic"))
			var p api.Problem
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != 500 || p.Code != api.Internal || a.headers["X-Secret"] != "" {
				t.Errorf("status %d, headers %v, body %s, %v; want a problem, 500 internal", a.status, a.headers, a.body, err)
			}
			if strings.Contains(a.body, "cheese") || !strings.Contains(log.String(), "cheese") || !strings.Contains(log.String(), string(p.RequestID)) {
				t.Errorf("body %s, log %s; want the cause in the log alone, under the request id", a.body, log.String())
			}
			if a := invoke(t, h, event()); a.status != 200 {
				t.Errorf("after a panic: status %d; want 200", a.status)
			}
		})
	}
}

// A panic behind the status ends a stream with an error, which the Runtime API
// passes on; of a buffered answer nothing is left.
func TestPanicInAnAnswer(t *testing.T) {
	for _, v := range []any{"out of cheese", http.ErrAbortHandler} {
		handler := func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "begun")
			panic(v)
		}
		a := invoke(t, host(lambdahost.Stream, handler), event())
		fault, ok := errors.AsType[messages.InvokeResponse_Error](a.broken)
		if a.status != 200 || a.body != "begun" || !ok || fault.Type != "Handler.Panic" {
			t.Errorf("stream of panic(%v): status %d, %q, %v; want 200, what was written, and Handler.Panic", v, a.status, a.body, a.broken)
		}
		if a := invoke(t, host(lambdahost.Buffered, handler), event()); a.status != 500 || strings.Contains(a.body, "begun") {
			t.Errorf("buffered, panic(%v): status %d, %q; want a 500 without what was written", v, a.status, a.body)
		}
	}
}

// A flushed write is read while the handler goes on; small writes that are not
// flushed travel together.
func TestFlush(t *testing.T) {
	more := make(chan struct{})
	h := host(lambdahost.Stream, func(w http.ResponseWriter, _ *http.Request) {
		out := http.NewResponseController(w)
		_ = out.Flush() // the head alone
		<-more
		_, _ = io.WriteString(w, "one")
		_ = out.Flush()
		<-more
		for range 1000 {
			_, _ = io.WriteString(w, "x")
		}
	})
	v, err := h.Invoke(t.Context(), json.RawMessage(event()))
	if err != nil {
		t.Fatal(err)
	}
	r := v.(*events.LambdaFunctionURLStreamingResponse)
	defer r.Close()
	buf := make([]byte, 8<<10)
	more <- struct{}{}
	if n, err := r.Body.Read(buf); string(buf[:n]) != "one" || err != nil {
		t.Fatalf("read %q, %v; want what was flushed", buf[:n], err)
	}
	more <- struct{}{}
	if n, err := r.Body.Read(buf); n != 1000 || err != nil {
		t.Errorf("read %d bytes, %v; want the thousand writes at once", n, err)
	}
}

// Several goroutines may write, and the header map may be used after the status:
// for the race detector.
func TestConcurrentWrites(t *testing.T) {
	a := invoke(t, host(lambdahost.Stream, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					_, _ = io.WriteString(w, "x")
					w.(http.Flusher).Flush()
				}
			})
		}
		for range 100 {
			w.Header().Set("A", "1")
		}
		wg.Wait()
	}), event())
	if len(a.body) != 400 || a.headers["A"] != "" {
		t.Errorf("%d bytes, headers %v; want 400 and none", len(a.body), a.headers)
	}
}

// A handler's context ends before the invocation's deadline, while its answer
// can still be delivered.
func TestDeadline(t *testing.T) {
	for name, mode := range modes() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begun := time.Now()
				a := invokeIn(ctx, t, host(mode, func(w http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					_, _ = io.WriteString(w, "late")
				}), event())
				if took := time.Since(begun); took != 9500*time.Millisecond || a.body != "late" || a.broken != nil {
					t.Errorf("answered %q, %v after %v; want half a second before the deadline", a.body, a.broken, took)
				}
			})
		})
	}
}

// Who stops reading ends the handler, and Close waits until it is gone: nothing
// of it is left in the next invocation.
func TestCloseEndsTheHandler(t *testing.T) {
	ended := false
	h := host(lambdahost.Stream, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		if _, err := w.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a write that nobody reads succeeded")
		}
		ended = true
	})
	v, err := h.Invoke(t.Context(), json.RawMessage(event()))
	if err != nil {
		t.Fatal(err)
	}
	r := v.(*events.LambdaFunctionURLStreamingResponse)
	if n, err := r.Body.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	if err := r.Close(); err != nil || !ended {
		t.Errorf("Close: %v, handler ended: %v; want nil, true", err, ended)
	}
}

// A buffered answer that Lambda takes arrives, however its body is written down;
// one that it would not take is a 500.
func TestLongBufferedAnswers(t *testing.T) {
	for _, row := range []struct {
		name string
		body string
		want int
	}{
		{"4 MiB of quotes", strings.Repeat(`"`, 4<<20), 200},
		{"4 MiB of bytes", strings.Repeat("\xff", 4<<20), 200},
		{"half a MiB of control characters", strings.Repeat("\x01", 512<<10), 200},
		{"6 MiB", strings.Repeat("x", 6<<20), 500},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := host(lambdahost.Buffered, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, row.body) })
			v, err := h.Invoke(t.Context(), json.RawMessage(event()))
			if err != nil || len(v.(json.RawMessage)) > 6<<20 {
				t.Fatalf("Invoke: %d bytes, %v; want at most 6 MiB", len(v.(json.RawMessage)), err)
			}
			if a := invoke(t, h, event()); a.status != row.want || row.want == 200 && a.body != row.body {
				t.Errorf("status %d, %d bytes; want %d", a.status, len(a.body), row.want)
			}
		})
	}
}

// A server without its configuration answers, and the log says what is missing.
func TestNotConfigured(t *testing.T) {
	for name, mode := range modes() {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h := &lambdahost.Host{Mode: mode, Log: slog.New(slog.NewTextHandler(&log, nil)), Handler: func(context.Context) (http.Handler, error) {
				return nil, errors.New("AGENT_CHAT_API_TOKEN is not set")
			}}
			a := invoke(t, h, event())
			if a.status != 503 || a.headers["Retry-After"] == "" || strings.Contains(a.body, "AGENT_CHAT") || !strings.Contains(log.String(), "AGENT_CHAT_API_TOKEN") {
				t.Errorf("status %d, headers %v, %s, log %s; want 503 with Retry-After, the reason in the log alone", a.status, a.headers, a.body, log.String())
			}
		})
	}
}
