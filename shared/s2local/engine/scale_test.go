package engine_test

import (
	"context"
	"fmt"
	"testing"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// More streams than are kept in memory: those who hold one that was dropped from
// it go on, miss nothing, and are woken.
func TestEviction(t *testing.T) {
	e := open(t, engine.Options{Memory: true, Hot: 100})
	if _, err := e.ReconfigureBasin(t.Context(), basin, func(c *engine.BasinConfig) { c.CreateOnAppend = true }); err != nil {
		t.Fatal(err)
	}
	add(t, e, "held", input("0"))
	s, err := e.Stream(t.Context(), basin, "held")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := e.Stream(t.Context(), basin, "held")
	if err != nil {
		t.Fatal(err)
	}
	const streams = 1000
	for round := range 5 {
		for i := range streams { // one commit each, and a look at what to drop behind each
			if ack := add(t, e, fmt.Sprintf("many/%d", i), input("x")); ack.Start.Seq != uint64(round) {
				t.Fatalf("round %d: append to stream %d: at %d; want at %d", round, i, ack.Start.Seq, round)
			}
		}
		changed, err := s.Changed(uint64(round) + 1)
		if err != nil {
			t.Fatal(err)
		}
		add(t, e, "held", input(fmt.Sprint(round+1)))
		<-changed
		b, err := s.Read(engine.ReadOptions{Start: stream.Start{Seq: uint64(round) + 1}})
		if err != nil || len(b.Entries) != 1 || string(b.Entries[0].Body) != fmt.Sprint(round+1) {
			t.Fatalf("round %d: read %+v, %v; want the new record", round, b, err)
		}
	}
	if err := e.DeleteStream(t.Context(), basin, "held"); err != nil {
		t.Fatal(err)
	}
	add(t, e, "held", input("another life"))
	if _, err := gone.Read(engine.ReadOptions{}); err == nil {
		t.Error("what was held turned into another life")
	}
}

// A watcher that does not read while more streams move than it is kept notes of
// is told the last tail of each all the same.
func TestWatchOverrun(t *testing.T) {
	e := open(t, engine.Options{Memory: true, Hot: 1500})
	if _, err := e.ReconfigureBasin(t.Context(), basin, func(c *engine.BasinConfig) { c.CreateOnAppend = true }); err != nil {
		t.Fatal(err)
	}
	const streams = 4000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tails := map[string]uint64{}
	began := false
	for batch, err := range e.Watch(ctx, basin, "many/") {
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) > 1000 {
			t.Fatalf("%d streams in a batch", len(batch))
		}
		for _, m := range batch {
			tails[m.Name] = m.Tail
		}
		if len(batch) == 0 && !began {
			began = true
			var last *engine.Pending
			for range 2 {
				for i := range streams {
					last = e.Submit(basin, fmt.Sprintf("many/%d", i), input("x"))
				}
			}
			if _, err := last.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(tails) == streams {
			for name, tail := range tails {
				if tail != 2 {
					t.Fatalf("%s: tail %d; want 2", name, tail)
				}
			}
			return
		}
	}
	t.Fatal("the watch ended")
}

// A watcher that is behind is told all again, and then no tail that was before that.
func TestWatchGoesNoStepBack(t *testing.T) {
	e := open(t, engine.Options{Memory: true, Hot: 2})
	if _, err := e.ReconfigureBasin(t.Context(), basin, func(c *engine.BasinConfig) { c.CreateOnAppend = true }); err != nil {
		t.Fatal(err)
	}
	const streams = 1001 // more than come in one batch, and "z"
	for i := range streams {
		add(t, e, fmt.Sprintf("s/%d", i), input("x"))
	}
	add(t, e, "z", input("0"))
	told, began, again := uint64(0), false, false
	for batch, err := range e.Watch(t.Context(), basin, "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range batch {
			if m.Name == "z" && m.Tail < told {
				t.Fatalf("z is at %d, and then at %d", told, m.Tail)
			} else if m.Name == "z" {
				told = m.Tail
			}
		}
		switch {
		case len(batch) == 0: // too much moves, "z" last
			began = true
			for i := range 4 {
				add(t, e, fmt.Sprintf("s/%d", i), input("x"))
			}
			add(t, e, "z", input("1"))
		case began && !again: // of the second sweep
			again = true
			add(t, e, "z", input("2"))
		case began && told == 3 && batch[len(batch)-1].Name == "z":
			add(t, e, "s/0", input("the end"))
		}
		if again && batch[0].Name == "s/0" && len(batch) == 1 {
			return
		}
	}
}

// The first look at 10,000 streams is quick: the monitor makes it for every page.
func BenchmarkWatchSweep(b *testing.B) {
	e := open(b, engine.Options{Dir: b.TempDir()})
	if _, err := e.ReconfigureBasin(b.Context(), basin, func(c *engine.BasinConfig) { c.CreateOnAppend = true }); err != nil {
		b.Fatal(err)
	}
	var last *engine.Pending
	for i := range 10_000 {
		last = e.Submit(basin, fmt.Sprintf("inbox/%d", i), input("x"))
	}
	if _, err := last.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		seen := 0
		for batch, err := range e.Watch(b.Context(), basin, "inbox/") {
			if err != nil {
				b.Fatal(err)
			}
			if seen += len(batch); len(batch) == 0 {
				break
			}
		}
		if seen != 10_000 {
			b.Fatalf("%d streams", seen)
		}
	}
}
