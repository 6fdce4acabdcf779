// Package strictjson decodes JSON bodies exactly: what the operation does not
// know, or what two readers could read differently, is refused by name.
package strictjson

import (
	"bytes"
	stdjson "encoding/json"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"agentchat/shared/api"
)

// What the hooks of decoding refuse; explain gives each its code.
var (
	errNull    = errors.New("null")
	errTooDeep = errors.New("too deep")
)

// Decode decodes the one JSON object in body into dst, a pointer to a zero
// struct of package api. The object holds the members of that struct, in their
// exact spelling and once each; null stands only for a type that has a method
// TakesNull, and inside a json.RawMessage, which gets its value compacted, with
// number tokens, string escapes and key order as they came. Nothing in dst refers to body afterwards.
//
// On an error, an *api.Error with a code and a JSON pointer, dst is not to be
// used. The time taken is linear in len(body), and so is the memory.
func Decode(body []byte, dst any) error {
	if err := precheck(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, dst, decoding); err != nil {
		return explain(err)
	}
	return nil
}

// Append appends v as JSON: no HTML escaping, no line end, maps in the order of
// their keys, omitempty as encoding/json has it. A json.RawMessage keeps its
// tokens and key order and loses its insignificant white space; an empty one is
// null. It is an error for a string not to be UTF-8; b is then returned as it was.
func Append(b []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(b)
	if err := json.MarshalWrite(w, v, encoding); err != nil {
		return b, err
	}
	return w.Bytes(), nil
}

// The options are constants in all but name. They are kept because the library
// caches, in the hooks themselves, which type each of them is for.
var (
	decoding = json.JoinOptions(json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readRaw), json.UnmarshalFromFunc(refuseNull))))
	encoding = json.JoinOptions(json.Deterministic(true), jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true),
		jsonv1.OmitEmptyWithLegacySemantics(true), json.WithMarshalers(json.MarshalToFunc(writeRaw)))
)

// refuseNull stands before every value but a raw one: a null would otherwise be
// the zero value, and so the same as a member that is left out.
func refuseNull(d *jsontext.Decoder, dst any) error {
	if d.PeekKind() == 'n' { // asked first: every value passes here
		if _, takes := dst.(interface{ TakesNull() }); !takes {
			return errNull
		}
	}
	return errors.ErrUnsupported // not ours: on to the default
}

func readRaw(d *jsontext.Decoder, dst *stdjson.RawMessage) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	// One level is the body's own. It is taken off wherever v stands, so that
	// what a request may hold can be read back from the envelope around it.
	c, ok := compact(v, api.MaxJSONDepth-1)
	if !ok {
		return errTooDeep
	}
	*dst = c
	return nil
}

func writeRaw(e *jsontext.Encoder, v stdjson.RawMessage) error {
	if len(v) == 0 {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteValue(jsontext.Value(v))
}

// compact returns a copy of v, which is valid JSON, without the white space
// between tokens; ok is false if arrays and objects are nested more than depth.
func compact(v []byte, depth int) (c []byte, ok bool) {
	from := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = stringEnd(v, i+1)
		case '{', '[':
			if depth--; depth < 0 {
				return nil, false
			}
		case '}', ']':
			depth++
		case ' ', '\t', '\n', '\r':
			c = append(c, v[from:i]...)
			from = i + 1
		}
	}
	return append(c, v[from:]...), true
}

// stringEnd returns where the string ends whose text begins at i, at its quote.
func stringEnd(v []byte, i int) int {
	end := i + bytes.IndexByte(v[i:], '"')
	for {
		escape := bytes.IndexByte(v[i:end], '\\')
		if escape < 0 {
			return end
		}
		if i += escape + 2; i > end { // the quote was escaped
			end = i + bytes.IndexByte(v[i:], '"')
		}
	}
}
