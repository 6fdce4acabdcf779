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
