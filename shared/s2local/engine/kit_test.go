package engine_test

import (
	"context"
	"strings"
	"testing"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

const basin = "test-basin"

// memory opens an engine in memory with one empty stream called "s".
func memory(tb testing.TB) *engine.Engine {
	tb.Helper()
	e := open(tb, engine.Options{Memory: true})
	create(tb, e, "s")
	return e
}

// input is an append of one record per body.
func input(bodies ...string) engine.Input {
	in := engine.Input{}
	for _, b := range bodies {
		in.Records = append(in.Records, stream.Record{Body: []byte(b)})
	}
	return in
}

// command is an append of one command record.
func command(r stream.Record) engine.Input {
	return engine.Input{Records: []stream.Record{r}}
}

func add(tb testing.TB, e *engine.Engine, name string, in engine.Input) engine.Ack {
	tb.Helper()
	ack, err := e.Append(context.Background(), basin, name, in)
	if err != nil {
		tb.Fatalf("append to %s: %v", name, err)
	}
	return ack
}

// bodies is all that a read from seq gives, page after page, as one line.
func bodies(tb testing.TB, e *engine.Engine, name string, seq uint64) string {
	tb.Helper()
	var all []string
	for {
		b, err := e.Read(context.Background(), basin, name, engine.ReadOptions{Start: stream.Start{Seq: seq}})
		if err != nil {
			tb.Fatalf("read %s from %d: %v", name, seq, err)
		}
		for i, entry := range b.Entries {
			if want := b.Start + uint64(i); entry.Seq != want {
				tb.Fatalf("read %s from %d: a record at %d; want %d", name, seq, entry.Seq, want)
			}
			all = append(all, string(entry.Body))
		}
		if seq = b.Next(); seq == b.Tail.Seq {
			return strings.Join(all, " ")
		}
		if len(b.Entries) == 0 {
			tb.Fatalf("read %s from %d: nothing; the tail is %d", name, seq, b.Tail.Seq)
		}
	}
}

// message is a record of about n bytes as agent-chat writes them.
func message(n int) stream.Record {
	text := `{"v":"agent-chat/1","id":"msg_0192f3a4b5c6d7e8f9","from":"alice","to":"bob","text":"`
	for len(text) < n {
		text += "the quick brown fox jumps over the lazy dog "
	}
	return stream.Record{
		Headers: []stream.Header{{Name: "from", Value: "alice"}, {Name: "id", Value: "msg_0192f3a4b5c6d7e8f9"}},
		Body:    []byte(text[:n-2] + `"}`),
	}
}

// fill appends n records of 1 KiB in batches of size.
func fill(tb testing.TB, e *engine.Engine, name string, n, size int) {
	tb.Helper()
	in := engine.Input{Records: make([]stream.Record, size)}
	for i := range in.Records {
		in.Records[i] = message(1 << 10)
	}
	pending := make([]*engine.Pending, 0, n/size)
	for range n / size {
		pending = append(pending, e.Submit(basin, name, in))
	}
	for _, p := range pending {
		if _, err := p.Wait(context.Background()); err != nil {
			tb.Fatal(err)
		}
	}
}

func open(tb testing.TB, o engine.Options) *engine.Engine {
	tb.Helper()
	e, err := engine.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, _, err := e.EnsureBasin(context.Background(), basin, engine.BasinConfig{}); err != nil {
		tb.Fatal(err)
	}
	return e
}

func create(tb testing.TB, e *engine.Engine, name string) {
	tb.Helper()
	if _, _, err := e.CreateStream(context.Background(), basin, name, engine.StreamConfig{}, ""); err != nil {
		tb.Fatal(err)
	}
}
