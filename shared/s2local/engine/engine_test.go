package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// Positions are dense from 0 and a batch is whole.
func TestAppend(t *testing.T) {
	e := memory(t)
	first := add(t, e, "s", input("a", "b", "c"))
	second := add(t, e, "s", input("d"))
	if first.Start.Seq != 0 || first.End.Seq != 3 || first.Tail != first.End {
		t.Errorf("first ack %+v; want 0 to 3", first)
	}
	if second.Start.Seq != 3 || second.End.Seq != 4 || second.Tail != second.End {
		t.Errorf("second ack %+v; want 3 to 4", second)
	}
	if got := bodies(t, e, "s", 0); got != "a b c d" {
		t.Errorf("read: %q; want a b c d", got)
	}
	if tail, err := e.Tail(t.Context(), basin, "s"); err != nil || tail != second.End {
		t.Errorf("tail: %v, %v; want %v", tail, err, second.End)
	}
}

// The token is compared before the position, both with the state before the
// batch; a refused batch leaves nothing, a fence in it included.
func TestConditions(t *testing.T) {
	e := memory(t)
	add(t, e, "s", command(stream.Fence("f1")))
	add(t, e, "s", input("a"))
	fence := stream.Fence("f2")
	rows := []struct {
		name  string
		at    *uint64
		token *string
		fence bool
		want  string
	}{
		{name: "neither", want: "<nil>"},
		{name: "the tail", at: new(uint64(3)), want: "<nil>"},
		{name: "the token", token: new("f1"), want: "<nil>"},
		{name: "both", at: new(uint64(5)), token: new("f1"), want: "<nil>"},
		{name: "unset token", token: new(""), want: `fenced: the token is "f1"`},
		{name: "prefix of the token", token: new("f"), want: `fenced: the token is "f1"`},
		{name: "position behind", at: new(uint64(7)), want: "position taken: the tail is 6"},
		{name: "position before", at: new(uint64(5)), want: "position taken: the tail is 6"},
		{name: "both wrong", at: new(uint64(0)), token: new("no"), want: `fenced: the token is "f1"`},
		{name: "position wrong", at: new(uint64(0)), token: new("f1"), want: "position taken: the tail is 6"},
		{name: "fence in a refused batch", at: new(uint64(0)), fence: true, want: "position taken: the tail is 6"},
		{name: "fence of its own", token: new("f2"), fence: true, want: `fenced: the token is "f1"`},
		{name: "fence under the old token", token: new("f1"), fence: true, want: "<nil>"},
		{name: "old token", token: new("f1"), want: `fenced: the token is "f2"`},
		{name: "new token", token: new("f2"), want: "<nil>"},
	}
	for _, row := range rows {
		in := input("x")
		if row.fence {
			in.Records = append(in.Records, fence)
		}
		in.At, in.Token = row.at, row.token
		if _, err := e.Append(t.Context(), basin, "s", in); fmt.Sprint(err) != row.want {
			t.Errorf("%s: err = %v; want %s", row.name, err, row.want)
		}
	}
	if tail, _ := e.Tail(t.Context(), basin, "s"); tail.Seq != 9 {
		t.Errorf("tail %d; want 9: what was accepted, nothing else", tail.Seq)
	}
}

// Appends from one goroutine are decided in order, so that each may depend on the
// one before without waiting for it.
func TestPipeline(t *testing.T) {
	e := memory(t)
	var pending []*engine.Pending
	for i := range 1000 {
		in := input(fmt.Sprint(i))
		in.At = new(uint64(i))
		pending = append(pending, e.Submit(basin, "s", in))
	}
	for i, p := range pending {
		if ack, err := p.Wait(t.Context()); err != nil || ack.Start.Seq != uint64(i) || ack.Tail.Seq < ack.End.Seq {
			t.Fatalf("append %d: %+v, %v; want it at %d", i, ack, err, i)
		}
	}
}

