package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"agentchat/functions"
	"agentchat/shared/env"
	"agentchat/shared/gateway"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

const (
	drainTimeout  = 15 * time.Second // what calls in progress get at the end: longer than a write may take to learn its outcome
	headerTimeout = 10 * time.Second // to send a request's header
	idleTimeout   = 2 * time.Minute  // between requests on one connection
	maxHeader     = 256 << 10        // cursors of many inboxes may travel in a header
)

// A host serves every family on one port.
type host struct {
	conf     env.Config
	store    stream.Store
	log      *slog.Logger
	front    *gateway.Gateway // answers in place of the handlers; nil: they do, in process
	failed   <-chan struct{}  // closed when the store is broken for good; nil: never
	sole     bool             // no other process is on the store
	gogc     string           // GOGC, as the operator set it
	draining chan struct{}
}

func newHost(conf env.Config, store stream.Store, log *slog.Logger) *host {
	conf.Version = version
	return &host{conf: conf, store: store, log: log, draining: make(chan struct{})}
}

// serve serves on l until ctx ends, then lets streams end cleanly and calls in
// progress finish, for a bounded time. It calls ready once it accepts. It returns
// nil after such an end.
func (h *host) serve(ctx context.Context, l net.Listener, ready func()) error {
	e, err := env.New(env.Options{
		Store: h.store, Config: h.conf, Now: time.Now, Rand: rand.Reader, Log: h.log, Draining: h.draining, Sole: h.sole, Late: true,
	})
	if err != nil {
		return usage{errors.Join(err, l.Close())}
	}
	handler := functions.Handler(e)
	if h.front != nil {
		handler = h.front
	}
	// No write timeout: serve sets deadlines by the kind of answer, and a live stream has none as a whole.
	srv := &http.Server{
		Handler: handler, Protocols: protocols(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	ready()
	collectLess(h.gogc)
	h.log.LogAttrs(ctx, slog.LevelInfo, "listening", slog.String("address", l.Addr().String()))
	var broken error
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-h.failed:
		broken = errors.New("the store is broken; see the log, and start again when its disk works")
	case <-ctx.Done():
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "ending")
	close(h.draining)
	if h.front != nil {
		h.front.Close() // it can't tell its functions to end their streams
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "calls in progress were cut off", slog.Any("error", err))
		_ = srv.Close()
	}
	e.Mail.Wait() // before its store is closed
	e.Journal.Wait()
	return errors.Join(broken, closed(<-ended))
}

// closed returns nil for the error of a server that was shut down.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// protocols are HTTP/1.1, HTTP/2 by TLS, and HTTP/2 with prior knowledge.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// listen listens on addr, and says in plain words what is in the way.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is taken: another program, perhaps another agent-chat, listens there; choose a port with --listen", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s; choose a port over 1023 with --listen", addr)
	case err != nil:
		return nil, usage{fmt.Errorf("--listen %s: %w", addr, err)}
	}
	return l, nil
}

// encrypt returns l, with TLS if there is a certificate, and the scheme of its URL.
func encrypt(l net.Listener, cert, key string) (_ net.Listener, scheme string, err error) {
	if cert == "" {
		return l, "http", nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, "", usage{fmt.Errorf("--tls-cert, --tls-key: %w", err)}
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	}), "https", nil
}

// openEngine opens the embedded store of a data folder, or one in memory.
func openEngine(data string, memory bool, log *slog.Logger) (*engine.Engine, error) {
	if memory {
		return engine.Open(engine.Options{Memory: true, Log: log})
	}
	e, err := engine.Open(engine.Options{Dir: filepath.Join(data, "store"), Log: log})
	if errors.Is(err, engine.ErrLocked) {
		return nil, fmt.Errorf("the data folder is in use: another agent-chat has %s open; end that one, or choose a folder with --data", data)
	}
	if err != nil {
		return nil, fmt.Errorf("open the data folder: %w", err)
	}
	return e, nil
}

// openLocal returns the store on e, with its basins as they must be.
func openLocal(ctx context.Context, e *engine.Engine, basin string) (stream.Store, error) {
	store := localstream.New(e, basin)
	if err := store.Ensure(ctx); err != nil {
		return nil, fmt.Errorf("set the store up: %w", err)
	}
	return store, nil
}

// ownKeys puts the keys of signed chats into conf, unless the environment has
// some: those of the data folder, which are made with it, or new ones for a
// store in memory.
func ownKeys(conf *env.Config, data string, memory bool) (err error) {
	switch {
	case conf.SigningKeys != nil:
	case memory:
		conf.SigningKeys, err = signed.NewSet(time.Now())
	default:
		conf.SigningKeys, _, err = env.KeyFile(data, keysFile, time.Now())
	}
	return err
}

// urlOf returns a URL for l that works on this machine.
func urlOf(scheme string, l net.Listener) string {
	addr := l.Addr().String()
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return scheme + "://" + addr
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// gcPercent lets the heap grow to three times what lives before it is collected,
// where Go would stop at twice: what lives is little, and a send costs 6 % less.
const gcPercent = 200

// collectLess sets gcPercent, unless the operator has set GOGC. The garbage of the
// start is not to stay, so it comes behind that.
func collectLess(gogc string) {
	if gogc == "" {
		debug.SetGCPercent(gcPercent)
	}
}
