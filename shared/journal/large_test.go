package journal_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Of states that may be large, those used last are kept, as many as fit; what was
// dropped is read again, and others are kept as before.
func TestMemory(t *testing.T) {
	s := faulty(t, nil)
	small, sized := nameFold(), nameFold()
	sized.Size = func(n names) int { return 100 * len(n) }
	j := journal.New(s, journal.Options{Memory: 1000})
	name := func(i int) stream.Name { return stream.Agent(ident.Agent(fmt.Sprint("a", i))) }
	add := func(i int) {
		t.Helper()
		if _, err := journal.Update(t.Context(), j, name(i), sized, put(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	costs := func(i int, f *journal.Fold[names], most time.Duration) bool {
		t.Helper()
		before := len(s.Calls())
		if got, err := journal.Read(t.Context(), j, name(i), f, most); err != nil || len(got) == 0 {
			t.Fatalf("read %d: %v, %v", i, got, err)
		}
		return len(s.Calls()) > before
	}
	for i := range 20 {
		add(i)
		costs(i, small, time.Hour)
	}
	for i := 19; i >= 0; i-- { // from the one used last
		if costs(i, small, time.Hour) {
			t.Errorf("%d, whose size is not counted, is read again", i)
		}
		if read := costs(i, sized, time.Hour); i >= 10 && read {
			t.Errorf("%d is read again; there was room for the last ten", i)
		} else if i < 10 && !read {
			t.Errorf("%d is kept; want it dropped for others", i)
		}
	}
	for range 8 { // now nothing but one more has room beside it
		add(0)
	}
	if costs(0, sized, time.Hour) {
		t.Error("the one that grew is read again")
	}
	costs(1, sized, time.Hour)
	if costs(1, sized, time.Hour) || costs(0, sized, time.Hour) || !costs(2, sized, time.Hour) {
		t.Error("want the last two kept, and no third")
	}
	for range 10 {
		add(0) // more than there is room for
	}
	if !costs(0, sized, time.Hour) {
		t.Error("a state larger than all the room is kept")
	}
}

// Whatever is dropped meanwhile, nothing is lost of what was written.
func TestMemoryIsShared(t *testing.T) {
	const streams, writers, each = 8, 4, 50
	f := nameFold()
	f.Size = func(n names) int { return len(n) }
	j := journal.New(memory(t), journal.Options{Memory: 60})
	name := func(i int) stream.Name { return stream.Agent(ident.Agent(fmt.Sprint("a", i))) }
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for n := range each {
				i := r.IntN(streams)
				if _, err := journal.Update(t.Context(), j, name(i), f, put(fmt.Sprint(w, "-", n))); err != nil {
					t.Error(err)
				}
				if _, err := journal.Read(t.Context(), j, name(r.IntN(streams)), f, time.Hour); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	written := 0
	for i := range streams {
		got, err := journal.Read(t.Context(), j, name(i), f, 0)
		if err != nil {
			t.Fatal(err)
		}
		written += len(got)
	}
	if written != writers*each {
		t.Errorf("%d names; want %d", written, writers*each)
	}
	if used := j.Used(); used < 0 || used > 60 {
		t.Errorf("%d bytes are counted; want 60 at most", used)
	}
}
