package signed

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// A Draft is a message before it is signed.
type Draft struct {
	ChatID    ident.Chat
	From, To  ident.Agent
	MessageID ident.Message // the sender's
	Content   string        // as it is to be stored, after any policy
	CreatedAt time.Time     // cut to the millisecond
}

// Sign returns the signed message of d. k must be able to sign records at that
// time: Set.Signer returns such a key.
func Sign(k *Key, d Draft) (*Message, error) {
	m := &Message{
		ChatID: d.ChatID, FromAgentID: d.From, ToAgentID: d.To,
		ClientMessageID: ClientMessageID(d.ChatID, d.From, d.MessageID),
		Content:         d.Content, ContentSHA256: ContentSHA256(d.Content),
		Signature: Signature{KID: k.ID, Alg: ES256, CreatedAt: api.TimeOf(d.CreatedAt)},
	}
	if !utf8.ValidString(d.Content) {
		return nil, faultf(Malformed, "the content is not UTF-8")
	}
	payload, err := m.payload()
	if err != nil {
		return nil, err
	}
	if m.Signature.Value, err = k.sign(ES256, payload, m.Signature.CreatedAt.Time); err != nil {
		return nil, err
	}
	return m, nil
}

// ContentSHA256 returns the hash of a content as a record has it: of its UTF-8
// as it is, nothing normalised, escaped or trimmed.
func ContentSHA256(content string) string {
	sum := sha256.Sum256([]byte(content))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Nonce identifies the act of signing: two messages that share it were signed
// once. Whoever has a signature (r, s) can make the other that verifies, (r, -s),
// but with another r nobody can who has not the key; so it is the key and r.
func (m *Message) Nonce() string {
	const r = 42 // of the 86 characters, those that are of r alone
	return m.Signature.KID + "." + m.Signature.Value[:min(r, len(m.Signature.Value))]
}

// payload returns the bytes that are signed (Chat protocol, Message records). A
// control character in a field would let two records share them.
func (m *Message) payload() ([]byte, error) {
	created, _ := m.Signature.CreatedAt.MarshalText() // never fails
	fields := []string{Protocol, string(m.ChatID), string(m.FromAgentID), string(m.ToAgentID), string(created), m.ContentSHA256}
	for _, f := range fields {
		if strings.ContainsFunc(f, unicode.IsControl) {
			return nil, faultf(ControlCharacter, "in a field that is signed")
		}
	}
	return []byte(strings.Join(fields, "\n")), nil
}
