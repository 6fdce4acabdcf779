// Package signed is the record of the Chat protocol (yello.chat.message.v1): its
// one form in bytes, its signature, the keys that verify it, and the ids that
// are derived. It does no I/O and keeps nothing; times and keys are arguments.
//
// Open is the only way from bytes to a Record, and it returns none that it did
// not verify. What it accepts serialises to the same bytes again.
package signed

import (
	"strconv"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// Protocol is the first line of what is signed, and the protocol of every record.
const Protocol = "yello.chat.message.v1"

// Version is that of the wrapper.
const Version = 2

// A Type says what a record is.
type Type string

// The types.
const (
	TypeGenesis Type = "chat.genesis"
	TypeMessage Type = "chat.message"
	TypeReceipt Type = "chat.receipt"
	TypeFence   Type = "chat.writer_fence"
)

// An Author says with which credential a record was made: what a signature
// proves is what the server accepted, not who held the key.
type Author string

// The credentials.
const (
	AgentKey Author = "agent_key"
	Fleet    Author = "fleet"
)

// A Record is one record of a direction of a chat: a wrapper and what is in it.
// Exactly one of the pointers is set.
type Record struct {
	ChatID        ident.Chat
	AuthorAgentID ident.Agent // whose direction it is in
	OperationID   ident.Operation
	RecordIndex   int // within the operation, from 0
	AuthoredWith  Author

	Genesis *Genesis
	Message *Message
	Receipt *Receipt
	Fence   *Fence
}

// A Genesis is the first record of a direction.
type Genesis struct {
	Generation  ident.Generation `json:"generation"`
	PeerAgentID ident.Agent      `json:"peerAgentId"`
}

// A Message is a signed message. Sign makes it.
type Message struct {
	ChatID          ident.Chat  `json:"chatId"`
	FromAgentID     ident.Agent `json:"fromAgentId"`
	ToAgentID       ident.Agent `json:"toAgentId"`
	ClientMessageID string      `json:"clientMessageId"`
	Content         string      `json:"content"`
	ContentSHA256   string      `json:"contentSha256"`
	Signature       Signature   `json:"signature"`
}

// A Signature is by the server's key. Alg is what the record claims; a verifier
// takes it from the key.
type Signature struct {
	KID       string   `json:"kid"`
	Alg       Alg      `json:"alg"`
	Value     string   `json:"value"`
	CreatedAt api.Time `json:"createdAt"`
}

// A Receipt acknowledges the peer's records before NextPosition.
type Receipt struct {
	PeerStreamID   string           `json:"peerStreamId"`
	PeerGeneration ident.Generation `json:"peerGeneration"`
	NextPosition   api.Position     `json:"nextPosition"`
	BatchID        ident.Batch      `json:"batchId"`
}

// A Fence says who owns the direction from here on. It stands right behind the
// command record that makes Owner the fencing token.
type Fence struct {
	Owner         ident.Owner      `json:"owner"`
	PreviousOwner ident.Owner      `json:"previousOwner,omitempty"` // "": unowned
	ReviewedTail  api.Position     `json:"reviewedTail"`
	Generation    ident.Generation `json:"generation"`
}

// Type returns what r is; "" if not exactly one of the pointers is set.
func (r *Record) Type() Type {
	t, n := Type(""), 0
	for _, c := range []struct {
		is bool
		t  Type
	}{{r.Genesis != nil, TypeGenesis}, {r.Message != nil, TypeMessage}, {r.Receipt != nil, TypeReceipt}, {r.Fence != nil, TypeFence}} {
		if c.is {
			t, n = c.t, n+1
		}
	}
	if n != 1 {
		return ""
	}
	return t
}

// A wire is a Record as it is serialised.
type wire struct {
	Protocol      string          `json:"protocol"`
	Version       int             `json:"version"`
	ChatID        ident.Chat      `json:"chatId"`
	AuthorAgentID ident.Agent     `json:"authorAgentId"`
	OperationID   ident.Operation `json:"operationId"`
	RecordIndex   int             `json:"recordIndex"`
	Type          Type            `json:"type"`
	AuthoredWith  Author          `json:"authoredWith"`

	Genesis *Genesis `json:"genesis,omitempty"`
	Message *Message `json:"message,omitempty"`
	Receipt *Receipt `json:"receipt,omitempty"`
	Fence   *Fence   `json:"fence,omitempty"`
}

// The S2 headers of a record, in this order, before any others.
const (
	HeaderContentType = "content-type"
	HeaderSchema      = "agent-chat-schema"
	HeaderType        = "agent-chat-type"
	HeaderChat        = "agent-chat-chat"
	HeaderAuthor      = "agent-chat-author"
	HeaderOperation   = "agent-chat-operation"
	HeaderIndex       = "agent-chat-record-index"
)

// Encode returns r as it is stored. It refuses what Open would refuse, but for
// the hash and the signature of a message, which it does not look at.
func (r *Record) Encode() (stream.Record, error) {
	body, err := r.append(nil)
	if err != nil {
		return stream.Record{}, faultf(Malformed, "a string is not UTF-8")
	}
	read, err := parse(body) // what is written can be read
	if err == nil {
		err = read.check()
	}
	if err != nil {
		return stream.Record{}, err
	}
	return stream.Record{Headers: r.headers(), Body: body}, nil
}

func (r *Record) headers() []stream.Header {
	return []stream.Header{
		{Name: HeaderContentType, Value: "application/json"},
		{Name: HeaderSchema, Value: Protocol},
		{Name: HeaderType, Value: string(r.Type())},
		{Name: HeaderChat, Value: string(r.ChatID)},
		{Name: HeaderAuthor, Value: string(r.AuthorAgentID)},
		{Name: HeaderOperation, Value: string(r.OperationID)},
		{Name: HeaderIndex, Value: strconv.Itoa(r.RecordIndex)},
	}
}

func (r *Record) append(b []byte) ([]byte, error) {
	return strictjson.Append(b, &wire{
		Protocol: Protocol, Version: Version, ChatID: r.ChatID, AuthorAgentID: r.AuthorAgentID, OperationID: r.OperationID,
		RecordIndex: r.RecordIndex, Type: r.Type(), AuthoredWith: r.AuthoredWith,
		Genesis: r.Genesis, Message: r.Message, Receipt: r.Receipt, Fence: r.Fence,
	})
}
