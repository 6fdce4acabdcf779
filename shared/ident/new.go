package ident

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"strings"
	"time"
)

const (
	messagePrefix      = "msg_"
	conversationPrefix = "conv_"
	requestPrefix      = "req_"
	claimPrefix        = "claim_"
)

// NewMessage makes a message id: "msg_" and the 32 hexadecimal digits of a
// UUIDv7 (RFC 9562) of now and 74 random bits. It panics if random fails, as a
// process without randomness can make no promise about ids.
func NewMessage(now time.Time, random io.Reader) Message {
	var u [16]byte
	fill(u[:], random)
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return Message(written(messagePrefix, u[:]))
}

// NewConversation makes a conversation id: "conv_" and 32 hexadecimal digits.
func NewConversation(random io.Reader) Conversation {
	var b [16]byte
	fill(b[:], random)
	return Conversation(written(conversationPrefix, b[:]))
}

// NewRequest makes a request id: "req_" and 24 hexadecimal digits.
func NewRequest(random io.Reader) Request {
	var b [12]byte
	fill(b[:], random)
	return Request(written(requestPrefix, b[:]))
}

// NewGeneration makes a generation of 8 random bytes.
func NewGeneration(random io.Reader) Generation {
	var b [8]byte
	fill(b[:], random)
	return Generation(written("", b[:]))
}

// NewClaim makes the id of a claim: "claim_" and 32 hexadecimal digits.
func NewClaim(random io.Reader) Claim {
	var b [16]byte
	fill(b[:], random)
	return Claim(written(claimPrefix, b[:]))
}

// NewKey makes the public id of an agent key: 16 hexadecimal digits.
func NewKey(random io.Reader) Key {
	var b [8]byte
	fill(b[:], random)
	return Key(written("", b[:]))
}

// Time returns the time inside an id of the form that NewMessage makes, to the
// millisecond. It is a hint where to begin a search, never a proof: a caller may
// send an id of this form with any time in it. ok is false for any other form.
func (m Message) Time() (t time.Time, ok bool) {
	digits, found := strings.CutPrefix(string(m), messagePrefix)
	if !found || len(digits) != 32 || strings.Trim(digits, hexDigit) != "" {
		return time.Time{}, false
	}
	u, err := hex.DecodeString(digits)
	if err != nil || u[6]>>4 != 7 || u[8]>>6 != 2 {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC(), true
}

// fill fills b, which stays on the caller's stack where random is the system's:
// every request has an id.
func fill(b []byte, random io.Reader) {
	if random == rand.Reader {
		_, _ = rand.Read(b) // never fails
		return
	}
	c := make([]byte, len(b))
	if _, err := io.ReadFull(random, c); err != nil {
		panic("ident: no randomness: " + err.Error())
	}
	copy(b, c)
}

// written returns prefix and the hexadecimal digits of b, 16 bytes at most.
func written(prefix string, b []byte) string {
	var room [max(len(conversationPrefix), len(claimPrefix)) + 32]byte
	return string(hex.AppendEncode(append(room[:0], prefix...), b))
}
