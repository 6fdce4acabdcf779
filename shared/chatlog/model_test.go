package chatlog_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/chatlog"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/interleave"
)

var deep = flag.Bool("deep", false, "explore further; takes minutes")

// A told is what a process was told of an append.
type told struct {
	by      string
	op      ident.Operation
	records int // of the operation
	at      uint64
	r       *api.ChatAppendResponse
	found   *api.OperationResponse // what the look-up said, if there was one
	err     error
}

// history collects what processes were told of one direction.
type history struct {
	*world
	w     *interleave.World
	of    ident.Agent
	told  []told
	owned []*api.ClaimResponse
}

func (h *history) append(by string, l *chatlog.Log, d chatlog.Draft) error {
	ctx, actor := context.Background(), chatlog.Actor{Agent: h.of}
	is := told{by: by, op: signed.MessageOperation(h.chat, h.of, d.MessageID), records: 1, at: d.Position}
	if d.Ack != nil {
		is.records = 2
	}
	is.r, is.err = l.Append(ctx, h.chat, actor, d)
	if codeOf(is.err) == api.DeliveryUnknown { // a coordinator pauses, and looks
		is.found, _ = l.Operation(ctx, h.chat, actor, is.op, d.Position)
	}
	h.w.Sync(func() { h.told = append(h.told, is) })
	h.w.Note("%s: %s at %d: %v", by, d.MessageID, d.Position, is.err)
	return is.err
}

// claim takes the direction as reviewed; a claim of unknown outcome is repeated.
func (h *history) claim(by string, l *chatlog.Log, rev chatlog.Review) (*api.ClaimResponse, error) {
	for {
		c, err := l.Claim(context.Background(), h.chat, chatlog.Actor{Agent: h.of}, rev)
		h.w.Note("%s: claim %s: %v", by, rev.ClaimID, err)
		if code := codeOf(err); code == api.OutcomeUnknown || code == api.Unavailable {
			continue
		}
		if err == nil {
			h.w.Sync(func() { h.owned = append(h.owned, c) })
		}
		return c, err
	}
}

// check returns what is wrong with the direction, given what was said about it.
func (h *history) check() error {
	all, err := h.records(h.of)
	if err != nil {
		return err
	}
	for _, s := range h.told {
		at, ok, err := stands(all, s.op, s.records)
		if err != nil {
			return err
		}
		switch code := codeOf(s.err); {
		case code == "" && (!ok || uint64(s.r.Position) != at || !bytes.Equal(s.r.Record, all[at].Body)):
			return fmt.Errorf("%s was told that its message stands at %d; it stands at %d, %v", s.by, s.r.Position, at, ok)
		case code == "" || code == api.DeliveryUnknown || code == api.Unavailable:
		case (code == api.OwnerReplaced || code == api.PositionTaken) && ok:
			return fmt.Errorf("%s was refused for good, and its message stands at %d: %w", s.by, at, s.err)
		case code == api.OwnerReplaced || code == api.PositionTaken:
		default:
			return s.err
		}
		switch f := s.found; {
		case f == nil:
		case f.Outcome == api.OperationStored && (!ok || len(f.Records) != s.records):
			return fmt.Errorf("%s found %d records of its operation; it stands: %v", s.by, len(f.Records), ok)
		case f.Outcome == api.OperationAbsent && f.Final && ok:
			return fmt.Errorf("%s found its operation absent for good, and it stands at %d", s.by, at)
		}
	}
	return h.fenced(all)
}

// fenced returns an error if a record of one owner stands behind the claim of
// the next, or if a claim that was told of does not stand where it was said to.
func (h *history) fenced(all []stream.Entry) error {
	for _, c := range h.owned {
		at := uint64(c.Tail) - 1
		if at >= uint64(len(all)) || all[at-1].Command() != stream.FenceCommand || string(all[at-1].Body) != string(c.Owner) {
			return fmt.Errorf("the claim of %s does not stand before %d", c.Owner, c.Tail)
		}
	}
	owner, acknowledged := "", uint64(0)
	for _, e := range all {
		if e.Command() == stream.FenceCommand {
			owner = string(e.Body)
			continue
		}
		note, ok := chat.HeaderOf(e)
		if !ok || note.Acknowledged < acknowledged {
			return fmt.Errorf("record %d acknowledges %d after %d", e.Seq, note.Acknowledged, acknowledged)
		}
		acknowledged = note.Acknowledged
		if r, err := signed.Open(testKeys(), e.Body, e.Timestamp.Time()); err != nil {
			return fmt.Errorf("record %d: %w", e.Seq, err)
		} else if r.Fence != nil && string(r.Fence.Owner) != owner {
			return fmt.Errorf("record %d tells of another owner than the fence before it", e.Seq)
		} else if r.Message != nil && !bytes.Contains(e.Body, []byte(`"content":"by `+owner+`"`)) {
			return fmt.Errorf("record %d was written while %s owned the direction: %s", e.Seq, owner, e.Body)
		}
	}
	return nil
}

// by is the content of a message that an owner writes.
func by(o *api.ClaimResponse) string { return "by " + string(o.Owner) }

