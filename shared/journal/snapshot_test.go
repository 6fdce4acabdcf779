package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// long makes a stream of n names as they were written before there were
// snapshots, and then, by updates, of more, each with a snapshot behind it.
func long(t *testing.T, s stream.Store, n int, more ...string) (want names) {
	t.Helper()
	if err := s.Create(t.Context(), bob, stream.Config{}); err != nil {
		t.Fatal(err)
	}
	var recs []stream.Record
	for i := range n {
		want = append(want, fmt.Sprint(i))
		recs = append(recs, stream.Record{Body: []byte(want[i])})
	}
	for batch := range slices.Chunk(recs, stream.MaxBatchRecords) {
		if _, err := s.Append(t.Context(), bob, stream.Batch{Records: batch}); err != nil {
			t.Fatal(err)
		}
	}
	j, f := journal.New(s, journal.Options{Every: 1, Log: quiet}), snapFold()
	for _, m := range more {
		want = append(want, m)
		if _, err := journal.Update(t.Context(), j, bob, f, put(m)); err != nil {
			t.Fatal(err)
		}
	}
	return want
}

// wantNames reads cold, and returns the calls it took.
func wantNames(t *testing.T, s *faultstream.Store, f *journal.Fold[names], want names) (calls int) {
	t.Helper()
	before := len(s.Calls())
	got, err := journal.Read(t.Context(), journal.New(s, journal.Options{}), bob, f, 0)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err = %v, diff %s", err, diff)
	}
	return len(s.Calls()) - before
}

// What a cold reader pays for: with a snapshot, the tail, the last record and a
// run from the snapshot on, however long the stream is; a short stream is one read.
func TestSnapshotCalls(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		more    []string
		restore bool
		want    int
	}{
		{"short", 100, nil, true, 1},
		{"short, with a snapshot", 100, []string{"a"}, true, 1},
		{"long, without snapshots", 5000, nil, true, 7}, // a look, the last record, then all pages
		{"long, without a fold that restores", 5000, []string{"a", "b"}, false, 6},
		{"long", 5000, []string{"a", "b"}, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := faulty(t, nil), nameFold()
			if c.restore {
				f = snapFold()
			}
			want := long(t, s, c.n, c.more...)
			if calls := wantNames(t, s, f, want); calls != c.want {
				t.Errorf("%d calls; want %d", calls, c.want)
			}
			j := journal.New(s, journal.Options{Every: 1})
			if _, err := journal.Read(t.Context(), j, bob, f, 0); err != nil {
				t.Fatal(err)
			}
			before := s.Count(faultstream.Read)
			if _, err := journal.Read(t.Context(), j, bob, f, 0); err != nil || s.Count(faultstream.Read) != before+1 {
				t.Errorf("a warm read takes %d calls, %v; want one", s.Count(faultstream.Read)-before, err)
			}
		})
	}
}

// A snapshot of several megabytes is several appends, and comes back whole.
func TestSnapshotLarge(t *testing.T) {
	s, f := faulty(t, nil), snapFold()
	j := journal.New(s, journal.Options{})
	var want names
	for i := range 7 {
		want = append(want, string(bytes.Repeat([]byte{'a' + byte(i)}, 512<<10)))
		if _, err := journal.Update(t.Context(), j, bob, f, put(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := entriesOf(t.Context(), s, bob)
	if err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, e := range entries {
		kind, _ := ownKind(e)
		kinds += kind + " "
	}
	// After 1 MiB, then once the last one's size was written again.
	if want := "  snapshot.begin snapshot.chunk snapshot.chunk snapshot.end   snapshot.begin snapshot.chunk snapshot.chunk snapshot.chunk snapshot.end    "; kinds != want {
		t.Errorf("%q; want %q", kinds, want)
	}
	wantNames(t, s, f, want)
	if _, err := audit(t.Context(), entries); err != nil {
		t.Error(err)
	}
}

// Nothing that befalls a snapshot befalls the update before it, and it is not
// tried again at once.
func TestSnapshotFails(t *testing.T) {
	refusing := func(refuse *int) faultstream.Chooser {
		return func(c faultstream.Call) faultstream.Fault {
			if c.Op != faultstream.Append {
				return faultstream.Fault{}
			}
			if kind, _ := c.Batch.Records[0].Header("agent-chat-kind"); kind == "snapshot.begin" {
				*refuse++
				return faultstream.Fault{Kind: faultstream.Refused}
			}
			return faultstream.Fault{}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s, f := faulty(t, refusing(&tries)), snapFold()
		j := journal.New(s, journal.Options{Every: 1, Log: quiet})
		update := func(want int) {
			t.Helper()
			if _, err := journal.Update(t.Context(), j, bob, f, put("x")); err != nil || tries != want {
				t.Errorf("err = %v, %d tries; want %d", err, tries, want)
			}
		}
		update(1)
		update(1)
		time.Sleep(10 * time.Second)
		update(2)
		f.Snapshot = func(names) ([]byte, error) { tries++; return nil, errors.New("can't") }
		time.Sleep(10 * time.Second)
		update(3)
		update(3)
	})
}

// On a host that lives on, the answer does not wait for the snapshot; Wait does.
func TestSnapshotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(c faultstream.Call) faultstream.Fault {
			if c.Op == faultstream.Append && len(c.Batch.Records) > 1 {
				return faultstream.Fault{Kind: faultstream.Slow, Delay: time.Second}
			}
			return faultstream.Fault{}
		}
		s, f := faulty(t, slow), snapFold()
		j := journal.New(s, journal.Options{Every: 1, Late: true, Log: quiet})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		for range 3 { // only one snapshot at once
			if _, err := journal.Update(ctx, j, bob, f, put("x")); err != nil {
				t.Fatal(err)
			}
		}
		cancel() // as a server does after the answer
		if d := time.Since(began); d > 0 {
			t.Errorf("the answers took %v; want none to wait", d)
		}
		j.Wait()
		entries, err := entriesOf(t.Context(), s, bob)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := audit(t.Context(), entries); err != nil || n != 1 {
			t.Errorf("%d snapshots, %v; want one, though two writers were faster at first", n, err)
		}
	})
}

