package chatlog

import (
	"bytes"
	"context"
	"errors"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/deadline"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// A Draft is what is to be appended to one's own direction: a message, a receipt,
// or both in one append.
type Draft struct {
	Token     ident.OwnerToken
	Position  uint64        // where its first record is to stand
	MessageID ident.Message // of a message
	Content   *string       // nil: no message
	Ack       *api.Acknowledgement
}

// Append signs and appends a draft: at its position, under its owner's token, in
// one attempt. All of it is stored, or nothing.
//
// A refusal is final: nothing was stored, and this call never will. OwnerReplaced
// and PositionTaken come from the store itself. DeliveryUnknown says that it may
// be stored, or may still be: it names the operation, and nothing but that look-up,
// or the identical request, may follow. A request whose operation stands at its position, or among
// the latest records of the direction, is answered from there, or IDReused if it is another one.
func (l *Log) Append(ctx context.Context, id ident.Chat, by Actor, d Draft) (*api.ChatAppendResponse, error) {
	r, err := l.enter(ctx, id, by, true)
	if err != nil {
		return nil, err
	}
	a := &attempt{l: l, room: r, draft: d, owner: signed.OwnerOf(id, by.Agent, d.Token)}
	a.op = a.operation()
	known, err := l.glance(ctx, r.own, d.Position, api.ChatRepeats)
	if err != nil {
		return nil, err
	}
	if at, ok := known.at(a.op); ok {
		return a.replay(ctx, at)
	}
	if known.tail < d.Position {
		return a.refuse(ctx, taken)
	}
	a.acknowledged = known.acknowledged
	err = a.permitted(ctx)
	var batch stream.Batch
	if err == nil {
		batch, err = a.batch(ctx)
	}
	if err != nil {
		return a.refuse(ctx, func(uint64) error { return err })
	}
	ack, err := l.journal.AppendAt(ctx, r.own.name, batch)
	if err != nil {
		return a.settle(ctx, err)
	}
	l.window(r.own).wrote(a.op, ack, a.acknowledged)
	items := make([]item, len(batch.Records))
	for i, rec := range batch.Records {
		items[i].Entry = stream.Entry{Seq: ack.First + uint64(i), Timestamp: ack.Timestamp, Record: rec}
	}
	return a.answer(items), nil
}

// An attempt is one call of Append.
type attempt struct {
	l     *Log
	room  *room
	draft Draft
	owner ident.Owner
	op    ident.Operation

	acknowledged uint64 // by the record before, and then by the last of this one
	redactions   []api.Redaction
}

func (a *attempt) operation() ident.Operation {
	chat, author := a.room.state.ID, a.room.by.Agent
	if a.draft.Content != nil {
		return signed.MessageOperation(chat, author, a.draft.MessageID)
	}
	return signed.ReceiptOperation(chat, author, a.draft.Ack.BatchID)
}

// permitted returns nil if a message may be sent: the peer lets it, and is still
// the registration that the chat is with. A receipt needs nobody's permission.
func (a *attempt) permitted(ctx context.Context) error {
	if a.draft.Content == nil {
		return nil
	}
	peer := a.room.peer.side
	if err := peer.Grant.MaySend(peer.Agent); err != nil {
		return err
	}
	ok, err := a.l.registered(ctx, peer.Agent, func(reg agent.State) bool {
		return reg.Phase == agent.Registered && reg.Generation == peer.Generation
	})
	if err == nil && !ok {
		return api.Errorf(api.RecipientNotFound, "the registration of %s that this chat is with has ended", peer.Agent)
	}
	return err
}

// batch returns what is to be appended, checked and signed.
func (a *attempt) batch(ctx context.Context) (stream.Batch, error) {
	var records []signed.Record
	wrapper := signed.Record{ChatID: a.room.state.ID, AuthorAgentID: a.room.by.Agent, OperationID: a.op, AuthoredWith: a.room.by.author()}
	if a.draft.Content != nil {
		m, err := a.message()
		if err != nil {
			return stream.Batch{}, err
		}
		wrapper.Message = m
		records = append(records, wrapper)
	}
	if ack := a.draft.Ack; ack != nil {
		if err := a.acknowledge(ctx); err != nil {
			return stream.Batch{}, err
		}
		wrapper.Message, wrapper.RecordIndex = nil, len(records)
		wrapper.Receipt = &signed.Receipt{
			PeerStreamID: ack.PeerStreamID, PeerGeneration: ack.PeerGeneration, NextPosition: *ack.NextPosition, BatchID: ack.BatchID,
		}
		records = append(records, wrapper)
		a.acknowledged = uint64(*ack.NextPosition)
	}
	digest, err := a.digest()
	if err != nil {
		return stream.Batch{}, err
	}
	in := stream.Batch{At: &a.draft.Position, Token: new(string(a.owner))}
	notes := chat.Notes{Generation: a.room.own.side.Stream, Acknowledged: a.acknowledged, Digest: digest}
	for _, r := range records {
		rec, err := r.Encode()
		if err != nil {
			return stream.Batch{}, err
		}
		in.Records = append(in.Records, notes.With(rec))
	}
	if n := chat.Size(in); n > api.MaxChatAppend {
		return stream.Batch{}, tooLarge(n)
	}
	return in, nil
}

// message returns the signed message, its content as the policy leaves it.
func (a *attempt) message() (*signed.Message, error) {
	if len(*a.draft.Content) > api.MaxChatAppend {
		return nil, tooLarge(len(*a.draft.Content)) // before it is searched
	}
	content, redactions, err := chat.Filter(chat.Stricter(a.l.o.Policy, a.room.state.Policy), *a.draft.Content)
	if err != nil {
		return nil, err
	}
	a.redactions = redactions
	now := a.l.now()
	key, err := a.l.o.Keys.Signer(signed.ES256, now.Time)
	if err != nil {
		return nil, api.Errorf(api.ChatsDisabled, "this server has no key that may sign now; its operator adds one").Because(err)
	}
	return signed.Sign(key, signed.Draft{
		ChatID: a.room.state.ID, From: a.room.by.Agent, To: a.room.peer.side.Agent,
		MessageID: a.draft.MessageID, Content: content, CreatedAt: now.Time,
	})
}

// acknowledge returns nil if the draft's receipt is of a batch that was presented.
func (a *attempt) acknowledge(ctx context.Context) error {
	keys, err := a.l.secrets(forBatches)
	if err != nil {
		return err
	}
	tail, err := a.l.look(ctx, a.room.peer)
	if err != nil {
		return err
	}
	return a.room.presented(a.acknowledged).Acknowledge(a.draft.Ack, tail, keys)
}

// presented is the batch of the peer's records from a position on, without its end.
func (r *room) presented(from uint64) chat.Presented {
	return chat.Presented{Chat: r.state.ID, Reader: r.by.Agent, Peer: r.peer.side.Agent, Generation: r.peer.side.Stream, From: from}
}

func (a *attempt) digest() (string, error) {
	keys, err := a.l.secrets(forRepeats)
	if err != nil {
		return "", err
	}
	return chat.Digest(keys[0], a.content(), a.draft.Ack), nil
}

func (a *attempt) content() string {
	if a.draft.Content == nil {
		return ""
	}
	return *a.draft.Content
}

// settle says what the failure of the append means.
func (a *attempt) settle(ctx context.Context, cause error) (*api.ChatAppendResponse, error) {
	own := a.room.own
	fenced, isFenced := errors.AsType[*stream.FencedError](cause)
	switch {
	case isFenced, errors.Is(cause, stream.ErrPosition):
	case errors.Is(cause, stream.ErrUnknown):
		e := api.Errorf(api.DeliveryUnknown, "the message may be stored, or may still be: look the operation up before anything else")
		e.Operation, e.Tail = a.op, tailAt(a.draft.Position)
		return nil, e.Because(cause)
	default:
		return nil, own.refusal(cause)
	}
	return a.refuse(ctx, func(tail uint64) error {
		if !isFenced {
			return taken(tail)
		}
		e := api.Errorf(api.OwnerReplaced, "another owner has taken this direction: nothing was stored, and this token stores nothing any more")
		e.Owner = ownerOf(fenced.Token)
		return e.Because(cause)
	})
}

// refuse answers an attempt that is refused for good, with why: unless an
// earlier request stored it, where it was to stand or among the latest records.
// That is not denied by what has changed since.
func (a *attempt) refuse(ctx context.Context, why func(tail uint64) error) (*api.ChatAppendResponse, error) {
	ctx, cancel := deadline.Outlive(ctx, budget, grace)
	defer cancel()
	tail, err := a.l.look(ctx, a.room.own)
	if err != nil {
		return nil, err
	}
	known, err := a.l.glance(ctx, a.room.own, tail, api.ChatRepeats)
	if err != nil {
		return nil, err
	}
	if at, ok := known.at(a.op); ok {
		return a.replay(ctx, at)
	}
	if a.draft.Position < tail {
		items, _, err := a.l.operation(ctx, a.room.own, a.op, a.draft.Position)
		if err != nil {
			return nil, err
		}
		if len(items) > 0 {
			return a.replay(ctx, items[0].Seq)
		}
	}
	return nil, why(tail)
}

// replay answers with what stands at a position, where the operation begins.
func (a *attempt) replay(ctx context.Context, at uint64) (*api.ChatAppendResponse, error) {
	items, _, err := a.l.operation(ctx, a.room.own, a.op, at)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, a.room.own.changed(errors.New("an operation that stood there is gone"))
	}
	keys, err := a.l.secrets(forRepeats)
	if err != nil {
		return nil, err
	}
	if !chat.SameRequest(keys, items[0].Digest, a.content(), a.draft.Ack) {
		return nil, api.Errorf(api.IDReused, "this id was used for another message, or for one with another receipt")
	}
	if a.redactions, err = a.replaced(items[0]); err != nil {
		return nil, err
	}
	answer := a.answer(items)
	answer.Replayed = true
	return answer, nil
}

