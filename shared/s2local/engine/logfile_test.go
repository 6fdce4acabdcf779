package engine_test

import (
	"errors"
	"os"
	"path"
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
