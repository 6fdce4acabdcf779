package faultstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

var inbox = stream.Inbox("bob")

func batch(text string) stream.Batch {
	return stream.Batch{Records: []stream.Record{{Body: []byte(text)}}}
}

// open returns a store with the faults, whose inbox exists.
func open(t *testing.T, choose faultstream.Chooser) *faultstream.Store {
	t.Helper()
	inner := memory(t)
	if err := inner.Create(t.Context(), inbox, stream.Config{}); err != nil {
		t.Fatal(err)
	}
	return faultstream.New(t, inner, faultstream.Options{Choose: choose})
}

// texts returns all that is in the inbox.
func texts(t *testing.T, s stream.Store) (got []string) {
	t.Helper()
	page, err := s.Read(t.Context(), inbox, stream.Start{}, stream.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Entries {
		got = append(got, string(e.Body))
	}
	return got
}

func TestFaultsOfAppend(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faultstream.Fault
		want  error
		after []string // stored when Append returns
		later []string // stored after two more calls
	}{
		{"none", faultstream.Fault{}, nil, []string{"m"}, []string{"m"}},
		{"refused", faultstream.Fault{Kind: faultstream.Refused}, stream.ErrUnavailable, nil, nil},
		{"lost", faultstream.Fault{Kind: faultstream.Lost}, stream.ErrUnknown, nil, nil},
		{"stored", faultstream.Fault{Kind: faultstream.Stored}, stream.ErrUnknown, []string{"m"}, []string{"m"}},
		{"late at once", faultstream.Fault{Kind: faultstream.Late}, stream.ErrUnknown, []string{"m"}, []string{"m"}},
		{"late by two calls", faultstream.Fault{Kind: faultstream.Late, After: 2}, stream.ErrUnknown, nil, []string{"m"}},
		{"late until told", faultstream.Fault{Kind: faultstream.Late, After: -1}, stream.ErrUnknown, nil, nil},
		{"slow", faultstream.Fault{Kind: faultstream.Slow, Delay: time.Millisecond}, nil, []string{"m"}, []string{"m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, faultstream.Script(faultstream.Append, c.fault))
			if _, err := s.Append(t.Context(), inbox, batch("m")); !errors.Is(err, c.want) {
				t.Errorf("append: err = %v; want %v", err, c.want)
			}
			if diff := cmp.Diff(c.after, texts(t, s)); diff != "" {
				t.Errorf("stored at once (-want +got):\n%s", diff)
			}
			_, _ = s.Tail(t.Context(), inbox)
			if diff := cmp.Diff(c.later, texts(t, s)); diff != "" {
				t.Errorf("stored later (-want +got):\n%s", diff)
			}
		})
	}
}

