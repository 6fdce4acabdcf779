package chat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// The headers of a record of a direction behind those of package signed. They
// are the server's notes to itself, and nothing that is signed.
const (
	// headerGeneration is that of the stream: a record of a stream that took
	// another one's place is known by it wherever it stands.
	headerGeneration = "agent-chat-generation"
	// headerAcknowledged is the peer's position up to which the author has
	// acknowledged, this record included: the last record tells it.
	headerAcknowledged = "agent-chat-acknowledged"
	// headerDigest is of the request, under a key of the server: a repeat is
	// compared with what was asked for, which a policy may have changed.
	headerDigest = "agent-chat-digest"
)

// Notes are what is kept with a record besides the record.
type Notes struct {
	Generation   ident.Generation
	Acknowledged uint64
	Digest       string // "": of no request that can be repeated
}

// With returns rec with n.
func (n Notes) With(rec stream.Record) stream.Record {
	h := append(rec.Headers[:len(rec.Headers):len(rec.Headers)],
		stream.Header{Name: headerGeneration, Value: string(n.Generation)},
		stream.Header{Name: headerAcknowledged, Value: strconv.FormatUint(n.Acknowledged, 10)})
	if n.Digest != "" {
		h = append(h, stream.Header{Name: headerDigest, Value: n.Digest})
	}
	return stream.Record{Headers: h, Body: rec.Body}
}

// A Header is what the headers of a record of a direction say of it.
type Header struct {
	Notes
	Type      signed.Type
	Chat      ident.Chat
	Author    ident.Agent
	Operation ident.Operation
	Index     int
}

// HeaderOf returns what e's headers say. ok is false for a record that this
// system did not write into a direction; a command is none either.
func HeaderOf(e stream.Entry) (h Header, ok bool) {
	index, acknowledged := "", ""
	for _, v := range e.Headers {
		switch v.Name {
		case signed.HeaderSchema:
			ok = v.Value == signed.Protocol
		case signed.HeaderType:
			h.Type = signed.Type(v.Value)
		case signed.HeaderChat:
			h.Chat = ident.Chat(v.Value)
		case signed.HeaderAuthor:
			h.Author = ident.Agent(v.Value)
		case signed.HeaderOperation:
			h.Operation = ident.Operation(v.Value)
		case signed.HeaderIndex:
			index = v.Value
		case headerGeneration:
			h.Generation = ident.Generation(v.Value)
		case headerAcknowledged:
			acknowledged = v.Value
		case headerDigest:
			h.Digest = v.Value
		}
	}
	var err, errA error
	h.Index, err = strconv.Atoi(index)
	h.Acknowledged, errA = strconv.ParseUint(acknowledged, 10, 64)
	return h, ok && err == nil && errA == nil && h.Type != ""
}

// Digest returns the digest of a request to send content, with a receipt or without.
func Digest(key signed.Secret, content string, ack *api.Acknowledgement) string {
	h := hmac.New(sha256.New, key.Key)
	h.Write(signed.Frame(content))
	if ack != nil {
		h.Write(signed.Frame(ack.PeerStreamID, string(ack.PeerGeneration), strconv.FormatUint(uint64(*ack.NextPosition), 10), string(ack.BatchID)))
	}
	return key.ID + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// SameRequest reports whether a stored digest is that of a request. Under a key
// that is gone nothing can be said to be the same.
func SameRequest(keys []signed.Secret, stored, content string, ack *api.Acknowledgement) bool {
	id, _, _ := strings.Cut(stored, ".")
	for _, k := range keys {
		if k.ID == id {
			return same(Digest(k, content, ack), stored)
		}
	}
	return false
}

// Size returns the size of an append as its limit counts it: everything that
// goes to the store, which is the records as S2 meters them (names and values
// of headers, the body with its escapes, 8 bytes and 2 for each header), the
// position and the token.
func Size(in stream.Batch) int {
	n := 0
	for _, r := range in.Records {
		n += r.Metered()
	}
	if in.At != nil {
		n += 8
	}
	if in.Token != nil {
		n += len(*in.Token)
	}
	return n
}
