package mailbox

import (
	"context"
	"encoding/json"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// A Share is a card as it was received.
type Share struct {
	Card   api.Card
	From   ident.Agent
	SeqNum uint64
}

// FindShare looks up a contact.share in owner's own inbox, as Find does a message.
// NotAContactShare is said of an id under which there is none, but something
// else, or one that can't be read; HistoryTrimmed of one that is not in what is
// retained, if anything was removed.
func (m *Mailbox) FindShare(ctx context.Context, owner ident.Agent, id ident.Message, from ident.Agent, at *uint64) (*Share, error) {
	f, err := m.finder(ctx, Query{Agent: owner, Cursor: at, Kind: api.KindContactShare}, id, from)
	if err != nil {
		return nil, err
	}
	d, err := f.find(ctx)
	if isCode(err, api.MessageNotFound) && f.other {
		return nil, notAShare(id)
	}
	if err != nil {
		return nil, f.unlessTrimmed(err)
	}
	var env api.Envelope
	if err := json.Unmarshal(d.Envelope, &env); err != nil || env.ID != id || env.From != f.by[0] || env.Contact == nil || env.Contact.ID == "" {
		return nil, notAShare(id)
	}
	return &Share{Card: *env.Contact, From: env.From, SeqNum: d.SeqNum}, nil
}

func notAShare(id ident.Message) error {
	return api.Errorf(api.NotAContactShare, "what was received as %s holds no card", id)
}

// SendReceipt sends d, a receipt, as Send does, if what it is of stands in the
// sender's own inbox, be it readable or not, and comes from the recipient. It
// is otherwise refused: MessageNotFound, ReceiptMisaddressed, ReceiptOfReceipt,
// and SearchIncomplete or HistoryTrimmed where it may be among what was not
// looked at. With at, only that position is looked at.
func (m *Mailbox) SendReceipt(ctx context.Context, d Draft, at *uint64) (*api.SendResponse, error) {
	if err := m.mayAnswer(ctx, d, at); err != nil {
		return m.Recall(ctx, d, err)
	}
	return m.Send(ctx, d)
}

// mayAnswer returns why d is no receipt of something that was received.
func (m *Mailbox) mayAnswer(ctx context.Context, d Draft, at *uint64) error {
	f, err := m.finder(ctx, Query{Agent: d.From, Cursor: at}, d.Receipt.MessageID, d.To)
	if err != nil {
		return err
	}
	f.any = true
	if _, err = f.find(ctx); err == nil && f.kind == string(api.KindReceipt) {
		return api.Errorf(api.ReceiptOfReceipt, "%s is a receipt itself; a receipt is not answered by another", f.id)
	}
	if !isCode(err, api.MessageNotFound) {
		return err
	}
	missing := f.unlessTrimmed(err)
	if f, err = m.finder(ctx, f.q, f.id, ""); err != nil {
		return err
	}
	f.any = true
	if _, err = f.find(ctx); err == nil || isCode(err, api.AmbiguousMessageID) {
		return api.Errorf(api.ReceiptMisaddressed, "%s comes from %s; a receipt goes to who sent the message", f.id, f.by[0])
	}
	if isCode(err, api.MessageNotFound) {
		return missing
	}
	return err
}

// unlessTrimmed returns err, but where it says that there is no such message, and
// it may have been among what was removed.
func (f *finder) unlessTrimmed(err error) error {
	if f.trimmed == nil || !isCode(err, api.MessageNotFound) {
		return err
	}
	e := api.Errorf(api.HistoryTrimmed, "the inbox is retained from %d on, and there is no message %s in it", *f.trimmed, f.id)
	e.First = f.trimmed
	return e
}

func isCode(err error, c api.Code) bool { return err != nil && api.AsError(err).Code == c }
