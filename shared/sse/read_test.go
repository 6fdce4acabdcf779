package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentchat/shared/sse"
)

const maxEvent = 1 << 10

// TestRead reads each stream whole, byte by byte, and cut in two everywhere.
func TestRead(t *testing.T) {
	event := func(name, id, data string) sse.Event { return sse.Event{Name: name, ID: id, Data: []byte(data)} }
	comment := func(text string) sse.Event { return sse.Event{Comment: text} }
	retry := func(ms int) sse.Event { return sse.Event{Retry: ms} }
	for _, tt := range []struct {
		name   string
		stream string
		want   []sse.Event
	}{
		{"nothing", "", nil},
		{"LF", "event: envelope\ndata: {}\nid: 1\n\n", []sse.Event{event("envelope", "1", "{}")}},
		{"CRLF", "event: envelope\r\nid: 1\r\ndata: {}\r\n\r\n", []sse.Event{event("envelope", "1", "{}")}},
		{"CR", "event: envelope\rid: 1\rdata: {}\r\r", []sse.Event{event("envelope", "1", "{}")}},
		{"mixed line ends", "event: a\r\ndata: b\rdata: c\n\r\n\ndata: d\n\r", []sse.Event{event("a", "", "b\nc"), event("", "", "d")}},
		{"no space behind the colon", "data:{}\nid:1\n\n", []sse.Event{event("", "1", "{}")}},
		{"one space is taken", "data:  {}\nid:  1\n\n", []sse.Event{event("", " 1", " {}")}},
		{"a tab is kept", "data:\tx\n\n", []sse.Event{event("", "", "\tx")}},
		{"colon in the value", "data: a: b\n\n", []sse.Event{event("", "", "a: b")}},
		{"line without a colon", "data\n\n", []sse.Event{event("", "", "")}},
		{"two empty data lines", "data\ndata\n\n", []sse.Event{event("", "", "\n")}},
		{
			"standard's example of three", "data: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n",
			[]sse.Event{event("", "1", "first"), event("", "", "second"), event("", "", " third")},
		},

		{"byte order mark", "\ufeffdata: x\n\n", []sse.Event{event("", "", "x")}},
		{"byte order mark once", "\ufeff\ufeffdata: x\ndata: y\n\n", []sse.Event{event("", "", "y")}},
		{"byte order mark later", "data: x\n\n\ufeffdata: y\n\n", []sse.Event{event("", "", "x")}},
		{"byte order mark alone on its line", "\ufeff\ndata: x\n\n", []sse.Event{event("", "", "x")}},

		{"heartbeat between events", "data: a\n\n: keep-alive\ndata: b\n\n", []sse.Event{event("", "", "a"), comment("keep-alive"), event("", "", "b")}},
		{"heartbeat within an event", "data: a\n:keep-alive\ndata: b\n\n", []sse.Event{comment("keep-alive"), event("", "", "a\nb")}},
		{"empty comment", ":\n", []sse.Event{comment("")}},
		{"comment with a colon", ":: x\n", []sse.Event{comment(": x")}},

		{"no data, no event", "event: a\nid: 1\n\n", nil},
		{"an id without data counts for the next", "id: 1\n\ndata: x\n\n", []sse.Event{event("", "1", "x")}},
		{"an id stays", "data: a\nid: 1\n\ndata: b\n\n", []sse.Event{event("", "1", "a"), event("", "1", "b")}},
		{"an empty id takes it back", "data: a\nid: 1\n\ndata: b\nid:\n\n", []sse.Event{event("", "1", "a"), event("", "", "b")}},
		{"the last id of a block", "id: 1\ndata: a\nid: 2\n\n", []sse.Event{event("", "2", "a")}},
		{"an id with a NUL is ignored", "data: a\nid: 1\n\ndata: b\nid: 2\x003\n\n", []sse.Event{event("", "1", "a"), event("", "1", "b")}},
		{"a name does not stay", "event: a\ndata: x\n\ndata: y\n\n", []sse.Event{event("a", "", "x"), event("", "", "y")}},
		{"the last name of a block", "event: a\nevent: b\ndata: x\n\n", []sse.Event{event("b", "", "x")}},

		{"the last event without its blank line", "data: a\nid: 43\n\nid: 44\nevent: envelope\ndata: b\n", []sse.Event{event("", "43", "a")}},
		{"the last event without its line end", "data: a\nid: 43\n\ndata: b\nid: 44", []sse.Event{event("", "43", "a")}},
		{"cut off in an id", "data: a\nid: 43\n\nid: 4", []sse.Event{event("", "43", "a")}},

		{"retry within an event", "retry: 1000\ndata: a\n\n", []sse.Event{retry(1000), {Retry: 1000, Data: []byte("a")}}},
		{"retry without an event", "retry: 3000\n: draining\n", []sse.Event{retry(3000), comment("draining")}},
		{"retry does not stay", "retry: 5\ndata: a\n\ndata: b\n\n", []sse.Event{retry(5), {Retry: 5, Data: []byte("a")}, event("", "", "b")}},
		{"retry with leading zeros", "retry: 0010\n", []sse.Event{retry(10)}},
		{"retry over all bounds", "retry: 99999999999999999999\n", []sse.Event{retry(math.MaxInt32)}},
		{"retry one over", "retry: 2147483648\n", []sse.Event{retry(math.MaxInt32)}},
		{"retry that is no number", "retry: 1s\nretry: -1\nretry: +1\nretry: 1.5\nretry:\nretry: 1 \nretry:  1\nretry: \u0661\ndata: a\n\n", []sse.Event{event("", "", "a")}},

		{"unknown fields", "foo: bar\ndata : x\nData: x\nDATA: x\n data: x\ndata: y\n\n", []sse.Event{event("", "", "y")}},
		{"blank lines", "\n\n\r\n\rdata: x\n\n\n\n", []sse.Event{event("", "", "x")}},
		{"NUL and bad UTF-8 in data", "data: a\x00\xff\n\n", []sse.Event{event("", "", "a\x00\xff")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkRead(t, "whole", strings.NewReader(tt.stream), tt.want)
			checkRead(t, "byte by byte", iotest.OneByteReader(strings.NewReader(tt.stream)), tt.want)
			checkRead(t, "last bytes with io.EOF", iotest.DataErrReader(strings.NewReader(tt.stream)), tt.want)
			for i := range tt.stream {
				cut := io.MultiReader(strings.NewReader(tt.stream[:i]), strings.NewReader(tt.stream[i:]))
				checkRead(t, fmt.Sprintf("cut at %d", i), cut, tt.want)
			}
		})
	}
}

