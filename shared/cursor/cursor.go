// Package cursor is the monitor's cursor (Agent Chat v1, Administrative
// aggregate monitor): the position of the next record in each inbox, as one
// opaque string.
//
// Version 1 holds all positions: base64url, without padding, of
//
//	{"v":1,"p":{"bob":43}}
//
// It grows with the fleet. Version 2 names a checkpoint, a place in a list of
// moves that is stored, and holds what has moved since:
//
//	{"v":2,"c":7,"n":12,"h":"4uL3cXUuH5c","p":{"bob":43}}
//
// An inbox that is not there is at 0, its first retained record.
package cursor

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentchat/shared/ident"
	"agentchat/shared/strictjson"
)

// A Vector is the position of the next record in each inbox; absent is 0.
type Vector map[ident.Agent]uint64

// A Hash is the beginning of the SHA-256 of a checkpoint's record.
type Hash [8]byte

// A Ref names a checkpoint: the record at a position of its stream, of which
// the first N moves count.
type Ref struct {
	Position uint64
	N        uint64
	Hash     Hash
}

// A Cursor is what a string stands for: Moved, on top of Base if there is one.
// A 0 in Moved on top of a Base takes back what Base says of the inbox.
type Cursor struct {
	Base  *Ref
	Moved Vector
}

// ErrSyntax is the error for a string that is no cursor.
var ErrSyntax = errors.New("not a cursor; pass on what a page or an event said, unchanged, or leave it out")

// strict takes one string for one value: no padding, and no stray bits. That it
// skips line breaks is seen to by Parse.
var strict = base64.RawURLEncoding.Strict()

// text is a cursor's JSON.
type text struct {
	Version int     `json:"v"`
	Record  *uint64 `json:"c"`
	N       *uint64 `json:"n"`
	Hash    *string `json:"h"`
	Moved   *Vector `json:"p"`
}

// Parse returns the cursor that s stands for, or ErrSyntax. A position of 0 in
// version 1 is left out, as it is what an absent one is.
func Parse(s string) (Cursor, error) {
	if strings.ContainsAny(s, "\r\n") {
		return Cursor{}, ErrSyntax
	}
	b, err := strict.DecodeString(s)
	if err != nil {
		return Cursor{}, ErrSyntax
	}
	var t text
	if err := strictjson.Decode(b, &t); err != nil {
		return Cursor{}, ErrSyntax
	}
	var c Cursor
	switch {
	case t.Version == 1 && t.Moved != nil && t.Record == nil && t.N == nil && t.Hash == nil:
		c.Moved = *t.Moved
		maps.DeleteFunc(c.Moved, func(_ ident.Agent, at uint64) bool { return at == 0 })
	case t.Version == 2 && t.Record != nil && t.N != nil && t.Hash != nil:
		hash, ok := ParseHash(*t.Hash)
		if !ok {
			return Cursor{}, ErrSyntax
		}
		c.Base = &Ref{*t.Record, *t.N, hash}
		if t.Moved != nil {
			c.Moved = *t.Moved
		}
	default:
		return Cursor{}, ErrSyntax
	}
	return c, nil
}

// String returns c as it travels: the same for equal cursors, byte for byte.
func (c Cursor) String() string {
	b := make([]byte, 0, 64+32*len(c.Moved))
	if c.Base == nil {
		b = append(b, `{"v":1`...)
	} else {
		b = strconv.AppendUint(append(b, `{"v":2,"c":`...), c.Base.Position, 10)
		b = strconv.AppendUint(append(b, `,"n":`...), c.Base.N, 10)
		b = append(append(append(b, `,"h":"`...), c.Base.Hash.String()...), '"')
	}
	if c.Base == nil || len(c.Moved) > 0 {
		b = c.Moved.append(append(b, `,"p":`...))
	}
	return base64.RawURLEncoding.EncodeToString(append(b, '}'))
}

func (v Vector) append(b []byte) []byte {
	b = append(b, '{')
	for i, agent := range slices.Sorted(maps.Keys(v)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), agent...), `":`...) // an id needs no escapes
		b = strconv.AppendUint(b, v[agent], 10)
	}
	return append(b, '}')
}

// String returns h as it stands in a cursor.
func (h Hash) String() string { return base64.RawURLEncoding.EncodeToString(h[:]) }

// ParseHash is the inverse of String.
func ParseHash(s string) (h Hash, ok bool) {
	b, err := strict.DecodeString(s)
	if err != nil || len(b) != len(h) || strings.ContainsAny(s, "\r\n") {
		return h, false
	}
	return Hash(b), true
}

// Sizes of cursors' strings, in bytes, so that nobody has to make one to know
// whether it is too long.

// Size returns the length of a version 1 cursor whose entries sum up to entries.
func Size(entries int) int {
	return base64.RawURLEncoding.EncodedLen(len(`{"v":1,"p":{}}`) + max(entries-1, 0))
}

// SizeOver returns the length of a version 2 cursor on base whose entries sum up to entries.
func SizeOver(base Ref, entries int) int {
	n := len(`{"v":2,"c":,"n":,"h":""}`) + digits(base.Position) + digits(base.N) + base64.RawURLEncoding.EncodedLen(len(base.Hash))
	if entries > 0 {
		n += len(`,"p":{}`) + entries - 1
	}
	return base64.RawURLEncoding.EncodedLen(n)
}

// Entry returns what an inbox at a position adds to the entries of a cursor.
func Entry(agent ident.Agent, at uint64) int { return len(agent) + len(`"":,`) + digits(at) }

func digits(n uint64) int {
	d := 1
	for ; n > 9; n /= 10 {
		d++
	}
	return d
}
