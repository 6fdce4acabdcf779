package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

const cmid = "cmid_"

// StreamID returns the id of the direction that agent writes, which is its stream's name.
func StreamID(chat ident.Chat, agent ident.Agent) string {
	return stream.Direction(chat, agent).String()
}

// ClientMessageID returns what a record shows of the sender's message id: equal
// for equal ids of one sender in one chat, and for no other.
func ClientMessageID(chat ident.Chat, from ident.Agent, id ident.Message) string {
	return cmid + digest("yello.client-message.v1", string(chat), string(from), string(id))
}

// MessageOperation returns the operation that sends a message, with its receipt
// if it has one. A repeat of the send is the same operation.
func MessageOperation(chat ident.Chat, from ident.Agent, id ident.Message) ident.Operation {
	return operation(string(chat), string(from), string(id))
}

// ReceiptOperation returns the operation that acknowledges a batch alone.
func ReceiptOperation(chat ident.Chat, reader ident.Agent, batch ident.Batch) ident.Operation {
	return operation(string(chat), string(reader), "receipt", string(batch))
}

// ClaimOperation returns the operation by which owner takes a direction.
func ClaimOperation(chat ident.Chat, agent ident.Agent, owner ident.Owner) ident.Operation {
	return operation(string(chat), string(agent), "claim", string(owner))
}

// GenesisOperation returns the operation that begins a direction.
func GenesisOperation(chat ident.Chat, agent ident.Agent, g ident.Generation) ident.Operation {
	return operation(string(chat), string(agent), "genesis", string(g))
}

// operation is unambiguous: no field has a line feed, and a message id is one
// field where the others are two.
func operation(fields ...string) ident.Operation {
	return ident.Operation("op_" + digest(append([]string{"yello.operation.v1"}, fields...)...))
}

func digest(fields ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(fields, "\n")))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// NewOwnerToken returns the token of the claim, the same one for the same claim
// id: so that whoever lost the reply gets it again.
func NewOwnerToken(key []byte, chat ident.Chat, agent ident.Agent, claim string) ident.OwnerToken {
	return ident.OwnerToken("own_" + mac(key, "owner", string(chat), string(agent), claim)[:22])
}

// OwnerOf returns the public owner id of a token, which is S2's fencing token.
// The token can't be found from it.
func OwnerOf(chat ident.Chat, agent ident.Agent, token ident.OwnerToken) ident.Owner {
	sum := sha256.Sum256(Frame(string(chat), string(agent), string(token)))
	return ident.Owner("f_" + base64.RawURLEncoding.EncodeToString(sum[:])[:32])
}

// BatchID returns the id of the peer's records from from to next as they were
// presented to reader. Only who was presented a batch can name it.
func BatchID(key []byte, chat ident.Chat, reader ident.Agent, peerStreamID string, peer ident.Generation, from, next api.Position) ident.Batch {
	return ident.Batch("b_" + mac(key, "batch", string(chat), string(reader), peerStreamID, string(peer),
		strconv.FormatUint(uint64(from), 10), strconv.FormatUint(uint64(next), 10)))
}

func mac(key []byte, fields ...string) string {
	h := hmac.New(sha256.New, key)
	h.Write(Frame(fields...))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Frame returns the fields one after the other, each behind its length in four
// bytes: different fields never give the same bytes.
func Frame(fields ...string) []byte {
	var b []byte
	for _, f := range fields {
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}
