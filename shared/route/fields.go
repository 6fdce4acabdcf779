package route

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Place is where a field of a request travels.
type Place string

// The places. A field with none of these tags is a member of the body.
const (
	InPath   Place = "path"
	InQuery  Place = "query"
	InHeader Place = "header"
)

// A Field is a field of a request that does not travel in the body. One of the
// query whose name ends with a dot is a map: it has the parameters whose names
// begin with that, by the rest of their names.
type Field struct {
	In    Place
	Name  string
	Doc   string
	Type  reflect.Type
	Index []int
}

// FieldsOf returns the fields of a request type (a struct, or a pointer to one)
// that do not travel in the body.
func FieldsOf(t reflect.Type) []Field {
	if t == nil {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var fs []Field
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []Place{InPath, InQuery, InHeader} {
			if name, ok := f.Tag.Lookup(string(in)); ok {
				fs = append(fs, Field{In: in, Name: name, Doc: f.Tag.Get("doc"), Type: f.Type, Index: f.Index})
			}
		}
	}
	return fs
}

// HasBody reports whether a request type has members of a body.
func HasBody(t reflect.Type) bool {
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous && f.Tag.Get("json") != "-" {
			return true
		}
	}
	return false
}

// IsPrefix reports whether f is a map of parameters.
func (f Field) IsPrefix() bool { return f.Type.Kind() == reflect.Map }

// Fields yields the fields of req that do not travel in the body, with their
// values as text; a nil pointer is "", and a slice yields each of its elements.
// A map yields each of its parameters, under its whole name.
func Fields(req any) func(yield func(Field, string) bool) {
	return func(yield func(Field, string) bool) {
		if req == nil {
			return
		}
		v := reflect.Indirect(reflect.ValueOf(req))
		for _, f := range FieldsOf(v.Type()) {
			fv := v.FieldByIndex(f.Index)
			if m, ok := fv.Interface().(map[string]string); ok {
				for _, k := range slices.Sorted(maps.Keys(m)) {
					each := f
					each.Name += k
					if !yield(each, m[k]) {
						return
					}
				}
				continue
			}
			if fv.Kind() == reflect.Slice {
				for i := range fv.Len() {
					if !yield(f, fmt.Sprint(fv.Index(i).Interface())) {
						return
					}
				}
				continue
			}
			text := ""
			if fv.Kind() != reflect.Pointer {
				text = fmt.Sprint(fv.Interface())
			} else if !fv.IsNil() {
				text = fmt.Sprint(fv.Elem().Interface())
			}
			if !yield(f, text) {
				return
			}
		}
	}
}
