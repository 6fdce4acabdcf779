package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// layoutVersion is that of keys.go and codec.go. In layout 1 a head was written with
// each batch, so one of layout 2 is as good as it, but not the other way round.
const layoutVersion = 2

// healing is how long opening goes on after the disk first refused something.
const healing = 2 * time.Second

// openWithin opens the database and returns the last number given. Pebble by
// itself would never return from a disk that takes nothing: it repeats a flush
// for ever, without a pause, and what it calls fatal it does not come back from. So
// it opens on a goroutine of its own, which is left behind then; should it be
// done after all, it closes the folder.
func (e *Engine) openWithin(o Options) (number uint64, err error) {
	type result struct {
		number uint64
		err    error
	}
	refused, opened, left := make(chan error, 1), make(chan result), make(chan struct{})
	go func() {
		var r result
		if r.err = e.openDB(o, refused); r.err == nil {
			if r.number, r.err = e.load(); r.err != nil {
				r.err = errors.Join(fmt.Errorf("open %s: %w", o.Dir, r.err), e.closeDB())
			}
		}
		select {
		case opened <- r:
		case <-left:
			if r.err == nil {
				_ = e.closeDB() // nobody is there to be told
			}
		}
	}()
	var late <-chan time.Time
	for {
		select {
		case r := <-opened:
			return r.number, r.err
		case err = <-refused:
			if late == nil {
				late = time.After(healing)
			}
			continue
		case <-late:
			err = fmt.Errorf("%w: %w", ErrStorage, err)
		case <-e.ended:
			err = e.err()
		}
		close(left)
		return 0, fmt.Errorf("open %s: %w", o.Dir, err)
	}
}

// refusals returns what Pebble tells of writes of its own that failed. It repeats
// them at once, so they are slowed down, the log gets one a second, and refused the
// first that it has room for.
func (e *Engine) refusals(refused chan<- error, slow *slowFS) func(error) {
	var last atomic.Int64 // when one was logged, in ms
	return func(err error) {
		select {
		case refused <- err:
		default:
		}
		slow.refused.Store(new(time.Now()))
		now, was := e.nowMS(), last.Load()
		if (was == 0 || now < was || now-was >= 1000) && last.CompareAndSwap(was, now) {
			e.log.Warn("the disk refused a write, which is tried again", slog.Any("error", err))
		}
	}
}

// A slowFS waits before a table or a blob file is made when the disk refused one a
// moment ago: Pebble would try again thousands of times a second, and leave the files
// of each try until it is opened the next time.
type slowFS struct {
	vfs.FS
	refused atomic.Pointer[time.Time]
	quit    <-chan struct{} // closed when there is no time to wait
}

const pause = 100 * time.Millisecond

func (s *slowFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob") {
		if at := s.refused.Load(); at != nil && time.Since(*at) < pause {
			select {
			case <-time.After(pause):
			case <-s.quit:
			}
		}
	}
	return s.FS.Create(name, c)
}

func (s *slowFS) Unwrap() vfs.FS { return s.FS }

// openDB opens Pebble as this package needs it.
func (e *Engine) openDB(o Options, refused chan<- error) error {
	// The newest format, also because its tables are written without channels
	// that Pebble shares between databases: those break synctest.
	slow := &slowFS{quit: e.quit}
	po := &pebble.Options{
		FS:                 o.FS,
		Logger:             pebbleLog{e},
		EventListener:      &pebble.EventListener{BackgroundError: e.refusals(refused, slow)},
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       32 << 20,
		CacheSize:          16 << 20,
		BytesPerSync:       1 << 20,
		// A burst may fill level 0 faster than it is compacted: reads then look at
		// more tables for a while, where Pebble's default would stop all appends.
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       1000,
		MemTableStopWritesThreshold: 4,
	}
	// Batches are in files of their own, which compactions of keys leave alone.
	po.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: true, MinimumSize: 256, MaxBlobReferenceDepth: 10,
			RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: 0.3,
		}
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most look-ups are of names not yet there
	}
	dir := o.Dir
	if o.Memory {
		dir = "memory"
		if po.FS == nil { // nothing outlives the engine: no log, no syncs
			po.FS, po.DisableWAL, e.sync = vfs.NewMem(), true, pebble.NoSync
			po.MemTableSize = 4 << 20
			po.CacheSize = 8 << 20
		}
	}
	if po.FS == nil {
		po.FS = vfs.Default
	}
	if err := po.FS.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	lock, err := pebble.LockDirectory(dir, po.FS)
	if _, ok := errors.AsType[*fs.PathError](err); ok { // there is not even a file to be locked
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s is open in another process: %w", ErrLocked, dir, err)
	}
	e.lock, po.Lock = lock, lock
	slow.FS = logFS{po.FS}
	po.FS = slow
	if e.db, err = pebble.Open(dir, po); err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", dir, err), lock.Close())
	}
	return nil
}

func (e *Engine) closeDB() error {
	return errors.Join(e.db.Close(), e.lock.Close())
}

// load checks the layout, loads the basins, and returns the last number given.
// Streams are loaded as they are used.
func (e *Engine) load() (number uint64, err error) {
	version, err := e.get([]byte{keyVersion})
	if err != nil {
		return 0, err
	}
	switch {
	case version == nil:
	case len(version) != 1 || version[0] < 1:
		return 0, fmt.Errorf("the data folder has layout %v, which no program writes", version)
	case version[0] > layoutVersion:
		return 0, fmt.Errorf("the data folder has layout %d, which a later version of this program wrote; this one knows up to %d", version[0], layoutVersion)
	}
	if version == nil || version[0] < layoutVersion {
		if err := e.db.Set([]byte{keyVersion}, []byte{layoutVersion}, e.sync); err != nil {
			return 0, err
		}
	}
	last, err := e.get([]byte{keyNumber})
	if err != nil {
		return 0, err
	}
	if len(last) == 8 {
		number = binary.BigEndian.Uint64(last)
	}
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyBasin}, UpperBound: []byte{keyBasin + 1}})
	if err != nil {
		return 0, err
	}
	for it.First(); it.Valid(); it.Next() {
		b := &basinMeta{name: string(it.Key()[1:])}
		if err := json.Unmarshal(it.Value(), b); err != nil {
			return 0, errors.Join(fmt.Errorf("stored basin: %w", err), it.Close())
		}
		e.reg.basins[b.name], e.reg.numbers[b.Number] = b, b
	}
	return number, it.Close()
}

// pebbleLog receives Pebble's log.
type pebbleLog struct{ e *Engine }

func (l pebbleLog) Infof(format string, args ...any) {
	if l.e.log.Enabled(context.Background(), slog.LevelDebug) {
		l.e.log.Debug("pebble", slog.String("text", fmt.Sprintf(format, args...)))
	}
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.e.log.Warn("pebble", slog.String("text", fmt.Sprintf(format, args...)))
}

// Fatalf is called where Pebble can't go on: a log or a manifest that it could
// not write. Its own logger would end the process there. It must not return, and
// Pebble may hold any of its locks, so this goroutine stays here for good, and
// whoever waits is told by Engine.ended.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.e.stuck.Store(true)
	l.e.fail(fmt.Errorf("%w: %s", ErrStorage, fmt.Sprintf(format, args...)))
	select {}
}
