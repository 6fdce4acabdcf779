// Package sse writes and reads server-sent events (WHATWG HTML, 9.2).
package sse

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An Event is one event, or what Read yields between two.
type Event struct {
	Name  string // the event field; "" is none, which browsers call "message"
	ID    string // "" is none; from Read: the last id that there was, with this event or before it
	Data  []byte // lines end with LF; from Read: nil exactly if this is no event
	Retry int    // milliseconds; 0 is none. Some clients obey it only inside an event.

	Comment string // from Read: the text of a comment line
}

// ErrField is in the tree of the error for a name or an id that can't be written.
var ErrField = errors.New("an id or a name has a line break, a NUL or bytes that are not UTF-8")

// Append appends e as it stands on the wire, its id as the last field before the
// blank line, so that a client that was cut off within e does not know its id.
// CR, LF and CRLF within Data each begin a new data line. There is at least one
// data line, as clients drop an event without. If Name or ID can't be written,
// b is returned as it was, with an error in the tree of ErrField. Comment is not
// written.
func (e Event) Append(b []byte) ([]byte, error) {
	if !writable(e.Name) || !writable(e.ID) {
		return b, ErrField
	}
	if e.Name != "" {
		b = append(append(append(b, "event: "...), e.Name...), '\n')
	}
	if e.Retry > 0 {
		b = append(strconv.AppendInt(append(b, "retry: "...), int64(e.Retry), 10), '\n')
	}
	b = appendLines(b, "data: ", e.Data)
	if e.ID != "" {
		b = append(append(append(b, "id: "...), e.ID...), '\n')
	}
	return append(b, '\n'), nil
}

// AppendComment appends ": text" and one line end, no blank line, because some
// clients make an empty event of one. A line break in text begins a new comment.
func AppendComment(b []byte, text string) []byte { return appendLines(b, ": ", text) }

func writable(field string) bool {
	return strings.IndexByte(field, '\n') < 0 && strings.IndexByte(field, '\r') < 0 && strings.IndexByte(field, 0) < 0 && utf8.ValidString(field)
}

// appendLines appends the lines of text, each behind prefix. A text without a
// line break, such as JSON, is copied whole.
func appendLines[T string | []byte](b []byte, prefix string, text T) []byte {
	b = append(b, prefix...)
	from := len(b)
	b = append(b, text...)
	if bytes.IndexByte(b[from:], '\n') < 0 && bytes.IndexByte(b[from:], '\r') < 0 {
		return append(b, '\n')
	}
	b = b[:from]
	for i := range len(text) {
		switch {
		case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
			// The LF ends this line.
		case text[i] == '\r' || text[i] == '\n':
			b = append(append(b, '\n'), prefix...)
		default:
			b = append(b, text[i])
		}
	}
	return append(b, '\n')
}