// What breaks a limit is refused and changes nothing.
func TestLimits(t *testing.T) {
	e := memory(t)
	kib := strings.Repeat("x", 1<<10)
	rows := []struct {
		name string
		in   engine.Input
		ok   bool
	}{
		{name: "no record", in: engine.Input{}},
		{name: "1000 records", in: input(strings.Fields(strings.Repeat("x ", 1000))...), ok: true},
		{name: "1001 records", in: input(strings.Fields(strings.Repeat("x ", 1001))...)},
		{name: "1 MiB metered", in: input(strings.Repeat(kib, 1024)[8:]), ok: true},
		{name: "1 MiB metered and one byte", in: input(strings.Repeat(kib, 1024)[7:])},
		{name: "1 MiB in two", in: input(strings.Repeat(kib, 512), strings.Repeat(kib, 512)[16:]), ok: true},
		{name: "1 MiB and one byte in two", in: input(strings.Repeat(kib, 512), strings.Repeat(kib, 512)[15:])},
		{name: "token of 36", in: command(stream.Fence(kib[:36])), ok: true},
		{name: "token of 37", in: command(stream.Fence(kib[:37]))},
		{name: "token not UTF-8", in: command(stream.Fence("\xff"))},
		{name: "condition of 37", in: engine.Input{Records: input("x").Records, Token: new(kib[:37])}},
		{name: "unknown command", in: command(stream.Record{Headers: []stream.Header{{Value: "frob"}}})},
		{name: "short trim", in: command(stream.Record{Headers: []stream.Header{{Value: "trim"}}, Body: []byte("1234567")})},
		{name: "unnamed header", in: command(stream.Record{Headers: []stream.Header{{Value: "fence"}, {Name: "a"}}})},
	}
	for _, row := range rows {
		before, err := e.Tail(t.Context(), basin, "s")
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Append(t.Context(), basin, "s", row.in)
		after, _ := e.Tail(t.Context(), basin, "s")
		if row.ok != (err == nil) || !row.ok && !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: err = %v; ok should be %t", row.name, err, row.ok)
		}
		if !row.ok && before != after {
			t.Errorf("%s: the tail moved from %v to %v", row.name, before, after)
		}
	}
}

// A trim goes up to itself, never back, and reads begin at what is left.
func TestTrim(t *testing.T) {
	e := memory(t)
	add(t, e, "s", input("a", "b", "c"))
	rows := []struct {
		name        string
		to          uint64
		first, tail uint64
	}{
		{name: "inside a batch", to: 1, first: 1, tail: 4},
		{name: "back", to: 0, first: 1, tail: 5},
		{name: "a batch", to: 3, first: 3, tail: 6},
		{name: "everything", to: 1 << 60, first: 7, tail: 7},
		{name: "once more", to: 2, first: 7, tail: 8},
	}
	for _, row := range rows {
		add(t, e, "s", command(stream.Trim(row.to)))
		b, err := e.Read(t.Context(), basin, "s", engine.ReadOptions{})
		if err != nil || b.First != row.first || b.Start != row.first || b.Tail.Seq != row.tail || b.Next() != row.tail {
			t.Errorf("%s: read gives %+v, %v; want from %d to %d", row.name, b, err, row.first, row.tail)
		}
	}
}

