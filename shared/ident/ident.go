// Package ident holds the identifiers of the protocols as types that cannot
// hold a bad value: UnmarshalText is the only way in from JSON, a path or a
// query, and Parse functions are the way in from Go. A value that exists has
// been checked; nothing checks it again.
//
// Grammars are counted in bytes. All but the conversation and correlation ids
// are ASCII, compared bytewise, never folded and never normalised, so two ids
// that look alike are two ids (Agent Chat v1, Identity).
package ident

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrSyntax is in the tree of every error that this package returns.
var ErrSyntax = errors.New("malformed identifier")

// An Agent names an agent and its inbox: 1-64 of a-z 0-9 . _ - beginning and
// ending with a letter or number (Agent Chat v1, Identity).
type Agent string

// A Message is an envelope's id, chosen by the sender or made by NewMessage:
// 1-128 of A-Z a-z 0-9 . _ : - beginning and ending with a letter or number.
type Message string

// A Conversation groups envelopes: 1-256 bytes of UTF-8 without control characters.
type Conversation string

// A Correlation ties an answer to its question: 1-256 bytes of UTF-8 without
// control characters.
type Correlation string

// A Request is the id of one HTTP request: 1-128 of A-Z a-z 0-9 . _ -.
type Request string

// A Generation tells one registration of an agent name from the next: 16
// lower-case hexadecimal digits (8 random bytes).
type Generation string

// A Key is the public id of an agent key: 1-32 of a-z 0-9.
type Key string

// A Chat is the id of a signed chat, derived from the registrations that it is
// between: "chat_" and 32 lower-case hexadecimal digits.
type Chat string

// An Operation is the id of one write to a signed chat, derived from what it
// writes: "op_" and the 43 characters of a SHA-256 in base64url.
type Operation string

// A Batch is the id of a presented batch of a signed chat, which the server
// derives: "b_" and 43 characters of base64url.
type Batch string

// An Owner is the public id of who owns a direction of a signed chat, and S2's
// fencing token there: "f_" and 32 characters of base64url.
type Owner string

// An OwnerToken proves ownership of a direction of a signed chat: "own_" and 22
// characters of base64url. It is a credential.
type OwnerToken string

// A Claim is the id of one claim of ownership, chosen by who claims or made by
// NewClaim: 1-128 of A-Z a-z 0-9 . _ : - beginning and ending with a letter or number.
type Claim string

// ParseAgent returns s as an Agent, or an error that says what is wrong.
func ParseAgent(s string) (Agent, error) { return parse[Agent](s) }

// ParseMessage returns s as a Message, or an error that says what is wrong.
func ParseMessage(s string) (Message, error) { return parse[Message](s) }

// ParseConversation returns s as a Conversation, or an error that says what is wrong.
func ParseConversation(s string) (Conversation, error) { return parse[Conversation](s) }

// ParseCorrelation returns s as a Correlation, or an error that says what is wrong.
func ParseCorrelation(s string) (Correlation, error) { return parse[Correlation](s) }

// ParseRequest returns s as a Request, or an error that says what is wrong.
func ParseRequest(s string) (Request, error) { return parse[Request](s) }

// ParseGeneration returns s as a Generation, or an error that says what is wrong.
func ParseGeneration(s string) (Generation, error) { return parse[Generation](s) }

// ParseKey returns s as a Key, or an error that says what is wrong.
func ParseKey(s string) (Key, error) { return parse[Key](s) }

// ParseChat returns s as a Chat, or an error that says what is wrong.
func ParseChat(s string) (Chat, error) { return parse[Chat](s) }

// ParseOperation returns s as an Operation, or an error that says what is wrong.
func ParseOperation(s string) (Operation, error) { return parse[Operation](s) }

// ParseBatch returns s as a Batch, or an error that says what is wrong.
func ParseBatch(s string) (Batch, error) { return parse[Batch](s) }

// ParseOwner returns s as an Owner, or an error that says what is wrong.
func ParseOwner(s string) (Owner, error) { return parse[Owner](s) }

// ParseOwnerToken returns s as an OwnerToken, or an error that says what is wrong.
func ParseOwnerToken(s string) (OwnerToken, error) { return parse[OwnerToken](s) }

// ParseClaim returns s as a Claim, or an error that says what is wrong.
func ParseClaim(s string) (Claim, error) { return parse[Claim](s) }

// UnmarshalText sets a to the agent id in b.
func (a *Agent) UnmarshalText(b []byte) error { return set(a, b) }

// UnmarshalText sets m to the message id in b.
func (m *Message) UnmarshalText(b []byte) error { return set(m, b) }

// UnmarshalText sets c to the conversation id in b.
func (c *Conversation) UnmarshalText(b []byte) error { return set(c, b) }

// UnmarshalText sets c to the correlation id in b.
func (c *Correlation) UnmarshalText(b []byte) error { return set(c, b) }

// UnmarshalText sets r to the request id in b.
func (r *Request) UnmarshalText(b []byte) error { return set(r, b) }

