package s2stream_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/stream/s2stream"
)

const token = "test-token"

// A server is the embedded store behind its S2 API on a loopback port, with a
// place in front of it where requests go wrong.
type server struct {
	t     testing.TB
	url   string
	addr  string
	inner http.Handler
	fault func(*http.Request) fault // nil: none; may be called concurrently

	mu   sync.Mutex
	seen []arrival
	stop func()
}

type arrival struct {
	what string // method and last part of the path, or "session"
	at   time.Time
}

// A fault is what happens to one request.
type fault struct {
	kind   faultKind
	status int           // answer: without asking the store
	body   string        // of the answer
	mime   string        // of the body; "": what S2 would call it
	after  time.Duration // cut and end: how long a session lasts
}

type faultKind int

const (
	pass        faultKind = iota
	dropReply             // the store carries it out, the connection is reset
	dropRequest           // the connection is reset
	hang                  // never answered
	answer                // status and body
	hold                  // status and body, and then nothing
	endClean              // a session ends as if all had been said
	endError              // a session ends with a terminal 503
	cut                   // a session's connection is reset
)

func serve(t testing.TB, fault func(*http.Request) fault) *server {
	t.Helper()
	e, err := engine.Open(engine.Options{Memory: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, fault: fault, inner: wire.New(e, wire.Options{Token: token, Log: slog.New(slog.DiscardHandler)}).Handler()}
	s.start("127.0.0.1:0")
	t.Cleanup(func() {
		s.stop()
		_ = e.Close() // in memory: nothing is lost
	})
	return s
}

// start listens on addr; after stop it may be called again with s.addr.
func (s *server) start(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr, s.url = l.Addr().String(), "http://"+l.Addr().String()
	srv := &http.Server{Handler: s, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ErrServerClosed
	}()
	s.stop = sync.OnceFunc(func() {
		_ = srv.Close() // resets what is open
		<-done
	})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.Header.Get("Content-Type") == "s2s/proto" {
		what = "session"
	}
	s.mu.Lock()
	s.seen = append(s.seen, arrival{what, time.Now()})
	s.mu.Unlock()
	var f fault
	if s.fault != nil {
		f = s.fault(r)
	}
	switch f.kind {
	case pass:
		s.inner.ServeHTTP(w, r)
	case dropReply:
		s.inner.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case dropRequest:
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	case hang:
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case answer:
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Content-Type", f.of(r))
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.body)
	case hold:
		w.Header().Set("Content-Type", f.of(r))
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.body)
		_ = http.NewResponseController(w).Flush() // the client may be gone
		<-r.Context().Done()
	case endClean, endError, cut:
		ctx, cancel := context.WithTimeout(r.Context(), f.after)
		defer cancel()
		s.inner.ServeHTTP(w, r.WithContext(ctx))
		switch f.kind {
		case endError:
			const body = `{"code":"unavailable","message":"closing"}`
			frame := binary.BigEndian.AppendUint32(nil, uint32(1+2+len(body)))[1:]
			_, _ = w.Write(append(binary.BigEndian.AppendUint16(append(frame, 0x80), 503), body...))
		case cut:
			panic(http.ErrAbortHandler)
		default:
		}
	}
}

// of returns the type of the body that answers r.
func (f fault) of(r *http.Request) string {
	switch {
	case f.mime != "":
		return f.mime
	case f.status >= 400 || r.Header.Get("Accept") == "":
		return "application/json"
	case r.Header.Get("Content-Type") == "s2s/proto":
		return "s2s/proto"
	}
	return "application/protobuf"
}

// arrivals returns when requests of a kind came.
func (s *server) arrivals(what string) (at []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.seen {
		if a.what == what {
			at = append(at, a.at)
		}
	}
	return at
}

// only gives the faults in order to the requests of a kind, and none to others
// and to those after them.
func only(method, last string, faults ...fault) func(*http.Request) fault {
	var mu sync.Mutex
	return func(r *http.Request) fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != method || !strings.HasSuffix(r.URL.Path, last) || r.Header.Get("Content-Type") == "s2s/proto" || len(faults) == 0 {
			return fault{}
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}
}

func repeat(f fault, n int) []fault {
	faults := make([]fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faults
}

// open returns a store with two basins of its own.
func open(t testing.TB, o s2stream.Options) *s2stream.Store {
	t.Helper()
	s := unensured(t, o)
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func unensured(t testing.TB, o s2stream.Options) *s2stream.Store {
	t.Helper()
	if o.Basin == "" {
		o.Basin = "t-" + strings.ToLower(rand.Text())
	}
	s, err := s2stream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
