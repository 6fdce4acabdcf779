package ident_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"agentchat/shared/ident"
)

func TestNewMessage(t *testing.T) {
	// The example of RFC 9562, A.6, whose random bits are all given.
	random := bytes.NewReader([]byte{0, 0, 0, 0, 0, 0, 0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f})
	got := ident.NewMessage(time.UnixMilli(0x017F22E279B0), random)
	if want := ident.Message("msg_017f22e279b07cc398c4dc0c0c07398f"); got != want {
		t.Errorf("NewMessage: %s; want %s", got, want)
	}
}

// TestMessageTime: an id of ours is valid, says when it was made, and sorts
// after every id of an earlier millisecond.
func TestMessageTime(t *testing.T) {
	instant := rapid.Int64Range(0, 1<<48-1)
	rapid.Check(t, func(t *rapid.T) {
		early, late := instant.Draw(t, "early"), instant.Draw(t, "late")
		first, second := ident.NewMessage(time.UnixMilli(early), rand.Reader), ident.NewMessage(time.UnixMilli(late), rand.Reader)
		if got, ok := first.Time(); !ok || got.UnixMilli() != early || got.Location() != time.UTC {
			t.Fatalf("%s.Time: %v, %v; want %d ms in UTC", first, got, ok, early)
		}
		if _, err := ident.ParseMessage(string(first)); err != nil {
			t.Fatalf("ParseMessage(%s): %v", first, err)
		}
		if early < late && first >= second || early > late && first <= second {
			t.Fatalf("ids of %d and %d ms are %s and %s; want them in order of time", early, late, first, second)
		}
	})
}

func TestMessageTimeOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   ident.Message
	}{
		{"none", ""},
		{"of the sender's", "order-17"},
		{"prefix alone", "msg_"},
		{"a digit short", "msg_017f22e279b07cc398c4dc0c0c07398"},
		{"a digit long", "msg_017f22e279b07cc398c4dc0c0c07398f0"},
		{"capitals", "msg_017F22E279B07CC398C4DC0C0C07398F"},
		{"no hexadecimal", "msg_017f22e279b07cc398c4dc0c0c07398g"},
		{"version 4", "msg_017f22e279b04cc398c4dc0c0c07398f"},
		{"other variant", "msg_017f22e279b07cc3c8c4dc0c0c07398f"},
		{"other prefix", "conv_017f22e279b07cc398c4dc0c0c07398f"},
		{"the protocol's example", "msg_0123456789abcdef0123456789abcdef"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := tt.id.Time(); ok || !got.IsZero() {
				t.Errorf("%s.Time: %v, %v; want none", tt.id, got, ok)
			}
		})
	}
}

// TestNewIDs: what is made parses, has the form that the protocol says, and is
// made of the randomness that was given.
func TestNewIDs(t *testing.T) {
	zeros := func() *strings.Reader { return strings.NewReader(strings.Repeat("\x00", 16)) }
	if c, want := ident.NewConversation(zeros()), "conv_"+strings.Repeat("0", 32); string(c) != want {
		t.Errorf("NewConversation: %s; want %s", c, want)
	}
	if r, want := ident.NewRequest(zeros()), "req_"+strings.Repeat("0", 24); string(r) != want {
		t.Errorf("NewRequest: %s; want %s", r, want)
	}
	if g, err := ident.ParseGeneration(string(ident.NewGeneration(zeros()))); err != nil {
		t.Errorf("NewGeneration: %s, %v", g, err)
	}
	if k, err := ident.ParseKey(string(ident.NewKey(zeros()))); err != nil || len(k) != 16 {
		t.Errorf("NewKey: %s, %v; want 16 digits", k, err)
	}
	if a, b := ident.NewMessage(time.UnixMilli(0), rand.Reader), ident.NewMessage(time.UnixMilli(0), rand.Reader); a == b {
		t.Errorf("two ids of one millisecond are both %s", a)
	}
}

func TestNewWithoutRandomness(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("NewKey without randomness returned; want a panic")
		}
	}()
	ident.NewKey(iotest.ErrReader(iotest.ErrTimeout))
}
