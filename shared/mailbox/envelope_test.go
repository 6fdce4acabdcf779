package mailbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
)

// fixed returns a process whose clock and randomness are fixed.
func fixed(w *world) *mailbox.Mailbox {
	return mailbox.New(w.store, journal.New(w.store, journal.Options{}), mailbox.Options{
		Now:  func() time.Time { return time.Date(2026, 7, 19, 12, 0, 0, 1_999_999, time.UTC) },
		Rand: bytes.NewReader(bytes.Repeat([]byte{0xab}, 1<<16)),
	})
}

// The record, byte for byte: no HTML escapes, data with its number tokens and the
// order of its keys, absent members left out, the S2 headers of the protocol and
// the trace context besides.
func TestRecord(t *testing.T) {
	w := newWorld(t)
	m := fixed(w)
	register(t, m, "alice", "bob")
	created := api.Time{Time: time.Date(2026, 7, 19, 10, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		name    string
		draft   mailbox.Draft
		body    string
		headers []stream.Header
	}{
		{
			"everything",
			mailbox.Draft{
				Kind: api.KindMessage, From: "alice", To: "bob", ID: "order-1", ConversationID: "task 42 & <more>", CorrelationID: "request-7",
				CreatedAt: &created, Metadata: map[string]string{"z": "<1>", "a": "2"}, TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
				Message: &api.Content{
					Text: ptr("a<b>&c\u2028d\u2029e \"\\\n\x01"), ContentType: "text/plain",
					Data: json.RawMessage(`{"z":9007199254740993,"a":1.0,"e":1E+2,"n":-0,"big":123456789012345678901234567890,"f":0.1000,"s":"<&>"}`),
				},
			},
			`{"schema":"agent-chat/envelope.v1","id":"order-1","kind":"message","from":"alice","to":"bob","conversation_id":"task 42 & <more>",` +
				`"correlation_id":"request-7","created_at":"2026-07-19T10:00:00.000Z","message":{"text":"a<b>&c` + "\u2028d\u2029" + `e \"\\\n\u0001",` +
				`"data":{"z":9007199254740993,"a":1.0,"e":1E+2,"n":-0,"big":123456789012345678901234567890,"f":0.1000,"s":"<&>"},"content_type":"text/plain"},` +
				`"metadata":{"a":"2","z":"<1>"}}`,
			[]stream.Header{
				{Name: "content-type", Value: "application/json"},
				{Name: "agent-chat-schema", Value: "agent-chat/envelope.v1"},
				{Name: "agent-chat-kind", Value: "message"},
				{Name: "agent-chat-id", Value: "order-1"},
				{Name: "agent-chat-from", Value: "alice"},
				{Name: "agent-chat-to", Value: "bob"},
				{Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			},
		},
		{
			"generated; an empty text is a text",
			mailbox.Draft{
				Kind: api.KindMessage, From: "alice", To: "bob", Message: text(""),
			},
			`{"schema":"agent-chat/envelope.v1","id":"msg_019f7a3f5a017bababababababababab","kind":"message","from":"alice","to":"bob",` +
				`"conversation_id":"conv_abababababababababababababababab","created_at":"2026-07-19T12:00:00.001Z","message":{"text":""}}`,
			[]stream.Header{
				{Name: "content-type", Value: "application/json"},
				{Name: "agent-chat-schema", Value: "agent-chat/envelope.v1"},
				{Name: "agent-chat-kind", Value: "message"},
				{Name: "agent-chat-id", Value: "msg_019f7a3f5a017bababababababababab"},
				{Name: "agent-chat-from", Value: "alice"},
				{Name: "agent-chat-to", Value: "bob"},
			},
		},
		{
			"data null is data",
			mailbox.Draft{
				Kind: api.KindMessage, From: "alice", To: "bob", ID: "order-2", ConversationID: "c", CreatedAt: &created, Message: &api.Content{Data: json.RawMessage("null")},
			},
			`{"schema":"agent-chat/envelope.v1","id":"order-2","kind":"message","from":"alice","to":"bob","conversation_id":"c","created_at":"2026-07-19T10:00:00.000Z","message":{"data":null}}`,
			[]stream.Header{
				{Name: "content-type", Value: "application/json"},
				{Name: "agent-chat-schema", Value: "agent-chat/envelope.v1"},
				{Name: "agent-chat-kind", Value: "message"},
				{Name: "agent-chat-id", Value: "order-2"},
				{Name: "agent-chat-from", Value: "alice"},
				{Name: "agent-chat-to", Value: "bob"},
			},
		},
		{
			"a share has the card, and nothing besides",
			mailbox.Draft{
				Kind: api.KindContactShare, From: "alice", To: "bob", ID: "order-3", ConversationID: "c", CreatedAt: &created,
				Contact: &api.Card{ID: "carol", DisplayName: "C<&>", Endpoint: "https://h/", Capabilities: []string{"b", "a"}, PublicKey: "k", Labels: map[string]string{"z": "1", "a": "2"}},
			},
			`{"schema":"agent-chat/envelope.v1","id":"order-3","kind":"contact.share","from":"alice","to":"bob","conversation_id":"c","created_at":"2026-07-19T10:00:00.000Z",` +
				`"contact":{"id":"carol","display_name":"C<&>","endpoint":"https://h/","capabilities":["b","a"],"public_key":"k","labels":{"a":"2","z":"1"}}}`,
			[]stream.Header{
				{Name: "content-type", Value: "application/json"},
				{Name: "agent-chat-schema", Value: "agent-chat/envelope.v1"},
				{Name: "agent-chat-kind", Value: "contact.share"},
				{Name: "agent-chat-id", Value: "order-3"},
				{Name: "agent-chat-from", Value: "alice"},
				{Name: "agent-chat-to", Value: "bob"},
			},
		},
		{
			"a receipt",
			mailbox.Draft{
				Kind: api.KindReceipt, From: "alice", To: "bob", ID: "order-4", ConversationID: "c", CreatedAt: &created,
				Receipt: &api.Receipt{MessageID: "m-1", Status: api.ReceiptProcessed, Detail: "done"},
			},
			`{"schema":"agent-chat/envelope.v1","id":"order-4","kind":"receipt","from":"alice","to":"bob","conversation_id":"c","created_at":"2026-07-19T10:00:00.000Z",` +
				`"receipt":{"message_id":"m-1","status":"processed","detail":"done"}}`,
			[]stream.Header{
				{Name: "content-type", Value: "application/json"},
				{Name: "agent-chat-schema", Value: "agent-chat/envelope.v1"},
				{Name: "agent-chat-kind", Value: "receipt"},
				{Name: "agent-chat-id", Value: "order-4"},
				{Name: "agent-chat-from", Value: "alice"},
				{Name: "agent-chat-to", Value: "bob"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := send(t, m, c.draft)
			p, err := w.store.Read(t.Context(), stream.Inbox("bob"), stream.Start{Seq: r.SeqNum}, stream.Limit{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.body, string(p.Entries[0].Body)); diff != "" {
				t.Errorf("body: %s", diff)
			}
			if diff := cmp.Diff(c.headers, p.Entries[0].Headers); diff != "" {
				t.Errorf("headers: %s", diff)
			}
			if diff := cmp.Diff(string(r.Envelope), string(p.Entries[0].Body)); diff != "" {
				t.Errorf("the answer's envelope is not what was stored: %s", diff)
			}
		})
	}
}

// A record of exactly S2's limit is stored, and one byte more is refused before
// anything is written, a claim included; so is a text that grows by its escapes.
func TestRecordSize(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	long := ident.Agent(strings.Repeat("a", 64))
	register(t, m, long, "bob")
	d := func(n int) mailbox.Draft {
		d := draft(long, "bob", ident.Message(strings.Repeat("i", 128)), "")
		d.ConversationID, d.CreatedAt = "c", &api.Time{Time: time.Unix(0, 0)}
		d.Message.Data = json.RawMessage(`"` + strings.Repeat("x", n) + `"`)
		return d
	}
	base := send(t, m, d(0))
	p, err := w.store.Read(t.Context(), stream.Inbox("bob"), stream.Start{Seq: base.SeqNum}, stream.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	fits := stream.MaxBatchBytes - p.Entries[0].Metered()
	big := func(n int, id ident.Message) mailbox.Draft {
		d := d(n + 128 - len(id) + 128 - len(id))
		d.ID = id
		return d
	}
	_, err = m.Send(t.Context(), big(fits+1, "more"))
	wantCode(t, "one byte more", err, api.RecordTooLarge)
	if _, err := w.store.Tail(t.Context(), stream.Claim(long, generation(t, m, long), "more")); !errors.Is(err, stream.ErrNotFound) {
		t.Errorf("a claim was made for a refused message: %v", err)
	}
	if r := send(t, m, big(fits, "fits")); r.SeqNum != 1 {
		t.Errorf("it stands at %d; want 1", r.SeqNum)
	}
	_, err = m.Send(t.Context(), draft(long, "bob", "", strings.Repeat("\x01", 512<<10)))
	wantCode(t, "a text that grows", err, api.RecordTooLarge)
	if r := send(t, m, draft(long, "bob", "", strings.Repeat("<", 512<<10))); r.SeqNum != 2 {
		t.Errorf("it stands at %d; want 2", r.SeqNum)
	}
}

func generation(t testing.TB, m *mailbox.Mailbox, id ident.Agent) ident.Generation {
	t.Helper()
	s, err := m.Registration(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s.Generation
}
