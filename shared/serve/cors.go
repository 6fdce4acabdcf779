package serve

import (
	"net/http"
	"slices"
	"strings"
)

// A cors is which browsers may call: none, unless origins are configured. No
// credential of ours is a cookie, so an origin is let in without them.
type cors struct {
	origins []string
}

const (
	corsRequest = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Traceparent, X-Request-Id"
	corsAnswer  = "Idempotent-Replayed, Retry-After, X-Request-Id"
	corsMaxAge  = "600" // seconds that a browser keeps a preflight
)

func newCORS(origins []string) cors { return cors{origins: origins} }

func (c cors) on() bool { return len(c.origins) > 0 }

// allow returns the Allow header of a path.
func (c cors) allow(ops map[string]*endpoint) string {
	var methods []string
	for m := range ops {
		methods = append(methods, m)
	}
	if c.on() {
		methods = append(methods, http.MethodOptions)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// answer adds what a browser must see on every answer to show it to its page.
func (c cors) answer(h http.Header, r *http.Request) {
	if !c.on() {
		return
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case slices.Contains(c.origins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(c.origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	default:
		return
	}
	h.Set("Access-Control-Expose-Headers", corsAnswer)
}

// preflight answers OPTIONS, which carries no credential.
func (c cors) preflight(h http.Header, r *http.Request, allow string) {
	h.Set("Allow", allow)
	if h.Get("Access-Control-Allow-Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return
	}
	h.Set("Access-Control-Allow-Methods", allow)
	h.Set("Access-Control-Allow-Headers", corsRequest)
	h.Set("Access-Control-Max-Age", corsMaxAge)
}