func checkRead(t *testing.T, how string, r io.Reader, want []sse.Event) {
	t.Helper()
	got, err := collect(r, maxEvent)
	if err != nil {
		t.Fatalf("Read %s: %v", how, err)
	}
	if diff := cmp.Diff(want, got); diff != "" { // nil Data and empty Data differ
		t.Fatalf("Read %s (-want +got):\n%s", how, diff)
	}
}

func collect(r io.Reader, maxEvent int) (events []sse.Event, err error) {
	for e, err := range sse.Read(r, maxEvent) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// TestReadDoesNotWait: what is complete is yielded before r is asked for more,
// whichever line end completed it.
func TestReadDoesNotWait(t *testing.T) {
	for _, tt := range []struct{ name, stream string }{
		{"event ended by LF", "data: a\n\n"},
		{"event ended by CRLF", "data: a\r\n\r\n"},
		{"event ended by CR", "data: a\r\r"},
		{"comment", ": keep-alive\n"},
		{"comment ended by CR", ":\r"},
		{"retry", "retry: 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := io.MultiReader(strings.NewReader(tt.stream), iotest.ErrReader(errors.New("asked for more")))
			for _, err := range sse.Read(r, maxEvent) {
				if err != nil {
					t.Fatalf("Read: %v; want an event first", err)
				}
				return
			}
			t.Error("Read: nothing; want an event")
		})
	}
}

