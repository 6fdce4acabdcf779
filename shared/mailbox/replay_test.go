package mailbox_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
)

// put appends raw records to bob's inbox, as another version or another program would.
func (w *world) put(recs ...stream.Record) {
	w.t.Helper()
	if _, err := w.store.Append(w.t.Context(), stream.Inbox("bob"), stream.Batch{Records: recs}); err != nil {
		w.t.Fatal(err)
	}
}

func raw(kind, from, body string) stream.Record {
	return stream.Record{Headers: []stream.Header{
		{Name: "agent-chat-schema", Value: api.EnvelopeSchema}, {Name: "agent-chat-kind", Value: kind}, {Name: "agent-chat-from", Value: from},
	}, Body: []byte(body)}
}

func inbox(t *testing.T, ids ...ident.Agent) (*world, *mailbox.Mailbox) {
	w := newWorld(t)
	m := w.process()
	register(t, m, append([]ident.Agent{"alice", "bob"}, ids...)...)
	return w, m
}

// Cursors at, before and behind what is there.
func TestReplayCursors(t *testing.T) {
	w, m := inbox(t)
	for i := range 6 {
		send(t, m, draft("alice", "bob", "", fmt.Sprint(i)))
	}
	w.put(stream.Trim(2)) // stands at 6
	for _, c := range []struct {
		name   string
		cursor *uint64
		want   []string
		next   uint64
		code   api.Code
		first  uint64
		tail   uint64
	}{
		{name: "none: the first retained", want: []string{"2", "3", "4", "5"}, next: 7},
		{name: "the first retained", cursor: ptr(uint64(2)), want: []string{"2", "3", "4", "5"}, next: 7},
		{name: "in the middle", cursor: ptr(uint64(5)), want: []string{"5"}, next: 7},
		{name: "at the command", cursor: ptr(uint64(6)), want: []string{}, next: 7},
		{name: "at the tail", cursor: ptr(uint64(7)), want: []string{}, next: 7},
		{name: "trimmed", cursor: ptr(uint64(1)), code: api.HistoryTrimmed, first: 2},
		{name: "one behind the tail", cursor: ptr(uint64(8)), code: api.CursorBeyondTail, tail: 7},
		{name: "the last of all positions", cursor: ptr(^uint64(0)), code: api.CursorBeyondTail, tail: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := mailbox.Query{Agent: "bob", Cursor: c.cursor}
			p, err := m.Replay(t.Context(), q)
			if c.code != "" {
				e := wantCode(t, "replay", err, c.code)
				if e.First != nil && *e.First != c.first || e.Tail != nil && e.Tail.At != c.tail || (e.First == nil) == (e.Tail == nil) {
					t.Errorf("first %v, tail %v; want %d, %d", e.First, e.Tail, c.first, c.tail)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if diff := cmp.Diff(c.want, texts(t, p)); diff != "" || p.NextCursor != c.next || p.Tail != 7 {
				t.Errorf("next %d, tail %d, diff %s", p.NextCursor, p.Tail, diff)
			}
			for p, err := range m.Follow(t.Context(), q, time.Minute) {
				if c.code != "" {
					wantCode(t, "follow", err, c.code)
				} else if err != nil {
					t.Fatal(err)
				} else if diff := cmp.Diff(c.want, texts(t, p)); diff != "" || p.NextCursor != c.next {
					t.Errorf("follow: next %d, diff %s", p.NextCursor, diff)
				}
				break
			}
		})
	}
	_, err := m.Replay(t.Context(), mailbox.Query{Agent: "nobody"})
	wantCode(t, "an inbox of nobody", err, api.AgentNotRegistered)
}

// Pages are as long as was asked for, follow on each other, and are cut at 4 MiB.
func TestReplayPages(t *testing.T) {
	_, m := inbox(t)
	want := []string{}
	for i := range 25 {
		want = append(want, fmt.Sprintf("%d %s", i, strings.Repeat("x", 400<<10)))
		send(t, m, draft("alice", "bob", "", want[i]))
	}
	for _, limit := range []int{1, 7, 24, 25, 1000} {
		got, pages := []string{}, 0
		for at := uint64(0); ; pages++ {
			p := replay(t, m, mailbox.Query{Agent: "bob", Cursor: &at, Limit: limit})
			if len(p.Deliveries) == 0 {
				break
			}
			b, err := json.Marshal(p)
			if err != nil || len(p.Deliveries) > limit || len(b) > api.MaxPageBytes+(1<<16) {
				t.Fatalf("limit %d: %d deliveries in %d bytes, %v", limit, len(p.Deliveries), len(b), err)
			}
			got, at = append(got, texts(t, p)...), p.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d: %d of %d messages", limit, len(got), len(want))
		}
	}
}

// What this version can't read is delivered as it is, and what is a command not at all.
func TestReplayUnreadable(t *testing.T) {
	w, m := inbox(t)
	send(t, m, draft("alice", "bob", "", "hello"))
	later := raw("message", "alice", `{"schema":"agent-chat/envelope.v2"}`)
	later.Headers[0].Value = "agent-chat/envelope.v2"
	w.put(
		later,
		raw("message.edited", "alice", `{}`),
		raw("message", "alice", `{"schema":`),
		raw("message", "alice", "{\"a\":\"\xff\"}"),
		raw("message", "alice", `[]`),
		raw("message", "alice", `{} {}`),
		raw("message", "alice", ``),
		stream.Record{Headers: []stream.Header{{Name: "bin\xff", Value: "\xfe"}}, Body: []byte{0, 1, 2}},
		stream.Record{},
		stream.Fence(".moved"),
		raw("receipt", "alice", ` {"ok":1,"ok":2}`),
		raw("receipt", "alice", `{"ok":1,"ok":2}`),
		raw("contact.share", "alice", "{\"a\" :\n\"b\"}"),
	)
	send(t, m, draft("alice", "bob", "", "goodbye")) // under the epoch that moved
	p := replay(t, m, mailbox.Query{Agent: "bob"})
	if p.NextCursor != 15 || len(p.Deliveries) != 14 {
		t.Fatalf("%d deliveries up to %d; want 14 up to 15", len(p.Deliveries), p.NextCursor)
	}
	for _, d := range p.Deliveries {
		readable := d.SeqNum == 0 || d.SeqNum >= 12
		if d.Unreadable == readable || (d.Envelope != nil) != readable {
			t.Errorf("%d: %+v; want readable %v", d.SeqNum, d, readable)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("%d: %v", d.SeqNum, err)
		}
	}
	d := p.Deliveries[8]
	if diff := cmp.Diff([]api.RecordHeader{{Name: "bin\uFFFD", Value: "\uFFFD"}}, d.Headers); diff != "" || string(d.BodyBase64) != "\x00\x01\x02" {
		t.Errorf("%+v, %s", d, diff)
	}
}

// Filters choose, and the cursor moves over what they left out.
func TestReplayFilters(t *testing.T) {
	w, m := inbox(t, "carol")
	for i := range 30 {
		d := draft([]ident.Agent{"alice", "carol"}[i%2], "bob", "", fmt.Sprint(i))
		d.ConversationID = ident.Conversation([]string{"x", "y", "z"}[i%3])
		send(t, m, d)
	}
	w.put(raw("later", "alice", "{}"))
	for _, c := range []struct {
		name string
		q    mailbox.Query
		want string
		more int // unreadable ones
	}{
		{"kind", mailbox.Query{Kind: api.KindReceipt}, "[]", 0},
		{"from", mailbox.Query{From: "carol", Cursor: ptr(uint64(20))}, "[21 23 25 27 29]", 0},
		{"from, the unreadable too", mailbox.Query{From: "alice", Cursor: ptr(uint64(25))}, "[26 28]", 1},
		{"conversation", mailbox.Query{ConversationID: "z", Cursor: ptr(uint64(15))}, "[17 20 23 26 29]", 0},
		{"all of them", mailbox.Query{Kind: api.KindMessage, From: "alice", ConversationID: "x"}, "[0 6 12 18 24]", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Agent = "bob"
			p := replay(t, m, c.q)
			more := 0
			if n := len(p.Deliveries); n > 0 && p.Deliveries[n-1].Unreadable {
				more++
				p.Deliveries = p.Deliveries[:n-1]
			}
			if got := fmt.Sprint(texts(t, p)); got != c.want || more != c.more || p.NextCursor != 31 {
				t.Errorf("%s and %d, next %d; want %s and %d, next 31", got, more, p.NextCursor, c.want, c.more)
			}
		})
	}
	p := replay(t, m, mailbox.Query{Agent: "bob", From: "carol", Limit: 2})
	if got := fmt.Sprint(texts(t, p)); got != "[1 3]" || p.NextCursor != 4 {
		t.Errorf("%s, next %d; want [1 3], next 4", got, p.NextCursor)
	}
}

