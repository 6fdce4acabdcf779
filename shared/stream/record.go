package stream

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Fence is the command record that makes token the stream's fencing token, from
// the next batch on; "" removes it. Appending it, like any record, may be
// conditional on the token that there is.
func Fence(token string) Record {
	return Record{Headers: []Header{{Value: "fence"}}, Body: []byte(token)}
}

// Trim is the command record that removes all records before seq. A seq behind
// the command removes everything up to it, itself included.
func Trim(seq uint64) Record {
	return Record{Headers: []Header{{Value: "trim"}}, Body: binary.BigEndian.AppendUint64(nil, seq)}
}

// A Command is what a command record does.
type Command int

// The commands of S2. None is that of an ordinary record.
const (
	None Command = iota
	FenceCommand
	TrimCommand
)

// Command returns what r does to its stream.
func (r Record) Command() Command {
	if len(r.Headers) != 1 || r.Headers[0].Name != "" {
		return None
	}
	switch r.Headers[0].Value {
	case "fence":
		return FenceCommand
	case "trim":
		return TrimCommand
	}
	return None
}

// Header returns the value of the first header called name, and whether there is one.
func (r Record) Header(name string) (string, bool) {
	for _, h := range r.Headers {
		if h.Name == name {
			return h.Value, true
		}
	}
	return "", false
}

// Metered returns the size that S2 counts: 8 bytes, 2 for each header, the
// headers' names and values, and the body.
func (r Record) Metered() int {
	n := 8 + 2*len(r.Headers) + len(r.Body)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// Validate returns an error in the tree of ErrInvalid if b breaks a limit of
// S2. Backends call it first.
func (b Batch) Validate() error {
	if n := len(b.Records); n == 0 || n > MaxBatchRecords {
		return fmt.Errorf("%w: %d records in a batch, not 1 to %d", ErrInvalid, n, MaxBatchRecords)
	}
	if b.Token != nil && len(*b.Token) > MaxTokenBytes {
		return fmt.Errorf("%w: a fencing token of %d bytes, more than %d", ErrInvalid, len(*b.Token), MaxTokenBytes)
	}
	size := 0
	for i, r := range b.Records {
		if err := r.validate(); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		size += r.Metered()
	}
	if size > MaxBatchBytes {
		return fmt.Errorf("%w: a batch of %d metered bytes, more than %d", ErrInvalid, size, MaxBatchBytes)
	}
	return nil
}

func (r Record) validate() error {
	for _, h := range r.Headers {
		if h.Name == "" && len(r.Headers) > 1 {
			return fmt.Errorf("%w: a header without a name", ErrInvalid)
		}
	}
	if len(r.Headers) != 1 || r.Headers[0].Name != "" {
		return nil
	}
	switch r.Command() {
	case FenceCommand:
		if len(r.Body) > MaxTokenBytes || !utf8.Valid(r.Body) {
			return fmt.Errorf("%w: a fence body is up to %d bytes of UTF-8", ErrInvalid, MaxTokenBytes)
		}
	case TrimCommand:
		if len(r.Body) != 8 {
			return fmt.Errorf("%w: a trim body is 8 bytes", ErrInvalid)
		}
	case None:
		return fmt.Errorf("%w: unknown command %q", ErrInvalid, r.Headers[0].Value)
	}
	return nil
}
