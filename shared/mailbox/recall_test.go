package mailbox_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

var gone = api.Errorf(api.ContactNotFound, "what it is about is gone")

// What Recall says of a send, by what became of it.
func TestRecall(t *testing.T) {
	w, m := inbox(t, "carol")
	claimed := send(t, m, draft("alice", "bob", "order-1", "1"))
	made := send(t, m, draft("alice", "bob", "", "2"))
	id := envelope(t, made.Envelope).ID
	send(t, m, draft("alice", "carol", "order-2", "3"))
	if err := m.Delete(t.Context(), "carol"); err != nil {
		t.Fatal(err)
	}
	const nowhere = ident.Message("msg_0189f7ea1ae07a5f8a5f0123456789ab")
	for _, c := range []struct {
		name  string
		draft mailbox.Draft
		want  *api.SendResponse
		code  api.Code
	}{
		{"its own id", draft("alice", "bob", "order-1", "1"), claimed, ""},
		{"an id that was made", draft("alice", "bob", id, "2"), made, ""},
		{"no id", draft("alice", "bob", "", "1"), nil, api.ContactNotFound},
		{"another id", draft("alice", "bob", "order-9", "1"), nil, api.ContactNotFound},
		{"another id that could have been made", draft("alice", "bob", nowhere, "1"), nil, api.ContactNotFound},
		{"another request", draft("alice", "bob", "order-1", "2"), nil, api.IDReused},
		{"another request with an id that was made", draft("alice", "bob", id, "1"), nil, api.IDReused},
		{"to who is gone too", draft("alice", "carol", "order-9", "1"), nil, api.RecipientNotFound},
		{"to nobody", draft("alice", "zed", "order-9", "1"), nil, api.RecipientNotFound},
		{"of nobody", draft("zed", "bob", "order-9", "1"), nil, api.AgentNotRegistered},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range []*mailbox.Mailbox{m, w.process()} {
				r, err := p.Recall(t.Context(), c.draft, gone)
				if c.code != "" {
					wantCode(t, "recall", err, c.code)
				} else if err != nil || !r.Replayed || r.SeqNum != c.want.SeqNum || string(r.Envelope) != string(c.want.Envelope) {
					t.Errorf("%+v, %v; want what was stored at %d", r, err, c.want.SeqNum)
				}
			}
		})
	}
	away := onStore(faultstream.New(t, w.store, faultstream.Options{Choose: func(faultstream.Call) faultstream.Fault { return faultstream.Fault{Kind: faultstream.Refused} }}))
	_, err := away.Recall(t.Context(), draft("alice", "bob", "", "1"), gone)
	wantCode(t, "without an id the store is not asked", err, api.ContactNotFound)
	if r, err := m.Recall(t.Context(), draft("alice", "carol", "order-2", "3"), gone); err != nil || !r.Replayed {
		t.Errorf("what was stored for who is gone: %+v, %v", r, err)
	}
}

// A send whose outcome is unknown is refused for good only when it can't be stored
// any more: what was on its way then does not land.
func TestRecallIsFinal(t *testing.T) {
	for _, c := range []struct {
		name   string
		id     ident.Message
		landed bool // before it is recalled
		code   api.Code
	}{
		{"on its way", "", false, api.ContactNotFound},
		{"landed", "", true, ""},
		{"on its way, with an id", "order-1", false, api.OutcomeUnknown}, // another process may be storing it
		{"landed, with an id", "order-1", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, end := localstream.Memory()
				defer end()
				if _, err := setUp(inner); err != nil {
					t.Fatal(err)
				}
				var away atomic.Bool
				s := faultstream.New(t, inner, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
					if !away.Load() || c.Op != faultstream.Append || c.Name != stream.Inbox("bob") {
						return faultstream.Fault{}
					}
					if c.Batch.Records[0].Command() == stream.None {
						return faultstream.Fault{Kind: faultstream.Late, After: -1}
					}
					return faultstream.Fault{Kind: faultstream.Lost}
				}})
				away.Store(true)
				d := draft("alice", "bob", c.id, "hello")
				_, err := onStore(s).Send(t.Context(), d)
				d.ID = wantCode(t, "send", err, api.OutcomeUnknown).Message
				away.Store(false)
				if c.landed {
					s.LandAll()
				}
				r, err := onStore(s).Recall(t.Context(), d, gone)
				if c.code != "" {
					wantCode(t, "recall", err, c.code)
				} else if err != nil || !r.Replayed {
					t.Errorf("recall: %+v, %v; want what was stored", r, err)
				}
				s.LandAll()
				time.Sleep(time.Minute)
				all, err := records(inner)
				if err != nil {
					t.Fatal(err)
				}
				stands := 0
				for _, e := range all {
					if id, _ := e.Header("agent-chat-id"); id == string(d.ID) {
						stands++
					}
				}
				if want := map[bool]int{true: 1}[c.landed]; stands != want {
					t.Errorf("it stands %d times; want %d", stands, want)
				}
				// It may still be sent, when what it is about is there again.
				again, err := onStore(inner).Send(t.Context(), d)
				if err != nil || c.landed && again.SeqNum != r.SeqNum {
					t.Errorf("send at last: %+v, %v", again, err)
				}
			})
		})
	}
}

// receipt returns a receipt of bob's.
func receipt(to ident.Agent, of ident.Message) mailbox.Draft {
	return mailbox.Draft{
		Op: "receipts.send", Kind: api.KindReceipt, From: "bob", To: to,
		Receipt: &api.Receipt{MessageID: of, Status: api.ReceiptRead},
	}
}

