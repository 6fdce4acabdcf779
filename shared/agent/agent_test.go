package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func at(n int) api.Time {
	return api.Time{Time: time.Date(2026, 7, 19, 12, 0, n, 0, time.UTC)}
}

const (
	g1 = ident.Generation("0000000000000001")
	g2 = ident.Generation("0000000000000002")
)

var (
	plain = api.Profile{}
	named = api.Profile{DisplayName: "Bob", Capabilities: []string{"research"}, Labels: map[string]string{"team": "x"}}
)

func key(n int) agent.Key {
	return agent.Key{ID: ident.Key(fmt.Sprintf("k%d", n)), Hash: [32]byte{byte(n)}, LastFour: "abcd", CreatedAt: at(n)}
}

// run takes decisions one after the other, each on the fold of the ones before.
func run(t *testing.T, decisions ...agent.Decision) (s agent.State, events int) {
	t.Helper()
	for i, d := range decisions {
		recs, err := d(&s)
		if err != nil {
			t.Fatalf("decision %d: %v", i, err)
		}
		for _, r := range recs {
			if err := s.Apply(stream.Entry{Seq: uint64(events), Record: r}); err != nil {
				t.Fatalf("decision %d: %v", i, err)
			}
			events++
		}
	}
	return s, events
}

func registered(p api.Profile) []agent.Decision {
	return []agent.Decision{agent.Register(p, g1, at(1)), agent.Opened(g1, 0, "", at(1))}
}

// What a sequence of decisions leads to.
func TestFold(t *testing.T) {
	for _, c := range []struct {
		name      string
		decisions []agent.Decision
		want      agent.State
		events    int
	}{
		{
			"begun",
			[]agent.Decision{agent.Register(named, g1, at(1))},
			agent.State{Phase: agent.Registering, Generation: g1, Profile: named, CreatedAt: at(1), UpdatedAt: at(1)},
			1,
		},
		{
			"begun twice keeps its generation",
			[]agent.Decision{agent.Register(named, g1, at(1)), agent.Register(named, g2, at(2))},
			agent.State{Phase: agent.Registering, Generation: g1, Profile: named, CreatedAt: at(1), UpdatedAt: at(1)},
			1,
		},
		{
			"registered", registered(plain),
			agent.State{Phase: agent.Registered, Generation: g1, CreatedAt: at(1), UpdatedAt: at(1)},
			2,
		},
		{
			"opened twice", append(registered(plain), agent.Opened(g1, 7, "other", at(3))),
			agent.State{Phase: agent.Registered, Generation: g1, CreatedAt: at(1), UpdatedAt: at(1)},
			2,
		},
		{
			"the same profile is no event", append(registered(named), agent.Register(named, g2, at(5))),
			agent.State{Phase: agent.Registered, Generation: g1, Profile: named, CreatedAt: at(1), UpdatedAt: at(1)},
			2,
		},
		{
			"empty and absent are the same", append(registered(plain), agent.Register(api.Profile{Labels: map[string]string{}, Capabilities: []string{}}, g2, at(5))),
			agent.State{Phase: agent.Registered, Generation: g1, CreatedAt: at(1), UpdatedAt: at(1)},
			2,
		},
		{
			"another profile replaces the whole", append(registered(named), agent.Register(plain, g2, at(5))),
			agent.State{Phase: agent.Registered, Generation: g1, CreatedAt: at(1), UpdatedAt: at(5)},
			3,
		},
		{
			"keys, oldest first", append(registered(plain), agent.Mint("bob", key(2)), agent.Mint("bob", key(1)), agent.Mint("bob", key(3)), agent.Revoke("bob", "k1", at(9))),
			agent.State{Phase: agent.Registered, Generation: g1, CreatedAt: at(1), UpdatedAt: at(1), Keys: []agent.Key{key(2), key(3)}},
			6,
		},
		{
			"deletion ends the keys", append(registered(named), agent.Mint("bob", key(2)), agent.Delete("bob", at(6)), agent.Delete("bob", at(7))),
			agent.State{Phase: agent.Deleted, Generation: g1, Profile: named, CreatedAt: at(1), UpdatedAt: at(6)},
			4,
		},
		{
			"registered again inherits nothing", append(registered(named), agent.Mint("bob", key(2)), agent.Delete("bob", at(6)), agent.Register(plain, g2, at(7)), agent.Opened(g2, 9, "e", at(7))),
			agent.State{Phase: agent.Registered, Generation: g2, Former: true, First: 9, Epoch: "e", CreatedAt: at(7), UpdatedAt: at(7)},
			6,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, events := run(t, c.decisions...)
			if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b api.Time) bool { return a.Equal(b.Time) })); diff != "" {
				t.Error(diff)
			}
			if events != c.events {
				t.Errorf("%d events; want %d", events, c.events)
			}
		})
	}
}

