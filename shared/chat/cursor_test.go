package chat_test

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

func secret(n byte) signed.Secret {
	return signed.Secret{ID: string(bytes.Repeat([]byte{'A' + n}, 8)), Key: bytes.Repeat([]byte{n}, 32)}
}

var scope = chat.Scope{Chat: "chat_0123456789abcdef0123456789abcdef", Reader: "alice", Streams: [2]ident.Generation{g1, g2}}

// A cursor comes back as it was, under its key, also when that is no longer the
// one for new ones; and with no other key, and in no other scope.
func TestCursor(t *testing.T) {
	keys := []signed.Secret{secret(2), secret(1)}
	others := []chat.Scope{scope, scope, scope, scope}
	others[0].Chat = "chat_0123456789abcdef0123456789abcdee"
	others[1].Reader = "bob"
	others[2].Streams[0], others[2].Streams[1] = g2, g1
	others[3].Streams[1] = "0000000000000003"
	rapid.Check(t, func(t *rapid.T) {
		c := chat.Cursor{Next: [2]uint64{rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")}}
		if rapid.Bool().Draw(t, "history") {
			c.End = &[2]uint64{rapid.Uint64().Draw(t, "end a"), math.MaxUint64}
		}
		text := scope.Encode(keys[rapid.IntRange(0, 1).Draw(t, "key")], c)
		got, err := scope.Decode(keys, text)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%v, %v; want %v", got, err, c)
		}
		for _, s := range others {
			if _, err := s.Decode(keys, text); codeOf(err) != api.InvalidCursor {
				t.Fatalf("in the scope %v: %v; want invalid_cursor", s, err)
			}
		}
		if _, err := scope.Decode([]signed.Secret{secret(3)}, text); codeOf(err) != api.InvalidCursor {
			t.Fatalf("with another key: %v; want invalid_cursor", err)
		}
		if _, err := scope.Decode([]signed.Secret{{ID: keys[0].ID, Key: secret(3).Key}, {ID: keys[1].ID, Key: secret(3).Key}}, text); codeOf(err) != api.InvalidCursor {
			t.Fatalf("with other keys of the same ids: %v; want invalid_cursor", err)
		}
	})
}

// No altered cursor is one (B53), and nothing that decodes is anything but what
// was encoded.
func FuzzCursor(f *testing.F) {
	keys := []signed.Secret{secret(1)}
	live := scope.Encode(keys[0], chat.Cursor{Next: [2]uint64{3, 5}})
	history := scope.Encode(keys[0], chat.Cursor{Next: [2]uint64{3, 5}, End: &[2]uint64{9, 9}})
	for _, s := range []string{"", "x", "=", string(live) + "=", string(live) + "\n", string(history) + "A", string(live[1:]), "eyJ2IjoxfQ", string(live + history)} {
		f.Add(s)
	}
	for i := range len(history) {
		b := []byte(history)
		b[i] ^= 1
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := scope.Decode(keys, api.ChatCursor(s)); err == nil && s != string(live) && s != string(history) {
			t.Errorf("%q is taken for a cursor", s)
		} else if err != nil && codeOf(err) != api.InvalidCursor {
			t.Errorf("%q: %v; want invalid_cursor", s, err)
		}
	})
}
