package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// Whatever a client does, one call after the other through three processes, and
// whatever the store does to their calls: each id stands once, what was
// acknowledged stands where it was said to, what was refused does not stand and
// will not, a follower sees exactly what stands, and at last every send can be
// repeated.
func TestSendProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		share := rapid.Float64Range(0, 0.5).Draw(rt, "share")
		steps := rapid.SliceOfN(rapid.IntRange(0, 26), 1, 30).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) { err = life3(t, seed, share, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// life3 takes steps on a store with faults. Step n is through process n%3; it
// sends with one of 4 ids, or with none, or repeats what was unknown; or it does
// so though what the send is about is gone.
func life3(t *testing.T, seed uint64, share float64, steps []int) error {
	inner, end := localstream.Memory()
	defer end()
	if _, err := setUp(inner); err != nil {
		return err
	}
	s := faultstream.New(t, inner, faultstream.Options{Choose: faultstream.Seeded(seed, share)})
	ms := []*mailbox.Mailbox{onStore(s), onStore(s), onStore(s)}
	told := map[ident.Message]*api.SendResponse{}
	refused := map[ident.Message]bool{} // for good, by the last that was done with it
	var unknown []ident.Message
	heard := func(id ident.Message, r *api.SendResponse, err error) error {
		e, _ := errors.AsType[*api.Error](err)
		switch {
		case err == nil:
			if id == "" {
				id = idOf(r.Envelope)
			}
			if was := told[id]; was != nil && (was.SeqNum != r.SeqNum || string(was.Envelope) != string(r.Envelope)) {
				return fmt.Errorf("%s is told at %d, after %d", id, r.SeqNum, was.SeqNum)
			}
			told[id] = r
		case e != nil && e.Code == api.OutcomeUnknown:
			unknown = append(unknown, e.Message)
		case e == nil || e.Code != api.Unavailable:
			return err
		}
		return nil
	}
	send := func(m *mailbox.Mailbox, id ident.Message) error {
		r, err := m.Send(context.Background(), draft("alice", "bob", id, "hello"))
		refused[id] = false
		return heard(id, r, err)
	}
	gone := api.Errorf(api.ContactNotFound, "what it is about is gone")
	recall := func(m *mailbox.Mailbox, id ident.Message) error {
		r, err := m.Recall(context.Background(), draft("alice", "bob", id, "hello"), gone)
		if errors.Is(err, gone) {
			if told[id] != nil {
				return fmt.Errorf("%s is refused, after it was told at %d", id, told[id].SeqNum)
			}
			refused[id] = true
			return nil
		}
		return heard(id, r, err)
	}
	for _, step := range steps {
		id, do := ident.Message(""), send
		switch what := step / 3; {
		case what < 4:
			id = ident.Message(fmt.Sprint("order-", what))
		case what == 5 && len(unknown) > 0:
			id = unknown[len(unknown)-1]
		case what == 6 && len(unknown) > 0:
			id, do = unknown[len(unknown)-1], recall
		case what > 6:
			id, do = ident.Message(fmt.Sprint("order-", what-7)), recall
		}
		if err := do(ms[step%3], id); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	s.LandAll()
	all, err := records(inner)
	if err != nil {
		return err
	}
	for _, e := range all {
		if id, _ := e.Header("agent-chat-id"); refused[ident.Message(id)] {
			return fmt.Errorf("%s was refused for good, and stands at %d", id, e.Seq)
		}
	}
	fresh := onStore(inner)
	for _, id := range unknown {
		if err := send(fresh, id); err != nil {
			return fmt.Errorf("the repeat of %s: %w", id, err)
		}
	}
	if all, err = records(inner); err != nil {
		return err
	}
	at := map[ident.Message]uint64{}
	for _, e := range all {
		id, ok := e.Header("agent-chat-id")
		if _, twice := at[ident.Message(id)]; twice {
			return fmt.Errorf("%s stands twice", id)
		}
		if ok {
			at[ident.Message(id)] = e.Seq
		}
	}
	for id, r := range told {
		if seq, ok := at[id]; !ok || seq != r.SeqNum {
			return fmt.Errorf("%s was told to stand at %d, and stands at %d (%v)", id, r.SeqNum, seq, ok)
		}
	}
	return follows(ms[0], at)
}

// follows returns what is wrong with what a follower sees.
func follows(m *mailbox.Mailbox, at map[ident.Message]uint64) error {
	cursor, seen := uint64(0), 0
	for tries := 0; seen < len(at); tries++ {
		if tries > 200 {
			return fmt.Errorf("a follower saw %d of %d messages", seen, len(at))
		}
		for p, err := range m.Follow(context.Background(), mailbox.Query{Agent: "bob", Cursor: &cursor}, time.Second) {
			if err != nil {
				if code := api.AsError(err).Code; code != api.Unavailable {
					return err
				}
				time.Sleep(time.Second)
				break // as a client does, from where it was
			}
			for _, d := range p.Deliveries {
				if want, ok := at[idOf(d.Envelope)]; !ok || want != d.SeqNum || d.SeqNum < cursor {
					return fmt.Errorf("a follower saw %s at %d; want %d", idOf(d.Envelope), d.SeqNum, want)
				}
				seen++
			}
			cursor = p.NextCursor
			if seen == len(at) {
				break
			}
		}
	}
	return nil
}

// Deliver takes any record, and what it makes of it is a page that is JSON.
func FuzzReplay(f *testing.F) {
	f.Add("agent-chat-schema", api.EnvelopeSchema, "agent-chat-kind", "message", []byte(`{"conversation_id":"c"}`))
	f.Add("agent-chat-schema", api.EnvelopeSchema, "agent-chat-kind", "receipt", []byte("{\"a\":\"\xed\xa0\x80\"}"))
	f.Add("", "fence", "", "", []byte("closed:x"))
	f.Add("traceparent", "\xff", "agent-chat-from", "bob", []byte(`{`))
	store, end := localstream.Memory()
	f.Cleanup(end)
	m, err := setUp(store)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string, body []byte) {
		r := stream.Record{Headers: []stream.Header{{Name: n1, Value: v1}, {Name: n2, Value: v2}}, Body: body}
		if n2 == "" {
			r.Headers = r.Headers[:1]
		}
		if r.Command() != stream.None || (stream.Batch{Records: []stream.Record{r}}).Validate() != nil {
			return
		}
		ack, err := store.Append(t.Context(), stream.Inbox("bob"), stream.Batch{Records: []stream.Record{r}})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []mailbox.Query{{}, {Kind: "message"}, {From: "bob"}, {ConversationID: "c"}} {
			q.Agent, q.Cursor = "bob", &ack.First
			p, err := m.Replay(t.Context(), q)
			if err != nil || p.NextCursor != ack.Next {
				t.Fatalf("%+v, %v; want a page up to %d", p, err, ack.Next)
			}
			for _, d := range p.Deliveries {
				if b := string(d.AppendJSON(nil)); !strings.HasPrefix(b, "{") || d.Unreadable == (d.Envelope != nil) {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}
