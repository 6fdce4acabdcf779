package mailbox_test

import (
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/mailbox"
)

// A process that believes an agent to be registered as before, while another one
// deleted and registered it anew, shows nothing of the former registration.
func TestReplayOfAnotherProcessesRegistration(t *testing.T) {
	w := newWorld(t)
	one, other := w.process(), w.process()
	register(t, one, "alice", "bob")
	old := send(t, one, draft("alice", "bob", "", "old"))
	if got := texts(t, replay(t, other, mailbox.Query{Agent: "bob"})); len(got) != 1 {
		t.Fatalf("bob's inbox holds %q; want one message", got)
	}
	if err := one.Delete(t.Context(), "bob"); err != nil {
		t.Fatalf("delete bob: %v", err)
	}
	register(t, one, "bob")
	if page := replay(t, other, mailbox.Query{Agent: "bob"}); len(page.Deliveries) > 0 {
		t.Errorf("the inbox of the new bob, in the other process: %q; want nothing", texts(t, page))
	}
	_, err := other.Find(t.Context(), "bob", envelope(t, old.Envelope).ID, "", nil)
	wantCode(t, "find a message of the former bob in the other process", err, api.MessageNotFound)
	_, err = w.process().Replay(t.Context(), mailbox.Query{Agent: "bob", Cursor: new(uint64)})
	wantCode(t, "replay from a position of the former bob", err, api.GenerationChanged)
}

// An id that a former registration of the sender used is free, though a process
// does not know yet that it has ended.
func TestSendOfAnotherProcessesRegistration(t *testing.T) {
	w := newWorld(t)
	one, other := w.process(), w.process()
	register(t, one, "alice", "bob")
	send(t, other, draft("alice", "bob", "x-1", "old"))
	send(t, other, draft("alice", "bob", "x-2", "same"))
	if err := one.Delete(t.Context(), "alice"); err != nil {
		t.Fatalf("delete alice: %v", err)
	}
	register(t, one, "alice")
	for _, d := range []mailbox.Draft{draft("alice", "bob", "x-1", "new"), draft("alice", "bob", "x-2", "same")} {
		if r := send(t, other, d); r.Replayed {
			t.Errorf("send %s as the new alice: replayed from the former one; want it stored", d.ID)
		}
	}
	if r := send(t, other, draft("alice", "bob", "x-1", "new")); !r.Replayed {
		t.Error("the repeat of x-1: stored again; want it replayed")
	}
}
