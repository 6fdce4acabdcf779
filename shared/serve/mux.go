package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// A mux is the handler of a family.
type mux struct {
	env   *env.Env
	cors  cors
	paths []*path
	bufs  *sync.Pool // of *[]byte, for answers and events
}

// A path is what the table has under one path.
type path struct {
	pattern  string
	segments []string // literal, or {name}
	ops      map[string]*endpoint
	allow    string
}

// An endpoint is one operation at its place.
type endpoint struct {
	route    route.Route
	segments []string // of its path's pattern
	op       Op
	bind     *binder
}

// Mux returns the handler of a family. It panics on a missing or an extra op,
// on one whose request is not of the table's type, and on an Env that tells nobody
// apart for a family that must.
func Mux(e *env.Env, family string, ops map[string]Op) http.Handler {
	if e.Auth == nil && !route.Open(family) {
		panic("serve: family " + family + " asks for credentials, and nothing checks them")
	}
	return bound(e, family, route.In(family), ops)
}

// bound returns a mux of the routes of a family, with their ops.
func bound(e *env.Env, family string, routes []route.Route, ops map[string]Op) *mux {
	if len(routes) != len(ops) {
		panic(fmt.Sprintf("serve: family %s has %d operations in the table, not %d", family, len(routes), len(ops)))
	}
	m := newMux(e)
	for _, r := range routes {
		op, ok := ops[r.Op]
		if !ok {
			panic("serve: no operation " + r.Op)
		}
		if r.Req != nil && reflect.TypeOf(r.Req) != op.request {
			panic(fmt.Sprintf("serve: %s takes %v, not %v", r.Op, reflect.TypeOf(r.Req), op.request))
		}
		if op.events != (r.Kind == route.Events) {
			panic("serve: " + r.Op + " is not of its kind in the table")
		}
		m.add(&endpoint{route: r, segments: split(r.Path), op: op, bind: newBinder(r, op.request)})
	}
	return m
}

func newMux(e *env.Env) *mux {
	return &mux{env: e, cors: newCORS(e.Config.Origins), bufs: &sync.Pool{New: func() any { return new([]byte) }}}
}

func (m *mux) add(ep *endpoint) {
	i := slices.IndexFunc(m.paths, func(p *path) bool { return p.pattern == ep.route.Path })
	if i < 0 {
		m.paths = append(m.paths, &path{pattern: ep.route.Path, segments: ep.segments, ops: map[string]*endpoint{}})
		m.sort()
		i = slices.IndexFunc(m.paths, func(p *path) bool { return p.pattern == ep.route.Path })
	}
	p := m.paths[i]
	p.ops[ep.route.Method] = ep
	if ep.route.Method == http.MethodGet {
		p.ops[http.MethodHead] = ep
	}
	p.allow = m.cors.allow(p.ops)
}

// sort puts a literal segment before a variable one: '{' is behind every letter and digit.
func (m *mux) sort() {
	slices.SortFunc(m.paths, func(a, b *path) int { return slices.Compare(a.segments, b.segments) })
}

// All returns the handler of a host that serves several families, each made by
// Mux. A family that is not given is not there: its paths are 404.
func All(e *env.Env, families map[string]http.Handler) http.Handler {
	all := newMux(e)
	for _, h := range families {
		all.paths = append(all.paths, h.(*mux).paths...)
	}
	all.sort()
	return all
}

func split(p string) []string { return strings.Split(strings.TrimPrefix(p, "/"), "/") }

// match returns the path of u, and its segments decoded one by one, so that no
// escape is a separator. What net/http would clean (an empty segment, a dot) is
// nobody's path.
func match(paths []*path, u *url.URL) (*path, []string) {
	segments := split(u.EscapedPath())
	for i, s := range segments {
		if s == "" || s == "." || s == ".." {
			return nil, nil
		}
		if strings.Contains(s, "%") {
			var err error
			if segments[i], err = url.PathUnescape(s); err != nil {
				return nil, nil
			}
		}
	}
	for _, p := range paths {
		if slices.EqualFunc(p.segments, segments, func(want, got string) bool { return want[0] == '{' || want == got }) {
			return p, segments
		}
	}
	return nil, nil
}

// ServeHTTP answers a request, whatever comes.
func (m *mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := m.open(w, r)
	defer c.logAccess(r.Context())
	defer c.recover()
	if err := m.serve(r.Context(), c); err != nil {
		c.problem(err)
	}
}

func (m *mux) serve(ctx context.Context, c *call) error {
	m.cors.answer(c.w.Header(), c.r)
	p, segments := match(m.paths, c.r.URL)
	if p == nil {
		return api.Errorf(api.NotFound, "no such path; GET /openapi.json lists all there are")
	}
	ep, ok := p.ops[c.r.Method]
	switch {
	case !ok && c.r.Method == http.MethodOptions && m.cors.on():
		m.cors.preflight(c.w.Header(), c.r, p.allow)
		return c.noContent()
	case !ok:
		c.w.Header().Set("Allow", p.allow)
		return api.Errorf(api.MethodNotAllowed, "this path takes %s", p.allow)
	}
	c.endpoint, c.segments = ep, segments
	if err := c.authorise(ctx); err != nil {
		return err
	}
	return ep.op.run(ctx, c)
}

// authorise decides on the credential and the path alone. Whether a key is that
// of the agent who acts, where the request says who does, is decided by decode.
func (c *call) authorise(ctx context.Context) error {
	switch access := c.endpoint.route.Access; {
	case access == route.Public:
		return nil
	case access == route.Admin && !c.env.Auth.HasAdmin():
		return api.Errorf(api.MonitorDisabled, "the monitor is off: this server has no admin token")
	}
	by, err := c.env.Auth.Caller(ctx, c.r.Header, c.endpoint.route)
	if err != nil {
		return err
	}
	c.by = by
	// A malformed agent is nobody's own; whoever may act for all learns below that it is malformed.
	var of ident.Agent
	if c.endpoint.route.Access == route.Party {
		of = by.Agent
	} else if i := slices.Index(c.endpoint.segments, "{agent}"); i >= 0 {
		of, _ = ident.ParseAgent(c.segments[i])
	}
	return by.May(c.endpoint.route, of)
}
