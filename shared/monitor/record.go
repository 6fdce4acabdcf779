package monitor

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"agentchat/shared/cursor"
	"agentchat/shared/event"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

const (
	recordSchema = "agent-chat/checkpoint.v1"
	maxText      = 512 << 10 // of the moves of one record: as JSON, compressed or not, they are under S2's 1 MiB
	plainText    = 2 << 10   // a shorter text gains nothing from compression
)

// A move says where an inbox is read on: at 0 from its first retained record, as
// if it had never been read.
type move struct {
	agent ident.Agent
	to    uint64
}

// A record is a checkpoint as it is stored: moves, in order, from where its base
// leaves off. One without a base begins with nothing read.
type record struct {
	Schema string `json:"schema"`
	Base   *base  `json:"base,omitempty"`
	Since  uint64 `json:"since"` // when the record without a base was written, in ms
	Sum    int    `json:"sum"`   // moves written since then, this record's included
	Plain  string `json:"moves,omitempty"`
	Packed string `json:"deflate,omitempty"` // base64, of what moves would be

	moves []move
}

// base is a cursor.Ref in a record.
type base struct {
	Position uint64 `json:"c"`
	N        uint64 `json:"n"`
	Hash     string `json:"h"`
}

// encode returns r as a record of the stream, and its hash. The text of its
// moves must not be longer than maxText.
func (r record) encode() (stream.Record, cursor.Hash, error) {
	text := make([]byte, 0, len(r.moves)*24)
	for _, m := range r.moves {
		text = strconv.AppendUint(append(append(text, m.agent...), ' '), m.to, 10)
		text = append(text, '\n')
	}
	r.Schema, r.Plain, r.Packed = recordSchema, "", ""
	if len(text) <= plainText {
		r.Plain = string(text)
	} else {
		var err error
		if r.Packed, err = pack(text); err != nil {
			return stream.Record{}, cursor.Hash{}, err
		}
	}
	body, err := strictjson.Append(nil, r)
	if err != nil {
		return stream.Record{}, cursor.Hash{}, err
	}
	return event.JSON(recordSchema, "", body), hashOf(body), nil
}

func hashOf(body []byte) cursor.Hash {
	sum := sha256.Sum256(body)
	return cursor.Hash(sum[:len(cursor.Hash{})])
}

var errRecord = errors.New("not a checkpoint")

// decodeRecord is the inverse of encode.
func decodeRecord(body []byte) (record, error) {
	var r record
	if err := strictjson.Decode(body, &r); err != nil {
		return record{}, fmt.Errorf("%w: %w", errRecord, err)
	}
	if r.Schema != recordSchema || r.Sum < 0 {
		return record{}, errRecord
	}
	text := r.Plain
	if r.Packed != "" {
		var err error
		if text, err = unpack(r.Packed); err != nil {
			return record{}, err
		}
	}
	r.moves = make([]move, 0, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		name, digits, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		agent, err := ident.ParseAgent(name)
		to, err2 := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil || err2 != nil {
			return record{}, errRecord
		}
		r.moves = append(r.moves, move{agent, to})
	}
	r.Plain, r.Packed = "", ""
	return r, nil
}

// ref returns the Ref that b is.
func (b *base) ref() (cursor.Ref, error) {
	hash, ok := cursor.ParseHash(b.Hash)
	if !ok {
		return cursor.Ref{}, errRecord
	}
	return cursor.Ref{Position: b.Position, N: b.N, Hash: hash}, nil
}

func baseOf(r cursor.Ref) *base { return &base{r.Position, r.N, r.Hash.String()} }

// packers are kept because each is more than half a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic("monitor: " + err.Error()) // only for a level that there is not
	}
	return w
}}

func pack(text []byte) (string, error) {
	var out bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&out)
	_, err := w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("compress a checkpoint: %w", err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

func unpack(s string) (string, error) {
	packed, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", errRecord
	}
	r := flate.NewReader(bytes.NewReader(packed))
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil || len(text) > maxText {
		return "", errRecord
	}
	return string(text), nil
}
