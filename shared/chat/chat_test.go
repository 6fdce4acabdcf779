package chat_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func at(n int) api.Time {
	return api.Time{Time: time.Date(2026, 7, 19, 12, 0, n, 0, time.UTC)}
}

func party(agent ident.Agent, g ident.Generation) chat.Party {
	return chat.Party{Agent: agent, Generation: g}
}

const g1, g2 = ident.Generation("0000000000000001"), ident.Generation("0000000000000002")

var (
	alice = chat.Side{Party: party("alice", g1), Stream: "00000000000000aa"}
	bob   = chat.Side{Party: party("bob", g1), Stream: "00000000000000bb"}
)

// The id is of the pair, in either order, and of these registrations: nothing
// else has it, and no pair whose names read alike one behind the other (B134).
func TestID(t *testing.T) {
	if a, b := chat.ID(alice.Party, bob.Party), chat.ID(bob.Party, alice.Party); a != b {
		t.Errorf("%s and %s; want one id", a, b)
	}
	if _, err := ident.ParseChat(string(chat.ID(alice.Party, bob.Party))); err != nil {
		t.Error(err)
	}
	agents := rapid.SampledFrom([]ident.Agent{"a", "b", "c", "a-b", "b-c", "a.b", "ab", "bc", "a-b-c"})
	generations := rapid.SampledFrom([]ident.Generation{g1, g2})
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (p [2]chat.Party) {
			for i := range p {
				p[i] = party(agents.Draw(t, "agent"), generations.Draw(t, "generation"))
			}
			if p[1].Agent < p[0].Agent {
				p[0], p[1] = p[1], p[0]
			}
			return p
		}
		p, q := draw(), draw()
		if same := chat.ID(p[0], p[1]) == chat.ID(q[0], q[1]); same != (p == q) && p[0].Agent != p[1].Agent && q[0].Agent != q[1].Agent {
			t.Fatalf("%v and %v have one id: %v", p, q, same)
		}
	})
}

// run takes decisions one after the other, each on the fold of the ones before.
func run(t *testing.T, decisions ...chat.Decision) (s chat.State, events int, refused error) {
	t.Helper()
	for _, d := range decisions {
		recs, err := d(&s)
		if err != nil {
			return s, events, err
		}
		for _, r := range recs {
			if err := s.Apply(stream.Entry{Seq: uint64(events), Record: r}); err != nil {
				t.Fatal(err)
			}
			events++
		}
	}
	return s, events, nil
}

func created(required bool) chat.Decision { return chat.Create("bob", bob, alice, required, at(0)) }

