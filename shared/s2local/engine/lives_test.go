package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// Whenever the power fails while a stream is made, filled, fenced, trimmed and
// deleted over and over, the next start finds one life of it, whole, or none: never
// a record, a fence or a trim of another, and none older than what was acknowledged.
func TestPowerCutLives(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for round := range 30 {
		fs := vfs.NewCrashableMem()
		e, err := engine.Open(engine.Options{Dir: "data", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{}); err != nil {
			t.Fatal(err)
		}
		var life, stop atomic.Int64
		ended := make(chan error, 1)
		go func() { ended <- live(t, e, &life, &stop) }()
		timer := time.NewTimer(time.Duration(rng.Int64N(int64(4 * time.Millisecond))))
		<-timer.C
		least := life.Load()
		lost := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng})
		most := life.Load()
		stop.Store(1)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		after, err := engine.Open(engine.Options{Dir: "data", FS: lost})
		if err != nil {
			t.Fatalf("round %d: open after the cut: %v", round, err)
		}
		if checkLife(t, after, least, most) {
			found++
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Fatal("no cut left a stream: the test says nothing")
	}
}

// live gives the stream one life after the other until it is to stop; life is
// the number of the one that was begun last.
func live(t *testing.T, e *engine.Engine, life, stop *atomic.Int64) error {
	for n := int64(1); stop.Load() == 0; n++ {
		life.Store(n)
		if _, _, err := e.CreateStream(t.Context(), basin, "s", engine.StreamConfig{}, ""); err != nil {
			return err
		}
		for i := range 6 {
			in := input(fmt.Sprintf("%d/%d", n, i))
			in.At = new(uint64(i))
			if i == 3 {
				f := stream.Fence(fmt.Sprint(n))
				in.Records = []stream.Record{f}
			}
			if i == 5 {
				r := stream.Trim(2)
				in.Records = []stream.Record{r}
			}
			if _, err := e.Append(t.Context(), basin, "s", in); err != nil {
				return err
			}
		}
		if err := e.DeleteStream(t.Context(), basin, "s"); err != nil {
			return err
		}
	}
	return nil
}

// checkLife fails the test unless e has one life of the stream, between the
// least and the most, whole up to somewhere, or none. It reports whether there is one.
func checkLife(t *testing.T, e *engine.Engine, least, most int64) bool {
	t.Helper()
	b, err := e.Read(t.Context(), basin, "s", engine.ReadOptions{})
	if errors.Is(err, engine.ErrStreamNotFound) {
		return false
	}
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	first := uint64(0)
	if b.Tail.Seq == 6 {
		first = 2
	}
	if b.First != first || b.Next() != b.Tail.Seq {
		t.Fatalf("%d records from %d, the first retained is %d, the tail %d; want them from %d on", len(b.Entries), b.Start, b.First, b.Tail.Seq, first)
	}
	life := ""
	for _, entry := range b.Entries {
		text := string(entry.Body)
		if entry.Command() == stream.TrimCommand {
			continue
		}
		n, _, _ := strings.Cut(text, "/")
		if life == "" {
			life = n
		}
		if n != life || entry.Command() == stream.None && text != fmt.Sprintf("%s/%d", life, entry.Seq) {
			t.Fatalf("%q at %d of life %s", text, entry.Seq, life)
		}
	}
	fence := ""
	if b.Tail.Seq > 3 {
		fence = life
	}
	probe := input("x")
	probe.Token = new("no such token")
	var fenced *stream.FencedError
	if _, err := e.Append(t.Context(), basin, "s", probe); !errors.As(err, &fenced) || fenced.Token != fence {
		t.Fatalf("life %s with %d records: the token is %v; want %q", life, b.Tail.Seq, err, fence)
	}
	var n int64
	if life != "" {
		if _, err := fmt.Sscan(life, &n); err != nil || n < least || n > most {
			t.Fatalf("life %s; want %d to %d", life, least, most)
		}
	}
	return true
}