// Times are the client's or the engine's as the stream says, never in the future
// unless it says so, and never decrease, also over a restart.
func TestTimestamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := uint64(time.Now().UnixMilli())
		at := func(times ...*uint64) engine.Input {
			return engine.Input{Records: make([]stream.Record, len(times)), Times: times}
		}
		rows := []struct {
			name   string
			config engine.StreamConfig
			in     engine.Input
			want   []int64 // less now; nil if it is refused
		}{
			{name: "client's", in: at(new(now-9), new(now-5), nil), want: []int64{-9, -5, 0}},
			{name: "never back", in: at(new(now-5), new(now-9)), want: []int64{-5, -5}},
			{name: "capped", in: at(new(now + 7)), want: []int64{0}},
			{name: "uncapped", config: engine.StreamConfig{Uncapped: new(true)}, in: at(new(now+7), nil), want: []int64{7, 7}},
			{name: "arrival", config: engine.StreamConfig{TimestampMode: new(engine.Arrival)}, in: at(new(now - 9)), want: []int64{0}},
			{name: "required", config: engine.StreamConfig{TimestampMode: new(engine.ClientRequire)}, in: at(new(now-9), new(now)), want: []int64{-9, 0}},
			{name: "required, one missing", config: engine.StreamConfig{TimestampMode: new(engine.ClientRequire)}, in: at(new(now-9), nil)},
			{name: "required, all missing", config: engine.StreamConfig{TimestampMode: new(engine.ClientRequire)}, in: at(nil)},
		}
		e := open(t, engine.Options{Memory: true})
		for _, row := range rows {
			if _, _, err := e.CreateStream(t.Context(), basin, row.name, row.config, ""); err != nil {
				t.Fatal(err)
			}
			_, err := e.Append(t.Context(), basin, row.name, row.in)
			if row.want == nil {
				if tail, _ := e.Tail(t.Context(), basin, row.name); !errors.Is(err, engine.ErrInvalid) || tail.Seq != 0 {
					t.Errorf("%s: err = %v, tail = %v; want ErrInvalid and nothing appended", row.name, err, tail)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
				continue
			}
			b, err := e.Read(t.Context(), basin, row.name, engine.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, entry := range b.Entries {
				got = append(got, int64(uint64(entry.Timestamp)-now))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s: times less now (-want +got):\n%s", row.name, diff)
			}
		}
	})
}

// A deleted stream is gone at once, for those who hold it as well, and its name
// begins anew: position 0, no fence, a fresh configuration.
func TestDelete(t *testing.T) {
	e := memory(t)
	add(t, e, "s", input("a", "b"))
	add(t, e, "s", command(stream.Fence("f")))
	old, err := e.Stream(t.Context(), basin, "s")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := old.Changed(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.DeleteStream(t.Context(), basin, "s"); err != nil {
		t.Fatal(err)
	}
	<-changed
	if _, err := e.Append(t.Context(), basin, "s", input("x")); !errors.Is(err, engine.ErrStreamNotFound) {
		t.Errorf("append: err = %v; want ErrStreamNotFound", err)
	}
	if _, err := e.Read(t.Context(), basin, "s", engine.ReadOptions{}); !errors.Is(err, engine.ErrStreamNotFound) {
		t.Errorf("read: err = %v; want ErrStreamNotFound", err)
	}
	if err := e.DeleteStream(t.Context(), basin, "s"); !errors.Is(err, engine.ErrStreamNotFound) {
		t.Errorf("second delete: err = %v; want ErrStreamNotFound", err)
	}
	create(t, e, "s")
	in := input("new")
	in.At, in.Token = new(uint64(0)), new("")
	if ack := add(t, e, "s", in); ack.Start.Seq != 0 {
		t.Errorf("the new stream begins at %d; want 0", ack.Start.Seq)
	}
	if got := bodies(t, e, "s", 0); got != "new" {
		t.Errorf("the new stream holds %q; want new", got)
	}
	if _, err := old.Read(engine.ReadOptions{}); !errors.Is(err, engine.ErrDeleted) {
		t.Errorf("read of the old life: err = %v; want ErrDeleted", err)
	}
	if _, err := old.Tail(); !errors.Is(err, engine.ErrDeleted) {
		t.Errorf("tail of the old life: err = %v; want ErrDeleted", err)
	}
}

// Deletes and creates of one name that share a commit happen in their order.
func TestDeleteAndCreateTogether(t *testing.T) {
	e := memory(t)
	for round := range 50 {
		done := make(chan error, 3)
		go func() { done <- e.DeleteStream(t.Context(), basin, "s") }()
		go func() {
			_, _, err := e.EnsureStream(t.Context(), basin, "s", engine.StreamConfig{})
			done <- err
		}()
		go func() {
			_, err := e.Append(t.Context(), basin, "s", input("x"))
			done <- err
		}()
		for range 3 {
			if err := <-done; err != nil && !errors.Is(err, engine.ErrStreamNotFound) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if _, _, err := e.EnsureStream(t.Context(), basin, "s", engine.StreamConfig{}); err != nil {
			t.Fatal(err)
		}
		for i := range strings.Fields(bodies(t, e, "s", 0)) {
			if i > round {
				t.Fatalf("round %d: %d records", round, i)
			}
		}
	}
}
