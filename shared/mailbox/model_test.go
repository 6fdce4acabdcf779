package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/interleave"
)

var deep = flag.Bool("deep", false, "explore further; takes minutes")

// A sent is what a process was told of a send.
type sent struct {
	by       string
	id       ident.Message
	response *api.SendResponse
	err      error
}

// history collects what processes were told.
type history struct {
	w    *interleave.World
	sent []sent
}

func (h *history) send(by string, m *mailbox.Mailbox, d mailbox.Draft) error {
	r, err := m.Send(context.Background(), d)
	id := d.ID
	if err == nil && id == "" {
		id = idOf(r.Envelope)
	}
	h.w.Sync(func() { h.sent = append(h.sent, sent{by, id, r, err}) })
	if err != nil {
		h.w.Note("%s: %v", by, err)
		return err
	}
	h.w.Note("%s: stored at %d, replayed %v", by, r.SeqNum, r.Replayed)
	return nil
}

func idOf(body []byte) ident.Message {
	_, rest, _ := bytes.Cut(body, []byte(`"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return ident.Message(id)
}

// records returns all of bob's inbox, if there is one.
func records(s stream.Store) ([]stream.Entry, error) {
	var all []stream.Entry
	for {
		p, err := s.Read(context.Background(), stream.Inbox("bob"), stream.Start{Seq: uint64(len(all))}, stream.Limit{})
		if errors.Is(err, stream.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, p.Entries...); uint64(len(all)) >= p.Tail {
			return all, nil
		}
	}
}

// check returns what is wrong with an inbox, given what was said about it: an id
// stands once at most, what was acknowledged stands where it was said to, and
// what was refused does not stand.
func (h *history) check() error {
	all, err := records(h.w.Store)
	if err != nil {
		return err
	}
	at := map[ident.Message][]uint64{}
	for _, e := range all {
		if id, ok := e.Header("agent-chat-id"); ok {
			at[ident.Message(id)] = append(at[ident.Message(id)], e.Seq)
		}
	}
	for id, seqs := range at {
		if len(seqs) > 1 {
			return fmt.Errorf("%s stands at %v", id, seqs)
		}
	}
	first := map[ident.Message]string{}
	for _, s := range h.sent {
		stands := at[s.id]
		switch {
		case s.err == nil && len(stands) == 0:
			return fmt.Errorf("%s was told that %s stands at %d, and it stands nowhere", s.by, s.id, s.response.SeqNum)
		case s.err == nil && stands[0] != s.response.SeqNum:
			return fmt.Errorf("%s was told that %s stands at %d, and it stands at %d", s.by, s.id, s.response.SeqNum, stands[0])
		case s.err == nil && !bytes.Equal(all[stands[0]].Body, s.response.Envelope):
			return fmt.Errorf("%s was told of another envelope than the one at %d", s.by, stands[0])
		case s.err == nil && !s.response.Replayed && first[s.id] != "":
			return fmt.Errorf("%s and %s were both told to be the first with %s", s.by, first[s.id], s.id)
		case s.err == nil && !s.response.Replayed:
			first[s.id] = s.by
		case s.err == nil:
		default:
			switch code := api.AsError(s.err).Code; code {
			case api.OutcomeUnknown:
			case api.Unavailable: // this call wrote nothing; another may have
			case api.RecipientNotFound:
				if len(stands) > 0 {
					return fmt.Errorf("%s was refused, and %s stands at %d: %w", s.by, s.id, stands[0], s.err)
				}
			default:
				return s.err
			}
		}
	}
	return nil
}

// setUp registers alice and bob.
func setUp(s stream.Store) (*mailbox.Mailbox, error) {
	m := onStore(s)
	for _, id := range []ident.Agent{"alice", "bob"} {
		if _, err := m.Register(context.Background(), id, api.Profile{}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// wrap is what a process's store is put into.
type wrap func(stream.Store) stream.Store

func direct(s stream.Store) stream.Store { return s }

// sendModel runs processes that all send the same request with the same id, and
// after them a client that repeats it: that one must succeed.
func sendModel(through wrap, procs ...string) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		if _, err := setUp(w.Store); err != nil {
			return err
		}
		h := &history{w: w}
		d := draft("alice", "bob", "order-1", "hello")
		for _, p := range procs {
			w.Go(p, func(s stream.Store) func() {
				m := onStore(through(s))
				return func() { _ = h.send(p, m, d) }
			})
		}
		w.Run()
		if err := h.check(); err != nil {
			return err
		}
		if err := h.send("the repeat", onStore(w.Store), d); err != nil {
			return fmt.Errorf("the repeat failed: %w", err)
		}
		return h.check()
	}
}

// plainModel runs a send without an id next to another. When its outcome is
// unknown, two processes repeat it with the id that it named.
func plainModel(through wrap, repeated *int) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		if _, err := setUp(w.Store); err != nil {
			return err
		}
		h := &history{w: w}
		w.Go("plain", func(s stream.Store) func() {
			m := onStore(through(s))
			return func() {
				err := h.send("plain", m, draft("alice", "bob", "", "hello"))
				e, ok := errors.AsType[*api.Error](err)
				if !ok || e.Code != api.OutcomeUnknown {
					return
				}
				w.Sync(func() { *repeated++ })
				for _, again := range []string{"again 1", "again 2"} {
					w.Go(again, func(s stream.Store) func() {
						m := onStore(through(s))
						return func() { _ = h.send(again, m, draft("alice", "bob", e.Message, "hello")) }
					})
				}
			}
		})
		w.Run()
		return h.check()
	}
}

// explore fails the test if the model does not hold within the bounds.
func explore(t *testing.T, o interleave.Options, model func(*testing.T, *interleave.World) error) {
	t.Helper()
	r := interleave.Explore(t, o, model)
	t.Log(r)
	if r.Err != nil || !r.Complete && o.Runs == 0 {
		t.Fail()
	}
}

// bounds returns the bounds for every day, or those that take minutes.
func bounds(daily, further interleave.Options) interleave.Options {
	if *deep {
		return further
	}
	if testing.Short() { // the race detector needs no more
		daily.Runs = 100
	}
	return daily
}

// sampled returns the bounds of what is drawn at random.
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

// patient adds to the faults of an append that it is never answered, until the
// budget of its operation is used up.
func patient(c faultstream.Call) []faultstream.Fault {
	hits := interleave.Hits(c)
	if len(hits) > 0 {
		hits = append(hits, faultstream.Fault{Kind: faultstream.Slow, Delay: time.Minute}, faultstream.Fault{Kind: faultstream.Refused})
	}
	return hits
}

// One id, two processes; requests and replies lost, appends late, death at any
// step: one record at most, told truly; and a later repeat succeeds.
func TestSendModel(t *testing.T) {
	explore(t, bounds(interleave.Options{Faults: 1, Switches: 1}, interleave.Options{Faults: 2, Switches: 2}), sendModel(direct, "a", "b"))
}

// The same with three processes, and more faults than can be enumerated.
func TestSendModelSampled(t *testing.T) {
	explore(t, sampled(500), sendModel(direct, "a", "b", "c"))
}

// A send without an id, and its repeats with the id that an unknown outcome named.
func TestPlainModel(t *testing.T) {
	repeated := 0
	hits := func(c faultstream.Call) []faultstream.Fault {
		if c.Name != stream.Inbox("bob") || c.Op != faultstream.Append || *c.Batch.Token == "?" {
			return nil
		}
		if c.Batch.Records[0].Command() == stream.FenceCommand {
			return []faultstream.Fault{{Kind: faultstream.Slow, Delay: time.Minute}, {Kind: faultstream.Late, After: -1}, {Kind: faultstream.Stored}}
		}
		return []faultstream.Fault{{Kind: faultstream.Lost}, {Kind: faultstream.Stored}, {Kind: faultstream.Late, After: -1}}
	}
	explore(t, bounds(interleave.Options{Faults: 2, Switches: 1, Hits: hits}, interleave.Options{Faults: 3, Switches: 2, Hits: hits}), plainModel(direct, &repeated))
	if repeated == 0 {
		t.Error("no run had an unknown outcome")
	}
}

// The same, with faults of every kind at every call.
func TestPlainModelSampled(t *testing.T) {
	repeated := 0
	explore(t, sampled(500), plainModel(direct, &repeated))
	if repeated == 0 {
		t.Error("no run had an unknown outcome")
	}
}

// A stripped store takes something off each append: what is left is an algorithm
// that is known to be wrong.
type stripped struct {
	stream.Store
	strip func(stream.Name, stream.Batch) stream.Batch
}

func (s stripped) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	return s.Store.Append(ctx, name, s.strip(name, in))
}

// The models are able to find faults. Without epochs what is left is "read back,
// then append at a fixed position"; without positions or claims even less.
func TestModelsFindFaults(t *testing.T) {
	noToken := func(name stream.Name, in stream.Batch) stream.Batch {
		if name == stream.Inbox("bob") && in.Token != nil && *in.Token != "?" {
			in.Token = nil
		}
		return in
	}
	noPosition := func(name stream.Name, in stream.Batch) stream.Batch {
		if name == stream.Inbox("bob") {
			in.At = nil
		}
		return in
	}
	noClaim := func(name stream.Name, in stream.Batch) stream.Batch {
		if name.Basin() == stream.Ops {
			in.At = nil
		}
		return in
	}
	for _, c := range []struct {
		name  string
		strip func(stream.Name, stream.Batch) stream.Batch
		model func(wrap) func(*testing.T, *interleave.World) error
	}{
		{"send without epochs", noToken, func(w wrap) func(*testing.T, *interleave.World) error { return sendModel(w, "a", "b") }},
		{"send without positions", noPosition, func(w wrap) func(*testing.T, *interleave.World) error { return sendModel(w, "a", "b") }},
		{"send without a claim", noClaim, func(w wrap) func(*testing.T, *interleave.World) error { return sendModel(w, "a", "b") }},
		{"delete and send without epochs", noToken, func(w wrap) func(*testing.T, *interleave.World) error {
			return lifeModel(life{"r", []string{"delete", "send", "register"}}, w)
		}},
		{"plain send without epochs", noToken, func(w wrap) func(*testing.T, *interleave.World) error { return plainModel(w, new(int)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			through := func(s stream.Store) stream.Store { return stripped{s, c.strip} }
			r := interleave.Explore(t, interleave.Options{Faults: 4, Switches: 20, Sample: 1, Runs: 5000}, c.model(through))
			t.Log(r)
			if r.Err == nil {
				t.Error("want a violation")
			}
		})
	}
}
