package addressbook_test

import (
	"fmt"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/contact"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

const (
	manyContacts = 10_000
	manyEvents   = 100_000
)

// long makes a long address book of alice's: cards of about 230 bytes, each saved
// ten times. The last are saved through a process, as all would be in a life.
func long(t testing.TB, s stream.Store) {
	t.Helper()
	p := on(s)
	p.register(t, "alice")
	name := p.book(t, "alice")
	if err := s.Create(t.Context(), name, stream.Config{}); err != nil {
		t.Fatal(err)
	}
	last := 10
	var recs []stream.Record
	for i := range manyEvents - last {
		if recs = append(recs, event(t, cardOf(i))); len(recs) < stream.MaxBatchRecords {
			continue
		}
		if _, err := s.Append(t.Context(), name, stream.Batch{Records: recs}); err != nil {
			t.Fatal(err)
		}
		recs = recs[:0:0]
	}
	if _, err := s.Append(t.Context(), name, stream.Batch{Records: recs}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(t.Context(), "alice", cardOf(0).ID); err != nil { // which takes as long as it takes; a change has a budget
		t.Fatal(err)
	}
	for i := range last {
		p.put(t, "alice", cardOf(manyEvents-last+i))
	}
}

func cardOf(i int) api.Card {
	id := i % manyContacts * 7919 % manyContacts
	return api.Card{
		ID: ident.Agent(fmt.Sprintf("agent-%05d", id)), DisplayName: fmt.Sprintf("Agent %d, revision %d", id, i/manyContacts),
		Endpoint: fmt.Sprintf("https://agents.example.net/%05d", id), Capabilities: []string{"research", "code"},
		PublicKey: "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", Labels: map[string]string{"team": fmt.Sprint("team-", id%100)},
	}
}

// A process that has read nothing before reads a long address book in one bounded
// pass, and one that has reads what is new.
func TestLongBook(t *testing.T) {
	if testing.Short() {
		t.Skip("folds 100,000 events, which takes long under the race detector")
	}
	inner, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	long(t, inner)
	s := faultstream.New(t, inner, faultstream.Options{})
	p := on(s)
	count := func(what string, most int, f func() error) {
		t.Helper()
		before := len(s.Calls())
		if err := f(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n := len(s.Calls()) - before; n > most {
			t.Errorf("%s: %d calls of the store; want %d at most", what, n, most)
		}
	}
	page := func(q contact.Query) (r *api.ListContactsResponse, err error) {
		return p.List(t.Context(), "alice", q)
	}
	// The registration; the first records and the last; 3 MB of snapshot; the ten behind it.
	count("cold", 9, func() error {
		r, err := page(contact.Query{Limit: 1000})
		if err == nil && (len(r.Contacts) != 1000 || r.Contacts[999].DisplayName != "Agent 999, revision 9") {
			err = fmt.Errorf("%d contacts, the last %+v", len(r.Contacts), r.Contacts[len(r.Contacts)-1])
		}
		return err
	})
	count("warm", 2, func() error {
		r, err := page(contact.Query{Limit: 1000, Labels: map[string]string{"team": "team-7"}})
		if err == nil && (len(r.Contacts) != manyContacts/100 || r.NextCursor != nil) {
			err = fmt.Errorf("%d contacts", len(r.Contacts))
		}
		return err
	})
	count("a contact", 2, func() error {
		_, err := p.Get(t.Context(), "alice", "agent-04242")
		return err
	})
	count("a change", 3, func() error {
		_, err := p.Put(t.Context(), "alice", named("agent-04242", "changed"))
		return err
	})
	other := on(s)
	count("a change in a cold process", 10, func() error {
		r, err := other.Put(t.Context(), "alice", named("agent-04242", "changed again"))
		if err == nil && r.Created {
			err = fmt.Errorf("%+v is new", r)
		}
		return err
	})
	count("what another process changed", 2, func() error {
		c, err := p.Get(t.Context(), "alice", "agent-04242")
		if err == nil && c.DisplayName != "changed again" {
			err = fmt.Errorf("%+v", c)
		}
		return err
	})
}

// BenchmarkLongBook reads an address book of 10,000 contacts, made by 100,000 events.
func BenchmarkLongBook(b *testing.B) {
	s, closeStore := localstream.Memory()
	defer closeStore()
	long(b, s)
	first := contact.Query{Limit: 100}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if _, err := on(s).List(b.Context(), "alice", first); err != nil {
				b.Fatal(err)
			}
		}
	})
	warm := on(s)
	for name, q := range map[string]contact.Query{"warm": first, "warm, filtered": {Limit: 100, Labels: map[string]string{"team": "team-7"}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := warm.List(b.Context(), "alice", q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("put", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			if _, err := warm.Put(b.Context(), "alice", named("agent-04242", fmt.Sprint(n))); err != nil {
				b.Fatal(err)
			}
		}
	})
}