// replaced returns what a policy replaced in the draft's content when it was
// stored as it: nothing, if what was stored has the content's own hash.
func (a *attempt) replaced(it item) ([]api.Redaction, error) {
	if a.draft.Content == nil || bytes.Contains(it.Body, []byte(signed.ContentSHA256(*a.draft.Content))) {
		return nil, nil
	}
	_, all, err := chat.Filter(api.PIIRedact, *a.draft.Content)
	return all, err
}

// answer returns what is told of the records of the operation.
func (a *attempt) answer(items []item) *api.ChatAppendResponse {
	own := a.room.own
	r := &api.ChatAppendResponse{
		ChatRecord: own.show(items[0]), OperationID: a.op, Redactions: a.redactions,
		NextPosition: api.Position(items[len(items)-1].Seq + 1),
	}
	if len(items) > 1 {
		r.Receipt = new(own.show(items[1]))
	}
	return r
}

func tooLarge(n int) error {
	return api.Errorf(api.AppendTooLarge, "the append has %d bytes, escapes and what is stored besides included; %d are the most", n, api.MaxChatAppend)
}

func taken(tail uint64) error {
	e := api.Errorf(api.PositionTaken, "the direction ends at %d: nothing was stored", tail)
	e.Tail = tailAt(tail)
	return e
}

func ownerOf(token string) *api.OrNull[ident.Owner] {
	if token == "" {
		return &api.OrNull[ident.Owner]{}
	}
	return new(api.Some(ident.Owner(token)))
}

func tailAt(at uint64) *api.Tail { return &api.Tail{At: at, Text: true} }
