// Package sse writes and reads server-sent events (WHATWG HTML, 9.2).
package sse

import (
	"io"
	"iter"
)

// An Event is one event. ID has no line break and no NUL; Data may have line
// breaks, which are split over data lines.
type Event struct {
	Name  string // the event field; "" is none
	ID    string // "" is none
	Data  []byte
	Retry int // milliseconds; 0 is none. Clients obey it only inside an event.
}

// Append appends e as it stands on the wire, its id as the last field before the
// blank line; an error if Name or ID can't be written.
func (e Event) Append(b []byte) ([]byte, error) { panic("unwritten") }

// AppendComment appends ": text" and one line end, no blank line.
func AppendComment(b []byte, text string) []byte { panic("unwritten") }

// Read yields the complete events of r, and (as an Event without name, id and
// data whose Comment is set) every comment line, so that a client can see
// heartbeats. An event that the stream did not finish is not yielded.
func Read(r io.Reader, maxEvent int) iter.Seq2[Event, error] { panic("unwritten") }
