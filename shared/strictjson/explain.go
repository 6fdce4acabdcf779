package strictjson

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// maxPointer bounds what of a pointer goes back to a client: its keys are the
// client's own and may be as long as the body.
const maxPointer = 512

// precheck tells what the parser would call a bad character by its name.
func precheck(body []byte) error {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return api.Errorf(api.InvalidJSON, "the body begins with a byte order mark; send UTF-8 without one")
	}
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return api.Errorf(api.InvalidJSON, "the body is empty; send a JSON object")
	}
	return nil
}

// explain returns what the client is told of an error of decoding. The parser's
// error is not kept as a cause, as it may quote the body, which no log may hold.
func explain(err error) *api.Error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return explainSyntax(e)
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return explainMeaning(e)
	}
	return api.AsError(err)
}

func explainSyntax(e *jsontext.SyntacticError) *api.Error {
	switch {
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		return at(e.JSONPointer, api.RepeatedField, "the member is given twice; give it once")
	case strings.Count(string(e.JSONPointer), "/") > api.MaxJSONDepth:
		return at(top(e.JSONPointer), api.InvalidJSON, tooDeep, api.MaxJSONDepth)
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return at(e.JSONPointer, api.InvalidJSON, "the body ends inside a value, at byte %d; send one whole JSON object", e.ByteOffset)
	}
	return at(e.JSONPointer, api.InvalidJSON, "%v at byte %d; send one JSON object in UTF-8 (RFC 8259, RFC 7493)", e.Err, e.ByteOffset)
}

const tooDeep = "arrays and objects are nested too deep; %d levels are allowed, the body's own included"

func explainMeaning(e *json.SemanticError) *api.Error {
	p := e.JSONPointer
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return at(p, api.UnknownField, "there is no such member; members, by their exact names, are: %s", strings.Join(members(e.GoType), ", "))
	case errors.Is(e.Err, errTooDeep):
		return at(top(p), api.InvalidJSON, tooDeep, api.MaxJSONDepth)
	case errors.Is(e.Err, errNull) && p == "":
		return at(p, api.Invalid, "the body is null; send a JSON object")
	case errors.Is(e.Err, errNull):
		return at(p, api.Invalid, "null is no value here; leave the member out, or send a value")
	}
	want, kind := wanted(e.GoType)
	switch {
	case e.JSONKind != kind:
		return at(p, api.Invalid, "%s is needed here, not %s", want, kindName(e.JSONKind))
	case kind == '0':
		return at(p, api.Invalid, "%s is needed here, in plain digits and in range", want)
	case e.Err == nil:
		return at(p, api.Invalid, "%s is needed here", want)
	}
	return at(p, api.Invalid, "%s", strings.TrimPrefix(e.Err.Error(), ident.ErrSyntax.Error()+": "))
}

// at blames the member at p, or the nearest one around it whose pointer is
// short enough to be sent back.
func at(p jsontext.Pointer, c api.Code, format string, args ...any) *api.Error {
	if len(p) > maxPointer {
		p = p[:strings.LastIndexByte(string(p[:maxPointer+1]), '/')]
	}
	e := api.Errorf(c, format, args...)
	e.Field = string(p)
	return e
}

// top returns the pointer to the member of the body that p is in.
func top(p jsontext.Pointer) jsontext.Pointer {
	if i := strings.IndexByte(string(p[1:]), '/'); i >= 0 {
		return p[:i+1]
	}
	return p
}

// members returns the names of the members of struct t, sorted.
func members(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wanted says what JSON a Go type of package api is sent as.
func wanted(t reflect.Type) (noun string, kind jsontext.Kind) {
	if t.Implements(reflect.TypeFor[interface{ TakesNull() }]()) {
		if f, ok := t.FieldByName("Value"); ok {
			t = f.Type // null itself is never the fault
		}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) {
		return "a string", '"'
	}
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "an object", '{'
	case reflect.Slice:
		return "an array", '['
	case reflect.Bool:
		return "true or false", 't'
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "an integer", '0'
	default:
		return "a string", '"'
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	case '{':
		return "an object"
	default: // null has been refused before
		return "a boolean"
	}
}
