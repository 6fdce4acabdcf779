package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
)

// Records go when they are older than their stream's retention, those that came
// later stay, and the tail never moves; a restart in between changes nothing.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := engine.Options{Dir: "data", FS: vfs.NewMem()}
		e, err := engine.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.CreateStream(t.Context(), basin, "s", engine.StreamConfig{RetentionAge: new(time.Hour)}, ""); err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.CreateStream(t.Context(), basin, "kept", engine.StreamConfig{RetentionAge: new(time.Duration(0))}, ""); err != nil {
			t.Fatal(err)
		}
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		first := func(want, tail uint64) {
			t.Helper()
			for name, want := range map[string]uint64{"s": want, "kept": 0} {
				b, err := e.Read(t.Context(), basin, name, engine.ReadOptions{})
				if err != nil || b.First != want || b.Start != want || b.Tail.Seq != tail || uint64(len(b.Entries)) != tail-want {
					t.Errorf("after %v, %s: %d records from %d, %v; want from %d to %d", time.Since(start()), name, len(b.Entries), b.Start, err, want, tail)
				}
			}
		}
		both := func(bodies ...string) {
			add(t, e, "s", input(bodies...))
			add(t, e, "kept", input(bodies...))
		}
		both("a", "b")
		wait(30 * time.Minute)
		both("c")
		wait(29 * time.Minute)
		first(0, 3)
		wait(2 * time.Minute)
		first(2, 3)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err = engine.Open(o); err != nil {
			t.Fatal(err)
		}
		first(2, 3)
		wait(30 * time.Minute)
		first(3, 3)
		wait(24 * time.Hour) // empty, nothing is due
		both("d")
		wait(59 * time.Minute)
		first(3, 4)
		wait(2 * time.Minute)
		first(4, 4)
		both("e")
		if _, err := e.ReconfigureStream(t.Context(), basin, "s", func(c *engine.StreamConfig) { c.RetentionAge = new(time.Minute) }); err != nil {
			t.Fatal(err)
		}
		wait(62 * time.Second)
		first(5, 5)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// start is when every bubble begins.
func start() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// A stream goes when it has been empty for as long as its configuration says,
// whether it never had a record or lost them by age; one that is used stays, and
// what is done to a stream never meets a later one of its name.
func TestDeleteOnEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, engine.Options{Memory: true})
		c := engine.StreamConfig{RetentionAge: new(time.Hour), DeleteOnEmptyAge: new(10 * time.Minute)}
		make := func(name string) {
			t.Helper()
			if _, _, err := e.CreateStream(t.Context(), basin, name, c, ""); err != nil {
				t.Fatal(err)
			}
		}
		there := func(name string, want bool) {
			t.Helper()
			synctest.Wait()
			_, err := e.Tail(t.Context(), basin, name)
			if (err == nil) != want || !want && !errors.Is(err, engine.ErrStreamNotFound) {
				t.Errorf("after %v: %s: err = %v; there should be %t", time.Since(start()), name, err, want)
			}
		}
		make("never")
		make("used")
		make("again")
		add(t, e, "used", input("x"))
		time.Sleep(9 * time.Minute)
		if err := e.DeleteStream(t.Context(), basin, "again"); err != nil {
			t.Fatal(err)
		}
		make("again") // its first life would go at 10 minutes
		there("never", true)
		time.Sleep(2 * time.Minute) // 11
		there("never", false)
		there("again", true)
		there("used", true)
		time.Sleep(10 * time.Minute) // 21
		there("again", false)
		time.Sleep(48 * time.Minute) // 69: "used" lost its record at 60
		there("used", true)
		time.Sleep(3 * time.Minute) // 72
		there("used", false)
	})
}