// wrap is what a process's store is put into.
type wrap func(stream.Store) stream.Store

func direct(s stream.Store) stream.Store { return s }

// begun returns a history of alice's direction, which a first owner has, and a
// batch of bob's that alice was presented.
func begun(w *interleave.World) (*history, *api.ClaimResponse, *api.Acknowledgement, error) {
	in, err := setUp(w.Store)
	if err != nil {
		return nil, nil, nil, err
	}
	theirs, err := in.claim(bob)
	if err == nil {
		_, err = in.log.Append(context.Background(), in.chat, bob, message(theirs.Token, 3, "question", by(theirs)))
	}
	if err != nil {
		return nil, nil, nil, err
	}
	first, err := in.claim(alice)
	if err != nil {
		return nil, nil, nil, err
	}
	b, err := in.log.Batch(context.Background(), in.chat, alice, 100)
	if err != nil {
		return nil, nil, nil, err
	}
	ack := &api.Acknowledgement{PeerStreamID: b.PeerStreamID, PeerGeneration: b.PeerGeneration, NextPosition: &b.NextPosition, BatchID: *b.BatchID}
	return &history{world: in, w: w, of: "alice"}, first, ack, nil
}

// takeOver runs the owner of a direction, which answers and acknowledges in one
// append, beside another coordinator that takes the direction over and goes on.
// After all of it the old owner comes back: it says the same again, and something
// new at the tail.
func takeOver(through wrap) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		h, first, ack, err := begun(w)
		if err != nil {
			return err
		}
		d := message(first.Token, 3, "m-1", by(first))
		d.Ack = ack
		w.Go("old", func(s stream.Store) func() {
			l := process(through(s))
			return func() { _ = h.append("old", l, d) }
		})
		w.Go("new", func(s stream.Store) func() {
			l := process(through(s))
			return func() {
				rev := chatlog.Review{Owner: first.Owner, Tail: new(uint64(3)), ClaimID: "take-over"}
				c, err := h.claim("new", l, rev)
				if stale, ok := errors.AsType[*api.Error](err); ok && stale.Code == api.ClaimStale && stale.Owner.Value == first.Owner {
					rev.Tail, rev.ClaimID = &stale.Tail.At, "take-over again"
					c, err = h.claim("new", l, rev)
				}
				if err == nil {
					_ = h.append("new", l, message(c.Token, uint64(c.Tail), "m-2", by(c)))
				}
			}
		})
		w.Run()
		if err := h.check(); err != nil {
			return err
		}
		l := process(through(w.Store))
		_ = h.append("the old one again", l, d)
		all, err := h.records(h.of)
		if err != nil {
			return err
		}
		_ = h.append("the old one, who has seen all", l, message(first.Token, uint64(len(all)), "m-3", by(first)))
		return h.check()
	}
}

// repeats runs processes that make the identical request, which may be done: at
// most one of them stores it, and a last one is told where.
func repeats(through wrap, procs ...string) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		h, first, ack, err := begun(w)
		if err != nil {
			return err
		}
		d := message(first.Token, 3, "m-1", by(first))
		d.Ack = ack
		for _, p := range procs {
			w.Go(p, func(s stream.Store) func() {
				l := process(through(s))
				return func() { _ = h.append(p, l, d) }
			})
		}
		w.Run()
		if err := h.check(); err != nil {
			return err
		}
		if err := h.append("the last", process(w.Store), d); err != nil {
			return fmt.Errorf("the last repeat failed: %w", err)
		}
		return h.check()
	}
}

// rivals runs coordinators that all claim what nobody owns, and write: one of
// them is the first owner, and nobody is one whom the store would refuse.
func rivals(through wrap, procs ...string) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		in, err := setUp(w.Store)
		if err != nil {
			return err
		}
		h := &history{world: in, w: w, of: "alice"}
		for _, p := range procs {
			w.Go(p, func(s stream.Store) func() {
				l := process(through(s))
				return func() {
					c, err := h.claim(p, l, chatlog.Review{ClaimID: ident.Claim(p)})
					if err == nil {
						_ = h.append(p, l, message(c.Token, uint64(c.Tail), ident.Message(p), by(c)))
					}
				}
			})
		}
		w.Run()
		if len(h.owned) > 1 {
			return fmt.Errorf("%d coordinators were told to be the first owner", len(h.owned))
		}
		return h.check()
	}
}

