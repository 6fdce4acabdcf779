package mailbox_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// What a look-up by an id finds, and why it finds nothing.
func TestFind(t *testing.T) {
	w, m := inbox(t, "carol")
	own := idOf(send(t, m, draft("alice", "bob", "", "0")).Envelope)
	send(t, m, draft("alice", "bob", "order-1", "1"))
	send(t, m, draft("carol", "bob", "order-1", "2"))
	send(t, m, draft("carol", "bob", "order-2", "3"))
	send(t, m, draft("carol", "alice", "order-3", "0"))
	w.put(raw("later", "alice", "{}"))
	at := func(n uint64) *uint64 { return &n }
	for _, c := range []struct {
		name string
		id   ident.Message
		from ident.Agent
		at   *uint64
		want uint64
		code api.Code
	}{
		{"an id of our form", own, "", nil, 0, ""},
		{"a sender's id", "order-2", "", nil, 3, ""},
		{"one of two", "order-1", "carol", nil, 2, ""},
		{"one of two, by position", "order-1", "", at(1), 1, ""},
		{"two", "order-1", "", nil, 0, api.AmbiguousMessageID},
		{"none", "order-9", "", nil, 0, api.MessageNotFound},
		{"none of this sender", "order-2", "alice", nil, 0, api.MessageNotFound},
		{"in another inbox", "order-3", "", nil, 0, api.MessageNotFound},
		{"an id of our form that is nowhere", "msg_0189f7ea1ae07a5f8a5f0123456789ab", "", nil, 0, api.MessageNotFound},
		{"at another position", "order-1", "", at(3), 0, api.MessageNotFound},
		{"at the tail", "order-1", "", at(5), 0, api.MessageNotFound},
		{"behind the tail", "order-1", "", at(6), 0, api.CursorBeyondTail},
		{"at what can't be read", "order-1", "", at(4), 0, api.MessageNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := m.Find(t.Context(), "bob", c.id, c.from, c.at)
			if c.code == "" && (err != nil || d.SeqNum != c.want || envelope(t, d.Envelope).ID != c.id) {
				t.Errorf("%+v, %v; want it at %d", d, err, c.want)
			}
			if c.code != "" {
				e := wantCode(t, "find", err, c.code)
				if diff := cmp.Diff([]ident.Agent{"alice", "carol"}, e.Senders); c.code == api.AmbiguousMessageID && diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A message is found though the time in its id is far from when it arrived, and
// though what was before it was trimmed; not by a later registration.
func TestFindByHint(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	m := mailbox.New(w.store, journal.New(w.store, journal.Options{}), mailbox.Options{Now: func() time.Time { return now }, Sole: true})
	register(t, m, "alice", "bob")
	want := map[uint64]ident.Message{}
	for i, shift := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, 5 * time.Minute, -5 * time.Minute} {
		now = time.Now().Add(shift)
		want[uint64(i)] = idOf(send(t, m, draft("alice", "bob", "", fmt.Sprint(i))).Envelope)
	}
	now = time.Now()
	w.put(stream.Trim(1))
	for seq, id := range want {
		d, err := m.Find(t.Context(), "bob", id, "", nil)
		if seq == 0 {
			wantCode(t, "trimmed", err, api.MessageNotFound)
		} else if err != nil || d.SeqNum != seq {
			t.Errorf("%s: %+v, %v; want it at %d", id, d, err, seq)
		}
	}
	if err := m.Delete(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Find(t.Context(), "bob", want[1], "", nil); err != nil {
		t.Errorf("in the inbox of a deleted agent: %v", err)
	}
	register(t, m, "bob")
	_, err := m.Find(t.Context(), "bob", want[1], "", nil)
	wantCode(t, "in a later registration", err, api.MessageNotFound)
	_, err = m.Find(t.Context(), "bob", want[1], "", ptr(uint64(1)))
	wantCode(t, "in a later registration, by position", err, api.GenerationChanged)
}

// A search that would read too much says so, and is never a wrong 404.
func TestFindIncomplete(t *testing.T) {
	w, m := inbox(t)
	send(t, m, draft("alice", "bob", "order-1", "hello"))
	noise := make([]stream.Record, stream.MaxBatchRecords)
	for i := range noise {
		noise[i] = raw("message", "alice", "{}")
	}
	for range api.MaxSearchRecords / len(noise) {
		w.put(noise...)
	}
	send(t, m, draft("alice", "bob", "order-2", "hello"))
	_, err := m.Find(t.Context(), "bob", "order-2", "", nil)
	wantCode(t, "behind too much", err, api.SearchIncomplete)
	_, err = m.Find(t.Context(), "bob", "order-1", "", nil)
	wantCode(t, "in front, but maybe not alone", err, api.SearchIncomplete)
	if d, err := m.Find(t.Context(), "bob", "order-1", "alice", nil); err != nil || d.SeqNum != 0 {
		t.Errorf("with the sender: %+v, %v", d, err)
	}
	send(t, m, draft("alice", "bob", "order-2", "hello")) // a repeat notes where it stands
	if d, err := m.FindSent(t.Context(), "alice", "bob", "order-2"); err != nil || d.SeqNum != api.MaxSearchRecords+1 {
		t.Errorf("through the claim: %+v, %v", d, err)
	}
}

// A sender finds what it sent, through its claim, and nobody else's.
func TestFindSent(t *testing.T) {
	w, m := inbox(t, "carol")
	own := idOf(send(t, m, draft("alice", "bob", "", "0")).Envelope)
	send(t, m, draft("alice", "bob", "order-1", "1"))
	send(t, m, draft("carol", "bob", "order-2", "2"))
	for _, c := range []struct {
		name     string
		from, to ident.Agent
		id       ident.Message
		want     uint64
		code     api.Code
	}{
		{"its own id", "alice", "bob", "order-1", 1, ""},
		{"an id that was made", "alice", "bob", own, 0, ""},
		{"to another", "alice", "carol", "order-1", 0, api.MessageNotFound},
		{"an id that was made, to nobody", "alice", "zed", own, 0, api.AgentNotRegistered},
		{"of another", "alice", "bob", "order-2", 0, api.MessageNotFound},
		{"none", "alice", "bob", "order-9", 0, api.MessageNotFound},
		{"of nobody", "zed", "bob", "order-1", 0, api.AgentNotRegistered},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range []*mailbox.Mailbox{m, w.process()} {
				d, err := p.FindSent(t.Context(), c.from, c.to, c.id)
				if c.code == "" && (err != nil || d.SeqNum != c.want) {
					t.Errorf("%+v, %v; want it at %d", d, err, c.want)
				}
				if e, ok := errors.AsType[*api.Error](err); c.code != "" && (!ok || e.Code != c.code) {
					t.Errorf("err = %v; want %s", err, c.code)
				}
			}
		})
	}
}

// A store that can't be reached while it is searched is said to be just that.
func TestFindUnavailable(t *testing.T) {
	w, m := inbox(t)
	send(t, m, draft("alice", "bob", "order-1", "0"))
	away := onStore(faultstream.New(t, w.store, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Read && c.Name == stream.Inbox("bob") {
			return faultstream.Fault{Kind: faultstream.Refused}
		}
		return faultstream.Fault{}
	}}))
	_, err := away.Find(t.Context(), "bob", "order-1", "", nil)
	wantCode(t, "find", err, api.Unavailable)
	_, err = away.FindSent(t.Context(), "alice", "bob", "order-1")
	wantCode(t, "find what was sent", err, api.Unavailable)
}
