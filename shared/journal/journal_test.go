package journal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

var bob = stream.Agent("bob")

func memory(t testing.TB) stream.Store {
	s, end := localstream.Memory()
	t.Cleanup(end)
	return s
}

func faulty(t testing.TB, choose faultstream.Chooser) *faultstream.Store {
	return faultstream.New(t, memory(t), faultstream.Options{Choose: choose})
}

func wantCode(t testing.TB, what string, err error, want api.Code) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != want {
		t.Errorf("%s: err = %v; want code %s", what, err, want)
	}
}

// What one process wrote, another reads at once; a warm one reads only what is new.
func TestReadIsFresh(t *testing.T) {
	s := faulty(t, nil)
	f := nameFold()
	a, b := journal.New(s, journal.Options{}), journal.New(s, journal.Options{})
	var want names
	for i := range 5 {
		name := fmt.Sprint(i)
		want = append(want, name)
		if _, err := journal.Update(t.Context(), a, bob, f, put(name)); err != nil {
			t.Fatal(err)
		}
		got, err := journal.Read(t.Context(), b, bob, f, 0)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("err = %v, diff %s", err, diff)
		}
	}
}

// A state that is young enough costs nothing, and one that is not costs one read.
func TestReadMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faulty(t, nil)
		f, j, other := nameFold(), journal.New(s, journal.Options{}), journal.New(s, journal.Options{})
		read := func(maxAge time.Duration) int {
			got, err := journal.Read(t.Context(), j, bob, f, maxAge)
			if err != nil {
				t.Fatal(err)
			}
			return len(got)
		}
		add := func() {
			if _, err := journal.Update(t.Context(), other, bob, f, put("x")); err != nil {
				t.Fatal(err)
			}
		}
		add()
		if n := read(5 * time.Second); n != 1 {
			t.Errorf("the first read sees %d; want 1", n)
		}
		add()
		time.Sleep(5 * time.Second)
		before := s.Count(faultstream.Read)
		if n := read(5 * time.Second); n != 1 || s.Count(faultstream.Read) != before {
			t.Errorf("a state of 5 s: %d, %d reads; want 1 and none", n, s.Count(faultstream.Read)-before)
		}
		time.Sleep(time.Nanosecond)
		if n := read(5 * time.Second); n != 2 || s.Count(faultstream.Read) != before+1 {
			t.Errorf("an older state: %d, %d reads; want 2 and one", n, s.Count(faultstream.Read)-before)
		}
	})
}

// Readers that wait at the same time share a read, and none gets a state older
// than its call.
func TestReadSharesRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faulty(t, func(c faultstream.Call) faultstream.Fault {
			if c.Op == faultstream.Read {
				return faultstream.Fault{Kind: faultstream.Slow, Delay: 100 * time.Millisecond}
			}
			return faultstream.Fault{}
		})
		f, j := nameFold(), journal.New(s, journal.Options{})
		if _, err := journal.Update(t.Context(), journal.New(s, journal.Options{}), bob, f, put("x")); err != nil {
			t.Fatal(err)
		}
		before := s.Count(faultstream.Read)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if got, err := journal.Read(t.Context(), j, bob, f, 0); err != nil || len(got) != 1 {
					t.Errorf("read: %v, %v", got, err)
				}
			})
		}
		wg.Wait()
		if n := s.Count(faultstream.Read) - before; n > 2 {
			t.Errorf("100 readers made %d reads; want 2 at most", n)
		}
	})
}

// An outage costs each reader the store's own patience once, not once for each
// reader that came before it.
func TestReadSharesFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faulty(t, func(faultstream.Call) faultstream.Fault {
			time.Sleep(5 * time.Second) // as long as a backend tries
			return faultstream.Fault{Kind: faultstream.Refused}
		})
		f, j := nameFold(), journal.New(s, journal.Options{})
		began := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, err := journal.Read(t.Context(), j, bob, f, time.Second)
				wantCode(t, "read", err, api.Unavailable)
			})
		}
		wg.Wait()
		if d := time.Since(began); d > 11*time.Second {
			t.Errorf("the last of 50 readers had its answer after %v; want two tries", d)
		}
	})
}