// Which of several snapshots is the latest, and what update and fold make of it.
// e is an event; b, c and n are a snapshot's begin, chunk and end, of the writer
// whose number follows.
func TestSnapshotOrder(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         int // the position of the latest; -1: none is complete
	}{
		{"one", "e b0 c0 c0 n0", 1},
		{"of the empty stream", "b0 c0 n0 e", 0},
		{"with events between", "e b0 e c0 e c0 e n0 e", 1},
		{"unfinished", "e b0 c0 c0", -1},
		{"a chunk missing", "e b0 c0 n0", -1},
		{"a chunk after its end", "e b0 c0 n0 c0", -1},
		{"a chunk too many", "b0 c0 c0 n0", -1},
		{"an end without a begin", "e n0", -1},
		{"two, one behind the other", "b0 c0 n0 e b1 c1 c1 n1", 4},
		{"two that alternate", "b0 e b1 c0 c1 n0 c1 n1", 2},
		{"two that cross", "b0 e b1 c0 c1 c1 n1 e n0", 2},
		{"the later unfinished", "b0 e b1 c1 c0 n0", 0},
		{"the former unfinished", "b0 e b1 c1 c1 n1", 2},
		{"its end comes late", "b0 c0 e b1 c1 c1 n1 e e n0 e", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			var script []byte
			for _, w := range strings.Fields(c.script) {
				b := byte(strings.Index("ebcn", w[:1]))
				if len(w) > 1 {
					b |= (w[1] - '0') << 4
				}
				script = append(script, b)
			}
			s := memory(t)
			if err := s.Create(t.Context(), bob, stream.Config{}); err != nil {
				t.Fatal(err)
			}
			for _, e := range scripted(script, nil) {
				e.Headers = slices.DeleteFunc(e.Headers, func(h stream.Header) bool {
					kind, _ := e.Header("agent-chat-kind")
					return h.Name == "agent-chat-snapshot" || kind == "event" // as old ones
				})
				if _, err := s.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{e.Record}}); err != nil {
					t.Fatal(err)
				}
			}
			j := journal.New(s, journal.Options{Every: -1})
			if _, err := journal.Update(t.Context(), j, bob, snapFold(), put("z")); err != nil {
				t.Fatal(err)
			}
			entries, err := entriesOf(t.Context(), s, bob)
			if err != nil {
				t.Fatal(err)
			}
			if got := latest(entries); got != c.want {
				t.Errorf("the latest is of %d; want %d", got, c.want)
			}
			if _, err := audit(t.Context(), entries); err != nil {
				t.Error(err)
			}
		})
	}
}

// Of several processes that notice at once that a snapshot is due, one writes it.
func TestSnapshotOnce(t *testing.T) {
	s, f := memory(t), snapFold()
	encode := f.Snapshot
	f.Snapshot = func(n names) ([]byte, error) { // another one is faster
		j := journal.New(s, journal.Options{Every: 1})
		if _, err := journal.Update(t.Context(), j, bob, snapFold(), put("y")); err != nil {
			t.Error(err)
		}
		return encode(n)
	}
	if _, err := journal.Update(t.Context(), journal.New(s, journal.Options{Every: 1}), bob, f, put("x")); err != nil {
		t.Fatal(err)
	}
	entries, err := entriesOf(t.Context(), s, bob)
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	for _, e := range entries {
		if kind, _ := ownKind(e); kind == "snapshot.begin" {
			begun++
		}
	}
	if _, err := audit(t.Context(), entries); begun != 1 || err != nil {
		t.Errorf("%d snapshots, %v; want one", begun, err)
	}
}

