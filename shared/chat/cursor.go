package chat

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A Cursor is a place in both directions of a chat, agentA's first. A history
// cursor belongs to a snapshot, and has its ends.
type Cursor struct {
	Next [2]uint64
	End  *[2]uint64 // nil: of no snapshot; it goes on live
}

// A Scope is what a cursor is bound to: with another one it is not valid.
type Scope struct {
	Chat    ident.Chat
	Reader  ident.Agent
	Streams [2]ident.Generation
}

const (
	keyIDBytes   = 6
	cursorMAC    = 16 // bytes
	liveForm     = 1
	historyForm  = 2
	cursorLength = 2 * (keyIDBytes + 1 + 4*binary.MaxVarintLen64 + cursorMAC) // in base64url, and more
)

// Encode returns c, bound to s under key. It is opaque: what it says is nobody's
// business, and what is altered is noticed.
func (s Scope) Encode(key signed.Secret, c Cursor) api.ChatCursor {
	b, err := base64.RawURLEncoding.DecodeString(key.ID)
	if err != nil || len(b) != keyIDBytes {
		panic("chat: the id of a secret is not of its form")
	}
	form, numbers := byte(liveForm), []uint64{c.Next[0], c.Next[1]}
	if c.End != nil {
		form, numbers = historyForm, append(numbers, c.End[0], c.End[1])
	}
	b = append(b, form)
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return api.ChatCursor(base64.RawURLEncoding.EncodeToString(append(b, s.mac(key, b)...)))
}

// Decode returns the cursor that Encode made text of, for the same scope and
// under one of the keys. Anything else is refused, an *api.Error.
func (s Scope) Decode(keys []signed.Secret, text api.ChatCursor) (Cursor, error) {
	refused := api.Errorf(api.InvalidCursor, "the cursor was altered, or is of another chat, reader or stream")
	if len(text) > cursorLength {
		return Cursor{}, refused
	}
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || base64.RawURLEncoding.EncodeToString(b) != string(text) || len(b) < keyIDBytes+1+cursorMAC {
		return Cursor{}, refused
	}
	said, mac := b[:len(b)-cursorMAC], b[len(b)-cursorMAC:]
	id := base64.RawURLEncoding.EncodeToString(said[:keyIDBytes])
	for _, k := range keys {
		if k.ID != id || !hmac.Equal(mac, s.mac(k, said)) {
			continue
		}
		if c, ok := parseCursor(said[keyIDBytes:]); ok {
			return c, nil
		}
	}
	return Cursor{}, refused
}

func (s Scope) mac(key signed.Secret, said []byte) []byte {
	h := hmac.New(sha256.New, key.Key)
	h.Write(signed.Frame(string(said), string(s.Chat), string(s.Reader), string(s.Streams[0]), string(s.Streams[1])))
	return h.Sum(nil)[:cursorMAC]
}

func parseCursor(b []byte) (c Cursor, ok bool) {
	form, r := b[0], bytes.NewReader(b[1:])
	into := []*uint64{&c.Next[0], &c.Next[1]}
	if form == historyForm {
		c.End = new([2]uint64)
		into = append(into, &c.End[0], &c.End[1])
	}
	for _, n := range into {
		var err error
		if *n, err = binary.ReadUvarint(r); err != nil {
			return c, false
		}
	}
	return c, r.Len() == 0 && (form == liveForm || form == historyForm)
}

// same compares in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
