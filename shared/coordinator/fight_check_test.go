package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// slack is how old what a coordinator knows of its ownership may be by which it presents.
const slack = 5 * time.Second

// A remade is a stream that another one took the place of.
type remade struct {
	agent ident.Agent // whose direction
	at    time.Time
	was   map[ident.Agent][]stream.Entry // both directions just before
	now   []stream.Entry                 // what was put there
}

// remake deletes a direction, and perhaps makes another one in its place.
func (w *world) remake() {
	a := []ident.Agent{"alice", "bob"}[w.rng.IntN(2)]
	name := stream.Direction(w.chat, a)
	m := &remade{agent: a, at: time.Now(), was: map[ident.Agent][]stream.Entry{"alice": w.entries("alice"), "bob": w.entries("bob")}}
	w.made = m
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			w.t.Errorf("make %s again: %v", name, err)
		}
	}
	must(w.truth.Delete(ctx, name))
	how := w.rng.IntN(3)
	if how > 0 {
		must(w.truth.Create(ctx, name, stream.Config{}))
	}
	if how > 1 { // with the records of before, which say that they are of another generation; its owner is nobody
		var b stream.Batch
		for _, e := range m.was[a] {
			if e.Command() != stream.None {
				continue
			}
			r := stream.Record{Headers: slices.Clone(e.Headers), Body: e.Body}
			for i := range r.Headers {
				if r.Headers[i].Name == "agent-chat-generation" {
					r.Headers[i].Value = "0123456789abcdef"
				}
			}
			b.Records = append(b.Records, r)
		}
		_, err := w.truth.Append(ctx, name, b)
		must(err)
	}
	if how > 0 {
		m.now = w.entries(a)
	}
	w.count("stream made again")
	w.note("vandal", "makes the direction of %s again: %d", a, how)
}

// entries returns what stands in a direction: what did, before it was made again.
func (w *world) entries(a ident.Agent) (all []stream.Entry) {
	for at := uint64(0); ; {
		page, err := w.truth.Read(context.Background(), stream.Direction(w.chat, a), stream.Start{Seq: at}, stream.Limit{})
		if errors.Is(err, stream.ErrNotFound) {
			return nil
		}
		if err != nil {
			w.fail("read the direction of %s: %v", a, err)
			return all
		}
		all = append(all, page.Entries...)
		if at = page.Next(at); at >= page.Tail {
			return all
		}
	}
}

// history returns what was written to a direction.
func (w *world) history(a ident.Agent) []stream.Entry {
	if w.made != nil && w.made.agent == a {
		return w.made.was[a]
	}
	return w.entries(a)
}

func peerOf(a ident.Agent) ident.Agent {
	if a == "alice" {
		return "bob"
	}
	return "alice"
}

// A body is a record as far as it matters here.
type body struct {
	Receipt *signed.Receipt `json:"receipt"`
	Fence   *signed.Fence   `json:"fence"`
}

