package serve

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// A binder sets the fields of a request type that do not travel in the body.
type binder struct {
	path, query, header []binding
	hasBody             bool
}

type binding struct {
	name  string
	index []int
	set   func(reflect.Value, string) error
	key   string // of a header, as http.Header has it
	many  bool   // a list: the parameter may be repeated
}

// newBinder panics on a field of a type that no text can be bound to.
func newBinder(t reflect.Type) *binder {
	b := &binder{hasBody: route.HasBody(t)}
	for _, f := range route.FieldsOf(t) {
		x := binding{name: f.Name, index: f.Index, set: setter(f.Type), many: f.In == route.InQuery && f.Type.Kind() == reflect.Slice}
		switch f.In {
		case route.InPath:
			b.path = append(b.path, x)
		case route.InQuery:
			b.query = append(b.query, x)
		case route.InHeader:
			x.key = http.CanonicalHeaderKey(f.Name)
			b.header = append(b.header, x)
		}
	}
	return b
}

// setter returns what sets a field of type t from text.
func setter(t reflect.Type) func(reflect.Value, string) error {
	if t.Kind() == reflect.Pointer {
		set := setter(t.Elem())
		return func(v reflect.Value, s string) error {
			v.Set(reflect.New(t.Elem()))
			return set(v.Elem(), s)
		}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return func(v reflect.Value, s string) error {
			return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
		}
	}
	switch t.Kind() { //nolint:exhaustive // the types that requests have
	case reflect.Slice:
		set := setter(t.Elem())
		return func(v reflect.Value, s string) error {
			e := reflect.New(t.Elem()).Elem()
			err := set(e, s)
			v.Set(reflect.Append(v, e))
			return err
		}
	case reflect.String:
		return func(v reflect.Value, s string) error {
			if !utf8.ValidString(s) {
				return errors.New("not UTF-8")
			}
			v.SetString(s)
			return nil
		}
	case reflect.Bool:
		return func(v reflect.Value, s string) error {
			if s != "true" && s != "false" {
				return errors.New("neither true nor false")
			}
			v.SetBool(s == "true")
			return nil
		}
	case reflect.Int:
		return func(v reflect.Value, s string) error {
			n, err := decimal(s, 63)
			v.SetInt(int64(n)) // 63 bits
			return err
		}
	case reflect.Uint64:
		return func(v reflect.Value, s string) error {
			n, err := decimal(s, 64)
			v.SetUint(n)
			return err
		}
	}
	panic(fmt.Sprintf("serve: no text can be bound to %v", t))
}

// decimal reads digits, the one way to write a number: no sign, no leading
// zero, no space, no other script's digits.
func decimal(s string, bits int) (uint64, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" || s[0] == '0' && s != "0" {
		return 0, errors.New("not a whole number in plain decimal digits without sign or leading zeros")
	}
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("larger than %d", uint64(1)<<bits-1)
	}
	return n, nil
}

// bindPath sets the path fields of v from the segments under a pattern.
func (b *binder) bindPath(v reflect.Value, pattern, segments []string) error {
	for _, x := range b.path {
		for i, p := range pattern {
			if p != "{"+x.name+"}" {
				continue
			}
			if err := x.bind(v, segments[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

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
		values, ok := said[x.name]
		if !ok {
			continue
		}
		known++
		for _, s := range values {
			if s == "" {
				return nil, api.InvalidParameter(x.name, "%s is empty; leave it out", x.name)
			}
			if err := x.bind(v, s); err != nil {
				return nil, err
			}
		}
	}
	if known < len(said) {
		for _, x := range b.query {
			delete(said, x.name)
		}
		return nil, b.unknown(said)
	}
	return said, nil
}

func (b *binder) unknown(said map[string][]string) error {
	least := slices.Min(slices.Collect(maps.Keys(said)))
	names := make([]string, len(b.query))
	for i, x := range b.query {
		names[i] = x.name
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

// bindHeader sets the header fields of v. An empty header is an absent one, and
// one given twice is a list (RFC 9110, 5.3), which no id and no number is.
func (b *binder) bindHeader(v reflect.Value, h http.Header) error {
	for _, x := range b.header {
		if s := strings.Join(h[x.key], ", "); s != "" {
			if err := x.bind(v, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x binding) bind(v reflect.Value, s string) error {
	if err := x.set(v.FieldByIndex(x.index), s); err != nil {
		return api.InvalidParameter(x.name, "%s: %s", x.name, strings.TrimPrefix(err.Error(), ident.ErrSyntax.Error()+": "))
	}
	return nil
}
