package engine_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"agentchat/shared/s2local/engine"
)

var errDisk = errors.New("the disk is gone")

// When the disk refuses a write, everything is refused from then on, those who
// wait are told, and the process lives; after a new start on the same disk
// everything that was acknowledged is there.
func TestDiskFailure(t *testing.T) {
	disk := vfs.NewMem()
	var broken atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errDisk
		}
		return nil
	}))
	quiet := slog.New(slog.DiscardHandler)
	e, err := engine.Open(engine.Options{Dir: "data", FS: fs, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		t.Fatal(err)
	}
	add(t, e, "s", input("a", "b"))
	s, err := e.Stream(t.Context(), basin, "s")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := s.Changed(2)
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() {
		for _, err := range e.Watch(context.Background(), basin, "") {
			if err != nil {
				watched <- err
			}
		}
	}()
	broken.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 3 {
		if _, err := e.Append(ctx, basin, "s", input("c")); !errors.Is(err, engine.ErrStorage) {
			t.Errorf("append: err = %v; want ErrStorage", err)
		}
	}
	if _, _, err := e.EnsureStream(ctx, basin, "other", engine.StreamConfig{}); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("ensure: err = %v; want ErrStorage", err)
	}
	if _, err := e.Read(ctx, basin, "s", engine.ReadOptions{}); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("read: err = %v; want ErrStorage", err)
	}
	if _, err := s.Tail(); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("tail: err = %v; want ErrStorage", err)
	}
	select {
	case <-changed:
	case <-ctx.Done():
		t.Error("a follower was not woken")
	}
	select {
	case err := <-watched:
		if !errors.Is(err, engine.ErrStorage) {
			t.Errorf("watch: err = %v; want ErrStorage", err)
		}
	case <-ctx.Done():
		t.Error("a watcher was not woken")
	}
	select {
	case <-e.Failed():
	default:
		t.Error("Failed is not closed")
	}
	if err := e.Close(); err != nil && !errors.Is(err, engine.ErrStorage) {
		t.Errorf("close: %v", err)
	}
	after, err := engine.Open(engine.Options{Dir: "data", FS: copied(t, disk)})
	if err != nil {
		t.Fatal(err)
	}
	if got := bodies(t, after, "s", 0); got != "a b" {
		t.Errorf("after a new start: %q; want a b", got)
	}
	if err := after.Close(); err != nil {
		t.Fatal(err)
	}
}

// When the disk is found to be gone, those who are queued behind what it refused
// are told at once.
func TestDiskFailureTellsTheQueued(t *testing.T) {
	var stalled atomic.Bool
	resume, reached := make(chan struct{}), make(chan struct{}, 1)
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !stalled.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		select {
		case reached <- struct{}{}:
		default:
		}
		<-resume
		return errDisk
	}))
	e, err := engine.Open(engine.Options{Dir: "data", FS: fs, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		t.Fatal(err)
	}
	stalled.Store(true)
	pending := []*engine.Pending{e.Submit(basin, "s", input("a"))}
	<-reached
	for range 3 {
		pending = append(pending, e.Submit(basin, "s", input("b")))
	}
	close(resume)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // before anything is late
	defer cancel()
	for i, p := range pending {
		if _, err := p.Wait(ctx); !errors.Is(err, engine.ErrStorage) {
			t.Errorf("append %d: err = %v; want ErrStorage", i, err)
		}
	}
	if err := e.Close(); err != nil && !errors.Is(err, engine.ErrStorage) {
		t.Errorf("close: %v", err)
	}
}

// copied is what is on disk, without the locks of the process that failed.
func copied(t *testing.T, disk vfs.FS) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if _, err := vfs.Clone(disk, fs, "data", "data"); err != nil {
		t.Fatal(err)
	}
	return fs
}

// Close ends those who wait, finishes what was submitted, and may be repeated.
func TestClose(t *testing.T) {
	e, err := engine.Open(engine.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		t.Fatal(err)
	}
	var pending []*engine.Pending
	for range 500 {
		pending = append(pending, e.Submit(basin, "s", input("x")))
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range pending {
		if _, err := p.Wait(t.Context()); err != nil {
			t.Fatalf("append %d, submitted before the end: %v", i, err)
		}
	}
	if _, err := e.Append(t.Context(), basin, "s", input("x")); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("append: err = %v; want ErrClosed", err)
	}
	if _, err := e.Tail(t.Context(), basin, "s"); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("tail: err = %v; want ErrClosed", err)
	}
	if _, _, err := e.ListBasins(t.Context(), "", "", 0); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("list: err = %v; want ErrClosed", err)
	}
	for _, err := range e.Watch(t.Context(), basin, "") {
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("watch: err = %v; want ErrClosed", err)
		}
	}
}

// stalling returns a disk that takes nothing from when stalled is set until resume
// is closed.
func stalling() (fs vfs.FS, stalled *atomic.Bool, resume chan struct{}) {
	stalled, resume = new(atomic.Bool), make(chan struct{})
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if stalled.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			<-resume
		}
		return nil
	})), stalled, resume
}