// creators runs processes that all create the chat, in both orders, and may stop
// anywhere; whoever comes later finishes it.
func creators(through wrap, procs ...chatlog.Actor) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		if err := registered(w.Store); err != nil {
			return err
		}
		var made []*api.CreateChatResponse
		peer := map[ident.Agent]ident.Agent{"alice": "bob", "bob": "alice"}
		for i, p := range procs {
			w.Go(fmt.Sprintf("%s %d", p.Agent, i), func(s stream.Store) func() {
				l := process(through(s))
				return func() {
					c, err := l.Create(context.Background(), p, peer[p.Agent])
					w.Note("%s: %v", p.Agent, err)
					if err == nil {
						w.Sync(func() { made = append(made, c) })
					}
				}
			})
		}
		w.Run()
		last, err := process(w.Store).Create(context.Background(), bob, "alice")
		if err != nil {
			return fmt.Errorf("the last creation failed: %w", err)
		}
		news := 0
		for _, c := range append(made, last) {
			if c.ID != last.ID || c.StreamA != last.StreamA || c.StreamB != last.StreamB || c.CreatedAt != last.CreatedAt {
				return fmt.Errorf("chats %+v and %+v", c.Chat, last.Chat)
			}
			if c.Created {
				news++
			}
		}
		if news > 1 {
			return fmt.Errorf("%d were told that the chat is new", news)
		}
		in := &world{store: w.Store, log: process(w.Store), chat: last.ID}
		for _, of := range []chatlog.Actor{alice, bob} {
			if all, err := in.records(of.Agent); err != nil || len(all) != 1 {
				return fmt.Errorf("the direction of %s has %d records, %w", of.Agent, len(all), err)
			}
			page, err := in.log.List(context.Background(), of, 0, 10)
			if err != nil || len(page.Chats) != 1 || page.NextCursor != nil {
				return fmt.Errorf("the list of %s: %+v, %w", of.Agent, page, err)
			}
			if _, err := in.claim(of); err != nil {
				return fmt.Errorf("claim by %s: %w", of.Agent, err)
			}
		}
		return nil
	}
}

func explore(t *testing.T, o interleave.Options, model func(*testing.T, *interleave.World) error) {
	t.Helper()
	r := interleave.Explore(t, o, model)
	t.Log(r)
	if r.Err != nil || !r.Complete && o.Runs == 0 {
		t.Fail()
	}
}

// bounds are those of every day, or those that take minutes.
func bounds() interleave.Options {
	switch {
	case *deep:
		return interleave.Options{Faults: 2, Switches: 2}
	case testing.Short():
		return interleave.Options{Faults: 1, Switches: 1, Runs: 100}
	}
	return interleave.Options{Faults: 1, Switches: 1}
}

func sampled(runs int) interleave.Options {
	o := interleave.Options{Faults: 5, Switches: 20, Sample: 1, Runs: runs, Hits: patient}
	switch {
	case *deep:
		o.Runs *= 100
	case testing.Short():
		o.Runs = 50
	}
	return o
}

// patient adds to the faults of an append that it is refused for now, or never answered.
func patient(c faultstream.Call) []faultstream.Fault {
	hits := interleave.Hits(c)
	if len(hits) > 0 {
		hits = append(hits, faultstream.Fault{Kind: faultstream.Slow, Delay: time.Minute}, faultstream.Fault{Kind: faultstream.Refused})
	}
	return hits
}

// An owner and who takes over from it; requests and replies lost, appends late,
// death at any step: no position is written twice, nothing of an owner stands
// behind the claim of the next, answer and receipt stand together, and what each was told is so.
func TestTakeOverModel(t *testing.T) {
	explore(t, bounds(), takeOver(direct))
}

// The same with more faults than can be enumerated.
func TestTakeOverModelSampled(t *testing.T) {
	explore(t, sampled(400), takeOver(direct))
}

// The identical request from two processes is stored once.
func TestRepeatsModel(t *testing.T) {
	explore(t, bounds(), repeats(direct, "a", "b"))
}

// The same with three processes, and more faults.
func TestRepeatsModelSampled(t *testing.T) {
	explore(t, sampled(300), repeats(direct, "a", "b", "c"))
}

// Of those who claim what nobody owns, one owns it.
func TestRivalsModelSampled(t *testing.T) {
	explore(t, sampled(400), rivals(direct, "a", "b", "c"))
}

// Creators in any order, dying anywhere, make one chat.
func TestCreatorsModelSampled(t *testing.T) {
	explore(t, sampled(250), creators(direct, alice, bob, alice))
}

// A stripped store takes something off each append to a direction: what is left
// is an algorithm that is known to be wrong.
type stripped struct {
	stream.Store
	strip func(*stream.Batch)
}

func (s stripped) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	if in.Token == nil || *in.Token != "?" {
		s.strip(&in)
	}
	return s.Store.Append(ctx, name, in)
}

// The models are able to find faults.
func TestModelsFindFaults(t *testing.T) {
	noToken := func(in *stream.Batch) { in.Token = nil }
	noPosition := func(in *stream.Batch) { in.At = nil }
	for _, c := range []struct {
		name  string
		strip func(*stream.Batch)
		model func(wrap) func(*testing.T, *interleave.World) error
	}{
		{"take over without tokens", noToken, takeOver},
		{"repeats without positions", noPosition, func(w wrap) func(*testing.T, *interleave.World) error { return repeats(w, "a", "b") }},
		{"create without positions", noPosition, func(w wrap) func(*testing.T, *interleave.World) error { return creators(w, alice, bob) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			through := func(s stream.Store) stream.Store { return stripped{s, c.strip} }
			r := interleave.Explore(t, interleave.Options{Faults: 4, Switches: 20, Sample: 1, Runs: 3000}, c.model(through))
			t.Log(r.Runs, r.Err)
			if r.Err == nil {
				t.Error("want a violation")
			}
		})
	}
}
