package engine_test

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"agentchat/shared/s2local/engine"
)

// sizes returns how much all files of the data folder whose names end with suffix hold.
func sizes(t *testing.T, fs vfs.FS, suffix string) (files []int64) {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		info, err := fs.Stat(path.Join("data", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, info.Size())
	}
	return files
}

// The files of the log are longer than what was written, so that a sync need not
// write their length; what follows what was written is the end to whoever opens them.
func TestLogGrowsAhead(t *testing.T) {
	fs := vfs.NewCrashableMem()
	o := engine.Options{Dir: "data", FS: fs}
	e := open(t, o)
	create(t, e, "s")
	add(t, e, "s", input("a", "b"))
	logs := sizes(t, fs, ".log")
	if len(logs) == 0 {
		t.Fatal("there is no log")
	}
	for _, size := range logs {
		if size == 0 || size%(1<<20) != 0 {
			t.Errorf("a log of %d bytes; want whole MiB", size)
		}
	}
	lost := fs.CrashClone(vfs.CrashCloneCfg{})
	if got := bodies(t, open(t, engine.Options{Dir: "data", FS: lost}), "s", 0); got != "a b" {
		t.Errorf("behind a power cut: %q; want both records", got)
	}
}

// A disk that has no room for more than what is written takes that.
func TestLogGrowsByItselfOnFullDisk(t *testing.T) {
	disk := vfs.NewMem()
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt {
			return syscall.ENOSPC
		}
		return nil
	}))
	e := open(t, engine.Options{Dir: "data", FS: fs})
	create(t, e, "s")
	add(t, e, "s", input("a"))
	add(t, e, "s", input("b"))
	if got := bodies(t, open(t, engine.Options{Dir: "data", FS: copied(t, disk)}), "s", 0); got != "a b" {
		t.Errorf("stored %q; want both records", got)
	}
}

// A power cut behind the growth of a new log and before its first sync leaves a log
// of zeros alone, and one of the next start leaves another beside it.
func TestLogsOfZeros(t *testing.T) {
	fs := vfs.NewCrashableMem()
	e := open(t, engine.Options{Dir: "data", FS: fs})
	create(t, e, "s")
	add(t, e, "s", input("a"))
	for cut := range 3 {
		fs = fs.CrashClone(vfs.CrashCloneCfg{})
		e, err := engine.Open(engine.Options{Dir: "data", FS: fs})
		if err != nil {
			t.Fatalf("behind %d cuts: %v", cut, err)
		}
		if got := bodies(t, e, "s", 0); got != "a" {
			t.Fatalf("behind %d cuts: %q; want a", cut, got)
		}
		zeroed := fs.CrashClone(vfs.CrashCloneCfg{})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := zeroed.List("data")
		if err != nil {
			t.Fatal(err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
		f, err := zeroed.Create(path.Join("data", slices.Max(names)), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		fs = zeroed
	}
}
