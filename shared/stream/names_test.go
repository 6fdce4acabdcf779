package stream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		got   stream.Name
		want  string
		basin stream.Basin
	}{
		{"inbox", stream.Inbox("bob"), "inbox/bob", stream.Main},
		{"agent", stream.Agent("a.b-c"), "agents/a.b-c", stream.Main},
		{"contacts", stream.Contacts("alice", "0123456789abcdef"), "contacts/alice/0123456789abcdef", stream.Main},
		{"claim", stream.Claim("alice", "0123456789abcdef", "urn:x"), "sends/alice/0123456789abcdef/urn:x", stream.Ops},
		{"chat", stream.Chat("chat_0123456789abcdef0123456789abcdef"), "chats/chat_0123456789abcdef0123456789abcdef", stream.Main},
		{"direction", stream.Direction("chat_0123456789abcdef0123456789abcdef", "a.b"), "chats/chat_0123456789abcdef0123456789abcdef/a.b", stream.Main},
		{"chat index", stream.ChatIndex("alice", "0123456789abcdef"), "chat-index/alice/0123456789abcdef", stream.Main},
		{"checkpoints", stream.Checkpoints(), "monitor/checkpoints", stream.Main},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got.String() != tt.want || tt.got.Basin() != tt.basin || tt.got.IsZero() {
				t.Errorf("%q in basin %d; want %q in %d", tt.got, tt.got.Basin(), tt.want, tt.basin)
			}
			if len(tt.want) > 512 {
				t.Errorf("%d bytes; S2 takes 512", len(tt.want))
			}
		})
	}
	if !(stream.Name{}).IsZero() {
		t.Error("the zero Name is not zero")
	}
}

// TestNamesDiffer: no two things share a stream, and the longest name fits S2.
func TestNamesDiffer(t *testing.T) {
	agents := rapid.StringMatching(`[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?`)
	messages := rapid.StringMatching(`[A-Za-z0-9]([A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?`)
	chats := rapid.StringMatching(`chat_[0-9a-f]{32}`)
	generations := rapid.StringMatching(`[0-9a-f]{16}`)
	rapid.Check(t, func(t *rapid.T) {
		names := map[stream.Name]string{}
		add := func(n stream.Name, what string) {
			if other, taken := names[n]; taken && other != what {
				t.Fatalf("%s is the stream of %s and of %s", n, other, what)
			}
			names[n] = what
			if len(n.String()) > 512 {
				t.Fatalf("%s has %d bytes; S2 takes 512", n, len(n.String()))
			}
		}
		for range 4 {
			a, err := ident.ParseAgent(agents.Draw(t, "agent"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := ident.ParseMessage(messages.Draw(t, "message"))
			if err != nil {
				t.Fatal(err)
			}
			g, err := ident.ParseGeneration(generations.Draw(t, "generation"))
			if err != nil {
				t.Fatal(err)
			}
			c, err := ident.ParseChat(chats.Draw(t, "chat"))
			if err != nil {
				t.Fatal(err)
			}
			add(stream.Chat(c), "chat "+string(c))
			add(stream.Direction(c, a), strings.Join([]string{"direction", string(c), string(a)}, " "))
			add(stream.ChatIndex(a, g), strings.Join([]string{"index", string(a), string(g)}, " "))
			add(stream.Contacts(a, g), strings.Join([]string{"contacts", string(a), string(g)}, " "))
			add(stream.Inbox(a), "inbox of "+string(a))
			add(stream.Agent(a), "agent "+string(a))
			add(stream.Claim(a, g, m), strings.Join([]string{"claim", string(a), string(g), string(m)}, " "))
			for _, n := range []stream.Name{stream.Inbox(a), stream.Agent(a)} {
				if got, ok := stream.AgentOf(n); got != a || !ok {
					t.Fatalf("AgentOf(%s): %q, %v; want %s", n, got, ok, a)
				}
			}
		}
	})
}

func TestPrefixName(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prefix stream.Prefix
		listed string
		agent  ident.Agent // "" is none
		ok     bool        // under the prefix
	}{
		{"inbox", stream.Inboxes, "inbox/bob", "bob", true},
		{"agent", stream.Agents, "agents/bob", "bob", true},
		{"another family", stream.Inboxes, "agents/bob", "", false},
		{"nothing", stream.Inboxes, "", "", false},
		{"prefix without its slash", stream.Inboxes, "inbox", "", false},
		{"prefix alone", stream.Inboxes, "inbox/", "", true},
		{"foreign stream", stream.Inboxes, "inbox/Bob", "", true},
		{"foreign stream below", stream.Inboxes, "inbox/bob/x", "", true},
		{"foreign stream of dots", stream.Inboxes, "inbox/..", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, ok := tt.prefix.Name(tt.listed)
			if ok != tt.ok || ok && (n.String() != tt.listed || n.Basin() != tt.prefix.Basin()) || !ok && !n.IsZero() {
				t.Fatalf("Name: %q, %v; want %v", n, ok, tt.ok)
			}
			if got, ok := stream.AgentOf(n); got != tt.agent || ok != (tt.agent != "") {
				t.Errorf("AgentOf(%q): %q, %v; want %q", n, got, ok, tt.agent)
			}
		})
	}
	if got, ok := stream.AgentOf(stream.Claim("alice", "0123456789abcdef", "m")); ok {
		t.Errorf("AgentOf a claim: %q; want none", got)
	}
}

func TestBasins(t *testing.T) {
	if got, want := stream.Main.Config(), (stream.BasinConfig{}); got != want || stream.Main.Suffix() != "" {
		t.Errorf("main: %+v, suffix %q; want %+v: kept for ever, made by somebody", got, stream.Main.Suffix(), want)
	}
	want := stream.BasinConfig{CreateOnAppend: true, Default: stream.Config{Retention: 7 * 24 * time.Hour, DeleteOnEmpty: 24 * time.Hour}}
	if got := stream.Ops.Config(); got != want || stream.Ops.Suffix() != "-ops" {
		t.Errorf("ops: %+v, suffix %q; want %+v", got, stream.Ops.Suffix(), want)
	}
}

// S2's rule for names, and room for the longer of the two.
func TestCheckBasins(t *testing.T) {
	for name, ok := range map[string]bool{
		"": false, "1234567": false, "12345678": true, strings.Repeat("x", 48): true, strings.Repeat("x", 49): false,
		"-2345678": false, "1234567-": false, "1--45678": true, "Abcdefgh": false, "abc_efgh": false, "abcdéfgh": false,
	} {
		if err := stream.CheckBasinName(name); (err == nil) != ok || !ok && !errors.Is(err, stream.ErrInvalid) {
			t.Errorf("CheckBasinName(%.20q): err = %v; ok should be %t", name, err, ok)
		}
	}
	for base, ok := range map[string]bool{"1234": false, "12345678": true, strings.Repeat("x", 44): true, strings.Repeat("x", 45): false} {
		if err := stream.CheckBasins(base); (err == nil) != ok {
			t.Errorf("CheckBasins(%.20q): err = %v; ok should be %t", base, err, ok)
		}
	}
}
