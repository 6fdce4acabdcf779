package chat

import (
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A Presented is a batch of the peer's records that a reader is to acknowledge:
// those from the last receipt up to Next.
type Presented struct {
	Chat       ident.Chat
	Reader     ident.Agent
	Peer       ident.Agent
	Generation ident.Generation // of the peer's stream
	From, Next uint64
}

// ID returns the batch's id under a key of the server.
func (p Presented) ID(key signed.Secret) ident.Batch {
	return signed.BatchID(key.Key, p.Chat, p.Reader, signed.StreamID(p.Chat, p.Peer), p.Generation, api.Position(p.From), api.Position(p.Next))
}

// Acknowledge returns nil if ack names a batch that was presented under one of
// the keys since the last receipt, at p.From, within the peer's tail; else the refusal.
// p.Next is ack's to say.
func (p Presented) Acknowledge(ack *api.Acknowledgement, tail uint64, keys []signed.Secret) error {
	p.Next = uint64(*ack.NextPosition)
	switch {
	case ack.PeerStreamID != signed.StreamID(p.Chat, p.Peer):
		return api.Errorf(api.BatchUnknown, "the peer's stream is %s", signed.StreamID(p.Chat, p.Peer))
	case ack.PeerGeneration != p.Generation:
		return api.Errorf(api.GenerationChanged, "the peer's stream is of generation %s", p.Generation)
	case p.Next <= p.From:
		return api.Errorf(api.BatchUnknown, "everything before %d is acknowledged already", p.From)
	case p.Next > tail:
		return api.Errorf(api.BatchUnknown, "the peer's stream ends at %d", tail)
	}
	for _, k := range keys {
		if same(string(p.ID(k)), string(ack.BatchID)) {
			return nil
		}
	}
	return api.Errorf(api.BatchUnknown, "no batch of that id was presented since the last receipt, at %d; ask for the batch again", p.From)
}