// checkDirection holds what an agent's coordinators were told against what stands.
func (w *world) checkDirection(a ident.Agent) {
	var owner ident.Owner
	owners := map[api.Position]ident.Owner{}           // who owned it where a record stands
	operations := map[ident.Operation][]api.Position{} // where each begins
	acknowledged, peer := api.Position(0), w.history(peerOf(a))
	for i, e := range w.history(a) {
		if e.Seq != uint64(i) {
			w.fail("position %d of %s holds record %d", i, a, e.Seq)
		}
		if e.Command() == stream.FenceCommand {
			owner = ident.Owner(e.Body)
			continue
		}
		h, ok := chat.HeaderOf(e)
		var b body
		if !ok || json.Unmarshal(e.Body, &b) != nil {
			w.fail("what is this, at %d of %s: %s", i, a, e.Body)
			continue
		}
		at := api.Position(i)
		owners[at] = owner
		if h.Index == 0 {
			operations[h.Operation] = append(operations[h.Operation], at)
		}
		if l := w.authors[h.Operation]; l != nil && l.owner != owner {
			w.fail("%s is written at %d by %s under the owner %s", h.Operation, at, l.name, owner)
		}
		if b.Receipt != nil {
			w.checkReceipt(a, at, acknowledged, b.Receipt, peer)
			acknowledged = b.Receipt.NextPosition
		}
	}
	for op, places := range operations {
		if len(places) > 1 {
			w.fail("%s is written %d times, at %v of %s", op, len(places), places, a)
		}
	}
	for _, d := range w.told {
		if d.life.agent != a || d.Event.Event == "refused" {
			continue
		}
		// The receipt of a batch is the same whoever appends it: it may stand there already.
		mine := w.authors[d.OperationID] != nil
		if places := operations[d.OperationID]; len(places) != 1 || places[0] != *d.Position || mine && owners[places[0]] != d.life.owner {
			w.fail("%s was told that %s stands at %d; it stands at %v", d.life.name, d.OperationID, *d.Position, places)
		}
	}
	for _, d := range w.decided {
		stands := slices.Contains(operations[d.of.Operation], d.of.Position)
		if d.of.Agent == a && (!d.got.Final && d.got.Outcome != api.OperationStored || stands != (d.got.Outcome == api.OperationStored)) {
			w.fail("%s decided that %s at %d is %s, final: %t; it stands at %v", d.life.name, d.of.Operation, d.of.Position, d.got.Outcome, d.got.Final, operations[d.of.Operation])
		}
	}
	if w.made != nil && w.made.agent == a {
		w.checkRemade()
	}
	if w.made != nil {
		return
	}
	for _, e := range peer[min(acknowledged, api.Position(len(peer))):] {
		if h, ok := chat.HeaderOf(e); ok && h.Type == signed.TypeMessage {
			w.fail("record %d of %s is left out: %s has acknowledged up to %d", e.Seq, peerOf(a), a, acknowledged)
		}
	}
}

// checkRemade checks that nobody has written to the stream that was made again. A
// claim under way on a direction that nobody owned may land there, if it ends
// where the one before did: nothing that the store compares tells them apart.
func (w *world) checkRemade() {
	for i, e := range w.entries(w.made.agent) {
		h, _ := chat.HeaderOf(e)
		switch put := w.made.now; {
		case i < len(put) && string(put[i].Body) == string(e.Body):
		case i >= len(put) && (e.Command() == stream.FenceCommand || h.Type == signed.TypeFence):
		default:
			w.fail("the stream of %s was made again, and at %d somebody has written %s", w.made.agent, i, e.Body)
		}
	}
}

// checkReceipt checks that a batch that is acknowledged was presented, that the
// agent said so, and that nothing was left out of it.
func (w *world) checkReceipt(a ident.Agent, at, from api.Position, r *signed.Receipt, peer []stream.Entry) {
	if !w.acks[r.BatchID] {
		w.fail("the receipt at %d of %s is of %s, which nobody acknowledged", at, a, r.BatchID)
	}
	i := slices.IndexFunc(w.presented, func(p presented) bool { return p.life.agent == a && *p.BatchID == r.BatchID })
	if i < 0 {
		w.fail("the receipt at %d of %s is of %s, which was not presented", at, a, r.BatchID)
		return
	}
	if p := w.presented[i]; p.From != from || p.NextPosition != r.NextPosition {
		w.fail("the receipt at %d of %s is from %d up to %d; what was presented, from %d up to %d", at, a, from, r.NextPosition, p.From, p.NextPosition)
	}
}

