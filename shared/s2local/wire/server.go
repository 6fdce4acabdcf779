// Package wire serves the embedded store as the S2 API: its REST resources, its
// records in protobuf and JSON, its S2S sessions and its server-sent events. The
// unmodified S2 SDKs work against it. It holds no state of its own: every rule
// about streams is the engine's.
package wire

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"agentchat/shared/s2local/engine"
)

// Options are what a server is made with.
type Options struct {
	// Token is the bearer token that every call must carry. An empty one opens
	// nothing: every call is refused.
	Token string
	Log   *slog.Logger // nil: slog.Default
}

// A Server answers the S2 API over an engine, which it does not close.
type Server struct {
	engine   *engine.Engine
	token    [sha256.Size]byte
	open     bool // there is a token
	log      *slog.Logger
	codings  *codings
	draining chan struct{} // closed when sessions are to end
	drain    sync.Once
}

// New returns a server for e.
func New(e *engine.Engine, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Server{
		engine: e, token: sha256.Sum256([]byte(o.Token)), open: o.Token != "", log: o.Log,
		codings: newCodings(), draining: make(chan struct{}),
	}
}

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	endTimeout    = 3 * time.Second // what calls in progress get before they are cut off
)

// Serve answers on l until ctx ends, then ends every open session with 503 (its
// client resumes elsewhere or later; what was not acknowledged was not written),
// lets calls in progress finish for a few seconds and closes l. It returns nil
// after such an end. It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		Protocols:         protocols(),
		HTTP2:             http2Config(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.drain.Do(func() { close(s.draining) })
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			_ = srv.Close() // connections that would not end; nothing is left to tell them
		}
	})
	err := srv.Serve(l)
	if stop() {
		return err // not ctx's end: the listener broke
	}
	<-ended
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// protocols are those of the SDKs: HTTP/1.1 for calls, HTTP/2 with prior
// knowledge for sessions, and HTTP/2 by TLS.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// http2Config makes room for many sessions on one connection, which is how the
// SDKs open them: with the default buffers, which are as large for a session as
// for its connection, one append session that waits for the store would stop the
// others. The pings find dead clients, as sessions have no write timeout.
func http2Config() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams:          2000,
		MaxReceiveBufferPerConnection: 4<<20 - 1, // the most there is
		MaxReceiveBufferPerStream:     512 << 10,
		SendPingTimeout:               30 * time.Second,
		PingTimeout:                   15 * time.Second,
		WriteByteTimeout:              time.Minute,
	}
}

// Handler returns the API as a handler. Sessions need a server that speaks
// HTTP/2, or flushes and reads while it writes.
func (s *Server) Handler() http.Handler {
	mux := s.mux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); {
		case path == "/health" || path == "/ping":
			_, _ = w.Write([]byte("OK")) // the client is gone
		case !s.authorized(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeFault(w, faultf(authn, "a bearer token is needed, and it must be this server's"))
		case strings.Contains(path, "//"):
			writeFault(w, noSuchPath())
		case strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../"):
			writeFault(w, faultf(badPath, `a name can't be "." or ".."`))
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// authorized compares digests, so that the time it takes tells nothing, not even
// the token's length.
func (s *Server) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(token))
	same := subtle.ConstantTimeCompare(digest[:], s.token[:]) == 1
	return strings.EqualFold(scheme, "bearer") && same && s.open
}
