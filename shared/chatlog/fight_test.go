package chatlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/chatlog"
	"agentchat/shared/ident"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/stream/s2stream"
)

// A coordinator is one copy of bob: it takes bob's direction over, answers what
// alice wrote, and pauses on what is uncertain. It keeps nothing but its token.
type coordinator struct {
	name      string
	l         *chatlog.Log
	w         *world
	token     ident.OwnerToken
	owner     ident.Owner
	sent      int
	presented map[uint64]ident.Owner // by the last position of a batch: to whom
	fault     error
}

// step does what a coordinator does next. It returns whether it still owns the direction.
func (c *coordinator) step(ctx context.Context) (owns bool) {
	b, err := c.l.Batch(ctx, c.w.chat, bob, 3)
	if err != nil {
		return true // away; it looks again
	}
	if b.Owner.Value != c.owner {
		return false
	}
	if b.BatchID == nil {
		return true
	}
	c.presented[uint64(b.NextPosition)] = c.owner
	c.sent++
	d := message(c.token, uint64(b.Tail), ident.Message(fmt.Sprintf("%s-%d", c.name, c.sent)), "by "+string(c.owner))
	d.Ack = &api.Acknowledgement{PeerStreamID: b.PeerStreamID, PeerGeneration: b.PeerGeneration, NextPosition: &b.NextPosition, BatchID: *b.BatchID}
	r, err := c.l.Append(ctx, c.w.chat, bob, d)
	switch code := codeOf(err); code {
	case "":
		if r.Receipt == nil || r.NextPosition != r.Position+2 {
			c.fault = fmt.Errorf("%s was told of half an append: %+v", c.name, r)
		}
	case api.OwnerReplaced:
		return false
	case api.PositionTaken, api.Unavailable, api.BatchUnknown:
	case api.DeliveryUnknown:
		return c.settle(ctx, err)
	default:
		c.fault = fmt.Errorf("%s: %w", c.name, err)
	}
	return true
}

// settle looks an uncertain append up until it is certain. One that may still
// come is made certain by a claim, which takes its place.
func (c *coordinator) settle(ctx context.Context, uncertain error) bool {
	e, _ := errors.AsType[*api.Error](uncertain)
	for {
		o, err := c.l.Operation(ctx, c.w.chat, bob, e.Operation, e.Tail.At)
		if err == nil && (o.Outcome == api.OperationStored || o.Final) {
			return true
		}
		if err == nil && !c.claim(ctx, chatlog.Review{Owner: c.owner, Tail: &e.Tail.At, ClaimID: ident.Claim(fmt.Sprintf("%s-settles-%d", c.name, c.sent))}) {
			return false
		}
	}
}

// claim takes the direction as reviewed; a claim of unknown outcome is repeated.
func (c *coordinator) claim(ctx context.Context, rev chatlog.Review) bool {
	for {
		o, err := c.l.Claim(ctx, c.w.chat, bob, rev)
		switch codeOf(err) {
		case "":
			c.token, c.owner = o.Token, o.Owner
			return true
		case api.OutcomeUnknown, api.Unavailable:
			time.Sleep(time.Millisecond)
		default:
			return c.owner == rev.Owner && codeOf(err) == api.ClaimStale // something landed first: it looks again
		}
	}
}

// Two copies of bob take each other's place again and again, while the store
// loses, delays and refuses: nothing is written twice or in part, what is
// acknowledged was presented, in order and without a gap, and nothing of an
// owner stands behind the claim of the next.
func TestFight(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s, end := localstream.Memory()
			defer end()
			if err := fight(t, s, direct, uint64(seed)); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
}