// Many processes, each with many writers at once: every update stands once.
func TestUpdateConcurrent(t *testing.T) {
	const processes, writers, each = 4, 8, 8
	s, f := memory(t), nameFold()
	var wg sync.WaitGroup
	for p := range processes {
		j := journal.New(s, journal.Options{Budget: time.Minute})
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					name := fmt.Sprintf("%d-%d-%d", p, w, i)
					state, err := journal.Update(t.Context(), j, bob, f, put(name))
					if err != nil || state[len(state)-1] != name {
						t.Errorf("update %s: %v, %v", name, state, err)
					}
				}
			})
		}
	}
	wg.Wait()
	got, err := journal.Read(t.Context(), journal.New(s, journal.Options{}), bob, f, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, n := range got {
		seen[n]++
	}
	if len(seen) != processes*writers*each || len(got) != len(seen) {
		t.Errorf("%d records of %d names; want %d of each", len(got), len(seen), processes*writers*each)
	}
}

// How an update ends when the store does not let it through.
func TestUpdateFaults(t *testing.T) {
	always := func(op faultstream.Op, kind faultstream.Kind) faultstream.Chooser {
		return func(c faultstream.Call) faultstream.Fault {
			if c.Op == op {
				return faultstream.Fault{Kind: kind}
			}
			return faultstream.Fault{}
		}
	}
	for _, c := range []struct {
		name   string
		choose faultstream.Chooser
		want   api.Code
		stands int
	}{
		{"every request lost", always(faultstream.Append, faultstream.Lost), api.OutcomeUnknown, 0},
		{"every append refused", always(faultstream.Append, faultstream.Refused), api.Unavailable, 0},
		{"every read refused", always(faultstream.Read, faultstream.Refused), api.Unavailable, 0},
		{"the reply lost", faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Stored}), "", 1},
		{"every reply lost", always(faultstream.Append, faultstream.Stored), "", 1},
		{"late", faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Late, After: 1}), "", 1},
		{"refused for a while", faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Refused}, faultstream.Fault{Kind: faultstream.Refused}), "", 1},
		{"the creation lost", faultstream.Script(faultstream.Create, faultstream.Fault{Kind: faultstream.Lost}, faultstream.Fault{Kind: faultstream.Stored}), "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memory(t)
				if c.want != "" {
					if err := inner.Create(t.Context(), bob, stream.Config{}); err != nil {
						t.Fatal(err)
					}
				}
				s := faultstream.New(t, inner, faultstream.Options{Choose: c.choose})
				_, err := journal.Update(t.Context(), journal.New(s, journal.Options{}), bob, nameFold(), put("x"))
				if c.want == "" && err != nil {
					t.Errorf("err = %v; want none", err)
				} else if c.want != "" {
					wantCode(t, "update", err, c.want)
				}
				s.LandAll()
				got, err := journal.Read(t.Context(), journal.New(inner, journal.Options{}), bob, nameFold(), 0)
				if err != nil || len(got) != c.stands {
					t.Errorf("%d records, err %v; want %d", len(got), err, c.stands)
				}
			})
		})
	}
}

// A record of several: all of them, or none, and the state after the last.
func TestUpdateBatch(t *testing.T) {
	for _, kind := range []faultstream.Kind{faultstream.None, faultstream.Stored} {
		s := faulty(t, faultstream.Script(faultstream.Append, faultstream.Fault{}, faultstream.Fault{Kind: kind}))
		j, f := journal.New(s, journal.Options{}), nameFold()
		if _, err := journal.Update(t.Context(), j, bob, f, put("a")); err != nil {
			t.Fatal(err)
		}
		got, err := journal.Update(t.Context(), j, bob, f, func(names) ([]stream.Record, error) {
			return []stream.Record{{Body: []byte("b")}, {Body: []byte("c")}}, nil
		})
		if diff := cmp.Diff(names{"a", "b", "c"}, got); err != nil || diff != "" {
			t.Errorf("%v: err = %v, diff %s", kind, err, diff)
		}
		got, err = journal.Read(t.Context(), j, bob, f, 0)
		if diff := cmp.Diff(names{"a", "b", "c"}, got); err != nil || diff != "" {
			t.Errorf("%v: read: err = %v, diff %s", kind, err, diff)
		}
	}
}

