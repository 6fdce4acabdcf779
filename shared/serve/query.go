package serve

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"agentchat/shared/api"
)

// bindQuery sets the query fields of v, and returns what the query said.
func (b *binder) bindQuery(v reflect.Value, raw string) (map[string][]string, error) {
	said, err := parseQuery(raw, func(name string) bool {
		return slices.ContainsFunc(b.query, func(x binding) bool { return x.many && x.name == name })
	})
	if err != nil {
		return nil, err
	}
	known := 0
	for _, x := range b.query {
		for _, name := range x.in(said) {
			known++
			for _, s := range said[name] {
				if s == "" && !x.prefix { // an entry of a map may be empty
					return nil, api.InvalidParameter(shown(name), "%s is empty; leave it out", shown(name))
				}
				if err := x.bindAs(v, name, s); err != nil {
					return nil, err
				}
			}
		}
	}
	if known < len(said) {
		for _, x := range b.query {
			for _, name := range x.in(said) {
				delete(said, name)
			}
		}
		return nil, b.unknown(said)
	}
	return said, nil
}

// in returns the names of the parameters in said that are x's, in order, so that
// the same query is always refused alike.
func (x binding) in(said map[string][]string) (names []string) {
	if _, ok := said[x.name]; ok && !x.prefix {
		return []string{x.name}
	}
	for name := range said {
		if x.prefix && len(name) > len(x.name) && strings.HasPrefix(name, x.name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (b *binder) unknown(said map[string][]string) error {
	least := slices.Min(slices.Collect(maps.Keys(said)))
	names := make([]string, len(b.query))
	for i, x := range b.query {
		if names[i] = x.name; x.prefix {
			names[i] += "*"
		}
	}
	takes := "no query parameters"
	if len(names) > 0 {
		takes = strings.Join(names, ", ")
	}
	return api.InvalidParameter(shown(least), "unknown query parameter; this operation takes %s", takes)
}

// parseQuery returns the parameters of a query string. Nothing is dropped or
// joined: what url.ParseQuery would forgive is refused, and what is repeated too,
// but for names of which there may be many.
func parseQuery(raw string, many func(name string) bool) (map[string][]string, error) {
	if raw == "" {
		return nil, nil
	}
	said := map[string][]string{}
	for piece := range strings.SplitSeq(raw, "&") {
		if piece == "" {
			continue
		}
		k, v, _ := strings.Cut(piece, "=")
		name, err := url.QueryUnescape(k)
		if err != nil {
			return nil, api.InvalidParameter(shown(k), "the name of a query parameter has a malformed percent-encoding")
		}
		if _, ok := said[name]; ok && !many(name) {
			return nil, api.InvalidParameter(shown(name), "the query parameter is given more than once")
		}
		value, err := url.QueryUnescape(v)
		if err != nil {
			return nil, api.InvalidParameter(shown(name), "the query parameter has a malformed percent-encoding")
		}
		said[name] = append(said[name], value)
	}
	return said, nil
}

// shown returns a parameter's name as a problem may repeat it.
func shown(name string) string {
	const longest = 64
	if name = strings.ToValidUTF8(name, "\uFFFD"); len(name) > longest {
		return strings.ToValidUTF8(name[:longest], "") + "..."
	}
	return name
}