func TestReadError(t *testing.T) {
	cut := errors.New("connection reset")
	got, err := collect(io.MultiReader(strings.NewReader("data: a\nid: 1\n\ndata: b\nid: 2\n"), iotest.ErrReader(cut)), maxEvent)
	want := []sse.Event{{ID: "1", Data: []byte("a")}}
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, cut) {
		t.Errorf("Read: err = %v; want %v; events (-want +got):\n%s", err, cut, diff)
	}
	if _, err := collect(iotest.ErrReader(io.ErrUnexpectedEOF), maxEvent); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Read: err = %v; want io.ErrUnexpectedEOF, as a cut is no clean end", err)
	}
	if _, err := collect(idle{}, maxEvent); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Read of nothing for ever: err = %v; want io.ErrNoProgress", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestReadKeeps: what was yielded stays as it was while reading goes on.
func TestReadKeeps(t *testing.T) {
	var stream []byte
	var want []sse.Event
	for i := range 100 {
		e := sse.Event{Name: "envelope", ID: fmt.Sprint(i), Data: bytes.Repeat([]byte{byte('a' + i%26)}, 1+i*37)}
		stream, _ = e.Append(stream)
		want = append(want, e)
	}
	got, err := collect(bytes.NewReader(stream), 1<<20)
	if !slices.EqualFunc(want, got, same) || err != nil {
		t.Errorf("Read: %d events, err = %v; want the 100 that were written", len(got), err)
	}
}

// same is for events too large for package cmp.
func same(a, b sse.Event) bool {
	return a.Name == b.Name && a.ID == b.ID && bytes.Equal(a.Data, b.Data)
}

// TestReadLarge: an envelope of 1 MiB is an event like any other.
func TestReadLarge(t *testing.T) {
	want := []sse.Event{
		{Name: "envelope", ID: "1", Data: bytes.Repeat([]byte("x"), 1<<20)},
		{Name: "envelope", ID: "2", Data: bytes.Repeat([]byte("ab\n"), 1<<18)},
		{Name: "envelope", ID: "3", Data: []byte("small")},
	}
	var stream []byte
	for _, e := range want {
		stream, _ = e.Append(stream)
	}
	got, err := collect(bytes.NewReader(stream), 2<<20)
	if !slices.EqualFunc(want, got, same) || err != nil {
		t.Errorf("Read: %d events, err = %v; want the 3 that were written", len(got), err)
	}
}

// TestReadTooLarge holds the bound at its last byte and one over, and that a
// stream over it is not read to its end.
func TestReadTooLarge(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		fits         int // the least maxEvent that lets the stream through
	}{
		{"one line", "data: 12345\n\n", len("data: 12345")},
		{"line behind data", "data: 12345\ndata: 1\n\n", len("12345\n") + len("data: 1")},
		{"comment", ": 1234567890\n", len(": 1234567890")},
		{"unknown field", "x1234567890\n", len("x1234567890")},
		{"id behind name and data", "event: 12345\ndata: 12345\nid: 1\n\n", len("12345") + len("12345\n") + len("id: 1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.stream), iotest.OneByteReader(strings.NewReader(tt.stream))} {
				if _, err := collect(r, tt.fits); err != nil {
					t.Errorf("Read with a bound of %d: %v", tt.fits, err)
				}
			}
			for _, r := range []io.Reader{strings.NewReader(tt.stream), iotest.OneByteReader(strings.NewReader(tt.stream))} {
				if _, err := collect(r, tt.fits-1); !errors.Is(err, sse.ErrTooLarge) {
					t.Errorf("Read with a bound of %d: %v; want ErrTooLarge", tt.fits-1, err)
				}
			}
		})
	}
	for _, unit := range []string{"x", "data: x\n", "data\n", ": "} {
		endless := &repeat{unit: unit}
		_, err := collect(endless, 1<<20)
		if !errors.Is(err, sse.ErrTooLarge) || endless.given > 8<<20 {
			t.Errorf("Read of %q for ever: err = %v after %d bytes; want ErrTooLarge by 8 MiB", unit, err, endless.given)
		}
	}
}

