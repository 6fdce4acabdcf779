package journal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/interleave"
)

var deep = flag.Bool("deep", false, "explore further; takes minutes")

// A names is the fold of a stream of names.
type names []string

func nameFold() *journal.Fold[names] {
	return &journal.Fold[names]{
		New:   func() names { return nil },
		Apply: func(s names, e stream.Entry) (names, error) { return append(slices.Clip(s), string(e.Body)), nil },
	}
}

var errTaken = errors.New("taken")

// putIfFirst adds a name to an empty stream; put adds one in any case.
func putIfFirst(name string) func(names) ([]stream.Record, error) {
	return func(s names) ([]stream.Record, error) {
		if len(s) > 0 {
			return nil, errTaken
		}
		return []stream.Record{{Body: []byte(name)}}, nil
	}
}

func put(name string) func(names) ([]stream.Record, error) {
	return func(names) ([]stream.Record, error) { return []stream.Record{{Body: []byte(name)}}, nil }
}

// model runs one process for each name, all with the same kind of decision, and
// returns what is wrong once everything has landed.
func model(decide func(string) func(names) ([]stream.Record, error), through func(stream.Store) stream.Store, procs ...string) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		stream1 := stream.Agent("model")
		outcome := map[string]error{}
		states := map[string]names{}
		for _, p := range procs {
			w.Go(p, func(s stream.Store) func() {
				j := journal.New(through(s), journal.Options{})
				return func() {
					state, err := journal.Update(context.Background(), j, stream1, nameFold(), decide(p))
					w.Sync(func() { outcome[p], states[p] = err, state })
					w.Note("%s: %v, %v", p, state, err)
				}
			})
		}
		w.Run()
		j := journal.New(w.Store, journal.Options{})
		log, err := journal.Read(context.Background(), j, stream1, nameFold(), 0)
		if err != nil {
			return err
		}
		w.Note("the stream holds %v", log)
		for _, p := range procs {
			n := len(slices.DeleteFunc(slices.Clone(log), func(s string) bool { return s != p }))
			err, told := outcome[p]
			code := api.Code("")
			if err != nil && !errors.Is(err, errTaken) {
				code = api.AsError(err).Code
			}
			switch {
			case n > 1:
				return fmt.Errorf("%s stands %d times", p, n)
			case !told: // it died
			case err == nil && n != 1:
				return fmt.Errorf("%s was told success and does not stand", p)
			case err == nil && states[p][len(states[p])-1] != p:
				return fmt.Errorf("%s was given the state %v, which is not the one after its record", p, states[p])
			case err != nil && code != api.OutcomeUnknown && n != 0:
				return fmt.Errorf("%s was refused and stands: %w", p, err)
			case code == api.Internal || code == api.StateLost:
				return err
			}
		}
		if _, err := decide("x")(names{"y"}); errors.Is(err, errTaken) && len(log) > 1 {
			return fmt.Errorf("%d records where one was allowed", len(log))
		}
		return nil
	}
}

func direct(s stream.Store) stream.Store { return s }

// Two processes at once, requests and replies lost, appends late, death at any
// step: at most one record each, success and refusal true.
func TestUpdateModel(t *testing.T) {
	o := interleave.Options{Faults: 1, Switches: 1}
	switch {
	case *deep:
		o = interleave.Options{Faults: 2, Switches: 2}
	case testing.Short(): // the race detector needs no more
		o.Runs = 100
	}
	for name, decide := range map[string]func(string) func(names) ([]stream.Record, error){"only the first": putIfFirst, "everyone": put} {
		t.Run(name, func(t *testing.T) {
			r := interleave.Explore(t, o, model(decide, direct, "a", "b"))
			t.Log(r)
			if r.Err != nil || !r.Complete && o.Runs == 0 {
				t.Fail()
			}
		})
	}
}

// Three processes and more faults than can be enumerated, drawn at random.
func TestUpdateModelSampled(t *testing.T) {
	o := interleave.Options{Faults: 6, Switches: 12, Sample: 1, Runs: 300}
	if *deep {
		o.Runs = 100_000
	}
	for name, decide := range map[string]func(string) func(names) ([]stream.Record, error){"only the first": putIfFirst, "everyone": put} {
		t.Run(name, func(t *testing.T) {
			r := interleave.Explore(t, o, model(decide, direct, "a", "b", "c"))
			t.Log(r)
			if r.Err != nil {
				t.Fail()
			}
		})
	}
}

// once adds a name, and changes its mind when it is asked again, as a decision
// does that reads a clock. No decision should; a refusal must be true all the same.
func once(name string) func(names) ([]stream.Record, error) {
	asked := false
	return func(names) ([]stream.Record, error) {
		if asked {
			return nil, errTaken
		}
		asked = true
		return []stream.Record{{Body: []byte(name)}}, nil
	}
}

// A refusal is only told once the attempts before it can't land any more.
func TestUpdateModelRefusal(t *testing.T) {
	r := interleave.Explore(t, interleave.Options{Faults: 1, Switches: 1}, model(once, direct, "a", "b"))
	t.Log(r)
	if r.Err != nil || !r.Complete {
		t.Fail()
	}
	through := func(s stream.Store) stream.Store { return withoutNops{s} }
	r = interleave.Explore(t, interleave.Options{Faults: 1, Switches: 2}, model(once, through, "a", "b"))
	if r.Err == nil {
		t.Errorf("without nops: %v; want a violation", r)
	}
}

// withoutNops acknowledges nops and leaves them out.
type withoutNops struct{ stream.Store }

func (s withoutNops) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	if kind, _ := in.Records[0].Header("agent-chat-kind"); kind == "nop" {
		return stream.Ack{First: *in.At, Next: *in.At + 1}, nil
	}
	return s.Store.Append(ctx, name, in)
}

// A stripped store takes something off each append: what is left is an algorithm
// that is known to be wrong.
type stripped struct {
	stream.Store
	strip func(stream.Batch) stream.Batch
}

func (s stripped) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	return s.Store.Append(ctx, name, s.strip(in))
}

// The model is able to find faults: without the nonce, or without the position, it does.
func TestUpdateModelFindsFaults(t *testing.T) {
	strips := map[string]func(stream.Batch) stream.Batch{
		"no nonce": func(in stream.Batch) stream.Batch {
			var out []stream.Record
			for _, r := range in.Records {
				r.Headers = slices.DeleteFunc(slices.Clone(r.Headers), func(h stream.Header) bool { return h.Name == "agent-chat-nonce" })
				out = append(out, r)
			}
			in.Records = out
			return in
		},
		"no position": func(in stream.Batch) stream.Batch {
			in.At = nil
			return in
		},
	}
	for name, strip := range strips {
		t.Run(name, func(t *testing.T) {
			through := func(s stream.Store) stream.Store { return stripped{s, strip} }
			r := interleave.Explore(t, interleave.Options{Faults: 2, Switches: 2}, model(putIfFirst, through, "a", "b"))
			if r.Err == nil {
				t.Errorf("%v; want a violation", r)
			}
		})
	}
}
