package contact_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/contact"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// all returns what a book holds, by walking it.
func all(b *contact.Book, behind ident.Agent) []api.Contact {
	var cs []api.Contact
	for c := range b.Behind(behind) {
		cs = append(cs, *c)
	}
	return cs
}

// Whatever is put and removed, a book is the map that the same changes make, in
// order; a book that others were made from is what it was; and a snapshot
// restores one that cannot be told from it.
func TestBookProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, want := new(contact.Book), map[ident.Agent]api.Contact{}
		ids := rapid.Custom(func(t *rapid.T) ident.Agent {
			return ident.Agent(fmt.Sprintf("a%d", rapid.IntRange(0, 600).Draw(t, "id")))
		})
		// A run of changes is long enough for shelves to be split and joined.
		n := 0
		change := func(id ident.Agent, remove bool) {
			d := contact.Put(named(id, fmt.Sprint(n)))
			if _, known := want[id]; remove && !known {
				return
			} else if remove {
				d = contact.Remove(id)
			}
			recs, err := d(b)
			if err != nil {
				t.Fatalf("change %d of %s: %v", n, id, err)
			}
			if b, err = b.Apply(stream.Entry{Seq: uint64(n), Timestamp: stream.Timestamp(n), Record: recs[0]}); err != nil {
				t.Fatal(err)
			}
			if remove {
				delete(want, id)
				n++
				return
			}
			c := api.Contact{Card: named(id, fmt.Sprint(n)), CreatedAt: at(n), UpdatedAt: at(n)}
			if was, ok := want[id]; ok {
				c.CreatedAt = was.CreatedAt
			}
			want[id] = c
			n++
		}
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			former, formerly := b, all(b, "")
			first, count, step, remove := rapid.IntRange(0, 600).Draw(t, "first"), rapid.IntRange(0, 400).Draw(t, "count"), rapid.IntRange(1, 7).Draw(t, "step"), rapid.Bool().Draw(t, "remove")
			for i := range count {
				change(ident.Agent(fmt.Sprintf("a%d", (first+i*step)%600)), remove)
			}
			change(ids.Draw(t, "other"), !remove)
			if diff := cmp.Diff(formerly, all(former, "")); diff != "" {
				t.Fatalf("a former book has changed (-was +is):\n%s", diff)
			}
		}
		var sorted []api.Contact
		for _, id := range slices.Sorted(maps.Keys(want)) {
			sorted = append(sorted, want[id])
			if c, ok := b.Get(id); !ok || c.UpdatedAt != want[id].UpdatedAt {
				t.Fatalf("Get(%s): %+v, %v", id, c, ok)
			}
		}
		if diff := cmp.Diff(sorted, all(b, "")); diff != "" || b.Len() != len(want) {
			t.Fatalf("%d contacts (-want +got):\n%s", b.Len(), diff)
		}
		behind := ids.Draw(t, "behind")
		i, _ := slices.BinarySearchFunc(sorted, behind, func(c api.Contact, id ident.Agent) int {
			if c.ID <= id {
				return -1
			}
			return 1
		})
		if diff := cmp.Diff(sorted[i:], all(b, behind), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("behind %s (-want +got):\n%s", behind, diff)
		}
		data, err := b.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		again, err := contact.Restore(data)
		if err != nil {
			t.Fatal(err)
		}
		data2, err := again.Snapshot()
		if err != nil || string(data) != string(data2) || again.Len() != b.Len() {
			t.Fatalf("%d contacts restored, %v; their snapshot is the same: %v", again.Len(), err, string(data) == string(data2))
		}
	})
}