// The same over the S2 API, in real time: what the backend for S2 makes of a
// token, a position and a lost connection is what the fight rests on.
func TestFightOverS2(t *testing.T) {
	seeds := uint64(1)
	if *deep {
		seeds = 50
	}
	for seed := range seeds {
		e, err := engine.Open(engine.Options{Memory: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		if err := localstream.New(e, "fight-test").Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(wire.New(e, wire.Options{Token: "s2-token-of-the-fight"}).Handler())
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		t.Cleanup(server.Close)
		store, err := s2stream.New(s2stream.Options{Token: "s2-token-of-the-fight", Endpoint: server.URL, Basin: "fight-test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		if err := fight(t, store, direct, 1000+seed); err != nil {
			t.Errorf("seed %d: %v", 1000+seed, err)
		}
	}
}

// The fight finds faults: without positions, what is late stands behind what took
// its place. (Tokens matter for an owner who does not look; see TestModelsFindFaults.)
func TestFightFindsFaults(t *testing.T) {
	noPosition := func(s stream.Store) stream.Store { return stripped{s, func(in *stream.Batch) { in.At = nil }} }
	found := false
	for seed := uint64(0); seed < 60 && !found; seed++ {
		synctest.Test(t, func(t *testing.T) {
			s, end := localstream.Memory()
			defer end()
			found = fight(t, s, noPosition, seed) != nil
		})
	}
	if !found {
		t.Error("no seed finds a violation")
	}
}

func fight(t *testing.T, s stream.Store, through wrap, seed uint64) error {
	w, err := setUp(s)
	if err != nil {
		return err
	}
	theirs, err := w.claim(alice)
	if err != nil {
		return err
	}
	const questions = 20
	for n := range uint64(questions) {
		if _, err := w.log.Append(t.Context(), w.chat, alice, message(theirs.Token, 3+n, ident.Message(fmt.Sprint(n)), "?")); err != nil {
			return err
		}
	}
	presented := map[uint64]ident.Owner{}
	var copies []*coordinator
	for i := range 2 {
		faulty := faultstream.New(t, through(s), faultstream.Options{Choose: faultstream.Seeded(seed*2+uint64(i), 0.15)})
		copies = append(copies, &coordinator{name: fmt.Sprintf("copy-%d", i), l: process(faulty), w: w, presented: presented})
	}
	r := rand.New(rand.NewPCG(seed, 1)) // it has to repeat
	ctx := t.Context()
	for turn := range 400 {
		c := copies[r.IntN(2)]
		if c.fault != nil {
			return c.fault
		}
		if c.owner != "" && r.IntN(6) > 0 {
			if !c.step(ctx) {
				c.owner, c.token = "", ""
			}
			continue
		}
		if seen, err := w.log.Get(ctx, w.chat, bob); err == nil && c.owner == "" { // reviewed, and taken over
			c.claim(ctx, chatlog.Review{Owner: seen.StreamB.Owner, Tail: (*uint64)(seen.StreamB.Tail), ClaimID: ident.Claim(fmt.Sprintf("%s-%d", c.name, turn))})
		}
	}
	return foughtOver(w, presented)
}

// foughtOver returns what is wrong with bob's direction.
func foughtOver(w *world, presented map[uint64]ident.Owner) error {
	all, err := w.records("bob")
	if err != nil {
		return err
	}
	h := &history{world: w, of: "bob"}
	if err := h.fenced(all); err != nil {
		return err
	}
	acknowledged := uint64(0)
	for _, e := range all {
		if e.Command() != stream.None {
			continue
		}
		note, _ := chat.HeaderOf(e)
		records := 2
		if note.Type != signed.TypeMessage && note.Type != signed.TypeReceipt {
			records = 1
		}
		if _, _, err := stands(all, note.Operation, records); err != nil {
			return err
		}
		if note.Type != signed.TypeReceipt {
			continue
		}
		r, err := signed.Open(testKeys(), e.Body, e.Timestamp.Time())
		if err != nil {
			return err
		}
		next := uint64(r.Receipt.NextPosition)
		if next <= acknowledged || next > acknowledged+6 {
			return fmt.Errorf("record %d acknowledges %d after %d", e.Seq, next, acknowledged)
		}
		if _, ok := presented[next]; !ok {
			return fmt.Errorf("record %d acknowledges %d, which nobody was presented", e.Seq, next)
		}
		acknowledged = next
	}
	if acknowledged == 0 {
		return errors.New("nothing was acknowledged")
	}
	return nil
}
