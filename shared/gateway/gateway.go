// Package gateway runs the built Lambda functions on this machine: each in
// child processes behind an emulated Runtime API, with an HTTP front that makes
// function URL events of requests and answers of what comes back. It is what
// `dev --lambda` serves, and what the contract suite runs the very bootstraps on.
//
// As on AWS, a sandbox works on one request at a time; sandboxes are started as
// they are needed up to a limit, and kept for a while when idle; one that crashes or
// overruns its timeout is ended and replaced; a function never learns that its
// caller has left. What goes wrong in front of a function is answered as AWS
// does, {"Message": ...}, not as a problem document. Facts about the Runtime API
// are from AWS's "Using the Lambda runtime API for custom runtimes", about
// events and limits from "Invoking Lambda function URLs" and "Lambda quotas".
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agentchat/shared/route"
)

// Limits of AWS that a request or an answer can run into.
const (
	MaxEvent       = 6 << 20   // of an event as JSON
	MaxBuffered    = 6 << 20   // of a buffered answer as JSON
	MaxStreamed    = 200 << 20 // of a streamed answer
	MaxHeaderBytes = 10_240    // of a request's header lines together
)

// A Function is one family, built.
type Function struct {
	Bootstrap string        // path of the executable
	Arguments []string      // of it, as an emulator needs them
	Env       []string      // NAME=value; with what the emulation sets, all there is
	Memory    int           // MiB, as the process is told; it is not enforced
	Timeout   time.Duration // of one invocation
	Stream    bool          // InvokeMode RESPONSE_STREAM, else BUFFERED
	Max       int           // sandboxes at once; 0: 100
	Idle      time.Duration // how long a sandbox is kept for another request; 0: 5 minutes
}

// Options of New.
type Options struct {
	Functions map[string]Function // by family
	Log       *slog.Logger        // nil: slog.Default
	Output    io.Writer           // what the processes write, from several goroutines one after the other; nil: os.Stderr
}

// Bootstraps returns the functions whose executables are in dir/FAMILY/bootstrap,
// one for every family of the route table, each with environ: of the secrets in
// it, with those alone that the table gives the family.
func Bootstraps(dir string, environ ...string) (map[string]Function, error) {
	fs := make(map[string]Function, len(route.Families))
	for name, f := range route.Families {
		path, err := filepath.Abs(filepath.Join(dir, name, "bootstrap"))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("function %s is not built: %w", name, err)
		}
		fs[name] = Function{Bootstrap: path, Env: permitted(environ, f), Memory: f.Memory, Timeout: f.Timeout, Stream: f.Stream}
	}
	return fs, nil
}

// permitted returns the variables of environ that f may have: all but the secrets
// that other families have and it has not.
func permitted(environ []string, f route.Family) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		secret := route.Secret(name)
		if slices.Contains(f.Secrets, secret) {
			return false
		}
		for _, other := range route.Families {
			if slices.Contains(other.Secrets, secret) {
				return true
			}
		}
		return false
	})
}

// A Gateway is the front of all functions. It is an http.Handler.
type Gateway struct {
	log   *slog.Logger
	pools map[string]*pool // by family
	paths []pattern
}

// New returns a Gateway that has started nothing yet. Close ends it.
func New(o Options) *Gateway {
	g := &Gateway{log: o.Log, pools: make(map[string]*pool, len(o.Functions)), paths: patterns()}
	if g.log == nil {
		g.log = slog.Default()
	}
	if o.Output == nil {
		o.Output = os.Stderr
	}
	output := &lockedWriter{w: o.Output}
	for name, f := range o.Functions {
		if f.Max == 0 {
			f.Max = 100
		}
		if f.Idle == 0 {
			f.Idle = 5 * time.Minute // AWS says only that it is some minutes
		}
		g.pools[name] = &pool{name: name, f: f, output: output, all: map[*sandbox]struct{}{}}
	}
	return g
}

// Close kills all sandboxes and waits for them. Requests in progress break off,
// later ones are refused.
func (g *Gateway) Close() {
	var wg sync.WaitGroup
	for _, p := range g.pools {
		wg.Go(p.close)
	}
	wg.Wait()
}

// ServeHTTP answers r with the function whose path it is; one that is nobody's
// is for the service family to refuse.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := g.pools[familyOf(g.paths, r.URL)]
	if p == nil {
		refuse(w, http.StatusNotFound, "no function has this path")
		return
	}
	id := newID()
	event, err := Event(r, id)
	if err == nil {
		err = p.run(context.WithoutCancel(r.Context()), id, event, func(a *answer) error { return relay(w, a, p.f.Stream) })
	}
	switch {
	case err == nil:
		return
	case !errors.Is(err, errRefused):
		g.log.LogAttrs(r.Context(), slog.LevelWarn, "an invocation failed", slog.String("function", p.name),
			slog.String("invocation", id), slog.String("error", err.Error()))
	}
	if errors.Is(err, errRelaying) {
		panic(http.ErrAbortHandler) // the status line is out: all that is left is to cut
	}
	status, message := explain(err)
	refuse(w, status, message)
}

// run answers one event in a sandbox, which is ready for another one, or gone,
// when run returns.
func (p *pool) run(ctx context.Context, id string, event []byte, take func(*answer) error) error {
	s, err := p.get(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.f.Timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, s.kill) // also cuts an answer that it is posting
	a, err := s.invoke(ctx, id, event)
	if err == nil {
		err = func() error {
			defer close(a.taken)
			return take(a)
		}()
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(errTimeout, err)
	}
	p.put(ctx, s)
	stop()
	return err
}

// A lockedWriter lets several processes write to w.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