// checkPresentations checks that what was presented is all that stood there, and
// that it was by who owned the direction, as far as anybody could know.
func (w *world) checkPresentations(a ident.Agent) {
	own, peer := w.history(a), w.history(peerOf(a))
	for _, p := range w.presented {
		if p.life.agent != a {
			continue
		}
		if end := ownedUntil(own, p.life.owner); !end.IsZero() && p.at.After(end.Add(slack)) {
			w.fail("%s is presented %s %v after replacement", p.life.name, *p.BatchID, p.at.Sub(end))
		}
		if m := w.made; m != nil && p.at.After(m.at.Add(slack)) {
			w.fail("%s is presented %s %v after the stream of %s was made again", p.life.name, *p.BatchID, p.at.Sub(m.at), m.agent)
		}
		if p.NextPosition > api.Position(len(peer)) {
			w.fail("%s is presented up to %d, of %d", p.life.name, p.NextPosition, len(peer))
			continue
		}
		var want, got []string
		for _, e := range peer[p.From:p.NextPosition] {
			if h, ok := chat.HeaderOf(e); ok && h.Type == signed.TypeMessage {
				want = append(want, fmt.Sprint(e.Seq, " ", string(e.Body)))
			}
		}
		for _, it := range p.Items {
			got = append(got, fmt.Sprint(uint64(it.Position), " ", string(it.Record)))
		}
		if !slices.Equal(got, want) {
			w.fail("%s is presented, from %d up to %d, %d messages, and %d stand there: something is left out", p.life.name, p.From, p.NextPosition, len(got), len(want))
		}
	}
}

// ownedUntil returns when another owner came behind this one; zero: never.
func ownedUntil(own []stream.Entry, owner ident.Owner) time.Time {
	mine := false
	for _, e := range own {
		if e.Command() != stream.FenceCommand {
			continue
		}
		if mine && ident.Owner(e.Body) != owner {
			return e.Timestamp.Time()
		}
		mine = mine || ident.Owner(e.Body) == owner
	}
	return time.Time{}
}

// checkTranscript has the verifier look at everything that stands.
func (w *world) checkTranscript() {
	tr := signed.NewTranscript(w.keys, false)
	var faults []*signed.Fault
	for _, a := range []ident.Agent{"alice", "bob"} {
		name := stream.Direction(w.chat, a)
		for _, e := range w.history(a) {
			h, ok := chat.HeaderOf(e)
			if !ok || h.Type == signed.TypeGenesis {
				continue
			}
			faults = append(faults, tr.Add(signed.Entry{
				StreamID: name.String(), Generation: h.Generation, Position: api.Position(e.Seq), Timestamp: api.Time{Time: e.Timestamp.Time()}, Record: e.Body,
			})...)
		}
	}
	for _, f := range append(faults, tr.End()...) {
		w.fail("the transcript has a fault: %v", f)
	}
}

// A careless store leaves a condition of every append out.
type careless struct {
	stream.Store
	forget func(*stream.Batch)
}

// Append implements stream.Store.
func (c careless) Append(ctx context.Context, name stream.Name, b stream.Batch) (stream.Ack, error) {
	if b.Token == nil || *b.Token != "?" {
		c.forget(&b)
	}
	return c.Store.Append(ctx, name, b)
}

// A doubling store now and then appends a message twice.
type doubling struct{ stream.Store }

// Append implements stream.Store.
func (d doubling) Append(ctx context.Context, name stream.Name, b stream.Batch) (stream.Ack, error) {
	ack, err := d.Store.Append(ctx, name, b)
	if h, ok := chat.HeaderOf(stream.Entry{Record: b.Records[0]}); err == nil && ok && h.Type == signed.TypeMessage && ack.First%4 == 3 {
		_, err = d.Store.Append(ctx, name, stream.Batch{Records: b.Records})
	}
	return ack, err
}

// A leaky store loses a message now and then, and closes the gap.
type leaky struct{ stream.Store }

// Read implements stream.Store.
func (l leaky) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	page, err := l.Store.Read(ctx, name, start, limit)
	for i, e := range page.Entries {
		if h, ok := chat.HeaderOf(e); ok && h.Type == signed.TypeMessage && e.Seq%5 == 4 {
			page.Entries = slices.Clone(page.Entries)
			for j := range page.Entries[i].Headers {
				if page.Entries[i].Headers[j].Name == signed.HeaderType {
					page.Entries[i].Headers = slices.Clone(page.Entries[i].Headers)
					page.Entries[i].Headers[j].Value = string(signed.TypeReceipt)
				}
			}
		}
	}
	return page, err
}
