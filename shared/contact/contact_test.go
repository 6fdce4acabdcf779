package contact_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/contact"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func at(n int) api.Time { return api.Time{Time: time.UnixMilli(int64(n)).UTC()} }

func named(id ident.Agent, name string) api.Card { return api.Card{ID: id, DisplayName: name} }

var (
	whole = api.Card{
		ID: "carol", DisplayName: "Carol", Endpoint: "https://agents.example.net", Capabilities: []string{"research"},
		PublicKey: "did:key:z6Mk", Labels: map[string]string{"team": "discovery"},
	}
	share  = api.AcceptedFrom{MessageID: "m-1", Agent: "alice", SeqNum: 7}
	share2 = api.AcceptedFrom{MessageID: "m-2", Agent: "alice", SeqNum: 8}
)

// then takes a decision at time n, and returns the book after it.
func then(t testing.TB, b *contact.Book, n int, d contact.Decision) (next *contact.Book, events int, err error) {
	t.Helper()
	recs, err := d(b)
	for _, r := range recs {
		if b, err = b.Apply(stream.Entry{Seq: uint64(n), Timestamp: stream.Timestamp(n), Record: r}); err != nil {
			t.Fatalf("apply at %d: %v", n, err)
		}
	}
	return b, len(recs), err
}

// What a decision makes of what came before it, each at the time of its number.
func TestDecisions(t *testing.T) {
	saved := func(c api.Card, from *api.AcceptedFrom, created, updated int) *api.Contact {
		return &api.Contact{Card: c, AcceptedFrom: from, CreatedAt: at(created), UpdatedAt: at(updated)}
	}
	for _, tt := range []struct {
		name   string
		before []contact.Decision
		last   contact.Decision
		events int // of the last
		code   api.Code
		want   *api.Contact // carol, after all of it
	}{
		{"put", nil, contact.Put(whole), 1, "", saved(whole, nil, 0, 0)},
		{"put again", []contact.Decision{contact.Put(whole)}, contact.Put(whole), 0, "", saved(whole, nil, 0, 0)},
		{
			"put with empty for absent",
			[]contact.Decision{contact.Put(named("carol", "C"))},
			contact.Put(api.Card{ID: "carol", DisplayName: "C", Capabilities: []string{}, Labels: map[string]string{}}), 0, "", saved(named("carol", "C"), nil, 0, 0),
		},
		{"replace the whole card", []contact.Decision{contact.Put(whole)}, contact.Put(named("carol", "C")), 1, "", saved(named("carol", "C"), nil, 0, 1)},
		{"another contact", []contact.Decision{contact.Put(whole)}, contact.Put(named("dave", "D")), 1, "", saved(whole, nil, 0, 0)},

		{"remove", []contact.Decision{contact.Put(whole)}, contact.Remove("carol"), 1, "", nil},
		{"remove what is not there", nil, contact.Remove("carol"), 0, api.ContactNotFound, nil},
		{"remove twice", []contact.Decision{contact.Put(whole), contact.Remove("carol")}, contact.Remove("carol"), 0, api.ContactNotFound, nil},
		{"put after removing", []contact.Decision{contact.Put(whole), contact.Remove("carol")}, contact.Put(whole), 1, "", saved(whole, nil, 2, 2)},

		{"accept", nil, contact.Accept(whole, share, false), 1, "", saved(whole, &share, 0, 0)},
		{"accept again", []contact.Decision{contact.Accept(whole, share, false)}, contact.Accept(whole, share, false), 0, "", saved(whole, &share, 0, 0)},
		{"accept again, replacing", []contact.Decision{contact.Accept(whole, share, false)}, contact.Accept(whole, share, true), 0, "", saved(whole, &share, 0, 0)},
		{"accept over another", []contact.Decision{contact.Put(named("carol", "C"))}, contact.Accept(whole, share, false), 0, api.ContactExists, saved(named("carol", "C"), nil, 0, 0)},
		{"accept over another, replacing", []contact.Decision{contact.Put(named("carol", "C"))}, contact.Accept(whole, share, true), 1, "", saved(whole, &share, 0, 1)},
		{"accept over the same", []contact.Decision{contact.Put(whole)}, contact.Accept(whole, share, false), 1, "", saved(whole, &share, 0, 1)},
		{"accept from another share", []contact.Decision{contact.Accept(whole, share, false)}, contact.Accept(whole, share2, false), 1, "", saved(whole, &share2, 0, 1)},
		{
			"accept another card from another share",
			[]contact.Decision{contact.Accept(whole, share, false)},
			contact.Accept(named("carol", "C"), share2, false), 0, api.ContactExists, saved(whole, &share, 0, 0),
		},
		{
			"accept after removing",
			[]contact.Decision{contact.Accept(whole, share, false), contact.Remove("carol")},
			contact.Accept(whole, share, false), 1, "", saved(whole, &share, 2, 2),
		},
		{"put what was accepted", []contact.Decision{contact.Accept(whole, share, false)}, contact.Put(whole), 0, "", saved(whole, &share, 0, 0)},
		{"change what was accepted", []contact.Decision{contact.Accept(whole, share, false)}, contact.Put(named("carol", "C")), 1, "", saved(named("carol", "C"), nil, 0, 1)},
		{
			"accept again what was changed",
			[]contact.Decision{contact.Accept(whole, share, false), contact.Put(named("carol", "C"))},
			contact.Accept(whole, share, false), 0, api.ContactExists, saved(named("carol", "C"), nil, 0, 1),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, n := new(contact.Book), 0
			var err error
			for ; n < len(tt.before); n++ {
				if b, _, err = then(t, b, n, tt.before[n]); err != nil {
					t.Fatalf("decision %d: %v", n, err)
				}
			}
			b, events, err := then(t, b, n, tt.last)
			if e, _ := errors.AsType[*api.Error](err); events != tt.events || (err == nil) != (tt.code == "") || err != nil && (e == nil || e.Code != tt.code) {
				t.Errorf("%d events, %v; want %d, %q", events, err, tt.events, tt.code)
			}
			got, _ := b.Get("carol")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("carol (-want +got):\n%s", diff)
			}
		})
	}
}