type repeat struct {
	unit  string
	given int
}

func (r *repeat) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.unit[(r.given+i)%len(r.unit)]
	}
	r.given += len(b)
	return len(b), nil
}

func TestReadBreak(t *testing.T) {
	for _, stream := range []string{"data: a\n\ndata: b\n\n", ": a\n: b\n", "retry: 1\nretry: 2\n"} {
		n := 0
		for range sse.Read(strings.NewReader(stream), maxEvent) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("Read of %q yielded %d times; want 1", stream, n)
		}
	}
}

// model reads a whole stream as the standard's text does, line by line.
func model(stream []byte) (events []sse.Event) {
	s := strings.TrimPrefix(string(stream), "\ufeff")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	lines := strings.Split(s, "\n")
	var name, data, id string
	var ms int
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != "" {
				events = append(events, sse.Event{Name: name, ID: id, Data: []byte(strings.TrimSuffix(data, "\n")), Retry: ms})
			}
			name, data, ms = "", "", 0
		case field == "":
			events = append(events, sse.Event{Comment: value})
		case field == "event":
			name = value
		case field == "data":
			data += value + "\n"
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "" && len(value) < 10:
			ms, _ = strconv.Atoi(value)
			events = append(events, sse.Event{Retry: ms})
		}
	}
	return events
}

// FuzzRead: any bytes in any chunks give what the standard's own steps give.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"event: envelope\ndata: {}\nid: 1\n\n: keep-alive\n", "\ufeffdata: a\r\n\r\n", "data: a\rid: 1\r\r", "id: 1\x00\nretry: 10\ndata\n\n",
	} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size byte) {
		if bytes.Contains(stream, []byte("retry")) && longDigits(stream) {
			return // the model does not clamp
		}
		got, err := collect(&chunks{b: stream, sizes: []int{int(size) + 1}}, len(stream)+1)
		if err != nil {
			t.Fatalf("Read(%q): %v", stream, err)
		}
		if diff := cmp.Diff(model(stream), got); diff != "" {
			t.Fatalf("Read(%q) (-standard +ours):\n%s", stream, diff)
		}
	})
}

func longDigits(b []byte) bool {
	run := 0
	return slices.ContainsFunc(b, func(c byte) bool {
		if run++; c < '0' || c > '9' {
			run = 0
		}
		return run >= 10
	})
}

// chunks reads b in pieces of the sizes, over and over.
type chunks struct {
	b     []byte
	sizes []int
	next  int
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.sizes[c.next%len(c.sizes)])], c.b)
	c.b = c.b[n:]
	c.next++
	return n, nil
}

// FuzzAppend: what is written is one event, and reads as what it was.
func FuzzAppend(f *testing.F) {
	f.Add("envelope", "43", []byte(`{"seq_num":42}`), uint16(0))
	f.Add("a", "b", []byte("a\r\nid: 999\r\n\r\nevent: envelope\r\ndata: {}"), uint16(1000))
	f.Add(" ", ":", []byte("\r"), uint16(1))
	f.Fuzz(func(t *testing.T, name, id string, data []byte, retry uint16) {
		e := sse.Event{Name: name, ID: id, Data: data, Retry: int(retry)}
		stream, err := e.Append(nil)
		if err != nil {
			return
		}
		got, err := collect(bytes.NewReader(stream), len(stream)+1)
		got = slices.DeleteFunc(got, func(e sse.Event) bool { return e.Data == nil })
		e.Data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		if diff := cmp.Diff([]sse.Event{e}, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("Read(Append(e)): %v; events (-want +got):\n%s", err, diff)
		}
	})
}