// Pages hold every contact that passes once, in order, whatever the limit.
func TestPages(t *testing.T) {
	b := new(contact.Book)
	for i := range 300 {
		c := named(ident.Agent(fmt.Sprintf("a%03d", i)), "")
		if i%2 == 0 {
			c.Capabilities = []string{"research", "even"}
		}
		c.Labels = map[string]string{"third": fmt.Sprint(i % 3), "empty": ""}
		var err error
		if b, _, err = then(t, b, i, contact.Put(c)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		query contact.Query
		pages int
		want  int
	}{
		{"all at once", contact.Query{Limit: 1000}, 1, 300},
		{"by hundreds", contact.Query{Limit: 100}, 3, 300},
		{"by sevens", contact.Query{Limit: 7}, 43, 300},
		{"behind one", contact.Query{Limit: 1000, Behind: "a099"}, 1, 200},
		{"behind one that is not there", contact.Query{Limit: 1000, Behind: "a0995"}, 1, 200},
		{"behind the last", contact.Query{Limit: 1000, Behind: "a299"}, 1, 0},
		{"with a capability", contact.Query{Limit: 100, Capability: "even"}, 2, 150},
		{"with part of a capability", contact.Query{Limit: 100, Capability: "eve"}, 1, 0},
		{"with a label", contact.Query{Limit: 50, Labels: map[string]string{"third": "1"}}, 2, 100},
		{"with two labels", contact.Query{Limit: 1000, Labels: map[string]string{"third": "1", "empty": ""}}, 1, 100},
		{"with another value", contact.Query{Limit: 1000, Labels: map[string]string{"third": "3"}}, 1, 0},
		{"with a label that is not there", contact.Query{Limit: 1000, Labels: map[string]string{"none": ""}}, 1, 0},
		{"with both", contact.Query{Limit: 1000, Capability: "research", Labels: map[string]string{"third": "2"}}, 1, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []ident.Agent
			pages := 0
			for q := tt.query; ; pages++ {
				p := b.Page(q)
				if p.Contacts == nil {
					t.Fatal("the list is null")
				}
				for _, c := range p.Contacts {
					got = append(got, c.ID)
				}
				if p.NextCursor == nil {
					break
				}
				q.Behind = *p.NextCursor
			}
			if pages++; pages != tt.pages || len(got) != tt.want || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%d contacts on %d pages: %v; want %d on %d", len(got), pages, got, tt.want, tt.pages)
			}
		})
	}
}

// A page is no larger than 4 MiB, but for a contact that is alone on it.
func TestPageSize(t *testing.T) {
	const each = 60 << 10
	b := filled(t, 100, each)
	p := b.Page(contact.Query{Limit: 1000})
	if want := api.MaxPageBytes / (each + 200); len(p.Contacts) < want || len(p.Contacts) > want+1 || p.NextCursor == nil {
		t.Errorf("%d contacts, next %v; want %d, and more to come", len(p.Contacts), p.NextCursor, want)
	}
}

// FuzzApply: whatever stands in a stream, it is folded into a book that is whole,
// or refused, and what is folded can be restored.
func FuzzApply(f *testing.F) {
	for _, d := range []contact.Decision{contact.Put(whole), contact.Accept(whole, share, false)} {
		recs, err := d(new(contact.Book))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(recs[0].Body)
	}
	f.Add([]byte(`{"schema":"agent-chat/contact.v1","kind":"contact.remove","id":"dave"}`))
	f.Add([]byte(`{"schema":"agent-chat/contact.v1","kind":"contact.upsert","id":"a","contact":{"id":"a","labels":{"a":null}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, _, err := then(t, new(contact.Book), 1, contact.Put(named("dave", "D")))
		if err != nil {
			t.Fatal(err)
		}
		next, err := b.Apply(stream.Entry{Seq: 2, Timestamp: 2, Record: stream.Record{Body: body}})
		if err != nil {
			return
		}
		data, err := next.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		again, err := contact.Restore(data)
		if err != nil {
			t.Fatalf("the snapshot %s is not restored: %v", data, err)
		}
		if diff := cmp.Diff(all(next, ""), all(again, ""), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("restored (-was +is):\n%s", diff)
		}
	})
}

// FuzzRestore: what is no snapshot is refused; what is taken for one is a book in order.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`[{"contact":{"id":"a","created_at":"2026-07-19T12:00:00Z","updated_at":"2026-07-19T12:00:00Z"},"bytes":10}]`))
	f.Add([]byte(`[{"contact":{"id":"b"},"bytes":1},{"contact":{"id":"a"},"bytes":1}]`))
	f.Add([]byte(`[{"bytes":1}]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := contact.Restore(data)
		if err != nil {
			return
		}
		cs := all(b, "")
		for i, c := range cs {
			if got, ok := b.Get(c.ID); !ok || got.ID != c.ID || i > 0 && c.ID <= cs[i-1].ID {
				t.Fatalf("contact %d of %s is %q", i, data, c.ID)
			}
		}
		if b.Len() != len(cs) {
			t.Fatalf("Len() = %d; there are %d", b.Len(), len(cs))
		}
	})
}

// BenchmarkApply folds the last of 100,000 events of 10,000 contacts.
func BenchmarkApply(b *testing.B) {
	book := new(contact.Book)
	for i := range 10_000 {
		book, _, _ = then(b, book, i, contact.Put(named(ident.Agent(fmt.Sprintf("a%05d", i*7919%10_000)), "first")))
	}
	recs, err := contact.Put(whole)(book)
	if err != nil {
		b.Fatal(err)
	}
	e := stream.Entry{Seq: 1, Timestamp: 1, Record: recs[0]}
	for b.Loop() {
		if _, err := book.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
}
