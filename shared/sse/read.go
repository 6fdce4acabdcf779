package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
)

// ErrTooLarge is in the tree of the error that ends Read at an event, or a line,
// over its bound.
var ErrTooLarge = errors.New("server-sent event too large")

const (
	chunkBytes   = 32 << 10
	maxEmptyRead = 100
)

// Read yields the complete events of r as the standard has them, and besides, as
// Events with nil Data, each comment line (Comment may be "") when it has been
// read, so that a client can see heartbeats, and each retry field, which counts
// at once, and again in the event that it is part of. An event that the stream
// did not finish is not yielded, nor is its id ever seen. Bytes that are not
// UTF-8 are passed on as they are, for the reader of the data to refuse.
//
// A clean end of r is the end of the sequence; any other error is yielded once,
// as the last. The error is in the tree of ErrTooLarge if name, id and data of
// an event, and the line being read, are over maxEvent bytes together; not much
// more is ever held. The caller keeps r and may keep what is yielded.
func Read(r io.Reader, maxEvent int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		p := parser{maxEvent: maxEvent, yield: func(e Event) bool { return yield(e, nil) }}
		chunk := make([]byte, chunkBytes)
		for empty := 0; ; {
			n, err := r.Read(chunk)
			if empty++; n > 0 {
				empty = 0
			}
			more, perr := p.feed(chunk[:n])
			switch {
			case !more:
				return
			case perr != nil:
				err = perr
			case err == nil && empty == maxEmptyRead:
				err = io.ErrNoProgress
			}
			if err != nil {
				if err != io.EOF { //nolint:errorlint // a wrapped EOF is not a clean end
					yield(Event{}, err)
				}
				return
			}
		}
	}
}

// A parser is the state between two bytes of a stream.
type parser struct {
	maxEvent int
	yield    func(Event) bool

	begun   bool   // the byte order mark has been looked for
	afterCR bool   // an LF that comes next belongs to the line end before
	line    []byte // of the line that is not ended
	lastID  string // of the last block that ended
	event   Event  // the block that is not ended; its ID may still be taken back
	hasID   bool
}

// feed takes the next bytes. more is false if the consumer has had enough.
func (p *parser) feed(b []byte) (more bool, err error) {
	for len(b) > 0 {
		if p.afterCR {
			p.afterCR = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		end := bytes.IndexAny(b, "\r\n")
		part := b
		if end >= 0 {
			part = b[:end]
		}
		if len(p.line)+len(part)+len(p.event.Name)+len(p.event.ID)+len(p.event.Data) > p.maxEvent {
			return true, fmt.Errorf("%w: over %d bytes", ErrTooLarge, p.maxEvent)
		}
		if end < 0 {
			p.line = append(p.line, part...)
			return true, nil
		}
		p.afterCR = b[end] == '\r'
		b = b[end+1:]
		if len(p.line) > 0 {
			p.line = append(p.line, part...)
			part = p.line
		}
		if !p.take(part) {
			return false, nil
		}
		p.line = p.line[:0]
	}
	return true, nil
}

// take takes a whole line.
func (p *parser) take(line []byte) (more bool) {
	if !p.begun {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		p.begun = true
	}
	if len(line) == 0 {
		return p.dispatch()
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "": // a comment, as the line is not empty
		return p.yield(Event{Comment: string(value)})
	case "event":
		p.event.Name = string(value)
	case "data":
		p.event.Data = append(append(p.event.Data, value...), '\n')
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			p.event.ID, p.hasID = string(value), true
		}
	case "retry":
		if ms, ok := digits(value); ok {
			p.event.Retry = ms
			return p.yield(Event{Retry: ms})
		}
	}
	return true
}

// dispatch ends a block: its id counts from here on, with or without data.
func (p *parser) dispatch() (more bool) {
	e := p.event
	if p.hasID {
		p.lastID = e.ID
	}
	p.event, p.hasID = Event{}, false
	if e.Data == nil {
		return true
	}
	e.ID = p.lastID
	e.Data = e.Data[:len(e.Data)-1] // the line end behind the last line
	return p.yield(e)
}

// digits returns the number that ASCII digits, and nothing but, make; what is
// out of range is the greatest number.
func digits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(string(b))
	if errors.Is(err, strconv.ErrRange) || n > math.MaxInt32 {
		return math.MaxInt32, true
	}
	return n, err == nil
}
