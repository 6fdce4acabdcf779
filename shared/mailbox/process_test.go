package mailbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream/faultstream"
)

// A process that believes an agent to be registered as before, while another one
// deleted and registered it anew, shows nothing of the former registration.
func TestReplayOfAnotherProcessesRegistration(t *testing.T) { synctest.Test(t, replayOfAnother) }

func replayOfAnother(t *testing.T) {
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

// An id that a former registration of the sender used is free, and one that the
// present one used is not, in whichever process: also in one that believed in the
// former registration until a moment ago.
func TestSendOfAnotherProcessesRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one, other := w.process(), w.process()
		register(t, one, "alice", "bob")
		send(t, other, draft("alice", "bob", "x-1", "old"))
		send(t, other, draft("alice", "bob", "x-2", "same"))
		if err := one.Delete(t.Context(), "alice"); err != nil {
			t.Fatalf("delete alice: %v", err)
		}
		register(t, one, "alice")
		for _, d := range []mailbox.Draft{draft("alice", "bob", "x-1", "new"), draft("alice", "bob", "x-2", "same"), draft("alice", "bob", "x-3", "first")} {
			first := send(t, other, d)
			if first.Replayed {
				t.Errorf("send %s as the new alice: replayed from the former one; want it stored", d.ID)
			}
			for name, m := range map[string]*mailbox.Mailbox{"the process that sent it": other, "that of the registration": one, "a new one": w.process()} {
				if r := send(t, m, d); !r.Replayed || r.SeqNum != first.SeqNum {
					t.Errorf("repeat %s in %s: at %d, replayed %v; want what was stored at %d", d.ID, name, r.SeqNum, r.Replayed, first.SeqNum)
				}
			}
		}
		if got := texts(t, replay(t, one, mailbox.Query{Agent: "bob"})); len(got) != 5 {
			t.Errorf("bob's inbox holds %q; want two of the former alice and three of the new one", got)
		}
	})
}

// A name is registered again when no process can believe any more in its former
// registration, and no later; where there is one process, at once.
func TestRegisterOutlastsBelief(t *testing.T) {
	const unit = 50 * time.Millisecond // what is waited is told to
	for _, tt := range []struct {
		name string
		sole bool
		do   string // r register, d delete, s let a second pass
		want []time.Duration
	}{
		{"never registered", false, "r", []time.Duration{0}},
		{"registered", false, "rr", []time.Duration{0, 0}},
		{"deleted just now", false, "rdr", []time.Duration{0, 5 * time.Second}},
		{"deleted a while ago", false, "rdsssr", []time.Duration{0, 2 * time.Second}},
		{"deleted long ago", false, "rdssssssr", []time.Duration{0, 0}},
		{"again and again", false, "rdrsdr", []time.Duration{0, 5 * time.Second, 5 * time.Second}},
		{"one process", true, "rdr", []time.Duration{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				m := mailbox.New(w.store, journal.New(w.store, journal.Options{}), mailbox.Options{Sole: tt.sole})
				var took []time.Duration
				for _, c := range tt.do {
					begun := time.Now()
					switch c {
					case 'r':
						register(t, m, "bob")
						took = append(took, time.Since(begun).Round(unit))
					case 'd':
						if err := m.Delete(t.Context(), "bob"); err != nil {
							t.Fatal(err)
						}
					case 's':
						time.Sleep(time.Second)
					}
				}
				if diff := cmp.Diff(tt.want, took); diff != "" {
					t.Errorf("registering took (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A registration that was begun while its name was in doubt, and left by a process
// that died, is not opened before its time by the one that finishes it.
func TestRegisterOutlastsBeliefThoughItsProcessDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		register(t, w.process(), "bob")
		if err := w.process().Delete(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		deleted := time.Now()
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err := w.process().Register(gone, "bob", api.Profile{}) // 5 s later it gives up: before the inbox is opened
		wantCode(t, "register for a caller who left", err, api.OutcomeUnknown)
		register(t, w.process(), "bob")
		if took := time.Since(deleted); took < 5*time.Second {
			t.Errorf("registered again %v after the deletion; want 5s or more", took)
		}
	})
}

// A process that is alone on the store knows a registration without asking the
// store again, whatever time passes and whatever is changed.
func TestRegistrationOfTheSoleProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := faultstream.New(t, newWorld(t).store, faultstream.Options{})
		m := mailbox.New(store, journal.New(store, journal.Options{}), mailbox.Options{Sole: true})
		register(t, m, "bob")
		for _, id := range []ident.Key{"k1", "k2"} {
			if err := m.Mint(t.Context(), "bob", agent.Key{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		look := func(phase agent.Phase, keys int) {
			t.Helper()
			time.Sleep(time.Hour)
			before := store.Count(faultstream.Read)
			s, err := m.Registration(t.Context(), "bob", time.Second)
			if n := store.Count(faultstream.Read) - before; err != nil || s.Phase != phase || len(s.Keys) != keys || n != 0 {
				t.Errorf("phase %d, %d keys, %v after %d reads; want phase %d, %d keys, and no read", s.Phase, len(s.Keys), err, n, phase, keys)
			}
		}
		look(agent.Registered, 2)
		if err := m.Revoke(t.Context(), "bob", "k1"); err != nil {
			t.Fatal(err)
		}
		look(agent.Registered, 1)
		if err := m.Delete(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		look(agent.Deleted, 0)
	})
}