// What is refused, and why.
func TestRefused(t *testing.T) {
	full := registered(plain)
	for i := range api.MaxKeys {
		full = append(full, agent.Mint("bob", key(i)))
	}
	deleted := append(registered(plain), agent.Delete("bob", at(3)))
	for _, c := range []struct {
		name   string
		before []agent.Decision
		d      agent.Decision
		want   api.Code
	}{
		{"delete nobody", nil, agent.Delete("bob", at(1)), api.AgentNotRegistered},
		{"key of nobody", nil, agent.Mint("bob", key(1)), api.AgentNotRegistered},
		{"key of one that is being registered", registered(plain)[:1], agent.Mint("bob", key(1)), api.AgentNotRegistered},
		{"key of a deleted agent", deleted, agent.Mint("bob", key(1)), api.AgentNotRegistered},
		{"one key too many", full, agent.Mint("bob", key(99)), api.Invalid},
		{"revoke an unknown key", registered(plain), agent.Revoke("bob", "k1", at(2)), api.KeyNotFound},
		{"revoke a key of a deleted agent", deleted, agent.Revoke("bob", "k1", at(2)), api.AgentNotRegistered},
		{"open a deleted registration", deleted, agent.Opened(g1, 0, "", at(2)), api.Busy},
		{"open another registration", registered(plain), agent.Opened(g2, 0, "", at(2)), api.Busy},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := run(t, c.before...)
			recs, err := c.d(&s)
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != c.want || len(recs) > 0 {
				t.Errorf("%d records, err = %v; want %s", len(recs), err, c.want)
			}
		})
	}
	if got := agent.NotRegistered("bob").Error(); !strings.Contains(got, "PUT /v1/agents/bob") {
		t.Errorf("the refusal %q does not say what registers the agent", got)
	}
}

// A state that was handed out does not change when its successor is made.
func TestApplyLeavesCopiesAlone(t *testing.T) {
	s, _ := run(t, append(registered(plain), agent.Mint("bob", key(1)), agent.Mint("bob", key(2)))...)
	was, keys := s, fmt.Sprint(s.Keys)
	for _, d := range []agent.Decision{agent.Mint("bob", key(3)), agent.Revoke("bob", "k1", at(4)), agent.Mint("bob", key(5))} {
		recs, err := d(&s)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(stream.Entry{Record: recs[0]}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(was.Keys); got != keys {
		t.Errorf("keys of an earlier state are now %s; want %s", got, keys)
	}
}

// What is no event, or can't follow, is an error and changes nothing.
func TestApplyRefuses(t *testing.T) {
	body := func(s string) stream.Entry { return stream.Entry{Record: stream.Record{Body: []byte(s)}} }
	opened, err := agent.Opened(g1, 0, "", at(1))(&agent.State{Phase: agent.Registering, Generation: g1})
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]stream.Entry{
		"not JSON":       body("x"),
		"null":           body("null"),
		"another schema": body(`{"schema":"agent-chat/contact.v1","kind":"agent.deleted","at":"2026-07-19T12:00:00Z"}`),
		"another kind":   body(`{"schema":"agent-chat/agent.v1","kind":"agent.renamed","at":"2026-07-19T12:00:00Z"}`),
		"out of order":   {Record: opened[0]},
	} {
		t.Run(name, func(t *testing.T) {
			var s agent.State
			if err := s.Apply(e); err == nil {
				t.Error("no error")
			}
			if diff := cmp.Diff(agent.State{}, s); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Info's lists and maps are never nil, and are not the state's own.
func TestInfo(t *testing.T) {
	s, _ := run(t, registered(plain)...)
	i := s.Info("bob")
	if i.Capabilities == nil || i.Labels == nil || i.ProtocolVersions == nil {
		t.Errorf("%+v; want empty lists and maps", i)
	}
	s, _ = run(t, registered(named)...)
	i = s.Info("bob")
	i.Labels["team"], i.Capabilities[0] = "y", "y"
	if s.Profile.Labels["team"] != "x" || s.Profile.Capabilities[0] != "research" {
		t.Error("a change of an AgentInfo changed the state")
	}
}

// Apply takes any bytes without panic, and never half.
func FuzzApply(f *testing.F) {
	recs, err := agent.Register(named, g1, at(1))(new(agent.State))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recs[0].Body)
	f.Add([]byte(`{"schema":"agent-chat/agent.v1","kind":"key.minted","key":{"id":"k","hash":""}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, was := range []agent.State{{}, {Phase: agent.Registering, Generation: g1}, {Phase: agent.Registered, Generation: g1}} {
			s := was
			err := s.Apply(stream.Entry{Record: stream.Record{Body: body}})
			if diff := cmp.Diff(was, s); err != nil && diff != "" {
				t.Errorf("an error, and a change: %s", diff)
			}
		}
	})
}
