package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// schemas collects the named schemas of a document while it is made.
type schemas struct {
	known object
	types map[string]reflect.Type // by the names in known
}

// of returns the schema of a value of type t where it stands.
func (s *schemas) of(t reflect.Type) object {
	if o, ok := words()[t]; ok {
		return s.component(t, o.name, func() object { return o.schema })
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return object{}
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that the protocol has
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.named(t, false)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Uint64:
		return object{"type": "integer", "format": "uint64", "minimum": 0}
	}
	panic(fmt.Sprintf("openapi: no schema for %v", t))
}

// named returns a reference to the schema of a struct. A closed one has no
// members but those it lists, as the server refuses all others.
func (s *schemas) named(t reflect.Type, closed bool) object {
	return s.component(t, t.Name(), func() object { return s.structure(t, closed) })
}

func (s *schemas) component(t reflect.Type, name string, build func() object) object {
	if other, ok := s.types[name]; ok && other != t {
		panic(fmt.Sprintf("openapi: %v and %v have one name", t, other))
	}
	if s.types[name] == nil {
		s.types[name] = t // before its members, which may name it
		s.known[name] = build()
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) structure(t reflect.Type, closed bool) object {
	members, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		owner := t
		if len(f.Index) > 1 {
			owner = t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
		schema := s.of(f.Type)
		optional := strings.Contains(options, "omit")
		if !optional {
			required = append(required, name)
		}
		if f.Type.Kind() == reflect.Pointer && !optional {
			schema = object{"anyOf": []object{schema, {"type": "null"}}}
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			schema = with(schema, object{"description": doc})
		}
		members[name] = with(schema, s.bound(owner.Name(), name))
	}
	o := object{"type": "object"}
	if len(members) > 0 {
		o["properties"] = members
	}
	if len(required) > 0 {
		o["required"] = required
	}
	if closed {
		o["additionalProperties"] = false
	}
	return with(o, structures()[t.Name()])
}

// bound returns what is to be said of a member or parameter beyond its type and
// its description.
func (s *schemas) bound(owner, name string) object {
	all := bounds()
	if o, ok := all[owner+"."+name]; ok {
		return s.resolve(o)
	}
	return s.resolve(all[name])
}

// resolve replaces the Go type of a bound, a member that is stored bytes of that
// type, by its schema.
func (s *schemas) resolve(o object) object {
	t, ok := o["holds"].(reflect.Type)
	if !ok {
		return o
	}
	return with(s.of(t), without(o, "holds"))
}

func with(o, more object) object {
	o = maps.Clone(o)
	maps.Copy(o, more)
	return o
}

func without(o object, name string) object {
	o = maps.Clone(o)
	delete(o, name)
	return o
}