// UnmarshalText sets g to the generation in b.
func (g *Generation) UnmarshalText(b []byte) error { return set(g, b) }

// UnmarshalText sets k to the key id in b.
func (k *Key) UnmarshalText(b []byte) error { return set(k, b) }

// UnmarshalText sets c to the claim id in b.
func (c *Claim) UnmarshalText(b []byte) error { return set(c, b) }

// UnmarshalText sets c to the chat id in b.
func (c *Chat) UnmarshalText(b []byte) error { return set(c, b) }

// UnmarshalText sets o to the operation id in b.
func (o *Operation) UnmarshalText(b []byte) error { return set(o, b) }

// UnmarshalText sets i to the batch id in b.
func (i *Batch) UnmarshalText(b []byte) error { return set(i, b) }

// UnmarshalText sets o to the owner id in b.
func (o *Owner) UnmarshalText(b []byte) error { return set(o, b) }

// UnmarshalText sets o to the owner token in b.
func (o *OwnerToken) UnmarshalText(b []byte) error { return set(o, b) }

type id interface {
	~string
	rule() rule
}

func (Agent) rule() rule {
	return rule{
		noun: "an agent id", max: 64, inner: lower + digit + "._-", outer: lower + digit,
		shape: "1-64 lower-case letters, digits, '.', '_' or '-', beginning and ending with a letter or digit",
	}
}

func (Message) rule() rule {
	return rule{
		noun: "a message id", max: 128, inner: alnum + "._:-", outer: alnum,
		shape: "1-128 letters, digits, '.', '_', ':' or '-', beginning and ending with a letter or digit",
	}
}

func (Conversation) rule() rule {
	return rule{noun: "a conversation id", max: 256, shape: "1-256 bytes of UTF-8 without control characters"}
}

func (Correlation) rule() rule {
	return rule{noun: "a correlation id", max: 256, shape: "1-256 bytes of UTF-8 without control characters"}
}

func (Request) rule() rule {
	return rule{
		noun: "a request id", max: 128, inner: alnum + "._-", outer: alnum + "._-",
		shape: "1-128 letters, digits, '.', '_' or '-'",
	}
}

func (Generation) rule() rule {
	return rule{noun: "a generation", min: 16, max: 16, inner: hexDigit, outer: hexDigit, shape: "16 lower-case hexadecimal digits"}
}

func (Key) rule() rule {
	return rule{noun: "a key id", max: 32, inner: lower + digit, outer: lower + digit, shape: "1-32 lower-case letters or digits"}
}

func (Claim) rule() rule {
	return rule{
		noun: "a claim id", max: 128, inner: alnum + "._:-", outer: alnum,
		shape: "1-128 letters, digits, '.', '_', ':' or '-', beginning and ending with a letter or digit",
	}
}

func (Chat) rule() rule {
	return rule{noun: "a chat id", prefix: "chat_", min: 37, max: 37, inner: hexDigit, outer: hexDigit, shape: "chat_ and 32 lower-case hexadecimal digits"}
}

func (Operation) rule() rule { return derived("an operation id", "op_", 43) }

func (Batch) rule() rule { return derived("a batch id", "b_", 43) }

func (Owner) rule() rule { return derived("an owner id", "f_", 32) }

func (OwnerToken) rule() rule { return derived("an owner token", "own_", 22) }

// derived is the grammar of a prefix and n characters of base64url.
func derived(noun, prefix string, n int) rule {
	const set = alnum + "_-"
	return rule{
		noun: noun, prefix: prefix, min: len(prefix) + n, max: len(prefix) + n, inner: set, outer: set,
		shape: fmt.Sprintf("%s and %d characters of base64url", prefix, n),
	}
}

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	digit    = "0123456789"
	alnum    = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digit
	hexDigit = digit + "abcdef"
)

// A rule is one grammar. An empty inner set means any UTF-8 but control characters.
type rule struct {
	noun, shape  string
	prefix       string
	min, max     int // bytes, the prefix included
	inner, outer string
}

func parse[T id](s string) (T, error) {
	r := T("").rule()
	if err := r.check(s); err != nil {
		return "", err
	}
	return T(s), nil
}

func set[T id](p *T, b []byte) error {
	v, err := parse[T](string(b))
	if err != nil {
		return err
	}
	*p = v
	return nil
}

func (r rule) check(s string) error {
	rest, begins := strings.CutPrefix(s, r.prefix)
	if rest == "" || !begins || len(s) < r.min || len(s) > r.max || !r.allows(rest) {
		return fmt.Errorf("%w: %s is %s", ErrSyntax, r.noun, r.shape)
	}
	return nil
}

func (r rule) allows(s string) bool {
	if r.inner == "" {
		return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
	}
	for i := range len(s) {
		if strings.IndexByte(r.inner, s[i]) < 0 {
			return false
		}
	}
	return strings.IndexByte(r.outer, s[0]) >= 0 && strings.IndexByte(r.outer, s[len(s)-1]) >= 0
}
