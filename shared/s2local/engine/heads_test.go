package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// What an append moves is found again by its batch alone, behind a power cut and
// by whoever watches a cold engine: the tail, its time, and the fence and the
// first position that commands set before.
func TestTailIsThatOfTheLastBatch(t *testing.T) {
	fs := vfs.NewCrashableMem()
	e := open(t, engine.Options{Dir: "data", FS: fs})
	create(t, e, "empty")
	create(t, e, "plain")
	create(t, e, "fenced")
	create(t, e, "trimmed")
	create(t, e, "gone")
	add(t, e, "plain", input("a", "b"))
	add(t, e, "plain", input("c"))
	add(t, e, "fenced", command(stream.Fence("token")))
	add(t, e, "fenced", input("a"))
	last := add(t, e, "fenced", input("b"))
	add(t, e, "trimmed", input("a", "b", "c"))
	add(t, e, "trimmed", command(stream.Trim(2)))
	add(t, e, "trimmed", input("d"))
	add(t, e, "gone", input("a", "b"))
	add(t, e, "gone", command(stream.Trim(9))) // itself too

	e = open(t, engine.Options{Dir: "data", FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	want := "empty=0 fenced=3 gone=3 plain=3 trimmed=5"
	for _, told := range []string{"cold", "warm"} {
		if got := watched(t, e); got != want {
			t.Errorf("watched %s: %s; want %s", told, got, want)
		}
		var tails []string
		for _, name := range []string{"empty", "fenced", "gone", "plain", "trimmed"} {
			tail, err := e.Tail(t.Context(), basin, name)
			if err != nil {
				t.Fatal(err)
			}
			tails = append(tails, fmt.Sprintf("%s=%d", name, tail.Seq))
		}
		if got := strings.Join(tails, " "); got != want {
			t.Errorf("tails %s: %s; want %s", told, got, want)
		}
	}
	if tail, err := e.Tail(t.Context(), basin, "fenced"); err != nil || tail != last.End {
		t.Errorf("tail of fenced = %v, %v; want %v", tail, err, last.End)
	}
	in := input("c")
	in.Token = new("token")
	if _, err := e.Append(t.Context(), basin, "fenced", in); err != nil {
		t.Errorf("append with the token: %v", err)
	}
	if b, err := e.Read(t.Context(), basin, "trimmed", engine.ReadOptions{}); err != nil || b.First != 2 || len(b.Entries) != 3 {
		t.Errorf("trimmed begins at %d with %d entries, %v; want 3 entries from 2", b.First, len(b.Entries), err)
	}
	if ack := add(t, e, "gone", input("c")); ack.Start.Seq != 3 {
		t.Errorf("an append behind what was trimmed is at %d; want 3", ack.Start.Seq)
	}
}

// watched is what Watch tells first, as one line.
func watched(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var all []string
	for moved, err := range e.Watch(t.Context(), basin, "") {
		if err != nil {
			t.Fatal(err)
		}
		if len(moved) == 0 {
			break
		}
		for _, m := range moved {
			all = append(all, fmt.Sprintf("%s=%d", m.Name, m.Tail))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A folder of the layout before this one is opened, and then is of this one; one
// of a later layout is refused.
func TestLayouts(t *testing.T) {
	fs := vfs.NewMem()
	e, err := engine.Open(engine.Options{Dir: "data", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		layout byte
		want   string
	}{{1, ""}, {2, ""}, {3, "layout 3, which a later version"}, {0, "layout [0]"}} {
		setVersion(t, fs, tt.layout)
		e, err := engine.Open(engine.Options{Dir: "data", FS: fs})
		if err == nil {
			err = e.Close()
			if got := version(t, fs); got != 2 {
				t.Errorf("layout %d became %d; want 2", tt.layout, got)
			}
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("open layout %d: %v; want %q", tt.layout, err, tt.want)
		}
	}
}

func setVersion(t *testing.T, fs vfs.FS, layout byte) {
	t.Helper()
	inDB(t, fs, func(db *pebble.DB) error { return db.Set([]byte("v"), []byte{layout}, pebble.Sync) })
}

func version(t *testing.T, fs vfs.FS) (layout byte) {
	t.Helper()
	inDB(t, fs, func(db *pebble.DB) error {
		v, closer, err := db.Get([]byte("v"))
		if err != nil {
			return err
		}
		layout = v[0]
		return closer.Close()
	})
	return layout
}

func inDB(t *testing.T, fs vfs.FS, do func(*pebble.DB) error) {
	t.Helper()
	db, err := pebble.Open("data", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	if err := do(db); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Who begins to watch while an append is decided, and not yet on the disk, is told
// the tail before it, and then the new one.
func TestWatchTellsNothingUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory(t)
		hold := func() chan struct{} { // the committer, until it is closed
			resume := make(chan struct{})
			go func() {
				if _, err := e.ReconfigureStream(t.Context(), basin, "s", func(*engine.StreamConfig) { <-resume }); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			return resume
		}
		first := hold()
		p := e.Submit(basin, "s", input("a"))
		second := hold() // in one group with the append, behind it
		close(first)
		synctest.Wait()
		var told []string
		for moved, err := range e.Watch(t.Context(), basin, "") {
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, fmt.Sprint(moved))
			if len(moved) == 0 {
				close(second)
			} else if moved[0].Tail == 1 {
				break
			}
		}
		if got := strings.Join(told, " "); got != "[{s 0}] [] [{s 1}]" {
			t.Errorf("told %s; want 0, the end of what there is, 1", got)
		}
		if _, err := p.Outcome(); err != nil {
			t.Error(err)
		}
	})
}