// A disk that takes nothing for a while keeps nobody waiting longer than they
// want, and bounds what is queued; what was queued lands when it works again.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, stalled, resume := stalling()
		e := open(t, engine.Options{Dir: "data", FS: fs})
		create(t, e, "s")
		stalled.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := e.Submit(basin, "s", input("first"))
		if _, err := first.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("append: err = %v; want the context's", err)
		}
		if _, _, err := e.EnsureStream(ctx, basin, "other", engine.StreamConfig{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ensure: err = %v; want the context's", err)
		}
		large := input(strings.Repeat("x", 1<<20-8))
		began, queued := time.Now(), 0
		var last *engine.Pending
		for {
			p := e.Submit(basin, "s", large)
			select {
			case <-p.Done():
				if _, err := p.Wait(t.Context()); !errors.Is(err, engine.ErrBusy) {
					t.Fatalf("append behind %d MiB: err = %v; want ErrBusy", queued, err)
				}
			default:
				last = p
				queued++
				continue
			}
			break
		}
		if waited := time.Since(began); queued < 60 || queued > 70 || waited != 5*time.Second {
			t.Errorf("refused behind %d MiB after %v; want 64 MiB and 5 s", queued, waited)
		}
		if tail, err := e.Tail(t.Context(), basin, "s"); err != nil || tail.Seq != 0 {
			t.Errorf("tail: %v, %v; want what is durable, nothing", tail, err)
		}
		if _, err := first.Outcome(); !errors.Is(err, engine.ErrLate) {
			t.Errorf("the first append, 6 s later: %v; want ErrLate", err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := last.Wait(soon); !errors.Is(err, engine.ErrLate) {
			t.Errorf("the last that was queued, 5 s later: %v; want ErrLate", err)
		}
		stalled.Store(false)
		close(resume)
		if ack := add(t, e, "s", input("last")); ack.Start.Seq != uint64(1+queued) {
			t.Errorf("the next append: at %d; want it behind %d", ack.Start.Seq, queued)
		}
		for _, p := range []*engine.Pending{first, last} { // what was told before
			if ack, err := p.Outcome(); !errors.Is(err, engine.ErrLate) {
				t.Errorf("an append that was late, once it is made: %+v, %v; want ErrLate", ack, err)
			}
		}
	})
}

// A disk that takes nothing does not keep Close from returning; whoever waits is told.
func TestCloseOnAStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, stalled, resume := stalling()
		e, err := engine.Open(engine.Options{Dir: "data", FS: fs, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
			t.Fatal(err)
		}
		stalled.Store(true)
		p := e.Submit(basin, "s", input("x"))
		began := time.Now()
		if err := e.Close(); !errors.Is(err, engine.ErrStorage) {
			t.Errorf("close: err = %v; want ErrStorage", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("close took %v; want 10 s", took)
		}
		if _, err := e.Tail(t.Context(), basin, "s"); !errors.Is(err, engine.ErrStorage) {
			t.Errorf("tail: err = %v; want ErrStorage", err)
		}
		close(resume) // the disk works again
		if _, err := p.Outcome(); !errors.Is(err, engine.ErrLate) {
			t.Errorf("what was submitted: err = %v; want ErrLate", err)
		}
	})
}

// A disk that takes nothing, as a full one, does not keep Open from returning,
// whatever it is refusing: a log, a table or the manifest, of a folder that is new or
// holds much. When the disk works, everything is there.
func TestOpenOnAFullDisk(t *testing.T) {
	tests := []struct {
		name  string
		holds int    // bytes, in a log that was not flushed
		file  string // what is refused
	}{
		{"a table, of a folder that holds much", 1 << 20, ".sst"},
		{"the manifest, of a folder that holds much", 1 << 20, "MANIFEST"},
		{"a log, of a folder that holds much", 1 << 20, ".log"},
		{"a log, of a new folder", 0, ".log"},
		{"the manifest, of a new folder", 0, "MANIFEST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			disk := vfs.NewCrashableMem()
			quiet := slog.New(slog.DiscardHandler)
			if tt.holds > 0 {
				e := open(t, engine.Options{Dir: "data", FS: disk, Log: quiet})
				if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
					t.Fatal(err)
				}
				add(t, e, "s", input(strings.Repeat("x", tt.holds/2)))
				disk = disk.CrashClone(vfs.CrashCloneCfg{})
			}
			var full atomic.Bool
			full.Store(true)
			var tries atomic.Int64
			fs := errorfs.Wrap(disk.CrashClone(vfs.CrashCloneCfg{}), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpCreate && (strings.HasSuffix(op.Path, ".sst") || strings.HasSuffix(op.Path, ".blob")) {
					tries.Add(1)
				}
				if full.Load() && strings.Contains(op.Path, tt.file) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					return errDisk
				}
				return nil
			}))
			opened := make(chan error, 1)
			go func() {
				_, err := engine.Open(engine.Options{Dir: "data", FS: fs, Log: quiet})
				opened <- err
			}()
			select {
			case err := <-opened:
				if err == nil || !strings.Contains(err.Error(), errDisk.Error()) {
					t.Errorf("open: err = %v; want one that says %q", err, errDisk)
				}
			case <-time.After(20 * time.Second):
				t.Error("open did not return")
			}
			if n := tries.Load(); n > 100 {
				t.Errorf("%d tables and blob files were begun; want a few a second", n)
			}
			full.Store(false) // ends what was left behind
			e := open(t, engine.Options{Dir: "data", FS: disk, Log: quiet})
			if tt.holds > 0 {
				if got := len(bodies(t, e, "s", 0)); got < tt.holds/2 {
					t.Errorf("%d bytes are there; want %d", got, tt.holds/2)
				}
			}
		})
	}
}

// A folder whose lock can't be made, as on a disk that can only be read, is not
// said to be in use.
func TestNoLock(t *testing.T) {
	_, err := engine.Open(engine.Options{Dir: "data", FS: readOnly{vfs.NewMem()}, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, syscall.EROFS) || errors.Is(err, engine.ErrLocked) {
		t.Errorf("open: err = %v; want EROFS, and not ErrLocked", err)
	}
}

type readOnly struct{ vfs.FS }

func (readOnly) Lock(name string) (io.Closer, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}
