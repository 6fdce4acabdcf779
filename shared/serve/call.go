package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/ident"
)

// The times of a call. The host sets none of its own for writing, which would
// end streams.
const (
	requestTime = 28 * time.Second // of an operation that answers once; a Lambda function has 30 s
	readTime    = 30 * time.Second // for a body to arrive
	writeTime   = 30 * time.Second // for one answer, or one event, to be taken
)

// A call is one request on its way.
type call struct {
	*mux
	w     writer
	r     *http.Request
	out   http.ResponseController
	id    ident.Request
	begun time.Time

	endpoint *endpoint // nil: none
	segments []string  // of the path, decoded
	query    map[string][]string
	by       auth.Caller

	code  api.Code // of the problem that it ended with
	cause error    // for the log, of a fault of ours
	ended string   // streaming, or why a stream ended

	retried bool // the stream has told the client how soon to reconnect
}

func (m *mux) open(w http.ResponseWriter, r *http.Request) *call {
	c := &call{mux: m, w: writer{ResponseWriter: w}, r: r, out: *http.NewResponseController(w), begun: m.env.Now()}
	if ids := r.Header["X-Request-Id"]; len(ids) == 1 {
		c.id, _ = ident.ParseRequest(ids[0])
	}
	if c.id == "" {
		c.id = ident.NewRequest(m.env.Rand)
	}
	w.Header().Set("X-Request-Id", string(c.id))
	return c
}

// writeWithin bounds the writes from now on. A writer that has no deadlines is
// its host's business.
func (c *call) writeWithin(d time.Duration) { _ = c.out.SetWriteDeadline(time.Now().Add(d)) }

// recover ends a call that panicked; the process lives.
func (c *call) recover() {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
		c.ended = "aborted"
		panic(v)
	}
	err := panicError(v)
	switch {
	case c.w.status == 0:
		c.problem(err)
	case c.ended == streaming:
		c.endWith(err)
	default:
		// Part of an answer is out: only a broken connection tells the truth.
		_ = c.note(err)
		panic(http.ErrAbortHandler)
	}
}

func panicError(v any) error { return fmt.Errorf("panic: %v\n%s", v, debug.Stack()) }

// logAccess writes the one line that a request leaves. It names the route, not
// the path, and nothing that a client may have put a secret into.
func (c *call) logAccess(ctx context.Context) {
	level := slog.LevelInfo
	if c.cause != nil {
		level = slog.LevelError
	}
	if !c.env.Log.Enabled(ctx, level) {
		return
	}
	now := c.env.Now()
	var room [14]slog.Attr
	attrs := append(room[:0],
		slog.String("request_id", string(c.id)),
		slog.Int("status", c.w.status),
		slog.Int64("bytes", c.w.bytes),
		slog.Int64("us", now.Sub(c.begun).Microseconds()),
		slog.String("caller", c.by.Kind.String()),
	)
	if c.by.Agent != "" {
		attrs = append(attrs, slog.String("agent", string(c.by.Agent)), slog.String("key", string(c.by.Key)))
	}
	if c.endpoint != nil {
		attrs = append(attrs, slog.String("op", c.endpoint.route.Op), slog.String("method", c.r.Method), slog.String("route", c.endpoint.route.Path))
	}
	if c.code != "" {
		attrs = append(attrs, slog.String("code", string(c.code)))
	}
	if c.ended != "" {
		attrs = append(attrs, slog.String("ended", c.ended))
	}
	if c.cause != nil {
		attrs = append(attrs, slog.String("error", c.cause.Error()))
	}
	// Straight to the handler: the logger would look up the source line first, which no line has.
	line := slog.NewRecord(now, level, "request", 0)
	line.AddAttrs(attrs...)
	_ = c.env.Log.Handler().Handle(ctx, line) // a log that can't be written is nobody's fault
}

// A writer counts what an answer was.
type writer struct {
	http.ResponseWriter
	status int // 0: nothing yet
	bytes  int64
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}
