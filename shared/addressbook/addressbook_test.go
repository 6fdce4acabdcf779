package addressbook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/addressbook"
	"agentchat/shared/api"
	"agentchat/shared/contact"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// A process is what one process has on a store.
type process struct {
	*addressbook.Books
	mail *mailbox.Mailbox
}

func on(s stream.Store) process {
	j := journal.New(s, journal.Options{})
	m := mailbox.New(s, j, mailbox.Options{Sole: true})
	return process{addressbook.New(s, j, m), m}
}

func memory(t testing.TB) *faultstream.Store {
	t.Helper()
	inner, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	return faultstream.New(t, inner, faultstream.Options{})
}

func (p process) register(t testing.TB, ids ...ident.Agent) {
	t.Helper()
	for _, id := range ids {
		if _, err := p.mail.Register(t.Context(), id, api.Profile{}); err != nil {
			t.Fatalf("register %s: %v", id, err)
		}
	}
}

func (p process) put(t testing.TB, owner ident.Agent, c api.Card) *api.SaveContactResponse {
	t.Helper()
	r, err := p.Put(t.Context(), owner, c)
	if err != nil {
		t.Fatalf("put %s: %v", c.ID, err)
	}
	return r
}

// book returns the stream of owner's address book.
func (p process) book(t testing.TB, owner ident.Agent) stream.Name {
	t.Helper()
	s, err := p.mail.Registration(t.Context(), owner, 0)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Contacts(owner, s.Generation)
}

func share(from, to, id ident.Agent, message ident.Message) mailbox.Draft {
	return mailbox.Draft{Op: "contacts.share", Kind: api.KindContactShare, From: from, To: to, ID: message, Contact: &api.Card{ID: id}}
}

func named(id ident.Agent, name string) api.Card { return api.Card{ID: id, DisplayName: name} }

func wantCode(t testing.TB, what string, err error, want api.Code) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != want {
		t.Errorf("%s: %v; want %s", what, err, want)
	}
}

// What one process saves, every other sees at once; a deletion too, and who is
// registered anew has an empty book.
func TestProcesses(t *testing.T) {
	s := memory(t)
	one, other := on(s), on(s)
	one.register(t, "alice")
	one.put(t, "alice", named("carol", "one"))
	if c, err := other.Get(t.Context(), "alice", "carol"); err != nil || c.DisplayName != "one" {
		t.Fatalf("Get in another process: %+v, %v", c, err)
	}
	if r := other.put(t, "alice", named("carol", "two")); r.Created {
		t.Error("a contact that another process made is new")
	}
	if c, err := one.Get(t.Context(), "alice", "carol"); err != nil || c.DisplayName != "two" {
		t.Errorf("Get of what another process changed: %+v, %v", c, err)
	}
	if err := one.mail.Delete(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := other.Get(t.Context(), "alice", "carol")
	wantCode(t, "get of an agent that another process deleted", err, api.AgentNotRegistered)
	_, err = other.Put(t.Context(), "alice", named("carol", "three"))
	wantCode(t, "put to an agent that another process deleted", err, api.AgentNotRegistered)
	one.register(t, "alice")
	if p, err := other.List(t.Context(), "alice", contact.Query{Limit: 10}); err != nil || len(p.Contacts) != 0 {
		t.Errorf("List of who was registered anew: %+v, %v; want nothing", p, err)
	}
	if r := other.put(t, "alice", named("carol", "four")); !r.Created {
		t.Error("the first contact of who was registered anew is not new")
	}
}

// Of many who accept one share at the same time, in several processes, one saves
// it, and there is one event.
func TestAcceptRace(t *testing.T) {
	s := memory(t)
	on(s).register(t, "alice", "bob")
	on(s).put(t, "alice", named("carol", "as shared"))
	if _, err := on(s).Share(t.Context(), share("alice", "bob", "carol", "share-1")); err != nil {
		t.Fatal(err)
	}
	on(s).put(t, "alice", named("carol", "as edited"))
	var all sync.WaitGroup
	var mu sync.Mutex
	created, saved := 0, map[string]int{}
	for range 4 {
		p := on(s)
		for range 10 {
			all.Go(func() {
				r, err := p.Accept(t.Context(), &api.AcceptContactRequest{Agent: "bob", Message: "share-1"})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Errorf("accept: %v", err)
					return
				}
				if r.Created {
					created++
				}
				saved[fmt.Sprint(r.DisplayName, r.AcceptedFrom, r.UpdatedAt)]++
			})
		}
	}
	all.Wait()
	h, err := on(s).History(t.Context(), &api.ContactHistoryRequest{Agent: "bob", Contact: "carol"}, 100)
	if err != nil || len(h.Events) != 1 || created != 1 || len(saved) != 1 || h.Events[0].Contact.DisplayName != "as shared" {
		t.Errorf("%d events, 201 told %d times, %v: %v; want one event, told once, and one contact", len(h.Events), created, saved, err)
	}
}

