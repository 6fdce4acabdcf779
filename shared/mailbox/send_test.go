package mailbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/mailbox"
)

// What was sent is replayed from any position, and followed.
func TestSendReplayFollow(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	for _, s := range []string{"one", "two", "three"} {
		send(t, m, draft("alice", "bob", "", s))
	}
	p := replay(t, m, mailbox.Query{Agent: "bob"})
	if diff := cmp.Diff([]string{"one", "two", "three"}, texts(t, p)); diff != "" || p.NextCursor != 3 || p.Tail != 3 {
		t.Errorf("replay: %+v, diff %s", p, diff)
	}
	p = replay(t, m, mailbox.Query{Agent: "bob", Cursor: ptr(uint64(1)), Limit: 1})
	if diff := cmp.Diff([]string{"two"}, texts(t, p)); diff != "" || p.NextCursor != 2 || p.Tail != 3 {
		t.Errorf("replay: %+v, diff %s", p, diff)
	}
	got := []string{}
	for p, err := range m.Follow(t.Context(), mailbox.Query{Agent: "bob"}, time.Minute) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, texts(t, p)...)
		if len(got) == 3 {
			send(t, m, draft("alice", "bob", "", "four"))
		}
		if len(got) == 4 {
			break
		}
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "four"}, got); diff != "" {
		t.Error(diff)
	}
}

// A repeat with an id gives the first result, also through another process.
func TestSendRepeated(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	first := send(t, m, draft("alice", "bob", "order-1", "hello"))
	if first.Replayed {
		t.Errorf("the first send is said to be a repeat")
	}
	for range 3 {
		again := send(t, w.process(), draft("alice", "bob", "order-1", "hello"))
		if !again.Replayed {
			t.Errorf("a repeat is not said to be one")
		}
		again.Replayed = false
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
	}
	_, err := w.process().Send(t.Context(), draft("alice", "bob", "order-1", "another"))
	wantCode(t, "another request", err, api.IDReused)
	if p := replay(t, m, mailbox.Query{Agent: "bob"}); len(p.Deliveries) != 1 {
		t.Errorf("%d records; want 1", len(p.Deliveries))
	}
}

// A deleted agent takes nothing, and is registered again without its past.
func TestDeleteAndRegisterAgain(t *testing.T) {
	w := newWorld(t)
	m, other := w.process(), w.process()
	register(t, m, "alice", "bob")
	send(t, other, draft("alice", "bob", "", "old"))
	if err := m.Delete(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*mailbox.Mailbox{m, other, w.process()} {
		_, err := p.Send(t.Context(), draft("alice", "bob", "", "lost"))
		wantCode(t, "send to a deleted agent", err, api.RecipientNotFound)
		_, err = p.Send(t.Context(), draft("alice", "bob", "x-1", "lost"))
		wantCode(t, "send to a deleted agent", err, api.RecipientNotFound)
	}
	p := replay(t, m, mailbox.Query{Agent: "bob"})
	if diff := cmp.Diff([]string{"old"}, texts(t, p)); diff != "" {
		t.Errorf("the operator's replay: %s", diff)
	}
	r, err := m.Register(t.Context(), "bob", api.Profile{DisplayName: "Bob II"})
	if err != nil || !r.Created {
		t.Fatalf("register again: %+v, %v", r, err)
	}
	_, err = m.Replay(t.Context(), mailbox.Query{Agent: "bob", Cursor: ptr(uint64(0))})
	if e := wantCode(t, "old cursor", err, api.GenerationChanged); *e.First != 3 {
		t.Errorf("first = %d; want 3", *e.First)
	}
	for _, p := range []*mailbox.Mailbox{m, other, w.process()} {
		send(t, p, draft("alice", "bob", "", "new"))
	}
	p = replay(t, m, mailbox.Query{Agent: "bob"})
	if diff := cmp.Diff([]string{"new", "new", "new"}, texts(t, p)); diff != "" {
		t.Error(diff)
	}
}