// A late append is judged by its conditions when it lands.
func TestLateAppendsLandByTheirConditions(t *testing.T) {
	late := faultstream.Fault{Kind: faultstream.Late, After: -1}
	s := open(t, faultstream.Script(faultstream.Append, late, late, late))
	at, token := uint64(0), ""
	placed, fenced := batch("at 0"), batch("without a token")
	placed.At, fenced.Token = &at, &token
	for _, in := range []stream.Batch{placed, fenced, batch("free")} {
		if _, err := s.Append(t.Context(), inbox, in); !errors.Is(err, stream.ErrUnknown) {
			t.Errorf("append: err = %v; want ErrUnknown", err)
		}
	}
	pending := s.Pending()
	if len(pending) != 3 {
		t.Fatalf("%d pending; want 3", len(pending))
	}
	if _, err := s.Append(t.Context(), inbox, stream.Batch{Records: []stream.Record{stream.Fence("new")}}); err != nil {
		t.Fatal(err)
	}
	if !s.Land(pending[1].N) || s.Land(pending[1].N) {
		t.Error("a late append lands once")
	}
	s.LandAll()
	if diff := cmp.Diff([]string{"new", "free"}, texts(t, s)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if n := len(s.Pending()); n != 0 {
		t.Errorf("%d pending after all landed", n)
	}
}

func TestLateCreateAndDelete(t *testing.T) {
	late := faultstream.Fault{Kind: faultstream.Late, After: -1}
	s := open(t, func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Create || c.Op == faultstream.Delete {
			return late
		}
		return faultstream.Fault{}
	})
	if err := s.Create(t.Context(), stream.Inbox("new"), stream.Config{}); !errors.Is(err, stream.ErrUnknown) {
		t.Errorf("create: err = %v; want ErrUnknown", err)
	}
	if err := s.Delete(t.Context(), inbox); !errors.Is(err, stream.ErrUnknown) {
		t.Errorf("delete: err = %v; want ErrUnknown", err)
	}
	list := func() []stream.Name {
		names, _, err := s.List(t.Context(), stream.Inboxes, stream.Name{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if got := list(); !slices.Equal(got, []stream.Name{inbox}) {
		t.Errorf("before they landed: %v", got)
	}
	s.LandAll()
	if got := list(); !slices.Equal(got, []stream.Name{stream.Inbox("new")}) {
		t.Errorf("after they landed: %v", got)
	}
}

func TestFollowIsCutAndInCrumbs(t *testing.T) {
	s := open(t, faultstream.Script(faultstream.Follow,
		faultstream.Fault{Kind: faultstream.Cut, After: 1}, faultstream.Fault{Kind: faultstream.Short}, faultstream.Fault{Kind: faultstream.Refused}))
	for range 3 {
		if _, err := s.Append(t.Context(), inbox, batch("m")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pages := func(enough int) (sizes []int, err error) {
		for page, err := range s.Follow(ctx, inbox, 0, time.Minute) {
			if err != nil {
				return sizes, err
			}
			if sizes = append(sizes, len(page.Entries)); len(sizes) == enough {
				break
			}
		}
		return sizes, nil
	}
	if sizes, err := pages(9); !slices.Equal(sizes, []int{3}) || !errors.Is(err, stream.ErrUnavailable) {
		t.Errorf("cut after a page: %v, %v", sizes, err)
	}
	if sizes, err := pages(3); !slices.Equal(sizes, []int{1, 1, 1}) || err != nil {
		t.Errorf("crumbs: %v, %v; want three pages of one", sizes, err)
	}
	if sizes, err := pages(9); len(sizes) != 0 || !errors.Is(err, stream.ErrUnavailable) {
		t.Errorf("refused: %v, %v", sizes, err)
	}
}

func TestRestartEndsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Slow, Delay: time.Hour}))
		errs := make(chan error, 3)
		go func() {
			_, err := s.Append(t.Context(), inbox, batch("m"))
			errs <- fmt.Errorf("append: %w", err)
		}()
		go func() {
			for _, err := range s.Follow(t.Context(), inbox, 0, time.Hour) {
				if err != nil {
					errs <- fmt.Errorf("follow: %w", err)
				}
			}
		}()
		go func() {
			for _, err := range s.Watch(t.Context(), stream.Inboxes) {
				if err != nil {
					errs <- fmt.Errorf("watch: %w", err)
				}
			}
		}()
		synctest.Wait()
		s.Restart()
		synctest.Wait()
		if len(errs) != 3 {
			t.Fatalf("%d of 3 calls ended", len(errs))
		}
		for range 3 {
			err := <-errs
			if !errors.Is(err, stream.ErrUnavailable) && !errors.Is(err, stream.ErrUnknown) || errors.Is(err, context.Canceled) {
				t.Errorf("%v; want ErrUnavailable, or ErrUnknown for the append", err)
			}
		}
		if got := texts(t, s); len(got) != 0 {
			t.Errorf("stored %q", got)
		}
	})
}

// A process dies with its append under way: the store may have it, the process
// never learns.
func TestDieEndsTheCaller(t *testing.T) {
	s := open(t, faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Stored, Die: true}))
	var group sync.WaitGroup
	group.Go(func() {
		_, err := s.Append(t.Context(), inbox, batch("m"))
		t.Errorf("append returned %v to a dead caller", err)
	})
	group.Wait()
	if diff := cmp.Diff([]string{"m"}, texts(t, s)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestSeedDecides(t *testing.T) {
	run := func(seed uint64) (faults []faultstream.Fault) {
		choose := faultstream.Seeded(seed, 0.5)
		for n := range 300 {
			faults = append(faults, choose(faultstream.Call{N: n, Op: faultstream.Op(n % 10)}))
		}
		return faults
	}
	if a, b := run(7), run(7); !slices.Equal(a, b) {
		t.Error("the same seed gave other faults")
	}
	if slices.Equal(run(7), run(8)) {
		t.Error("another seed gave the same faults")
	}
	kinds := map[faultstream.Kind]int{}
	for n, f := range run(7) {
		kinds[f.Kind]++
		if op := faultstream.Op(n % 10); !slices.Contains(op.Kinds(), f.Kind) {
			t.Errorf("%v for %v", f.Kind, op)
		}
	}
	for k := faultstream.None; k <= faultstream.Again; k++ {
		if kinds[k] == 0 {
			t.Errorf("%v never came", k)
		}
	}
	if n := kinds[faultstream.None]; n < 100 || n > 200 {
		t.Errorf("%d of 300 calls without a fault; want about half", n)
	}
}

func TestCallsAreCounted(t *testing.T) {
	s := open(t, nil)
	_, _ = s.Append(t.Context(), inbox, batch("a"))
	_, _ = s.Tail(t.Context(), inbox)
	_, _ = s.Append(t.Context(), inbox, batch("b"))
	var got []string
	for i, c := range s.Calls() {
		if c.N != i {
			t.Errorf("call %d has number %d", i, c.N)
		}
		got = append(got, c.Op.String())
	}
	if diff := cmp.Diff([]string{"Append", "Tail", "Append"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if n := s.Count(faultstream.Append); n != 2 {
		t.Errorf("%d appends; want 2", n)
	}
}
