package directory_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/directory"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/strictjson"
)

func open(t *testing.T, o faultstream.Options) (stream.Store, *mailbox.Mailbox) {
	t.Helper()
	inner, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	store := faultstream.New(t, inner, o)
	return store, mailbox.New(store, journal.New(store, journal.Options{}), mailbox.Options{})
}

func register(t *testing.T, m *mailbox.Mailbox, ids ...ident.Agent) {
	t.Helper()
	for _, id := range ids {
		if _, err := m.Register(t.Context(), id, api.Profile{}); err != nil {
			t.Fatalf("register %s: %v", id, err)
		}
	}
}

// all pages through the whole list.
func all(t *testing.T, d *directory.Directory, limit int) (ids []ident.Agent, pages int) {
	t.Helper()
	var after ident.Agent
	for {
		r, err := d.List(t.Context(), after, limit)
		if err != nil {
			t.Fatalf("List(%q, %d): %v", after, limit, err)
		}
		pages++
		for _, a := range r.Agents {
			ids = append(ids, a.Agent)
		}
		if r.NextCursor == nil {
			return ids, pages
		}
		after = *r.NextCursor
	}
}

// Paging yields each registered agent once, in bytewise order, whatever the
// size of a page, and though names were deleted or are nobody's.
func TestListPages(t *testing.T) {
	store, m := open(t, faultstream.Options{})
	d := directory.New(store, m)
	if ids, _ := all(t, d, 3); len(ids) != 0 {
		t.Errorf("agents of an empty store: %v", ids)
	}
	register(t, m, "b", "a.b", "a-b", "a_b", "a", "ab", "a0", "gone")
	if err := m.Delete(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		foreign, ok := stream.Agents.Name(fmt.Sprintf("agents/a/%d", i))
		if !ok {
			t.Fatal("no such name")
		}
		if err := store.Create(t.Context(), foreign, stream.Config{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []ident.Agent{"a", "a-b", "a.b", "a0", "a_b", "ab", "b"}
	for limit := 1; limit <= 9; limit++ {
		if ids, _ := all(t, d, limit); !cmp.Equal(want, ids) {
			t.Errorf("pages of %d: %v; want %v", limit, ids, want)
		}
	}
	if _, pages := all(t, d, 8); pages != 1 {
		t.Errorf("%d pages of 8 for 8 names; want one", pages)
	}
	r, err := d.List(t.Context(), "zz", 1000)
	if err != nil || r.Agents == nil || len(r.Agents) != 0 || r.NextCursor != nil {
		t.Errorf("List behind the last = %+v, %v; want an empty page", r, err)
	}
}

// Stores list a thousand names at a time; the list goes on behind them.
func TestListMoreThanAThousand(t *testing.T) {
	store, m := open(t, faultstream.Options{})
	var want []ident.Agent
	for i := range 1205 {
		want = append(want, ident.Agent(fmt.Sprintf("agent-%04d", i)))
	}
	register(t, m, want...)
	for _, limit := range []int{api.DefaultPageItems, api.MaxPageItems} {
		ids, pages := all(t, directory.New(store, m), limit)
		if diff := cmp.Diff(want, ids); diff != "" || pages != (len(want)+limit-1)/limit {
			t.Errorf("%d pages of %d (-want +got):\n%s", pages, limit, diff)
		}
	}
}

// A page reads many registrations at the same time, and never more than 64.
func TestListIsBounded(t *testing.T) {
	var now, most atomic.Int64
	store, m := open(t, faultstream.Options{})
	for i := range 200 {
		register(t, m, ident.Agent(fmt.Sprintf("agent-%03d", i)))
	}
	var full sync.Once
	gate := make(chan struct{})
	counting := registrations(func(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		if n == 64 {
			full.Do(func() { close(gate) })
		}
		<-gate // so that as many as may are there at once
		return m.Registration(ctx, id, maxAge)
	})
	r, err := directory.New(store, counting).List(t.Context(), "", 200)
	if err != nil || len(r.Agents) != 200 {
		t.Fatalf("List = %d agents, %v; want 200", len(r.Agents), err)
	}
	if most.Load() != 64 {
		t.Errorf("%d registrations were read at once; want 64", most.Load())
	}
}

type registrations func(context.Context, ident.Agent, time.Duration) (agent.State, error)

func (f registrations) Registration(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error) {
	return f(ctx, id, maxAge)
}

// A store that is away is told, and never an empty list or an unknown agent.
func TestStoreAway(t *testing.T) {
	var away atomic.Bool
	store, m := open(t, faultstream.Options{Choose: func(faultstream.Call) faultstream.Fault {
		if away.Load() {
			return faultstream.Fault{Kind: faultstream.Refused}
		}
		return faultstream.Fault{}
	}})
	d := directory.New(store, m)
	register(t, m, "a")
	away.Store(true)
	if r, err := d.List(t.Context(), "", 10); err == nil {
		t.Errorf("List = %+v; want an error", r)
	}
	if r, err := d.Get(t.Context(), "a"); err == nil || api.AsError(err).Code == api.AgentNotRegistered {
		t.Errorf("Get = %+v, %v; want that the store is away", r, err)
	}
	if r, err := d.Keys(t.Context(), "a"); err == nil || api.AsError(err).Code == api.AgentNotRegistered {
		t.Errorf("Keys = %+v, %v; want that the store is away", r, err)
	}
}

// Get and Keys see what was acknowledged before, by whatever process.
func TestFresh(t *testing.T) {
	store, m := open(t, faultstream.Options{})
	other := directory.New(store, mailbox.New(store, journal.New(store, journal.Options{}), mailbox.Options{}))
	if _, err := other.Get(t.Context(), "a"); api.AsError(err).Code != api.AgentNotRegistered {
		t.Errorf("Get before it is registered: %v", err)
	}
	register(t, m, "a")
	if info, err := other.Get(t.Context(), "a"); err != nil || info.Agent != "a" {
		t.Errorf("Get = %+v, %v", info, err)
	}
	if err := m.Mint(t.Context(), "a", agent.Key{ID: "k1", LastFour: "four"}); err != nil {
		t.Fatal(err)
	}
	if r, err := other.Keys(t.Context(), "a"); err != nil || len(r.Keys) != 1 || r.Keys[0].LastFour != "four" {
		t.Errorf("Keys = %+v, %v; want k1", r, err)
	}
	if err := m.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get(t.Context(), "a"); api.AsError(err).Code != api.AgentNotRegistered {
		t.Errorf("Get after it was deleted: %v", err)
	}
}

// A page is cut before it is too large for a host to send, and nobody is left out.
func TestListPagesBySize(t *testing.T) {
	store, m := open(t, faultstream.Options{})
	large := api.Profile{PublicKey: strings.Repeat("k", 60<<10)}
	const agents = 150 // 9 MiB
	for i := range agents {
		if _, err := m.Register(t.Context(), ident.Agent(fmt.Sprintf("agent-%03d", i)), large); err != nil {
			t.Fatal(err)
		}
	}
	d := directory.New(store, m)
	r, err := d.List(t.Context(), "", api.MaxPageItems)
	if err != nil || r.NextCursor == nil {
		t.Fatalf("List = %d agents, more %v, %v; want a part", len(r.Agents), r.NextCursor, err)
	}
	if b, err := strictjson.Append(nil, r); err != nil || len(b) > api.MaxPageBytes+1<<10 {
		t.Errorf("a page of %d bytes, %v; want at most %d", len(b), err, api.MaxPageBytes)
	}
	if ids, pages := all(t, d, api.MaxPageItems); len(ids) != agents || pages != 3 {
		t.Errorf("%d agents on %d pages; want %d on 3", len(ids), pages, agents)
	}
}
