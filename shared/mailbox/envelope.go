package mailbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
	"agentchat/shared/valid"
)

// The S2 headers of an inbox record (Agent Chat v1, Message envelope).
const (
	headerContentType = "content-type"
	headerSchema      = "agent-chat-schema"
	headerKind        = "agent-chat-kind"
	headerID          = "agent-chat-id"
	headerFrom        = "agent-chat-from"
	headerTo          = "agent-chat-to"
	headerTrace       = "traceparent"
)

const contentType = "application/json"

// A Draft is a message, a share or a receipt before it has an id and a time. Its
// values have been validated: strings are UTF-8, and Message.Data is one JSON
// value without white space. Of Message, Contact and Receipt there is the one of
// its kind.
type Draft struct {
	Op             string // the operation, part of the digest of a repeated send
	Kind           api.Kind
	From, To       ident.Agent
	ID             ident.Message // "" to have one made
	ConversationID ident.Conversation
	CorrelationID  ident.Correlation
	CreatedAt      *api.Time
	Message        *api.Content
	Contact        *api.Card
	Receipt        *api.Receipt
	Metadata       map[string]string
	TraceParent    string // as valid.TraceParent returns it
}

// NewDraft returns a draft of what h asks for, but for what it carries.
func NewDraft(op string, kind api.Kind, h *api.Heading) Draft {
	trace, _ := valid.TraceParent(h.TraceParent)
	return Draft{
		Op: op, Kind: kind, From: h.Agent, To: h.To, ID: cmp.Or(h.ID, h.IdempotencyKey), ConversationID: h.ConversationID,
		CorrelationID: h.CorrelationID, CreatedAt: h.CreatedAt, Metadata: h.Metadata, TraceParent: trace,
	}
}

// A letter is a draft with everything generated: what is stored.
type letter struct {
	from, to ident.Agent
	id       ident.Message
	inbox    stream.Name
	record   stream.Record
}

// letter completes d. It is an *api.Error if the record would be larger than S2 takes.
func (m *Mailbox) letter(d Draft) (*letter, error) {
	env := api.Envelope{
		Schema: api.EnvelopeSchema, ID: d.ID, Kind: d.Kind, From: d.From, To: d.To,
		ConversationID: d.ConversationID, CorrelationID: d.CorrelationID, Message: d.Message,
		Contact: d.Contact, Receipt: d.Receipt, Metadata: d.Metadata,
	}
	if env.ID == "" {
		env.ID = ident.NewMessage(m.o.Now(), m.o.Rand)
	}
	if env.ConversationID == "" {
		env.ConversationID = ident.NewConversation(m.o.Rand)
	}
	if env.CreatedAt = m.now(); d.CreatedAt != nil {
		env.CreatedAt = *d.CreatedAt
	}
	body := appendEnvelope(make([]byte, 0, envelopeSize(&env)), &env)
	l := &letter{from: d.From, to: d.To, id: env.ID, inbox: stream.Inbox(d.To), record: stream.Record{
		Headers: []stream.Header{
			{Name: headerContentType, Value: contentType},
			{Name: headerSchema, Value: api.EnvelopeSchema},
			{Name: headerKind, Value: string(d.Kind)},
			{Name: headerID, Value: string(env.ID)},
			{Name: headerFrom, Value: string(d.From)},
			{Name: headerTo, Value: string(d.To)},
		},
		Body: body,
	}}
	if d.TraceParent != "" {
		l.record.Headers = append(l.record.Headers, stream.Header{Name: headerTrace, Value: d.TraceParent})
	}
	if n := l.record.Metered(); n > stream.MaxBatchBytes {
		return nil, api.Errorf(api.RecordTooLarge, "the message would be a record of %d bytes, more than the %d that can be stored; "+
			"characters that JSON escapes count with their escapes", n, stream.MaxBatchBytes)
	}
	return l, nil
}

// is reports whether e holds the letter, or the same one as another process
// stored it: sender and id are what makes a message one.
func (l *letter) is(e stream.Entry) bool {
	id, from, schema := false, false, false
	for _, h := range e.Headers {
		switch h.Name {
		case headerID:
			id = h.Value == string(l.id)
		case headerFrom:
			from = h.Value == string(l.from)
		case headerSchema:
			schema = h.Value == api.EnvelopeSchema
		}
	}
	return id && from && schema
}

// digest identifies the request behind d: the operation and what the caller
// gave, generated values and headers left out. Of a contact the caller gave the
// id: a repeat asks for the same share though the card was changed since.
func (d Draft) digest() (string, error) {
	var contact ident.Agent
	if d.Contact != nil {
		contact = d.Contact.ID
	}
	b, err := strictjson.Append(nil, &struct {
		Op             string             `json:"op"`
		Kind           api.Kind           `json:"kind"`
		To             ident.Agent        `json:"to"`
		ConversationID ident.Conversation `json:"conversation_id,omitempty"`
		CorrelationID  ident.Correlation  `json:"correlation_id,omitempty"`
		CreatedAt      *api.Time          `json:"created_at,omitempty"`
		Message        *api.Content       `json:"message,omitempty"`
		ContactID      ident.Agent        `json:"contact_id,omitempty"`
		Receipt        *api.Receipt       `json:"receipt,omitempty"`
		Metadata       map[string]string  `json:"metadata,omitempty"`
	}{d.Op, d.Kind, d.To, d.ConversationID, d.CorrelationID, d.CreatedAt, d.Message, contact, d.Receipt, d.Metadata})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// asks reports whether the stored envelope could be what d asks for. It is how
// an id of our own form, whose first send made no claim, is told from a reused one.
func (d Draft) asks(stored []byte) bool {
	var env api.Envelope
	if err := json.Unmarshal(stored, &env); err != nil {
		return false
	}
	was := Draft{
		Op: d.Op, Kind: env.Kind, To: env.To, CorrelationID: env.CorrelationID, Message: env.Message,
		Contact: env.Contact, Receipt: env.Receipt, Metadata: env.Metadata,
	}
	if d.ConversationID != "" {
		was.ConversationID = env.ConversationID
	}
	if d.CreatedAt != nil {
		was.CreatedAt = &env.CreatedAt
	}
	a, errA := was.digest()
	b, errB := d.digest()
	return errA == nil && errB == nil && a == b
}
