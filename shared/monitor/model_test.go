package monitor_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream/faultstream"
)

// Whatever cursor a reader goes on from, it sees each record behind it once and
// in the inbox's order: that of a page, of a delivery in the middle of one, or of
// an event; of a small fleet and of one whose cursors name checkpoints; with
// reads that fail and appends whose outcome is unknown; in another process.
func TestModel(t *testing.T) {
	versions := map[int]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := &watched{versions: versions, seen: map[string]map[ident.Agent]uint64{"": {}}, cursors: []string{""}}
		w.size = rapid.IntRange(1, 40).Draw(rt, "fleet")
		seed := rapid.Uint64().Draw(rt, "seed")
		steps := rapid.SliceOfN(rapid.IntRange(0, 1<<20), 1, 60).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) { err = w.run(t, seed, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
	if versions[1] == 0 || versions[2] == 0 {
		t.Errorf("cursors of each version: %v; want some of both", versions)
	}
}

// watched is what readers of a fleet were shown.
type watched struct {
	*fleet
	size     int
	versions map[int]int
	seen     map[string]map[ident.Agent]uint64 // what a reader with this cursor has seen
	cursors  []string
}

func (w *watched) run(t *testing.T, seed uint64, steps []int) error {
	faulty, seeded := false, faultstream.Seeded(seed, 0.15)
	w.fleet = newFleet(t, func(c faultstream.Call) faultstream.Fault {
		if !faulty {
			return faultstream.Fault{}
		}
		return seeded(c)
	})
	for _, step := range steps {
		op, arg := step%8, step/8
		switch op {
		case 0, 1:
			w.sendTo(arg%w.size, 1+arg%12)
		case 2:
			for i := range w.size {
				w.sendTo(i, 1)
			}
		case 3, 4:
			faulty = arg%2 == 0
			from := w.cursors[arg%len(w.cursors)]
			page, err := w.m.Page(t.Context(), monitor.Query{Cursor: from, Limit: 1 + arg%60})
			faulty = false
			if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.Unavailable {
				continue
			}
			if err = errors.Join(err, w.check(from, page)); err != nil {
				return err
			}
			if err := w.note(page.NextCursor, w.behind(from, page)); err != nil {
				return err
			}
		case 5, 6:
			faulty = arg%2 == 0
			err := w.follow(w.cursors[arg%len(w.cursors)], arg%5)
			faulty = false
			if err != nil {
				return err
			}
		case 7:
			time.Sleep(time.Millisecond)
			if arg%4 == 0 {
				w.m = monitor.New(w.store, nil)
			}
		}
	}
	for _, from := range w.cursors[max(0, len(w.cursors)-5):] {
		if err := w.toTheEnd(from); err != nil {
			return err
		}
	}
	return nil
}

func (w *watched) sendTo(i, n int) {
	if _, ok := w.sent[name(i)]; !ok {
		w.create(name(i))
	}
	w.send(name(i), n)
}

// follow takes some batches from a cursor on, fewer if there is no more.
func (w *watched) follow(from string, batches int) error {
	left := 0
	for a, tail := range w.sent {
		left += int(tail - w.seen[from][a])
	}
	for page, err := range w.m.Follow(w.t.Context(), monitor.Query{Cursor: from}) {
		if err != nil {
			return nil // it is told; whoever reads goes on from what it has
		}
		if err := w.check(from, page); err != nil {
			return err
		}
		if n := len(page.Deliveries); n > 0 {
			from = page.Deliveries[n-1].Cursor
		}
		if left -= len(page.Deliveries); left == 0 || batches == 0 {
			return nil
		}
		batches--
	}
	return nil
}

// toTheEnd pages from a cursor on, and holds that everything was seen.
func (w *watched) toTheEnd(from string) error {
	for {
		page := w.page(monitor.Query{Cursor: from})
		if !maps.Equal(page.Tails, w.sent) {
			return fmt.Errorf("tails %v; want %v", page.Tails, w.sent)
		}
		if err := w.check(from, page); err != nil {
			return err
		}
		if err := w.note(page.NextCursor, w.behind(from, page)); err != nil {
			return err
		}
		if len(page.Deliveries) == 0 {
			if page.NextCursor != from && from != "" {
				return fmt.Errorf("nothing more, and the cursor went from %s to %s", from, page.NextCursor)
			}
			break
		}
		from = page.NextCursor
	}
	for a, tail := range w.sent {
		if w.seen[from][a] != tail {
			return fmt.Errorf("%s was read up to %d of %d", a, w.seen[from][a], tail)
		}
	}
	return nil
}

// check holds that page is what comes behind from.
func (w *watched) check(from string, page *api.MonitorPage) error {
	at := maps.Clone(w.seen[from])
	inOrder(w.t, page.Deliveries)
	for _, d := range page.Deliveries {
		if d.SeqNum != at[d.Inbox] {
			return fmt.Errorf("%s %d after %d", d.Inbox, d.SeqNum, at[d.Inbox])
		}
		at[d.Inbox]++
		w.versions[version(d.Cursor)]++
		if len(d.Cursor) > 2048 || version(d.Cursor) == 2 && len(d.Cursor) > 200 {
			return fmt.Errorf("a cursor of %d bytes", len(d.Cursor))
		}
		if err := w.note(d.Cursor, at); err != nil {
			return err
		}
	}
	return nil
}

// behind is what a reader has seen that was at from before the page.
func (w *watched) behind(from string, page *api.MonitorPage) map[ident.Agent]uint64 {
	at := maps.Clone(w.seen[from])
	for _, d := range page.Deliveries {
		at[d.Inbox]++
	}
	return at
}

// note holds that a cursor means one thing.
func (w *watched) note(cursor string, at map[ident.Agent]uint64) error {
	was, known := w.seen[cursor]
	if known && !maps.Equal(was, at) {
		return fmt.Errorf("one cursor for %v and %v", was, at)
	}
	if !known {
		w.seen[cursor] = maps.Clone(at)
		w.cursors = append(w.cursors, cursor)
	}
	return nil
}
