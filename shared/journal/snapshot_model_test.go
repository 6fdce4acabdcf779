package journal_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/interleave"
)

// snapshots runs processes that write a snapshot after each of their updates, in
// crumbs, and audits what stands at last.
func snapshots(crumb int, most *int, procs ...string) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		told := map[string]error{}
		for _, p := range procs {
			w.Go(p, func(s stream.Store) func() {
				j := journal.New(s, journal.Options{Every: 1, Log: quiet})
				j.Crumble(crumb)
				f := snapFold()
				return func() {
					state, err := journal.Update(context.Background(), j, bob, f, put(p))
					w.Sync(func() { told[p] = err })
					w.Note("%s: %v, %v", p, state, err)
				}
			})
		}
		w.Run()
		entries, err := entriesOf(context.Background(), w.Store, bob)
		if err != nil && !errors.Is(err, stream.ErrNotFound) {
			return err
		}
		for _, e := range entries {
			w.Note("%d %v %s", e.Seq, e.Headers, e.Body)
		}
		n, err := audit(context.Background(), entries)
		*most = max(*most, n)
		if err != nil {
			return err
		}
		for p, err := range told {
			stands := 0
			for _, e := range entries {
				if kind, _ := ownKind(e); kind == "" && string(e.Body) == p {
					stands++
				}
			}
			switch {
			case stands > 1, err == nil && stands != 1:
				return fmt.Errorf("%s stands %d times, told %w", p, stands, err)
			case err != nil && api.AsError(err).Code != api.OutcomeUnknown && (stands > 0 || api.AsError(err).Code == api.StateLost):
				return fmt.Errorf("%s stands %d times, told %w", p, stands, err)
			}
		}
		return nil
	}
}

// Updates and snapshots at once, requests and replies lost, appends late, death
// at any step: whoever reads, from wherever, sees the same.
func TestSnapshotModel(t *testing.T) {
	o := interleave.Options{Faults: 1, Switches: 1}
	switch {
	case *deep:
		o = interleave.Options{Faults: 2, Switches: 2}
	case testing.Short():
		o.Runs = 100
	}
	for name, crumb := range map[string]int{"one chunk": 1 << 10, "several": 4} {
		t.Run(name, func(t *testing.T) {
			most := 0
			r := interleave.Explore(t, o, snapshots(crumb, &most, "a", "b"))
			t.Log(r, most, "snapshots")
			if r.Err != nil || !r.Complete && o.Runs == 0 || most < 2 {
				t.Fail()
			}
		})
	}
}

// Three processes and more faults than can be enumerated, drawn at random.
func TestSnapshotModelSampled(t *testing.T) {
	o := interleave.Options{Faults: 6, Switches: 20, Sample: 1, Runs: 300}
	if *deep {
		o.Runs = 50_000
	}
	most := 0
	r := interleave.Explore(t, o, snapshots(4, &most, "a", "b", "c"))
	t.Log(r, most, "snapshots")
	if r.Err != nil || most < 2 {
		t.Fail()
	}
}

// The model is able to find faults: a snapshot that says it is of a position
// behind the one that it was made from is found out.
func TestSnapshotModelFindsFaults(t *testing.T) {
	of := regexp.MustCompile(`"of":\d+`)
	asItStands := func(in stream.Batch) stream.Batch {
		if kind, _ := in.Records[0].Header("agent-chat-kind"); kind == "snapshot.begin" && in.At == nil {
			in.Records = slices.Clone(in.Records)
			in.Records[0].Body = of.ReplaceAllFunc(in.Records[0].Body, func(was []byte) []byte {
				n, _ := strconv.Atoi(string(was[len(`"of":`):]))
				return fmt.Appendf(nil, `"of":%d`, n+1)
			})
		}
		return in
	}
	r := interleave.Explore(t, interleave.Options{Faults: 1, Switches: 3}, func(t *testing.T, w *interleave.World) error {
		most := 0
		w.Store = stripped{w.Store, asItStands}
		return snapshots(1<<10, &most, "a", "b")(t, w)
	})
	if r.Err == nil {
		t.Errorf("%v; want a violation", r)
	}
}

// Whatever is written by whomever, over a store with every fault, snapshots of
// any size and unfinished ones of others included: all folds agree at every position.
func TestSnapshotProperty(t *testing.T) {
	complete := 0
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		share := rapid.SampledFrom([]float64{0, 0.05, 0.3}).Draw(rt, "share")
		type step struct{ who, what, n int }
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{rapid.IntRange(0, 2).Draw(rt, "who"), rapid.IntRange(0, 7).Draw(rt, "what"), rapid.IntRange(0, 5).Draw(rt, "n")}
		}), 1, 40).Draw(rt, "steps")
		every := rapid.SampledFrom([]int{1, 3000, 6000}).Draw(rt, "every")
		var err error
		synctest.Test(t, func(t *testing.T) { // rapid's own failures do not pass through it
			inner := memory(t)
			s := faultstream.New(t, inner, faultstream.Options{Choose: faultstream.Seeded(seed, share)})
			var js [3]*journal.Journal
			var folds [3]*journal.Fold[names]
			fresh := func(i int) {
				folds[i], js[i] = snapFold(), journal.New(s, journal.Options{Every: every, Log: quiet})
				js[i].Crumble(3 + 20*i)
			}
			for i := range js {
				fresh(i)
			}
			for k, st := range steps {
				switch st.what {
				case 0:
					fresh(st.who)
				case 1, 2: // somebody's snapshot of another time, or part of one
					rec := stray(st.n)
					_, _ = inner.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{rec}})
				case 3: // old records have no headers
					_, _ = inner.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{{Body: fmt.Append(nil, "old", k)}, stream.Fence("")}})
				default:
					_, _ = journal.Update(t.Context(), js[st.who], bob, folds[st.who], put(fmt.Sprint(k)))
				}
			}
			s.LandAll()
			var entries []stream.Entry
			if entries, err = entriesOf(t.Context(), inner, bob); err != nil && !errors.Is(err, stream.ErrNotFound) {
				return
			}
			var n int
			n, err = audit(t.Context(), entries)
			complete += n
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
	if complete == 0 {
		t.Error("no snapshot was complete")
	}
}

// stray is a part of a snapshot that never gets complete, or never makes sense.
func stray(n int) stream.Record {
	h := func(kind string, more ...stream.Header) []stream.Header {
		return append([]stream.Header{{Name: "agent-chat-kind", Value: kind}, {Name: "agent-chat-nonce", Value: "stray"}}, more...)
	}
	return []stream.Record{
		{Headers: h("snapshot.begin"), Body: []byte(`{"format":"names","of":0,"chunks":2,"bytes":4,"sha256":""}`)},
		{Headers: h("snapshot.begin"), Body: []byte(`{"format":"others","of":0,"chunks":0,"bytes":0,"sha256":""}`)},
		{Headers: h("snapshot.begin"), Body: []byte(`{"format":"names","chunks":-1}`)},
		{Headers: h("snapshot.chunk", stream.Header{Name: "agent-chat-chunk", Value: "0"}), Body: []byte(`["x`)},
		{Headers: h("snapshot.end")},
		{Headers: h("nop")},
	}[n]
}
