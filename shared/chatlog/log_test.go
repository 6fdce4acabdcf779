package chatlog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/chatlog"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// Forty creators, half of them the one way and half the other, each a process of
// its own, make one chat (B134).
func TestFortyCreators(t *testing.T) {
	s, end := localstream.Memory()
	t.Cleanup(end)
	if err := registered(s); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	made := make([]*api.CreateChatResponse, 40)
	for i := range made {
		wg.Go(func() {
			by, peer := alice, ident.Agent("bob")
			if i%2 == 1 {
				by, peer = bob, "alice"
			}
			var err error
			if made[i], err = process(s).Create(t.Context(), by, peer); err != nil {
				t.Errorf("creator %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	news := 0
	for _, c := range made {
		if c == nil || c.ID != made[0].ID || c.StreamA != made[0].StreamA || c.StreamB != made[0].StreamB {
			t.Fatalf("%+v; want %+v", c, made[0])
		}
		if c.Created {
			news++
		}
	}
	if news != 1 {
		t.Errorf("%d of 40 made it; want one", news)
	}
}

// A warm process sends with two calls of the store and no reads of the
// direction; a cold one reads the latest records once.
func TestSendCalls(t *testing.T) {
	w := newWorld(t)
	c := w.mustClaim(t, alice)
	store := faultstream.New(t, w.store, faultstream.Options{})
	l := process(store)
	send := func(at uint64) (appends, reads int) {
		t.Helper()
		a, r := store.Count(faultstream.Append), store.Count(faultstream.Read)
		if _, err := l.Append(t.Context(), w.chat, alice, message(c.Token, at, ident.Message(fmt.Sprintf("m-%d", at)), "x")); err != nil {
			t.Fatal(err)
		}
		return store.Count(faultstream.Append) - a, store.Count(faultstream.Read) - r
	}
	if a, r := send(3); a != 1 || r > 4 {
		t.Errorf("a cold process: %d appends, %d reads; want 1, and 4 at most: the chat, two registrations, the direction", a, r)
	}
	for at := range uint64(5) {
		if a, r := send(4 + at); a != 1 || r != 1 {
			t.Errorf("a warm process: %d appends, %d reads; want 1 and 1, of the chat", a, r)
		}
	}
}

// A repeat is known among the latest thousand records, in a process that has
// seen them and in one that has not.
func TestRepeatAmongTheLatest(t *testing.T) {
	w := newWorld(t)
	c := w.mustClaim(t, alice)
	const last = 1003
	for at := uint64(3); at < last; at++ {
		if _, err := w.log.Append(t.Context(), w.chat, alice, message(c.Token, at, ident.Message(fmt.Sprintf("m-%d", at)), "x")); err != nil {
			t.Fatal(err)
		}
	}
	for name, l := range map[string]*chatlog.Log{"the same process": w.log, "another": process(w.store)} {
		r, err := l.Append(t.Context(), w.chat, alice, message(c.Token, last, "m-3", "x"))
		if err != nil || !r.Replayed || r.Position != 3 || r.NextPosition != 4 {
			t.Errorf("%s: %+v, %v; want what stands at 3", name, r, err)
		}
		_, err = l.Append(t.Context(), w.chat, alice, message(c.Token, last, "m-500", "y"))
		wantCode(t, name+": another message under the id", err, api.IDReused)
	}
}

// The identical request, and the identical claim, are known however much was
// written since: they say where to look. What is not there is not known.
func TestRepeatOfLongAgo(t *testing.T) {
	w := newWorld(t)
	review := chatlog.Review{Tail: new(uint64(1)), ClaimID: "c-1"}
	c, err := w.log.Claim(t.Context(), w.chat, alice, review)
	if err != nil {
		t.Fatal(err)
	}
	const last = 3 + 2*api.ChatRepeats
	for at := uint64(3); at < last; at++ {
		if _, err := w.log.Append(t.Context(), w.chat, alice, message(c.Token, at, ident.Message(fmt.Sprintf("m-%d", at)), "x")); err != nil {
			t.Fatal(err)
		}
	}
	again, err := process(w.store).Claim(t.Context(), w.chat, alice, review)
	if err != nil || again.Token != c.Token || again.Tail != c.Tail {
		t.Errorf("the claim again: %+v, %v; want the answer it had", again, err)
	}
	_, err = process(w.store).Claim(t.Context(), w.chat, alice, chatlog.Review{Tail: new(uint64(2)), ClaimID: "c-1"})
	wantCode(t, "the claim at another tail", err, api.ClaimStale)
	for at, id := range map[uint64]ident.Message{3: "m-3", 500: "m-500"} {
		r, err := process(w.store).Append(t.Context(), w.chat, alice, message(c.Token, at, id, "x"))
		if err != nil || !r.Replayed || uint64(r.Position) != at {
			t.Errorf("%s again at %d: %+v, %v; want what stands there", id, at, r, err)
		}
		_, err = process(w.store).Append(t.Context(), w.chat, alice, message(c.Token, at, id, "y"))
		wantCode(t, "another message under the id", err, api.IDReused)
	}
	_, err = process(w.store).Append(t.Context(), w.chat, alice, message(c.Token, 3, "m-new", "x"))
	wantCode(t, "a message that is not there", err, api.PositionTaken)
}

// What was acknowledged stays so behind commands that are none of ours, as where
// an operator took a fence away: nothing is presented again, and nothing below is acknowledged.
func TestAcknowledgedBehindCommands(t *testing.T) {
	for _, commands := range []int{1, 40} {
		w := newWorld(t)
		a, b := w.mustClaim(t, alice), w.mustClaim(t, bob)
		if _, err := w.log.Append(t.Context(), w.chat, alice, message(a.Token, 3, "m-1", "x")); err != nil {
			t.Fatal(err)
		}
		first, err := w.log.Batch(t.Context(), w.chat, bob, 10)
		if err != nil {
			t.Fatal(err)
		}
		ack := &api.Acknowledgement{PeerStreamID: first.PeerStreamID, PeerGeneration: first.PeerGeneration, NextPosition: &first.NextPosition, BatchID: *first.BatchID}
		if _, err := w.log.Append(t.Context(), w.chat, bob, chatlog.Draft{Token: b.Token, Position: 3, Ack: ack}); err != nil {
			t.Fatal(err)
		}
		for range commands {
			if _, err := w.store.Append(t.Context(), stream.Direction(w.chat, "bob"), stream.Batch{Records: []stream.Record{stream.Fence("")}}); err != nil {
				t.Fatal(err)
			}
		}
		for name, l := range map[string]*chatlog.Log{"the same process": w.log, "another": process(w.store)} {
			again, err := l.Batch(t.Context(), w.chat, bob, 10)
			if err != nil {
				t.Fatal(err)
			}
			if again.From != 4 || len(again.Items) != 0 {
				t.Errorf("%s, behind %d commands: %d items from %d; want none from 4", name, commands, len(again.Items), again.From)
			}
		}
		l := process(w.store)
		c, err := l.Claim(t.Context(), w.chat, bob, chatlog.Review{ClaimID: "c-2"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := process(w.store).Batch(t.Context(), w.chat, bob, 10)
		if err != nil {
			t.Fatal(err)
		}
		if again.From != 4 || len(again.Items) != 0 {
			t.Errorf("behind a claim and %d commands: %d items from %d; want none from 4", commands, len(again.Items), again.From)
		}
		_, err = l.Append(t.Context(), w.chat, bob, chatlog.Draft{Token: c.Token, Position: uint64(c.Tail), MessageID: "m-1", Content: new("x"), Ack: ack})
		wantCode(t, "the batch again", err, api.BatchUnknown)
	}
}

// What is passed over is read in few calls, however few items are wanted: here
// the fences of 300 claims, in front of the message.
func TestFewReadsForOneItem(t *testing.T) {
	w := newWorld(t)
	var rev chatlog.Review
	var c *api.ClaimResponse
	for i := range 300 {
		rev.ClaimID = ident.Claim(fmt.Sprintf("c-%d", i))
		var err error
		if c, err = w.log.Claim(t.Context(), w.chat, bob, rev); err != nil {
			t.Fatal(err)
		}
		rev = chatlog.Review{Owner: c.Owner, Tail: (*uint64)(&c.Tail)}
	}
	if _, err := w.log.Append(t.Context(), w.chat, bob, message(c.Token, uint64(c.Tail), "m-1", "x")); err != nil {
		t.Fatal(err)
	}
	store := faultstream.New(t, w.store, faultstream.Options{})
	l := process(store)
	b, err := l.Batch(t.Context(), w.chat, alice, 1)
	if n := store.Count(faultstream.Read); err != nil || len(b.Items) != 1 || b.HasMore || n > 25 {
		t.Errorf("a batch of one: %d items, %v, after %d reads; want one, after 25 at most", len(b.Items), err, n)
	}
	before := store.Count(faultstream.Read)
	p, err := l.Transcript(t.Context(), w.chat, alice, chatlog.Query{Limit: 1})
	if n := store.Count(faultstream.Read) - before; err != nil || len(p.Items) != 1 || p.HasMore || n > 25 {
		t.Errorf("a page of one: %d items, %v, after %d reads; want one, after 25 at most", len(p.Items), err, n)
	}
}

// What was stored is answered from there, in a process that has not seen it,
// though the same would be refused by now: by the peer, by the policy, because the peer
// has gone, or as its position is another one. Of another id all are refused.
func TestRepeatIsNotDenied(t *testing.T) {
	denied := func(w *world) error {
		_, err := w.log.Permit(t.Context(), w.chat, bob, api.Denied, "")
		return err
	}
	rejected := func(w *world) error {
		_, err := w.log.Permit(t.Context(), w.chat, chatlog.Actor{Agent: "bob", Operator: true}, "", api.PIIReject)
		return err
	}
	same := func(*world) error { return nil }
	for _, c := range []struct {
		name   string
		change func(*world) error
		at     uint64
		want   api.Code // of another message
	}{
		{"denied", denied, 3, api.PermissionDenied},
		{"denied, at the tail", denied, 5, api.PermissionDenied},
		{"rejected", rejected, 3, api.PIIRejected},
		{"without its peer", func(w *world) error { return deleted(w.store, "bob") }, 3, api.RecipientNotFound},
		{"before where it stands", same, 2, api.PositionTaken},
		{"far behind the tail", same, 5000, api.PositionTaken},
		{"denied, before where it stands", denied, 1, api.PermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			token := w.mustClaim(t, alice).Token
			for at := range uint64(2) {
				id := ident.Message(fmt.Sprintf("m-%d", at))
				if _, err := w.log.Append(t.Context(), w.chat, alice, message(token, 3+at, id, "I am carol@example.org")); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			r, err := process(w.store).Append(t.Context(), w.chat, alice, message(token, c.at, "m-0", "I am carol@example.org"))
			if err != nil || !r.Replayed || r.Position != 3 {
				t.Errorf("the repeat: %+v, %v; want what stands at 3", r, err)
			}
			_, err = process(w.store).Append(t.Context(), w.chat, alice, message(token, c.at, "m-0", "another"))
			wantCode(t, "another content under the id", err, api.IDReused)
			_, err = process(w.store).Append(t.Context(), w.chat, alice, message(token, c.at, "m-9", "I am carol@example.org"))
			wantCode(t, "another message", err, c.want)
		})
	}
}

// What cannot be read whole is not read, and not written to: a stream that is
// gone, one that took its place, one without its beginning (B100).
func TestLostContinuity(t *testing.T) {
	type damage func(t *testing.T, w *world)
	remake := func(records ...stream.Record) damage {
		return func(t *testing.T, w *world) {
			name := stream.Direction(w.chat, "alice")
			if err := w.store.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if records == nil {
				return
			}
			if err := w.store.Create(t.Context(), name, stream.Config{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.store.Append(t.Context(), name, stream.Batch{Records: records}); err != nil {
				t.Fatal(err)
			}
		}
	}
	genesis := signed.Record{
		ChatID: "chat_0123456789abcdef0123456789abcdef", AuthorAgentID: "alice", AuthoredWith: signed.Fleet,
		OperationID: signed.GenesisOperation("chat_0123456789abcdef0123456789abcdef", "alice", "0123456789abcdef"),
		Genesis:     &signed.Genesis{Generation: "0123456789abcdef", PeerAgentID: "bob"},
	}
	foreign, err := genesis.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage damage
		want   api.Code
	}{
		{"gone", remake(), api.StreamMissing},
		{"another one", remake(foreign, foreign, foreign, foreign, foreign, foreign), api.GenerationChanged},
		{"foreign records", remake(stream.Record{Body: []byte("x")}), api.GenerationChanged},
		{"begun with a fence", remake(stream.Fence("f")), api.GenerationChanged},
		{"trimmed", func(t *testing.T, w *world) {
			if _, err := w.store.Append(t.Context(), stream.Direction(w.chat, "alice"), stream.Batch{Records: []stream.Record{stream.Trim(2)}}); err != nil {
				t.Fatal(err)
			}
		}, api.PrefixUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.mustClaim(t, alice), w.mustClaim(t, bob)
			if _, err := w.log.Append(t.Context(), w.chat, alice, message(a.Token, 3, "m-1", "x")); err != nil {
				t.Fatal(err)
			}
			batch, err := w.log.Batch(t.Context(), w.chat, bob, 10)
			if err != nil {
				t.Fatal(err)
			}
			page, err := w.log.Transcript(t.Context(), w.chat, bob, chatlog.Query{})
			if err != nil {
				t.Fatal(err)
			}
			c.damage(t, w)
			before, _ := w.records("alice")
			reply := message(b.Token, 3, "m-1", "reply")
			reply.Ack = &api.Acknowledgement{PeerStreamID: batch.PeerStreamID, PeerGeneration: batch.PeerGeneration, NextPosition: &batch.NextPosition, BatchID: *batch.BatchID}
			for name, l := range map[string]*chatlog.Log{"the same process": w.log, "another": process(w.store)} {
				for what, call := range map[string]func() error{
					"get":        func() error { _, err := l.Get(t.Context(), w.chat, alice); return err },
					"batch":      func() error { _, err := l.Batch(t.Context(), w.chat, bob, 10); return err },
					"transcript": func() error { _, err := l.Transcript(t.Context(), w.chat, alice, chatlog.Query{}); return err },
					"go on": func() error {
						_, err := l.Transcript(t.Context(), w.chat, bob, chatlog.Query{Cursor: page.LiveCursor})
						return err
					},
					"operation": func() error {
						_, err := l.Operation(t.Context(), w.chat, alice, signed.MessageOperation(w.chat, "alice", "m-1"), 3)
						return err
					},
					"claim": func() error {
						_, err := l.Claim(t.Context(), w.chat, alice, chatlog.Review{Owner: a.Owner, Tail: new(uint64(4))})
						return err
					},
					"acknowledge": func() error { _, err := l.Append(t.Context(), w.chat, bob, reply); return err },
					"follow": func() error {
						for _, err := range l.Follow(t.Context(), w.chat, bob, chatlog.Query{}, time.Second) {
							return err
						}
						return nil
					},
				} {
					wantCode(t, name+": "+what, call(), c.want)
				}
				if c.want != api.PrefixUnavailable { // what was trimmed before is not what is written
					_, err := l.Append(t.Context(), w.chat, alice, message(a.Token, 4, "m-2", "y"))
					wantCode(t, name+": send", err, c.want)
				}
			}
			if r, err := w.log.Create(t.Context(), alice, "bob"); err != nil || r.Created {
				t.Errorf("create: %+v, %v; want the chat that there was", r, err)
			}
			if after, _ := w.records("alice"); len(after) != len(before) {
				t.Errorf("%d records; want the %d that there were: nothing is made again", len(after), len(before))
			}
		})
	}
}

// A follower sees what comes to both directions, each in its order; when one of
// them is no longer what it was it is told so, and the stream ends.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := localstream.Memory()
		defer end()
		w, err := setUp(s)
		if err != nil {
			t.Fatal(err)
		}
		a, b := w.mustClaim(t, alice), w.mustClaim(t, bob)
		var got []string
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for events, err := range process(s).Follow(t.Context(), w.chat, alice, chatlog.Query{}, 15*time.Second) {
				for _, e := range events {
					got = append(got, string(e.Data))
				}
				last = err
			}
		}()
		synctest.Wait()
		for n := range uint64(3) {
			for _, d := range []struct {
				by chatlog.Actor
				c  *api.ClaimResponse
			}{{alice, a}, {bob, b}} {
				if _, err := w.log.Append(t.Context(), w.chat, d.by, message(d.c.Token, 3+n, ident.Message(fmt.Sprintf("m-%d", n)), fmt.Sprintf("%s %d.", d.by.Agent, n))); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if len(got) != 6 {
			t.Fatalf("%d events; want 6", len(got))
		}
		for i := range 3 {
			pair := got[2*i : 2*i+2]
			for _, agent := range []string{"alice", "bob"} {
				if !slices.ContainsFunc(pair, func(s string) bool { return strings.Contains(s, fmt.Sprintf("%s %d.", agent, i)) }) {
					t.Errorf("events %d: %q; want message %d of %s", i, pair, i, agent)
				}
			}
		}
		if err := s.Delete(t.Context(), stream.Direction(w.chat, "bob")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		<-done
		wantCode(t, "follow", last, api.StreamMissing)
	})
}

// A follower is sent away once its registration has ended.
func TestFollowEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := localstream.Memory()
		defer end()
		w, err := setUp(s)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, err := range process(s).Follow(t.Context(), w.chat, alice, chatlog.Query{}, 15*time.Second) {
			if err == nil {
				err = deleted(s, "alice")
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			wantCode(t, "follow", err, api.ChatNotFound)
		}
		if took := time.Since(began); took > 31*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}

// With every key revoked, reading goes on and nothing is sent.
func TestNoKeyThatSigns(t *testing.T) {
	w := newWorld(t)
	c := w.mustClaim(t, alice)
	keys := testKeys()
	for _, k := range keys.Keys() {
		keys, _ = keys.Revoke(k.ID)
	}
	j := journal.New(w.store, journal.Options{})
	l := chatlog.New(w.store, j, mailbox.New(w.store, j, mailbox.Options{}), chatlog.Options{Keys: keys})
	_, err := l.Append(t.Context(), w.chat, alice, message(c.Token, 3, "m-1", "x"))
	wantCode(t, "send", err, api.ChatsDisabled)
	if _, err := l.Transcript(t.Context(), w.chat, alice, chatlog.Query{}); err != nil {
		t.Errorf("transcript: %v", err)
	}
}

// What the creator sends waits for the peer where grants are required, and what
// the peer sends does not.
func TestGrants(t *testing.T) {
	s, end := localstream.Memory()
	t.Cleanup(end)
	if err := registered(s); err != nil {
		t.Fatal(err)
	}
	l := configured(s, chatlog.Options{GrantsRequired: true, Policy: api.PIIRedact})
	c, err := l.Create(t.Context(), bob, "alice")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: s, log: l, chat: c.ID}
	a, b := w.mustClaim(t, alice), w.mustClaim(t, bob)
	_, err = l.Append(t.Context(), c.ID, bob, message(b.Token, 3, "m-1", "x"))
	wantCode(t, "the creator, before", err, api.PermissionRequired)
	if _, err := l.Append(t.Context(), c.ID, alice, message(a.Token, 3, "m-1", "x")); err != nil {
		t.Errorf("the peer: %v", err)
	}
	if _, err := l.Permit(t.Context(), c.ID, alice, api.Allowed, ""); err != nil {
		t.Fatal(err)
	}
	r, err := l.Append(t.Context(), c.ID, bob, message(b.Token, 3, "m-1", "I am carol@example.org"))
	if err != nil || !strings.Contains(string(r.Record), "I am [email]") || len(r.Redactions) != 1 {
		t.Errorf("the creator, after: %+v, %v; want it stored, redacted as the server's policy says", r, err)
	}
	if all, err := w.records("bob"); err != nil || len(all) != 4 {
		t.Errorf("%d records, %v; want genesis, fence, its record and one message", len(all), err)
	}
}

// Every page of a snapshot together has what both wrote before it, once, in the
// order of time, participant and position, whatever the size of pages.
func TestTranscriptPages(t *testing.T) {
	w := newWorld(t)
	a, b := w.mustClaim(t, alice), w.mustClaim(t, bob)
	for n := range uint64(30) {
		by, token := alice, a.Token
		if n%3 == 1 {
			by, token = bob, b.Token
		}
		at, err := w.records(by.Agent)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.log.Append(t.Context(), w.chat, by, message(token, uint64(len(at)), ident.Message(fmt.Sprintf("m-%d", n)), fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	whole := pages(t, w, 1000, nil)
	if len(whole) != 30 {
		t.Fatalf("%d items; want 30", len(whole))
	}
	if !slices.IsSortedFunc(whole, func(p, q api.ChatRecord) int {
		if d := p.Timestamp.Compare(q.Timestamp.Time); d != 0 {
			return d
		}
		if d := strings.Compare(p.StreamID, q.StreamID); d != 0 {
			return d
		}
		return int(p.Position) - int(q.Position)
	}) {
		t.Error("they are not in their order")
	}
	for _, limit := range []int{1, 2, 7, 29, 30, 31} {
		got := pages(t, w, limit, func() {
			at, _ := w.records("bob")
			_, _ = w.log.Append(context.Background(), w.chat, bob, message(b.Token, uint64(len(at)), ident.Message(fmt.Sprintf("later-%d-%d", limit, len(at))), "later"))
		})
		for i := range whole {
			if i >= len(got) || string(got[i].Record) != string(whole[i].Record) {
				t.Fatalf("pages of %d: item %d differs", limit, i)
			}
		}
	}
}

// pages returns all items of a snapshot, by pages, with something happening between them.
func pages(t *testing.T, w *world, limit int, between func()) (all []api.ChatRecord) {
	t.Helper()
	q := chatlog.Query{Limit: limit}
	for {
		p, err := w.log.Transcript(t.Context(), w.chat, alice, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Items...)
		if p.HasMore != (p.Cursor != nil) {
			t.Fatalf("hasMore %v with cursor %v", p.HasMore, p.Cursor)
		}
		if !p.HasMore {
			return all
		}
		q.Cursor = *p.Cursor
		if between != nil {
			between()
			between = nil
		}
	}
}

// The largest append that is taken is exactly as large as the limit, and one byte
// more is refused, with everything as it was.
func TestLargestAppend(t *testing.T) {
	w := newWorld(t)
	c := w.mustClaim(t, alice)
	if _, err := process(w.store).Append(t.Context(), w.chat, alice, message(c.Token, 3, "m-0", "")); err != nil {
		t.Fatal(err)
	}
	all, err := w.records("alice")
	if err != nil {
		t.Fatal(err)
	}
	around := chat.Size(stream.Batch{Records: []stream.Record{all[3].Record}, At: new(uint64(3)), Token: new(string(c.Owner))})
	send := func(bytes int) error {
		_, err := w.log.Append(t.Context(), w.chat, alice, message(c.Token, 4, "m-1", strings.Repeat("a", bytes)))
		return err
	}
	wantCode(t, "one byte more", send(api.MaxChatAppend-around+1), api.AppendTooLarge)
	if err := send(api.MaxChatAppend - around); err != nil {
		t.Errorf("as large as the limit: %v", err)
	}
}