// A caller that leaves does not stop an update, and does not keep it for longer
// than the grace.
func TestUpdateOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := faulty(t, func(c faultstream.Call) faultstream.Fault {
			if c.Op == faultstream.Append {
				cancel()
				return faultstream.Fault{Kind: faultstream.Slow, Delay: 2 * time.Second}
			}
			return faultstream.Fault{}
		})
		j := journal.New(s, journal.Options{})
		if _, err := journal.Update(ctx, j, bob, nameFold(), put("x")); err != nil {
			t.Errorf("err = %v; want none", err)
		}
		began := time.Now()
		slow := faulty(t, func(c faultstream.Call) faultstream.Fault {
			if c.Op == faultstream.Append {
				return faultstream.Fault{Kind: faultstream.Slow, Delay: time.Hour}
			}
			return faultstream.Fault{}
		})
		if err := slow.Create(t.Context(), bob, stream.Config{}); err != nil {
			t.Fatal(err)
		}
		_, err := journal.Update(ctx, journal.New(slow, journal.Options{}), bob, nameFold(), put("x"))
		wantCode(t, "update", err, api.OutcomeUnknown)
		if d := time.Since(began); d > 6*time.Second {
			t.Errorf("it took %v; want 5 s", d)
		}
	})
}

// A stream that is not what was written to it is never folded to something else.
func TestStateLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, s stream.Store)
		warm   bool // a process that has folded it before notices
		cold   bool // one that has not does
	}{
		{"trimmed", func(t *testing.T, s stream.Store) {
			if _, err := s.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{stream.Trim(2)}}); err != nil {
				t.Fatal(err)
			}
		}, false, true},
		{"deleted", func(t *testing.T, s stream.Store) {
			if err := s.Delete(t.Context(), bob); err != nil {
				t.Fatal(err)
			}
		}, true, false},
		{"deleted and made again", func(t *testing.T, s stream.Store) {
			if err := s.Delete(t.Context(), bob); err != nil {
				t.Fatal(err)
			}
			if err := s.Create(t.Context(), bob, stream.Config{}); err != nil {
				t.Fatal(err)
			}
		}, true, false},
		{"a record that is no event", func(t *testing.T, s stream.Store) {
			if _, err := s.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{{Body: []byte("bad")}}}); err != nil {
				t.Fatal(err)
			}
		}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := memory(t), nameFold()
			apply := f.Apply
			f.Apply = func(n names, e stream.Entry) (names, error) {
				if string(e.Body) == "bad" {
					return n, errors.New("no event")
				}
				return apply(n, e)
			}
			warm := journal.New(s, journal.Options{})
			for _, n := range []string{"a", "b", "c"} {
				if _, err := journal.Update(t.Context(), warm, bob, f, put(n)); err != nil {
					t.Fatal(err)
				}
			}
			c.damage(t, s)
			var js []*journal.Journal
			if c.warm {
				js = append(js, warm)
			}
			if c.cold {
				js = append(js, journal.New(s, journal.Options{}))
			}
			for _, j := range js {
				_, err := journal.Read(t.Context(), j, bob, f, 0)
				wantCode(t, "read", err, api.StateLost)
				_, err = journal.Update(t.Context(), j, bob, f, put("d"))
				wantCode(t, "update", err, api.StateLost)
			}
		})
	}
}

// However many streams are folded, a bounded number is remembered, and those
// that are not are folded again.
func TestFoldsAreBounded(t *testing.T) {
	s := faulty(t, nil)
	f, j := nameFold(), journal.New(s, journal.Options{Folds: 2})
	for range 2 {
		for i := range 4 {
			name := stream.Agent(ident.Agent(fmt.Sprintf("a%d", i)))
			if _, err := journal.Update(t.Context(), j, name, f, put("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 4 {
		got, err := journal.Read(t.Context(), j, stream.Agent(ident.Agent(fmt.Sprintf("a%d", i))), f, time.Hour)
		if err != nil || len(got) != 2 {
			t.Errorf("a%d: %v, %v; want two records", i, got, err)
		}
	}
}