// Snapshots of a state that only grows take no more than twice what else is in
// the stream.
func TestSnapshotAmortised(t *testing.T) {
	s, f := memory(t), snapFold()
	var snaps, events int
	for range 300 {
		j := journal.New(s, journal.Options{Every: 2 << 10}) // each by another process
		if _, err := journal.Update(t.Context(), j, bob, f, put(strings.Repeat("x", 500))); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := entriesOf(t.Context(), s, bob)
	if err != nil {
		t.Fatal(err)
	}
	complete := map[string]bool{}
	for _, e := range entries {
		kind, n := ownKind(e)
		if kind == "" {
			events += e.Metered()
			continue
		}
		complete[n] = true
		snaps += e.Metered()
	}
	if snaps > 2*events || len(complete) < 5 {
		t.Errorf("%d bytes of %d snapshots beside %d of events", snaps, len(complete), events)
	}
}

// What was trimmed is not missed once a complete snapshot stands behind it; what
// is missed is never folded over.
func TestSnapshotTrimmed(t *testing.T) {
	for _, c := range []struct {
		name string
		at   func(snaps []uint64) uint64 // what is trimmed to
		more []stream.Record             // behind the trim command
		want bool
	}{
		{"up to the latest", func(s []uint64) uint64 { return s[2] }, nil, true},
		{"up to one before", func(s []uint64) uint64 { return s[1] }, nil, true},
		{"up to the first, and a fence", func(s []uint64) uint64 { return s[0] }, []stream.Record{stream.Fence("f")}, true},
		{"up to the latest, and a foreign record", func(s []uint64) uint64 { return s[2] }, []stream.Record{{Body: []byte("z")}}, true},
		{"its begin too", func(s []uint64) uint64 { return s[2] + 1 }, nil, false},
		{"all of it", func(s []uint64) uint64 { return s[2] + 3 }, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := faulty(t, nil), snapFold()
			behind, plain := journal.New(s, journal.Options{}), nameFold()
			want := long(t, s, 100)
			if got, err := journal.Read(t.Context(), behind, bob, f, 0); err != nil || len(got) != 100 {
				t.Fatalf("%d, %v", len(got), err)
			}
			j, warm := journal.New(s, journal.Options{Every: 1}), snapFold()
			for _, n := range []string{strings.Repeat("a", 1000), strings.Repeat("b", 3000), strings.Repeat("c", 9000)} {
				want = append(want, n)
				if _, err := journal.Update(t.Context(), j, bob, warm, put(n)); err != nil {
					t.Fatal(err)
				}
			}
			entries, err := entriesOf(t.Context(), s, bob)
			if err != nil {
				t.Fatal(err)
			}
			var snaps []uint64
			for _, e := range entries {
				if kind, _ := ownKind(e); kind == "snapshot.begin" {
					snaps = append(snaps, e.Seq)
				}
			}
			if _, err := s.Append(t.Context(), bob, stream.Batch{Records: append([]stream.Record{stream.Trim(c.at(snaps))}, c.more...)}); err != nil {
				t.Fatal(err)
			}
			for _, r := range c.more {
				if r.Command() == stream.None {
					want = append(want, string(r.Body))
				}
			}
			cold := journal.New(s, journal.Options{Every: -1})
			for what, j := range map[string]*journal.Journal{"cold": cold, "behind": behind} {
				got, err := journal.Read(t.Context(), j, bob, f, 0)
				if !c.want {
					wantCode(t, what, err, api.StateLost)
					_, err = journal.Update(t.Context(), j, bob, f, put("d"))
					wantCode(t, what+": update", err, api.StateLost)
				} else if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s: err = %v, diff %s", what, err, diff)
				}
			}
			_, err = journal.Read(t.Context(), cold, bob, plain, 0)
			wantCode(t, "a fold without snapshots", err, api.StateLost)
			if got, err := journal.Read(t.Context(), j, bob, warm, 0); err != nil || len(got) != len(want) {
				t.Errorf("a process that missed nothing: %d, %v; want %d", len(got), err, len(want))
			}
		})
	}
}