// foreign returns a record of an id and a kind, which may be none of this version's.
func foreign(id, kind, from, body string) stream.Record {
	r := raw(kind, from, body)
	r.Headers = append(r.Headers, stream.Header{Name: "agent-chat-id", Value: id})
	return r
}

// What may be answered with a receipt, wherever it stands in an inbox.
func TestSendReceipt(t *testing.T) {
	w, m := inbox(t, "carol")
	own := envelope(t, send(t, m, draft("alice", "bob", "", "0")).Envelope).ID
	send(t, m, draft("alice", "bob", "both", "1"))
	send(t, m, draft("carol", "bob", "both", "2"))
	w.put(foreign("later", "negotiation", "alice", "{}"), foreign("broken", "message", "alice", "{"), foreign("answer", "receipt", "alice", "{"))
	at := func(n uint64) *uint64 { return &n }
	for _, c := range []struct {
		name string
		to   ident.Agent
		of   ident.Message
		at   *uint64
		code api.Code
	}{
		{"an id of our form", "alice", own, nil, ""},
		{"one of two", "carol", "both", nil, ""},
		{"one of two, by position", "carol", "both", at(2), ""},
		{"of a later version", "alice", "later", nil, ""},
		{"that can't be read", "alice", "broken", nil, ""},
		{"a receipt that can't be read", "alice", "answer", nil, api.ReceiptOfReceipt},
		{"nothing", "alice", "nothing", nil, api.MessageNotFound},
		{"at another position", "alice", "both", at(0), api.MessageNotFound},
		{"of another, by position", "alice", "both", at(2), api.ReceiptMisaddressed},
		{"behind the tail", "alice", "both", at(99), api.CursorBeyondTail},
		{"to another", "carol", own, nil, api.ReceiptMisaddressed},
		{"of two others", "bob", "both", nil, api.ReceiptMisaddressed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := m.SendReceipt(t.Context(), receipt(c.to, c.of), c.at)
			if c.code != "" {
				wantCode(t, "receipt", err, c.code)
			} else if err != nil || envelope(t, r.Envelope).Receipt.MessageID != c.of {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// A receipt of what was removed is told that, and one of what is too far away is
// told that; neither is told that there never was such a message. A repeat of one
// that was sent in time is told where it is.
func TestReceiptOfTheOld(t *testing.T) {
	w, m := inbox(t)
	old := envelope(t, send(t, m, draft("alice", "bob", "", "old")).Envelope).ID
	send(t, m, draft("alice", "bob", "order-1", "old"))
	d := receipt("alice", "order-1")
	d.ID = "receipt-1"
	first, err := m.SendReceipt(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]stream.Record, stream.MaxBatchRecords)
	for i := range noise {
		noise[i] = raw("message", "alice", "{}")
	}
	for range api.MaxSearchRecords / len(noise) {
		w.put(noise...)
	}
	send(t, m, draft("alice", "bob", "order-2", "new"))
	_, err = m.SendReceipt(t.Context(), receipt("alice", "order-2"), nil)
	wantCode(t, "of what is behind too much", err, api.SearchIncomplete)
	_, err = m.SendReceipt(t.Context(), receipt("alice", "nothing"), nil)
	wantCode(t, "of what may be behind too much", err, api.SearchIncomplete)
	if _, err := m.SendReceipt(t.Context(), receipt("alice", "order-2"), ptr(uint64(api.MaxSearchRecords+2))); err != nil {
		t.Errorf("of what is behind too much, by position: %v", err)
	}

	w.put(stream.Trim(2))
	for _, id := range []ident.Message{old, "order-1"} {
		_, err := m.SendReceipt(t.Context(), receipt("alice", id), ptr(uint64(0)))
		if e := wantCode(t, "of what was removed, by position", err, api.HistoryTrimmed); e.First == nil || *e.First != 2 {
			t.Errorf("first = %v; want 2", e.First)
		}
	}
	w.put(stream.Trim(api.MaxSearchRecords))
	_, err = m.SendReceipt(t.Context(), receipt("alice", old), nil)
	if e := wantCode(t, "of what was removed", err, api.HistoryTrimmed); e.First == nil || *e.First != api.MaxSearchRecords {
		t.Errorf("first = %v; want %d", e.First, api.MaxSearchRecords)
	}
	_, err = m.FindShare(t.Context(), "bob", old, "", nil)
	wantCode(t, "a share that was removed", err, api.HistoryTrimmed)
	for name, p := range map[string]*mailbox.Mailbox{"the same process": m, "another": w.process()} {
		if r, err := p.SendReceipt(t.Context(), d, nil); err != nil || !r.Replayed || r.SeqNum != first.SeqNum {
			t.Errorf("a repeat in %s: %+v, %v; want what was stored at %d", name, r, err, first.SeqNum)
		}
	}
}

// A store that is away while a message is looked for is said to be away: no
// receipt is refused for what was not read.
func TestReceiptUnavailable(t *testing.T) {
	w, m := inbox(t)
	send(t, m, draft("alice", "bob", "order-1", "0"))
	away := onStore(faultstream.New(t, w.store, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Read && strings.HasPrefix(c.Name.String(), "inbox/") {
			return faultstream.Fault{Kind: faultstream.Refused}
		}
		return faultstream.Fault{}
	}}))
	_, err := away.SendReceipt(t.Context(), receipt("alice", "order-1"), nil)
	wantCode(t, "receipt", err, api.Unavailable)
	if _, err := away.FindShare(t.Context(), "bob", "order-1", "", nil); !errors.Is(err, stream.ErrUnavailable) {
		t.Errorf("find a share: %v", err)
	}
}
