//go:build !race

package engine_test

import (
	"fmt"
	"testing"
	"time"

	"agentchat/shared/s2local/engine"
)

// A million records are open again in less than two seconds.
func TestReopenMillion(t *testing.T) {
	dir := t.TempDir()
	const streams, batches, size = 100, 100, 100
	e, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		t.Fatal(err)
	}
	in := engine.Input{}
	for range size {
		in.Records = append(in.Records, message(200))
	}
	var pending []*engine.Pending
	for range batches {
		for s := range streams {
			pending = append(pending, e.Submit(basin, fmt.Sprintf("inbox/%d", s), in))
		}
	}
	for _, p := range pending {
		if _, err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	e = open(t, engine.Options{Dir: dir})
	opened := time.Since(begin)
	records := uint64(0)
	for s := range streams {
		tail, err := e.Tail(t.Context(), basin, fmt.Sprintf("inbox/%d", s))
		if err != nil {
			t.Fatal(err)
		}
		records += tail.Seq
	}
	t.Logf("%d records: open in %v, all tails in %v", records, opened, time.Since(begin))
	if records != streams*batches*size || opened > 2*time.Second {
		t.Errorf("%d records, open in %v; want a million in less than 2 s", records, opened)
	}
}
