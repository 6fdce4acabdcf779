package apitest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// An item is what came over a stream.
type item struct {
	kind kind
	id   string
	data []byte // of an event; the text of a comment
	err  error  // why it ended
}

type kind string

const (
	envelopes kind = "envelope"
	messages  kind = "message" // of a chat, like the next two
	receipts  kind = "receipt"
	fences    kind = "fence"
	problems  kind = "problem"
	comments  kind = "comment"
	ends      kind = "end"
)

func (it item) String() string {
	if it.kind == ends {
		return fmt.Sprintf("end: %v", it.err)
	}
	return fmt.Sprintf("%s %s: %s", it.kind, it.id, it.data)
}

// items yields what comes over body, and in the end why it ended: io.EOF if
// cleanly, between two events, which have these names. It is stricter than a
// client, which must take what WHATWG HTML allows: this takes what
// docs/PROTOCOL.md, Following, says.
func items(body io.Reader, names []string) iter.Seq[item] {
	return func(yield func(item) bool) {
		r := bufio.NewReader(body)
		open := block{names: names}
		for first := true; ; first = false {
			line, err := r.ReadString('\n')
			if err != nil {
				yield(item{kind: ends, err: open.end(line, err)})
				return
			}
			it, err := open.take(strings.TrimSuffix(line, "\n"))
			if first && it.kind != comments && open.name != "retry" {
				err = errors.Join(err, fmt.Errorf("the stream begins with %q and not with a comment", line))
			}
			if err != nil {
				yield(item{kind: ends, err: err})
				return
			}
			if it.kind != "" && !yield(it) {
				return
			}
		}
	}
}

// A block is the fields of an event that is not whole yet.
type block struct {
	names  []string // that an event may have
	name   string   // of the last field
	event  kind
	id     string
	data   []byte
	fields int
}

// take adds a line. It returns the comment or the event that the line ends, if any.
func (b *block) take(line string) (item, error) {
	if strings.Contains(line, "\r") {
		return item{}, fmt.Errorf("a CR in %q", line)
	}
	if text, ok := strings.CutPrefix(line, ":"); ok {
		if b.fields > 1 || b.fields == 1 && b.name != "retry" {
			return item{}, fmt.Errorf("the comment %q within an event", line)
		}
		return item{kind: comments, data: []byte(strings.TrimPrefix(text, " "))}, nil
	}
	if line == "" {
		return b.whole()
	}
	name, value, ok := strings.Cut(line, ": ")
	if !ok {
		return item{}, fmt.Errorf("the line %q", line)
	}
	if b.name == "id" {
		return item{}, fmt.Errorf("%q behind the id", line)
	}
	b.name = name
	b.fields++
	switch name {
	case "event":
		b.event = kind(value)
	case "id":
		b.id = value
	case "retry":
		if _, err := strconv.ParseUint(value, 10, 32); err != nil {
			return item{}, fmt.Errorf("retry: %w", err)
		}
	case "data":
		if b.data != nil {
			return item{}, fmt.Errorf("a second line of data: %q", value)
		}
		b.data = []byte(value)
	default:
		return item{}, fmt.Errorf("the field %q", line)
	}
	return item{}, nil
}

// whole returns the event that a blank line ended.
func (b *block) whole() (item, error) {
	it := item{kind: b.event, id: b.id, data: b.data}
	fields := b.fields
	*b = block{names: b.names}
	if fields == 0 || it.data == nil {
		return item{}, errors.New("a blank line that ends no event")
	}
	if !jsontext.Value(it.data).IsValid() {
		return item{}, fmt.Errorf("the data %q is not JSON", it.data)
	}
	switch it.kind { //nolint:exhaustive // the others are of no event
	case problems:
		if it.id != "" {
			return item{}, fmt.Errorf("a problem with the id %q", it.id)
		}
	case envelopes:
		if want, err := behind(it.data); err != nil || it.id != want {
			return item{}, fmt.Errorf("the id %q, %w; want %q of %s", it.id, err, want, it.data)
		}
	case messages, receipts, fences:
		t, err := stringAt(it.data, "/record/type")
		if it.id == "" || err != nil || t != map[kind]string{messages: "chat.message", receipts: "chat.receipt", fences: "chat.writer_fence"}[it.kind] {
			return item{}, fmt.Errorf("the event %s with the id %q, %w: %s", it.kind, it.id, err, it.data)
		}
	}
	if it.kind != problems && !slices.Contains(b.names, string(it.kind)) {
		return item{}, fmt.Errorf("the event %q, which the route table does not name", it.kind)
	}
	return it, nil
}

// end returns why the stream ended when reading the rest of a line gave err.
func (b *block) end(rest string, err error) error {
	if errors.Is(err, io.EOF) && (rest != "" || b.fields > 1 || b.fields == 1 && b.name != "retry") {
		return fmt.Errorf("the stream ended within an event: %w", io.ErrUnexpectedEOF)
	}
	return err
}
