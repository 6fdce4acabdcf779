package signed

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"math/big"
	"slices"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// MaxSkew is how far apart the time that was signed and the time at which the
// store took the record may be.
const MaxSkew = 5 * time.Minute

// Open returns the record in body, which the store took at the time stored, if
// all of it is right: the one form that such a record has, wrapper and content
// in agreement, and for a message the hash and the signature by a key of the
// set that was valid then. stored may be zero: the two times are not compared.
//
// The error is a *Fault. body is not kept.
func Open(keys *Set, body []byte, stored time.Time) (*Record, error) {
	r, err := parse(body)
	if err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Message == nil {
		return r, nil
	}
	if err := r.Message.verify(keys); err != nil {
		return nil, err
	}
	if d := r.Message.Signature.CreatedAt.Sub(stored).Abs(); !stored.IsZero() && d > MaxSkew {
		return nil, faultf(StoreTime, "signed at %s, stored at %s", stamp(r.Message.Signature.CreatedAt.Time), stamp(stored))
	}
	return r, nil
}

// OpenEntry is Open of a record of the store, whose first headers must say what
// its body says. Others may follow.
func OpenEntry(keys *Set, e stream.Entry) (*Record, error) {
	r, err := Open(keys, e.Body, e.Timestamp.Time())
	if err != nil {
		return nil, err
	}
	if h := r.headers(); len(e.Headers) < len(h) || !slices.Equal(h, e.Headers[:len(h)]) {
		return nil, faultf(Mismatch, "the headers of the record are not those of its body")
	}
	return r, nil
}

// parse takes the one form of a record. Nothing of what it returns is verified.
func parse(body []byte) (*Record, error) {
	var w wire
	if err := strictjson.Decode(body, &w); err != nil { // which may quote a member's name
		return nil, faultf(Malformed, "no record: %s", api.AsError(err).Code)
	}
	r := &Record{
		ChatID: w.ChatID, AuthorAgentID: w.AuthorAgentID, OperationID: w.OperationID, RecordIndex: w.RecordIndex,
		AuthoredWith: w.AuthoredWith, Genesis: w.Genesis, Message: w.Message, Receipt: w.Receipt, Fence: w.Fence,
	}
	switch {
	case w.Protocol != Protocol || w.Version != Version:
		return nil, faultf(Malformed, "not version %d of %s", Version, Protocol)
	case w.Type == "" || w.Type != r.Type():
		return nil, faultf(Malformed, "the type is not that of what the record holds")
	}
	again, err := r.append(make([]byte, 0, len(body)))
	if err != nil || !bytes.Equal(again, body) {
		return nil, faultf(Malformed, "not the form that these values serialise to")
	}
	return r, nil
}

// check returns what is wrong with r beyond its form.
func (r *Record) check() error {
	switch {
	case r.AuthoredWith != AgentKey && r.AuthoredWith != Fleet:
		return faultf(Malformed, "authoredWith is not %s or %s", AgentKey, Fleet)
	case r.RecordIndex < 0 || r.RecordIndex >= stream.MaxBatchRecords:
		return faultf(Malformed, "recordIndex is not one of a record of an append")
	case r.Genesis != nil && r.Genesis.PeerAgentID == r.AuthorAgentID:
		return faultf(Mismatch, "the peer is the author")
	case r.Receipt != nil:
		return r.Receipt.check(r)
	case r.Message != nil:
		return r.Message.check(r)
	}
	return nil
}

func (c *Receipt) check(r *Record) error {
	peer, ok := strings.CutPrefix(c.PeerStreamID, StreamID(r.ChatID, "")) // which ends in a slash
	if _, err := ident.ParseAgent(peer); !ok || err != nil || peer == string(r.AuthorAgentID) {
		return faultf(Mismatch, "peerStreamId is not that of a peer in the chat of the record")
	}
	return nil
}

func (m *Message) check(r *Record) error {
	hash, ok := strings.CutPrefix(m.ClientMessageID, cmid)
	if b, err := decode(hash); !ok || err != nil || len(b) != sha256.Size {
		return faultf(Malformed, "clientMessageId is not %q and 43 characters of base64url", cmid)
	}
	switch {
	case m.ChatID != r.ChatID:
		return faultf(Mismatch, "the message is of another chat than its record")
	case m.FromAgentID != r.AuthorAgentID:
		return faultf(Mismatch, "the message is from another agent than the author of its record")
	case m.ToAgentID == m.FromAgentID:
		return faultf(Mismatch, "the message is from and to one agent")
	}
	return nil
}

// verify returns what is wrong with the hash or the signature. Which key it is,
// and for which algorithm, is the set's to say.
func (m *Message) verify(keys *Set) error {
	payload, err := m.payload()
	if err != nil {
		return err
	}
	if m.ContentSHA256 != ContentSHA256(m.Content) {
		return faultf(WrongHash, "contentSha256 is not the hash of the content")
	}
	sig := m.Signature
	if sig.Alg != ES256 {
		return faultf(WrongAlgorithm, "alg is not %s", ES256)
	}
	return keys.Verify(sig.KID, ES256, payload, sig.Value, sig.CreatedAt.Time)
}

// verify takes 64 bytes and nothing else: no DER, no padding. An s in the upper
// half of its range is good, as ECDSA has it; see Nonce.
func (k *Key) verify(payload []byte, value string) error {
	sig, err := decode(value)
	if err != nil || len(sig) != signatureSize {
		return faultf(SignatureForm, "not %d bytes in base64url without padding", signatureSize)
	}
	ok := false
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(payload)
		ok = ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
	case ed25519.PublicKey:
		ok = ed25519.Verify(public, payload, sig)
	}
	if !ok {
		return faultf(WrongSignature, "not made by the key %s over these fields", k.ID)
	}
	return nil
}
