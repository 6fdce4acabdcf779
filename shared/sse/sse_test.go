package sse_test

import (
	"errors"
	"testing"

	"agentchat/shared/sse"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event sse.Event
		want  string
	}{
		{
			"all fields, id last",
			sse.Event{Name: "envelope", ID: "43", Data: []byte(`{"seq_num":42}`), Retry: 1000},
			"event: envelope\nretry: 1000\ndata: {\"seq_num\":42}\nid: 43\n\n",
		},
		{"no name, no id", sse.Event{Data: []byte("x")}, "data: x\n\n"},
		{"no data has a data line", sse.Event{ID: "1"}, "data: \nid: 1\n\n"},
		{"spaces are kept", sse.Event{Name: " n", ID: " i", Data: []byte(" d ")}, "event:  n\ndata:  d \nid:  i\n\n"},
		{"colon", sse.Event{Name: ":", ID: ":", Data: []byte(":")}, "event: :\ndata: :\nid: :\n\n"},
		{"LF", sse.Event{Data: []byte("a\nb")}, "data: a\ndata: b\n\n"},
		{"CR", sse.Event{Data: []byte("a\rb")}, "data: a\ndata: b\n\n"},
		{"CRLF", sse.Event{Data: []byte("a\r\nb")}, "data: a\ndata: b\n\n"},
		{"LFCR", sse.Event{Data: []byte("a\n\rb")}, "data: a\ndata: \ndata: b\n\n"},
		{"ends with a line break", sse.Event{Data: []byte("a\r\n")}, "data: a\ndata: \n\n"},
		{"only a line break", sse.Event{Data: []byte("\n")}, "data: \ndata: \n\n"},
		{
			"forged event",
			sse.Event{ID: "1", Data: []byte("a\r\nid: 999\r\n\r\nevent: envelope\r\ndata: {}")},
			"data: a\ndata: id: 999\ndata: \ndata: event: envelope\ndata: data: {}\nid: 1\n\n",
		},
		{"NUL in data", sse.Event{Data: []byte("a\x00b")}, "data: a\x00b\n\n"},
		{"retry below zero is none", sse.Event{Data: []byte("x"), Retry: -1}, "data: x\n\n"},
		{"comment is not written", sse.Event{Data: []byte("x"), Comment: "c"}, "data: x\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.event.Append([]byte("> "))
			if err != nil || string(got) != "> "+tt.want {
				t.Errorf("Append: %q, %v; want %q", got, err, "> "+tt.want)
			}
		})
	}
}

func TestAppendRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event sse.Event
	}{
		{"LF in id", sse.Event{ID: "1\n"}},
		{"CR in id", sse.Event{ID: "\r1"}},
		{"NUL in id", sse.Event{ID: "1\x002"}},
		{"id not UTF-8", sse.Event{ID: "\xff"}},
		{"LF in name", sse.Event{Name: "a\nb"}},
		{"CR in name", sse.Event{Name: "a\r"}},
		{"NUL in name", sse.Event{Name: "\x00"}},
		{"name not UTF-8", sse.Event{Name: "\xc3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.event.Append([]byte("> "))
			if !errors.Is(err, sse.ErrField) || string(got) != "> " {
				t.Errorf("Append: %q, %v; want the bytes as they were and ErrField", got, err)
			}
		})
	}
}

func TestAppendComment(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"heartbeat", "keep-alive", ": keep-alive\n"},
		{"empty", "", ": \n"},
		{"line breaks", "a\r\ndata: b\n\nc", ": a\n: data: b\n: \n: c\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := sse.AppendComment([]byte("> "), tt.text); string(got) != "> "+tt.want {
				t.Errorf("AppendComment: %q; want %q", got, "> "+tt.want)
			}
		})
	}
}

// TestAppendAllocatesNothing holds for what every delivery is: JSON on one line.
func TestAppendAllocatesNothing(t *testing.T) {
	e := sse.Event{Name: "envelope", ID: "43", Data: make([]byte, 4096)}
	buf := make([]byte, 0, 8192)
	if n := testing.AllocsPerRun(100, func() { buf, _ = e.Append(buf[:0]) }); n != 0 {
		t.Errorf("Append made %v allocations; want none", n)
	}
}
