package serve

import (
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"reflect"
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
	hasBody, mayBeEmpty bool
}

type binding struct {
	name   string
	index  []int
	set    func(reflect.Value, string) error
	key    string // of a header, as http.Header has it
	many   bool   // a list: the parameter may be repeated
	prefix bool   // a map of the parameters whose names begin with name
}

// newBinder panics on a field of a type that no text can be bound to.
func newBinder(r route.Route, t reflect.Type) *binder {
	hasBody := route.HasBody(t)
	b := &binder{hasBody: hasBody, mayBeEmpty: r.Empty || !hasBody}
	for _, f := range route.FieldsOf(t) {
		x := binding{name: f.Name, index: f.Index, many: f.In == route.InQuery && f.Type.Kind() == reflect.Slice, prefix: f.IsPrefix()}
		if !x.prefix {
			x.set = setter(f.Type)
		}
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

func (x binding) bind(v reflect.Value, s string) error { return x.bindAs(v, x.name, s) }

// bindAs binds s, which was given under a name that is x's.
func (x binding) bindAs(v reflect.Value, name, s string) (err error) {
	if f := v.FieldByIndex(x.index); x.prefix {
		err = put(f, name[len(x.name):], s)
	} else {
		err = x.set(f, s)
	}
	if err != nil {
		return api.InvalidParameter(shown(name), "%s: %s", shown(name), strings.TrimPrefix(err.Error(), ident.ErrSyntax.Error()+": "))
	}
	return nil
}

// put adds an entry to a map[string]string.
func put(m reflect.Value, key, value string) error {
	if !utf8.ValidString(key) || !utf8.ValidString(value) {
		return errors.New("not UTF-8")
	}
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	m.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(value))
	return nil
}
