package mailbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
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
func TestDeleteAndRegisterAgain(t *testing.T) { synctest.Test(t, deleteAndRegisterAgain) }

func deleteAndRegisterAgain(t *testing.T) {
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

// A plain send by a warm process is one append and nothing else; one with an id
// is two; the first repeat of it one append of a claim, two reads and a note.
func TestSendRoundTrips(t *testing.T) {
	w := newWorld(t)
	var calls []string
	s := faultstream.New(t, w.store, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		calls = append(calls, fmt.Sprint(c.Op, " ", strings.Split(c.Name.String(), "/")[0]))
		return faultstream.Fault{}
	}})
	m := onStore(s)
	register(t, m, "alice", "bob")
	send(t, m, draft("alice", "bob", "", "warm"))
	for _, c := range []struct {
		name string
		id   ident.Message
		want []string
	}{
		{"plain", "", []string{"Append inbox"}},
		{"with an id", "order-1", []string{"Append sends", "Append inbox"}},
		{"repeated", "order-1", []string{"Append sends", "Read sends", "Read inbox", "Append sends"}},
		{"repeated again", "order-1", []string{"Append sends", "Read sends", "Read inbox"}},
	} {
		calls = nil
		send(t, m, draft("alice", "bob", c.id, "hello"))
		if diff := cmp.Diff(c.want, calls); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// What makes two requests with one id the same, and what does not.
func TestSameRequest(t *testing.T) {
	w := newWorld(t)
	m := w.sole()
	register(t, m, "alice", "bob", "carol")
	base := func() mailbox.Draft {
		d := draft("alice", "bob", "order-1", "hello")
		d.Message.Data = json.RawMessage(`{"a":1,"b":[1,2]}`)
		d.Metadata = map[string]string{"x": "1", "y": "2"}
		return d
	}
	send(t, m, base())
	for _, c := range []struct {
		name   string
		same   bool
		change func(*mailbox.Draft)
	}{
		{"nothing", true, func(*mailbox.Draft) {}},
		{"white space in data", true, func(d *mailbox.Draft) { d.Message.Data = json.RawMessage(" {\"a\": 1,\n\"b\":[1, 2]}") }},
		{"trace context", true, func(d *mailbox.Draft) { d.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }},
		{"text", false, func(d *mailbox.Draft) { d.Message.Text = ptr("Hello") }},
		{"no text", false, func(d *mailbox.Draft) { d.Message.Text = nil }},
		{"number token", false, func(d *mailbox.Draft) { d.Message.Data = json.RawMessage(`{"a":1.0,"b":[1,2]}`) }},
		{"content type", false, func(d *mailbox.Draft) { d.Message.ContentType = "text/plain" }},
		{"metadata", false, func(d *mailbox.Draft) { d.Metadata["x"] = "2" }},
		{"recipient", false, func(d *mailbox.Draft) { d.To = "carol" }},
		{"conversation", false, func(d *mailbox.Draft) { d.ConversationID = "c" }},
		{"correlation", false, func(d *mailbox.Draft) { d.CorrelationID = "c" }},
		{"time", false, func(d *mailbox.Draft) { d.CreatedAt = &api.Time{Time: time.Unix(0, 0)} }},
		{"operation", false, func(d *mailbox.Draft) { d.Op = "contacts.share" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := base()
			c.change(&d)
			r, err := m.Send(t.Context(), d)
			if c.same && (err != nil || !r.Replayed || r.SeqNum != 0) {
				t.Errorf("%+v, %v; want the first result", r, err)
			} else if !c.same {
				wantCode(t, "send", err, api.IDReused)
			}
		})
	}
	// The scope of an id is its sender's registration.
	if r := send(t, m, draft("carol", "bob", "order-1", "hello")); r.Replayed {
		t.Error("another sender's id is taken for a repeat")
	}
	if err := m.Delete(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := m.Send(t.Context(), base())
	wantCode(t, "send of a deleted agent", err, api.AgentNotRegistered)
	register(t, m, "alice")
	if r := send(t, m, draft("alice", "bob", "order-1", "another")); r.Replayed {
		t.Error("the id of an earlier registration is taken for a repeat")
	}
}

// A send of unknown outcome names the id with which it can be repeated; by then
// it may have been stored, or land later, or never. Another request with that id
// is refused, and does not spoil it for the right one.
func TestRepeatOfUnknown(t *testing.T) {
	for _, c := range []struct {
		name     string
		first    faultstream.Kind
		replayed bool
		land     bool
	}{
		{"lost", faultstream.Lost, false, false},
		{"stored", faultstream.Stored, true, false},
		{"late, before the repeat", faultstream.Late, true, true},
		{"late, and then never", faultstream.Late, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				m := w.process()
				register(t, m, "alice", "bob")
				send(t, m, draft("alice", "bob", "", "before"))
				n := 0
				s := faultstream.New(t, w.store, faultstream.Options{Choose: func(call faultstream.Call) faultstream.Fault {
					if call.Op != faultstream.Append {
						return faultstream.Fault{}
					}
					if n++; n == 1 {
						return faultstream.Fault{Kind: c.first, After: -1}
					}
					return faultstream.Fault{Kind: faultstream.Lost}
				}})
				began := time.Now()
				_, err := onStore(s).Send(t.Context(), draft("alice", "bob", "", "hello"))
				e := wantCode(t, "the first send", err, api.OutcomeUnknown)
				if d := time.Since(began); d > 11*time.Second {
					t.Errorf("it took %v; want 10 s at most", d)
				}
				if c.land {
					s.LandAll()
				}
				if c.replayed {
					_, err = w.process().Send(t.Context(), draft("alice", "bob", e.Message, "another"))
					wantCode(t, "another request", err, api.IDReused)
				}
				r := send(t, w.process(), draft("alice", "bob", e.Message, "hello"))
				if r.Replayed != c.replayed {
					t.Errorf("replayed %v; want %v", r.Replayed, c.replayed)
				}
				s.LandAll()
				again := send(t, w.process(), draft("alice", "bob", e.Message, "hello"))
				if again.SeqNum != r.SeqNum || !again.Replayed {
					t.Errorf("%+v; want a repeat of %d", again, r.SeqNum)
				}
				_, err = w.process().Send(t.Context(), draft("alice", "bob", e.Message, "another"))
				wantCode(t, "another request", err, api.IDReused)
				if diff := cmp.Diff([]string{"before", "hello"}, texts(t, replay(t, m, mailbox.Query{Agent: "bob"}))); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A repeat to somebody who was deleted meanwhile is told of what was stored, and
// refused if nothing was.
func TestRepeatAfterDeletion(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	first := send(t, m, draft("alice", "bob", "order-1", "hello"))
	plain := send(t, m, draft("alice", "bob", "", "plain"))
	if err := m.Delete(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*mailbox.Mailbox{m, w.process()} {
		if r := send(t, p, draft("alice", "bob", "order-1", "hello")); r.SeqNum != first.SeqNum || !r.Replayed {
			t.Errorf("%+v; want the first result", r)
		}
		if r := send(t, p, draft("alice", "bob", idOf(plain.Envelope), "plain")); r.SeqNum != plain.SeqNum || !r.Replayed {
			t.Errorf("%+v; want the first result", r)
		}
		_, err := p.Send(t.Context(), draft("alice", "bob", "order-1", "another"))
		wantCode(t, "another request", err, api.IDReused)
		_, err = p.Send(t.Context(), draft("alice", "bob", "order-2", "hello"))
		wantCode(t, "a first send", err, api.RecipientNotFound)
	}
}

// Everything refusable is refused before anything is written.
func TestSendRefused(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	s := faultstream.New(t, w.store, faultstream.Options{})
	m = onStore(s)
	for _, id := range []ident.Message{"", "order-1"} {
		_, err := m.Send(t.Context(), draft("alice", "bbo", id, "hello"))
		if e := wantCode(t, "unknown recipient", err, api.RecipientNotFound); !strings.Contains(e.Detail, "PUT /v1/agents/bbo") || e.Field != "/to" {
			t.Errorf("%+v does not say what registers the recipient", e)
		}
		_, err = m.Send(t.Context(), draft("mallory", "bob", id, "hello"))
		wantCode(t, "unknown sender", err, api.AgentNotRegistered)
	}
	if n := s.Count(faultstream.Append) + s.Count(faultstream.Create); n != 0 {
		t.Errorf("%d writes for what was refused", n)
	}
	if r := send(t, m, draft("alice", "alice", "", "note to self")); r.SeqNum != 0 {
		t.Errorf("a message to oneself stands at %d", r.SeqNum)
	}
}

// An inbox that somebody took away is told as that, the same to senders and
// readers: not as an agent to be registered, which would not bring it back, nor
// as an outcome to be asked for again and again.
func TestSendToLostInbox(t *testing.T) { synctest.Test(t, sendToLostInbox) }

func sendToLostInbox(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	send(t, m, draft("alice", "bob", "order-1", "hello"))
	m.Wait()
	if err := w.store.Delete(t.Context(), stream.Inbox("bob")); err != nil {
		t.Fatal(err)
	}
	ids := []ident.Message{"", "order-2", "order-2", "order-1", "msg_0189f7ea1ae07a5f8a5f0123456789ab"}
	for _, process := range []*mailbox.Mailbox{m, w.process()} {
		for _, id := range ids {
			_, err := process.Send(t.Context(), draft("alice", "bob", id, "hello"))
			wantCode(t, "send with id "+string(id), err, api.StateLost)
		}
		_, err := process.Replay(t.Context(), mailbox.Query{Agent: "bob"})
		wantCode(t, "replay", err, api.StateLost)
	}

	// What mends it is a new registration, with a new inbox.
	if err := m.Delete(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	_, err := m.Send(t.Context(), draft("alice", "bob", "", "hello"))
	wantCode(t, "send to a deleted agent", err, api.RecipientNotFound)
	register(t, m, "bob")
	send(t, m, draft("alice", "bob", "", "hello again"))
	if got := texts(t, replay(t, m, mailbox.Query{Agent: "bob"})); len(got) != 1 {
		t.Errorf("inbox = %q; want what was sent since", got)
	}
}

// A send runs to its end though its caller has left.
func TestSendOutlivesItsCaller(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	ctx, cancel := context.WithCancel(t.Context())
	lost := faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Stored})
	s := faultstream.New(t, w.store, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Append {
			cancel()
		}
		return lost(c)
	}})
	r, err := onStore(s).Send(ctx, draft("alice", "bob", "", "hello"))
	if err != nil || r.SeqNum != 0 {
		t.Errorf("%+v, %v; want it at 0", r, err)
	}
}

// The bookkeeping of a host that lives on is done after the answer, so that a
// repeat finds the message by one look.
func TestSendLate(t *testing.T) {
	w := newWorld(t)
	m := mailbox.New(w.store, journal.New(w.store, journal.Options{}), mailbox.Options{Late: true})
	register(t, m, "alice", "bob")
	send(t, m, draft("alice", "bob", "order-1", "hello"))
	m.Wait()
	p, err := w.store.Read(t.Context(), stream.Claim("alice", generation(t, m, "alice"), "order-1"), stream.Start{}, stream.Limit{})
	if err != nil || len(p.Entries) != 2 {
		t.Errorf("%d records, %v; want a claim and where its message stands", len(p.Entries), err)
	}
}

// Many processes send at once, some of them the same: each id stands once.
func TestSendConcurrent(t *testing.T) {
	w := newWorld(t)
	register(t, w.process(), "alice", "bob")
	const processes, each = 8, 25
	var wg sync.WaitGroup
	for range processes {
		m := w.process()
		wg.Go(func() {
			for i := range each {
				r, err := m.Send(t.Context(), draft("alice", "bob", ident.Message(fmt.Sprint("same-", i)), "hello"))
				if err != nil || idOf(r.Envelope) != ident.Message(fmt.Sprint("same-", i)) {
					t.Errorf("send: %+v, %v", r, err)
				}
				if _, err := m.Send(t.Context(), draft("alice", "bob", "", "own")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	p := replay(t, w.process(), mailbox.Query{Agent: "bob", Limit: 1000})
	if want := each + processes*each; len(p.Deliveries) != want {
		t.Errorf("%d messages; want %d", len(p.Deliveries), want)
	}
}

// A process whose clock is far ahead makes ids of a time that is not the store's.
// Repeating one is a repeat all the same, at least where the inbox is short.
func TestRepeatUnderAWrongClock(t *testing.T) {
	w := newWorld(t)
	register(t, w.process(), "alice", "bob")
	ahead := func() time.Time { return time.Now().Add(3 * time.Hour) }
	m := mailbox.New(w.store, journal.New(w.store, journal.Options{Now: ahead}), mailbox.Options{Now: ahead})
	first := send(t, m, draft("alice", "bob", "", "once"))
	again := send(t, w.process(), draft("alice", "bob", envelope(t, first.Envelope).ID, "once"))
	if !again.Replayed || again.SeqNum != first.SeqNum {
		t.Errorf("repeat: at %d, replayed %t; want %d, true", again.SeqNum, again.Replayed, first.SeqNum)
	}
}