// An envelope that another program put into an inbox is accepted if it is a share,
// and else refused: never is anything saved that could not be read again.
func TestAcceptForeign(t *testing.T) {
	for _, tt := range []struct {
		name, kind, from, body string
		code                   api.Code
	}{
		{"a share", "contact.share", "alice", `{"id":"x","from":"alice","contact":{"id":"carol"}}`, ""},
		{"with members of a later version", "contact.share", "alice", `{"id":"x","from":"alice","contact":{"id":"carol","since":2030}}`, ""},
		{"without a card", "contact.share", "alice", `{"id":"x","from":"alice"}`, api.NotAContactShare},
		{"with a card of nobody", "contact.share", "alice", `{"id":"x","from":"alice","contact":{}}`, api.NotAContactShare},
		{"with a card of a bad name", "contact.share", "alice", `{"id":"x","from":"alice","contact":{"id":"../carol"}}`, api.NotAContactShare},
		{"with a card that is none", "contact.share", "alice", `{"id":"x","from":"alice","contact":"carol"}`, api.NotAContactShare},
		{"with an endpoint of a script", "contact.share", "alice", `{"id":"x","from":"alice","contact":{"id":"carol","endpoint":"javascript:alert(1)"}}`, api.NotAContactShare},
		{"with a password", "contact.share", "alice", `{"id":"x","from":"alice","contact":{"id":"carol","endpoint":"https://u:p@h/"}}`, api.NotAContactShare},
		{"from another than its header says", "contact.share", "alice", `{"id":"x","from":"bob","contact":{"id":"carol"}}`, api.NotAContactShare},
		{"of another id", "contact.share", "alice", `{"id":"y","from":"alice","contact":{"id":"carol"}}`, api.NotAContactShare},
		{"from no name", "contact.share", "Ali ce", `{"id":"x","from":"Ali ce","contact":{"id":"carol"}}`, api.NotAContactShare},
		{"that is no JSON", "contact.share", "alice", `{`, api.NotAContactShare},
		{"of another kind", "message", "alice", `{"id":"x","from":"alice","contact":{"id":"carol"}}`, api.NotAContactShare},
		{"of a kind of a later version", "contact.offer", "alice", `{"id":"x","from":"alice","contact":{"id":"carol"}}`, api.NotAContactShare},
		{"under another id", "contact.share", "alice", `{"id":"z","from":"alice","contact":{"id":"carol"}}`, api.MessageNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memory(t)
			p := on(s)
			p.register(t, "bob")
			id := "x"
			if tt.code == api.MessageNotFound {
				id = "z"
			}
			_, err := s.Append(t.Context(), stream.Inbox("bob"), stream.Batch{Records: []stream.Record{{
				Headers: []stream.Header{
					{Name: "agent-chat-schema", Value: api.EnvelopeSchema},
					{Name: "agent-chat-kind", Value: tt.kind},
					{Name: "agent-chat-id", Value: id},
					{Name: "agent-chat-from", Value: tt.from},
				},
				Body: []byte(tt.body),
			}}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Accept(t.Context(), &api.AcceptContactRequest{Agent: "bob", Message: "x"})
			if tt.code != "" {
				wantCode(t, "accept", err, tt.code)
			} else if err != nil || !r.Created || *r.AcceptedFrom != (api.AcceptedFrom{MessageID: "x", Agent: "alice"}) {
				t.Errorf("accept: %+v, %v", r, err)
			}
			if page, err := on(s).List(t.Context(), "bob", contact.Query{Limit: 10}); err != nil || len(page.Contacts) != map[bool]int{true: 1}[tt.code == ""] {
				t.Errorf("the address book, in another process: %+v, %v", page, err)
			}
		})
	}
}

// A share of a contact that is gone tells what an earlier attempt has stored, and
// is refused if there was none.
func TestShareOfTheRemoved(t *testing.T) {
	s := memory(t)
	p := on(s)
	p.register(t, "alice", "bob")
	p.put(t, "alice", named("carol", "first"))
	first, err := p.Share(t.Context(), share("alice", "bob", "carol", "share-1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(t.Context(), "alice", "carol"); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]process{"the same process": p, "another": on(s)} {
		again, err := p.Share(t.Context(), share("alice", "bob", "carol", "share-1"))
		if err != nil || !again.Replayed || again.SeqNum != first.SeqNum || string(again.Envelope) != string(first.Envelope) {
			t.Errorf("in %s: %+v, %v; want what was stored", name, again, err)
		}
		_, err = p.Share(t.Context(), share("alice", "bob", "carol", ""))
		wantCode(t, "without an id", err, api.ContactNotFound)
	}
}

// A page of a history costs a bounded number of reads, and all pages together hold
// each event once.
func TestHistoryPages(t *testing.T) {
	s := memory(t)
	p := on(s)
	p.register(t, "alice")
	name := p.book(t, "alice")
	if err := s.Create(t.Context(), name, stream.Config{}); err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for at := uint64(0); at < 25_000; {
		var recs []stream.Record
		for range stream.MaxBatchRecords {
			id := ident.Agent(fmt.Sprint("a", at%97))
			if at%5_000 == 4_999 {
				id, want = "carol", append(want, at)
			}
			recs = append(recs, event(t, named(id, fmt.Sprint(at))))
			at++
		}
		if _, err := s.Append(t.Context(), name, stream.Batch{Records: recs}); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 2, 1000} {
		var got []uint64
		req := &api.ContactHistoryRequest{Agent: "alice", Contact: "carol"}
		for {
			before := s.Count(faultstream.Read)
			h, err := p.History(t.Context(), req, limit)
			if err != nil || h.Events == nil || len(h.Events) > limit {
				t.Fatalf("history from %d: %+v, %v", req.Cursor, h, err)
			}
			if n := s.Count(faultstream.Read) - before; n > 11 {
				t.Errorf("a page cost %d reads; want 10, and one of the registration", n)
			}
			for _, e := range h.Events {
				got = append(got, e.SeqNum)
			}
			if h.NextCursor == nil {
				break
			}
			req.Cursor = *h.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, diff)
		}
	}
}

// A page of a history is no larger than 4 MiB, and nothing is left out for it.
func TestHistoryPageSize(t *testing.T) {
	const each, events = 60 << 10, 100
	p := on(memory(t))
	p.register(t, "alice")
	for i := range events {
		p.put(t, "alice", api.Card{ID: "carol", DisplayName: fmt.Sprint(i), PublicKey: strings.Repeat("k", each)})
	}
	req := &api.ContactHistoryRequest{Agent: "alice", Contact: "carol"}
	seen := 0
	for pages := 1; ; pages++ {
		h, err := p.History(t.Context(), req, api.MaxPageItems)
		if err != nil || len(h.Events) == 0 || len(h.Events)*each > api.MaxPageBytes {
			t.Fatalf("page %d: %d events, %v", pages, len(h.Events), err)
		}
		for _, e := range h.Events {
			if e.Contact.DisplayName != fmt.Sprint(seen) {
				t.Fatalf("event %d is %s", seen, e.Contact.DisplayName)
			}
			seen++
		}
		if h.NextCursor == nil {
			break
		}
		req.Cursor = *h.NextCursor
	}
	if seen != events {
		t.Errorf("%d events; want %d", seen, events)
	}
}

// event returns the record that saves a card.
func event(t testing.TB, c api.Card) stream.Record {
	t.Helper()
	recs, err := contact.Put(c)(new(contact.Book))
	if err != nil {
		t.Fatal(err)
	}
	return recs[0]
}

// A book that is not what was written to it is said to be lost, and never empty.
func TestDamage(t *testing.T) {
	s := memory(t)
	p := on(s)
	p.register(t, "alice")
	p.put(t, "alice", named("carol", "one"))
	p.put(t, "alice", named("carol", "two"))
	for _, r := range []stream.Record{{Body: []byte("not an event")}, stream.Trim(1)} {
		if _, err := s.Append(t.Context(), p.book(t, "alice"), stream.Batch{Records: []stream.Record{r}}); err != nil {
			t.Fatal(err)
		}
		_, err := on(s).Get(t.Context(), "alice", "carol")
		wantCode(t, "get", err, api.StateLost)
		_, err = on(s).Put(t.Context(), "alice", named("dave", ""))
		wantCode(t, "put", err, api.StateLost)
	}
	_, err := on(s).History(t.Context(), &api.ContactHistoryRequest{Agent: "alice", Contact: "carol"}, 10)
	wantCode(t, "history", err, api.StateLost)
}

// A store that is away is said to be that, and nothing was saved.
func TestUnavailable(t *testing.T) {
	inner := memory(t)
	on(inner).register(t, "alice", "bob")
	on(inner).put(t, "alice", named("carol", "one"))
	s := faultstream.New(t, inner, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		return faultstream.Fault{Kind: faultstream.Refused}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // whoever asks has left, so that no repeat goes on for long
	p := on(s)
	_, err := p.Get(ctx, "alice", "carol")
	wantCode(t, "get", err, api.Unavailable)
	_, err = p.Put(ctx, "alice", named("carol", "two"))
	wantCode(t, "put", err, api.Unavailable)
	_, err = p.History(ctx, &api.ContactHistoryRequest{Agent: "alice", Contact: "carol"}, 10)
	wantCode(t, "history", err, api.Unavailable)
	_, err = p.Accept(ctx, &api.AcceptContactRequest{Agent: "bob", Message: "x"})
	wantCode(t, "accept", err, api.Unavailable)
	_, err = p.Share(ctx, share("alice", "bob", "carol", "share-1"))
	wantCode(t, "share", err, api.Unavailable)
	if c, err := on(inner).Get(t.Context(), "alice", "carol"); err != nil || c.DisplayName != "one" {
		t.Errorf("afterwards: %+v, %v", c, err)
	}
}