// A long poll answers when something comes, and in time when nothing does, also
// if what comes is not what was asked for.
func TestReplayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := inbox(t, "carol")
		poll := func(q mailbox.Query) (*api.InboxPage, time.Duration) {
			began := time.Now()
			q.Agent, q.Wait = "bob", 5*time.Second
			return replay(t, m, q), time.Since(began)
		}
		if p, d := poll(mailbox.Query{}); len(p.Deliveries) != 0 || d != 5*time.Second {
			t.Errorf("nothing: %d deliveries after %v; want none after 5 s", len(p.Deliveries), d)
		}
		go func() {
			for range 20 {
				time.Sleep(900 * time.Millisecond)
				send(t, m, draft("carol", "bob", "", "noise"))
			}
		}()
		if p, d := poll(mailbox.Query{From: "alice"}); len(p.Deliveries) != 0 || d != 5*time.Second || p.NextCursor != 5 {
			t.Errorf("noise: %d deliveries after %v, next %d; want none after 5 s, next 5", len(p.Deliveries), d, p.NextCursor)
		}
		if p, d := poll(mailbox.Query{Cursor: ptr(uint64(5))}); len(p.Deliveries) != 1 || d > time.Second {
			t.Errorf("something: %d deliveries after %v; want one within 1 s", len(p.Deliveries), d)
		}
		time.Sleep(time.Minute)
	})
}