// What a sequence of decisions leads to.
func TestDecisions(t *testing.T) {
	again := chat.Create("alice", alice, chat.Side{Party: bob.Party, Stream: "00000000000000cc"}, true, at(5))
	for _, c := range []struct {
		name       string
		decisions  []chat.Decision
		events     int
		open       bool
		alice, bob chat.Grant // what each lets the other send
		policy     api.PIIPolicy
		code       api.Code // of the last one, if it is refused
	}{
		{"created", []chat.Decision{created(false)}, 1, false, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, "", ""},
		{"created with grants", []chat.Decision{created(true)}, 1, false, chat.Grant{State: api.Pending, By: chat.ByServer, Since: at(0)}, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, "", ""},
		{"created twice is the first", []chat.Decision{created(false), again}, 1, false, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, "", ""},
		{"opened twice", []chat.Decision{created(false), chat.Opened(at(1)), chat.Opened(at(2))}, 2, true, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, "", ""},
		{
			"denied, twice",
			[]chat.Decision{created(false), chat.Permit("alice", api.Denied, chat.ByRecipient, at(3)), chat.Permit("alice", api.Denied, chat.ByRecipient, at(4))},
			2, false,
			chat.Grant{State: api.Denied, By: chat.ByRecipient, Since: at(3)},
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			"", "",
		},
		{
			"the operator says the same",
			[]chat.Decision{created(false), chat.Permit("bob", api.Allowed, chat.ByOperator, at(3))},
			2, false,
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			chat.Grant{State: api.Allowed, By: chat.ByOperator, Since: at(3)},
			"", "",
		},
		{"a stranger's permission", []chat.Decision{created(false), chat.Permit("carol", api.Allowed, chat.ByOperator, at(3))}, 1, false, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)}, "", api.ChatNotFound},
		{
			"tightened",
			[]chat.Decision{created(false), chat.Tighten(api.PIIRedact, api.PIIOff, at(1)), chat.Tighten(api.PIIRedact, api.PIIOff, at(2)), chat.Tighten(api.PIIReject, api.PIIOff, at(3))},
			3, false,
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			api.PIIReject, "",
		},
		{
			"loosened",
			[]chat.Decision{created(false), chat.Tighten(api.PIIReject, api.PIIOff, at(1)), chat.Tighten(api.PIIRedact, api.PIIOff, at(2))},
			2, false,
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			api.PIIReject, api.Invalid,
		},
		{
			"looser than the server's",
			[]chat.Decision{created(false), chat.Tighten(api.PIIOff, api.PIIRedact, at(1))},
			1, false,
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			chat.Grant{State: api.Allowed, By: chat.ByServer, Since: at(0)},
			"", api.Invalid,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, events, err := run(t, c.decisions...)
			if got := codeOf(err); got != c.code || events != c.events || s.Open != c.open || s.Policy != c.policy {
				t.Errorf("%d events, open %v, policy %q, refused %q; want %d, %v, %q, %q", events, s.Open, s.Policy, got, c.events, c.open, c.policy, c.code)
			}
			own, peer, ok := s.Of("alice")
			if diff := cmp.Diff([]chat.Grant{c.alice, c.bob}, []chat.Grant{own.Grant, peer.Grant}); !ok || diff != "" {
				t.Errorf("grants of alice and of bob (-want +got), %v:\n%s", ok, diff)
			}
			if own.Stream != alice.Stream || peer.Stream != bob.Stream {
				t.Errorf("streams %s and %s; want those of the first creation", own.Stream, peer.Stream)
			}
		})
	}
}

func codeOf(err error) api.Code {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestMaySend(t *testing.T) {
	for state, want := range map[api.Permission]api.Code{
		api.Allowed: "", api.Pending: api.PermissionRequired, api.Denied: api.PermissionDenied, "": api.PermissionRequired, "Allowed": api.PermissionRequired,
	} {
		if got := codeOf(chat.Grant{State: state}.MaySend("bob")); got != want {
			t.Errorf("MaySend when %q = %q; want %q", state, got, want)
		}
	}
}

func TestStricter(t *testing.T) {
	all := append([]api.PIIPolicy{""}, api.PIIPolicies()...)
	for i, p := range all {
		for j, q := range all {
			if got, want := chat.Stricter(p, q), all[max(i, j)]; got != want {
				t.Errorf("Stricter(%q, %q) = %q; want %q", p, q, got, want)
			}
		}
	}
}

// Nobody is a party but the two, and nobody is one of a chat that is not there.
func TestOf(t *testing.T) {
	s, _, _ := run(t, created(false))
	for agent, want := range map[ident.Agent]bool{"alice": true, "bob": true, "carol": false, "": false} {
		own, peer, ok := s.Of(agent)
		if ok != want || ok && (own.Agent != agent || peer.Agent == agent) {
			t.Errorf("Of(%q): %v, %v, %v; want %v", agent, own.Agent, peer.Agent, ok, want)
		}
		if _, _, ok := new(chat.State).Of(agent); ok {
			t.Errorf("Of(%q) in no chat is a party", agent)
		}
	}
}

// What is no event, or can't follow, is an error and changes nothing.
func FuzzApply(f *testing.F) {
	first, err := created(true)(new(chat.State))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(first[0].Body)
	f.Add([]byte(`{"schema":"agent-chat/chat.v1","kind":"chat.permission","agent":"bob","grant":{"state":"denied"}}`))
	f.Add([]byte(`{"schema":"agent-chat/chat.v1","kind":"chat.policy","policy":"never"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		open, _, _ := run(t, created(false), chat.Opened(at(1)))
		for _, was := range []chat.State{{}, open} {
			s := was
			err := s.Apply(stream.Entry{Record: stream.Record{Body: body}})
			if err != nil && fmt.Sprint(s) != fmt.Sprint(was) {
				t.Errorf("an error, and a change: %v", err)
			}
			if err == nil && s.ID == "" {
				t.Errorf("%s makes no chat of nothing", body)
			}
		}
	})
}