// An event says everything in its body, and in its headers what it is about.
func TestRecord(t *testing.T) {
	recs, err := contact.Accept(named("carol-2", "C<>"), api.AcceptedFrom{MessageID: "m-1", Agent: "alice", SeqNum: 7, ContactID: "carol"}, false)(new(contact.Book))
	if err != nil {
		t.Fatal(err)
	}
	want := []stream.Record{{
		Headers: []stream.Header{
			{Name: "content-type", Value: "application/json"},
			{Name: "agent-chat-schema", Value: "agent-chat/contact.v1"},
			{Name: "agent-chat-kind", Value: "contact.upsert"},
			{Name: "agent-chat-contact", Value: "carol-2"},
		},
		Body: []byte(`{"schema":"agent-chat/contact.v1","kind":"contact.upsert","id":"carol-2","contact":{"id":"carol-2","display_name":"C<>"},` +
			`"accepted_from":{"message_id":"m-1","agent":"alice","seq_num":7,"contact_id":"carol"}}`),
	}}
	if diff := cmp.Diff(want, recs); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// What is no event of an address book, or can't follow, is never folded over.
func TestApplyRefuses(t *testing.T) {
	b, _, err := then(t, new(contact.Book), 0, contact.Put(whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, body string }{
		{"nothing", ``},
		{"no JSON", `{`},
		{"another schema", `{"schema":"agent-chat/agent.v1","kind":"contact.remove","id":"carol"}`},
		{"an unknown kind", `{"schema":"agent-chat/contact.v1","kind":"contact.rename","id":"carol"}`},
		{"an upsert of nothing", `{"schema":"agent-chat/contact.v1","kind":"contact.upsert","id":"carol"}`},
		{"an upsert of another", `{"schema":"agent-chat/contact.v1","kind":"contact.upsert","id":"carol","contact":{"id":"dave"}}`},
		{"an upsert of nobody", `{"schema":"agent-chat/contact.v1","kind":"contact.upsert","contact":{"display_name":"C"}}`},
		{"a bad id", `{"schema":"agent-chat/contact.v1","kind":"contact.remove","id":"../carol"}`},
		{"a removal of nobody", `{"schema":"agent-chat/contact.v1","kind":"contact.remove"}`},
		{"a removal with a card", `{"schema":"agent-chat/contact.v1","kind":"contact.remove","id":"carol","contact":{"id":"carol"}}`},
		{"a removal of who is not there", `{"schema":"agent-chat/contact.v1","kind":"contact.remove","id":"dave"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := b.Apply(stream.Entry{Seq: 1, Record: stream.Record{Body: []byte(tt.body)}}); err == nil || got != b {
				t.Errorf("Apply: %p, %v; want the book as it was, %p, and an error", got, err, b)
			}
		})
	}
}

// A book has bounds, which what is in it already may not pass either; to make
// room, and to stay within them, is always possible.
func TestFull(t *testing.T) {
	b := filled(t, api.MaxContacts, 0)
	wantFull := func(what string, d contact.Decision, full bool) {
		t.Helper()
		_, err := d(b)
		if e, _ := errors.AsType[*api.Error](err); (err != nil) != full || full && (e == nil || e.Code != api.ContactsFull) {
			t.Errorf("%s: %v; want contacts_full: %v", what, err, full)
		}
	}
	wantFull("one more", contact.Put(whole), true)
	wantFull("accept one more", contact.Accept(whole, share, false), true)
	wantFull("replace one", contact.Put(named("a00001", "another")), false)
	wantFull("remove one", contact.Remove("a00001"), false)

	const each = 60 << 10
	b = filled(t, api.MaxContactsBytes/(each+200), each)
	wantFull("a card that is too large", contact.Put(large("z", each)), true)
	wantFull("a small one", contact.Put(whole), false)
	wantFull("replace a large one by a large one", contact.Put(large("a00001", each+1)), false)
	wantFull("replace a large one by a small one", contact.Put(named("a00001", "small")), false)
}

// filled returns a book of n contacts, each with a card of about so many bytes.
func filled(t testing.TB, n, size int) *contact.Book {
	t.Helper()
	b := new(contact.Book)
	for i := range n {
		var err error
		if b, _, err = then(t, b, i, contact.Put(large(ident.Agent(fmt.Sprintf("a%05d", i)), size))); err != nil {
			t.Fatalf("contact %d: %v", i, err)
		}
	}
	return b
}

func large(id ident.Agent, size int) api.Card {
	return api.Card{ID: id, PublicKey: strings.Repeat("k", size)}
}

// History tells the events of one contact from all else in the stream.
func TestHistory(t *testing.T) {
	b, entries := new(contact.Book), []stream.Entry{}
	for i, d := range []contact.Decision{
		contact.Put(whole), contact.Put(named("dave", "D")), contact.Accept(named("carol", "C"), share, true), contact.Remove("carol"),
	} {
		recs, err := d(b)
		if err != nil {
			t.Fatal(err)
		}
		e := stream.Entry{Seq: uint64(i), Timestamp: stream.Timestamp(i), Record: recs[0]}
		if b, err = b.Apply(e); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e, stream.Entry{Record: stream.Record{Headers: []stream.Header{{Name: "agent-chat-kind", Value: "snapshot.chunk"}}}})
	}
	var got []api.ContactEvent
	for _, e := range entries {
		h, ok, err := contact.History(e, "carol")
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			got = append(got, h)
		}
	}
	second := named("carol", "C")
	want := []api.ContactEvent{
		{SeqNum: 0, Timestamp: at(0), Kind: "contact.upsert", Contact: &whole},
		{SeqNum: 2, Timestamp: at(2), Kind: "contact.upsert", Contact: &second, AcceptedFrom: &share},
		{SeqNum: 3, Timestamp: at(3), Kind: "contact.remove"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	bad := stream.Entry{Record: stream.Record{Headers: []stream.Header{{Name: "agent-chat-contact", Value: "carol"}}, Body: []byte("{")}}
	if _, ok, err := contact.History(bad, "carol"); ok || err == nil {
		t.Errorf("History of a damaged record: %v, %v; want an error", ok, err)
	}
}