// A follower sees each message once, in order, from replay on into what comes,
// and hears of the tail when nothing does, however much is filtered out.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := inbox(t, "carol")
		for i := range 1500 {
			send(t, m, draft("alice", "bob", "", fmt.Sprint(i)))
		}
		go func() {
			for i := range 100 {
				time.Sleep(time.Second)
				send(t, m, draft("carol", "bob", "", fmt.Sprint(i)))
			}
			send(t, m, draft("alice", "bob", "", "last"))
		}()
		n, empty, began := 0, 0, time.Now()
		for p, err := range m.Follow(t.Context(), mailbox.Query{Agent: "bob", From: "alice"}, 15*time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts(t, p) {
				if want := fmt.Sprint(n); text != want && n < 1500 {
					t.Fatalf("got %s; want %s", text, want)
				}
				n++
			}
			if len(p.Deliveries) == 0 {
				empty++
			}
			if n == 1501 {
				break
			}
		}
		if d := time.Since(began); d != 100*time.Second || empty < 5 || empty > 8 {
			t.Errorf("%d empty pages in %v; want one each 15 s", empty, d)
		}
	})
}

// A follower is told that the inbox was closed, behind the last message, and so is
// one that comes later, and one of a new registration is not.
func TestFollowEndsWithTheRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := inbox(t)
		send(t, m, draft("alice", "bob", "", "one"))
		go func() {
			time.Sleep(time.Second)
			send(t, m, draft("alice", "bob", "", "two"))
			if err := w.process().Delete(t.Context(), "bob"); err != nil {
				t.Error(err)
			}
		}()
		for range 2 {
			got := []string{}
			for p, err := range m.Follow(t.Context(), mailbox.Query{Agent: "bob"}, time.Minute) {
				if err != nil {
					if e := wantCode(t, "the end", err, api.GenerationChanged); *e.First != 3 {
						t.Errorf("first = %d; want 3", *e.First)
					}
					break
				}
				got = append(got, texts(t, p)...)
			}
			if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
				t.Error(diff)
			}
		}
		register(t, m, "bob")
		send(t, m, draft("alice", "bob", "", "three"))
		for p, err := range m.Follow(t.Context(), mailbox.Query{Agent: "bob"}, time.Minute) {
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"three"}, texts(t, p)); diff != "" {
				t.Error(diff)
			}
			break
		}
	})
}

// Twenty followers, each of which comes at some time, is cut off twice and resumes
// from its own position, see every one of 2,000 messages once, in order.
func TestFollowersLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages = 2000
		_, m := inbox(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range messages {
				send(t, m, draft("alice", "bob", "", fmt.Sprint(i)))
				time.Sleep(5 * time.Millisecond)
			}
		})
		for f := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(f) * 300 * time.Millisecond)
				next := uint64(0)
				for _, until := range []uint64{uint64(100 + 37*f), uint64(900 + 41*f), messages} { // small
					for p, err := range m.Follow(t.Context(), mailbox.Query{Agent: "bob", Cursor: &next}, time.Second) {
						if err != nil {
							t.Errorf("follower %d at %d: %v", f, next, err)
							return
						}
						for _, d := range p.Deliveries {
							if d.SeqNum != next {
								t.Errorf("follower %d saw %d; want %d", f, d.SeqNum, next)
								return
							}
							next++
						}
						if next >= until {
							break
						}
					}
				}
				if next != messages {
					t.Errorf("follower %d saw %d messages; want %d", f, next, messages)
				}
			})
		}
		wg.Wait()
	})
}