// An update whose outcome was unknown, and whose record may have stood in what
// was trimmed since, is not made again: nobody can tell any more.
func TestSnapshotTrimmedUnknown(t *testing.T) {
	inner := memory(t)
	long(t, inner, 3, "a")
	first := true
	s := faultstream.New(t, inner, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Append && first {
			first = false
			return faultstream.Fault{Kind: faultstream.Stored}
		}
		if c.Op == faultstream.Read && !first {
			if at, ok := trimAll(t, inner); ok {
				t.Logf("trimmed to %d", at)
			}
		}
		return faultstream.Fault{}
	}})
	j, f := journal.New(s, journal.Options{Every: -1}), snapFold()
	_, err := journal.Update(t.Context(), j, bob, f, put("mine"))
	wantCode(t, "update", err, api.OutcomeUnknown)
	got, err := journal.Read(t.Context(), journal.New(inner, journal.Options{}), bob, f, 0)
	if want := (names{"0", "1", "2", "a", "mine", "b"}); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// trimAll has another process write once more, with a snapshot, and trims up to that.
func trimAll(t *testing.T, s stream.Store) (at uint64, ok bool) {
	j := journal.New(s, journal.Options{Every: 1})
	_, err := journal.Update(t.Context(), j, bob, snapFold(), func(n names) ([]stream.Record, error) {
		if slices.Contains(n, "b") {
			return nil, nil
		}
		ok = true
		return []stream.Record{{Body: []byte("b")}}, nil
	})
	if err != nil || !ok {
		return 0, false
	}
	entries, err := entriesOf(t.Context(), s, bob)
	if err != nil {
		t.Error(err)
	}
	at = uint64(latest(entries))
	if _, err := s.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{stream.Trim(at)}}); err != nil {
		t.Error(err)
	}
	return at, true
}

// A snapshot that can't be used, whoever is to blame, is as if it were not there.
func TestSnapshotUseless(t *testing.T) {
	for _, c := range []struct {
		name   string
		fold   func(*journal.Fold[names])
		damage func([]stream.Entry) []stream.Entry
	}{
		{"of another format", func(f *journal.Fold[names]) { f.Format = "names.v2" }, nil},
		{"that can't be restored", func(f *journal.Fold[names]) {
			f.Restore = func([]byte) (names, error) { return names{"half"}, errors.New("can't") }
		}, nil},
		{"with other bytes", nil, func(es []stream.Entry) []stream.Entry {
			for i, e := range es {
				if kind, _ := ownKind(e); kind == "snapshot.chunk" {
					es[i].Body = bytes.Replace(e.Body, []byte("7"), []byte("8"), 1)
				}
			}
			return es
		}},
		{"named where none begins", nil, func(es []stream.Entry) []stream.Entry { return rename(es, "17") }},
		{"named behind the last record", nil, func(es []stream.Entry) []stream.Entry { return rename(es, "99999") }},
		{"named badly", nil, func(es []stream.Entry) []stream.Entry { return rename(es, "-1") }},
		{"named by nobody", nil, func(es []stream.Entry) []stream.Entry { return rename(es, "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := memory(t), snapFold()
			want := long(t, s, 300, "a", "b")
			entries, err := entriesOf(t.Context(), s, bob)
			if err != nil {
				t.Fatal(err)
			}
			if c.fold != nil {
				c.fold(f)
			}
			if c.damage != nil {
				entries = c.damage(slices.Clone(entries))
			}
			got, err := journal.Read(t.Context(), journal.New(listed{entries: entries}, journal.Options{}), bob, f, 0)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("err = %v, diff %s", err, diff)
			}
		})
	}
}

// rename has the last record name another position.
func rename(es []stream.Entry, to string) []stream.Entry {
	last := &es[len(es)-1]
	last.Headers = slices.DeleteFunc(slices.Clone(last.Headers), func(h stream.Header) bool { return h.Name == "agent-chat-snapshot" })
	if to != "" {
		last.Headers = append(last.Headers, stream.Header{Name: "agent-chat-snapshot", Value: to})
	}
	return es
}

// A store that gives a record twice, or leaves one out, is found out wherever in
// a snapshot or behind it that is.
func TestSnapshotGaps(t *testing.T) {
	s, f := memory(t), snapFold()
	long(t, s, 300, "a", "b")
	entries, err := entriesOf(t.Context(), s, bob)
	if err != nil {
		t.Fatal(err)
	}
	from := latest(entries)
	for at := from; at < len(entries)-1; at++ {
		holed := slices.Delete(slices.Clone(entries), at, at+1)
		_, err := journal.Read(t.Context(), journal.New(listed{entries: holed, page: 50}, journal.Options{}), bob, f, 0)
		wantCode(t, "without "+strconv.Itoa(at), err, api.StateLost)
	}
}
