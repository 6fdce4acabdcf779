package addressbook_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// Whatever three processes do to an address book, one call after the other, and
// whatever the store does to their calls: what was acknowledged is read by all,
// what was refused was not done, what is unknown was done once or not, no event says what
// was so before, and each acceptance has its share.
func TestBooksProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		rate := rapid.Float64Range(0, 0.5).Draw(rt, "rate")
		steps := rapid.SliceOfN(rapid.IntRange(0, 5*3*3-1), 1, 25).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) { err = life(t, seed, rate, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// absent is the name of who is no contact.
const absent = ""

// A known is what is known of bob's address book: the names that each contact may have.
type known map[ident.Agent][]string

// life takes steps on a store with faults: each is something that one of three
// processes does to one of three contacts.
func life(t *testing.T, seed uint64, rate float64, steps []int) error {
	inner, end := localstream.Memory()
	defer end()
	setUp := on(inner)
	setUp.register(t, "alice", "bob")
	ids := []ident.Agent{"carol", "dave", "erin"}
	k := known{}
	for _, id := range ids {
		k[id] = []string{absent}
		setUp.put(t, "alice", named(id, "shared"))
		if _, err := setUp.Share(t.Context(), share("alice", "bob", id, ident.Message(id))); err != nil {
			return err
		}
	}
	s := faultstream.New(t, inner, faultstream.Options{Choose: faultstream.Seeded(seed, rate)})
	ps := []process{on(s), on(s), on(s)}
	for n, step := range steps {
		p, id := ps[step%3], ids[step/3%3]
		var err error
		switch step / 9 {
		case 0:
			err = k.put(p, id, fmt.Sprint(n))
		case 1:
			err = k.put(p, id, "again")
		case 2:
			err = k.remove(p, id)
		case 3:
			err = k.accept(p, id)
		case 4:
			err = k.get(p, id)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
		time.Sleep(time.Second)
	}
	s.LandAll()
	for _, id := range ids {
		if err := errors.Join(k.get(on(inner), id), wholeHistory(on(inner), id)); err != nil {
			return fmt.Errorf("in the end: %w", err)
		}
	}
	return nil
}

func (k known) put(p process, id ident.Agent, name string) error {
	r, err := p.Put(context.Background(), "bob", named(id, name))
	if err == nil && r.DisplayName != name {
		return fmt.Errorf("put %s as %q: %+v", id, name, r)
	}
	return k.learn(id, name, err)
}

func (k known) remove(p process, id ident.Agent) error {
	err := p.Remove(context.Background(), "bob", id)
	if isCode(err, api.ContactNotFound) && slices.Contains(k[id], absent) {
		k[id] = []string{absent}
		return nil
	}
	return k.learn(id, absent, err)
}

func (k known) accept(p process, id ident.Agent) error {
	r, err := p.Accept(context.Background(), &api.AcceptContactRequest{Agent: "bob", Message: ident.Message(id), From: "alice"})
	if isCode(err, api.ContactExists) && slices.ContainsFunc(k[id], func(name string) bool { return name != absent && name != "shared" }) {
		return nil
	}
	if err == nil && (r.DisplayName != "shared" || r.AcceptedFrom == nil) {
		return fmt.Errorf("accept %s: %+v", id, r)
	}
	return k.learn(id, "shared", err)
}

// learn notes what the answer to a change says.
func (k known) learn(id ident.Agent, name string, err error) error {
	switch {
	case err == nil:
		k[id] = []string{name}
	case isCode(err, api.OutcomeUnknown):
		k[id] = append(k[id], name)
	case !isCode(err, api.Unavailable) && !isCode(err, api.Busy):
		return fmt.Errorf("change %s to %q, which may be %q: %w", id, name, k[id], err)
	}
	return nil
}

func (k known) get(p process, id ident.Agent) error {
	c, err := p.Get(context.Background(), "bob", id)
	name := absent
	if err == nil {
		name = c.DisplayName
	}
	if isCode(err, api.Unavailable) {
		return nil
	}
	if err != nil && !isCode(err, api.ContactNotFound) || !slices.Contains(k[id], name) {
		return fmt.Errorf("get %s: %q, %w; want one of %q", id, name, err, k[id])
	}
	return nil
}

// wholeHistory returns what is wrong with what happened to a contact.
func wholeHistory(p process, id ident.Agent) error {
	h, err := p.History(context.Background(), &api.ContactHistoryRequest{Agent: "bob", Contact: id}, api.MaxPageItems)
	if err != nil || h.NextCursor != nil {
		return fmt.Errorf("history of %s: %+v, %w", id, h, err)
	}
	before := api.ContactEvent{Kind: api.ContactRemove}
	for _, e := range h.Events {
		if e.Kind == before.Kind && reflect.DeepEqual(e.Contact, before.Contact) && reflect.DeepEqual(e.AcceptedFrom, before.AcceptedFrom) {
			return fmt.Errorf("%s at %d, though it was so before", e.Kind, e.SeqNum)
		}
		if from := e.AcceptedFrom; from != nil && (from.MessageID != ident.Message(id) || from.Agent != "alice" || e.Contact.DisplayName != "shared") {
			return fmt.Errorf("%+v at %d is not what was shared: %+v", e.Contact, e.SeqNum, from)
		}
		before = e
	}
	return nil
}

func isCode(err error, c api.Code) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Code == c
}
