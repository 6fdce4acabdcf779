// Package engine is the embedded store: S2's semantics on Pebble.
//
// One goroutine, the committer, makes all changes: it takes what was submitted
// for any stream, decides each append and change in order against its own
// state, writes everything as one Pebble batch, syncs it, and only then moves
// the durable state, answers, and wakes readers. So appends to any number of
// streams share a sync, and nobody ever sees what a power cut could take back:
// not in an answer, not in a refusal, not in a read.
//
// localstream calls the engine directly; s2local/wire serves it as the S2 API.
package engine

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are what an engine is opened with.
type Options struct {
	Dir    string           // the data folder; made if it is missing, locked while open
	Memory bool             // keep nothing: Dir is not used
	FS     vfs.FS           // nil: the operating system's, or a new one in memory; crash tests bring their own
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default
	Hot    int              // how many streams to keep in memory, and to let a watcher be behind with; 0: 65,536
}

// An Engine keeps basins and streams. Its methods may be called concurrently.
//
// After Close every call gives ErrClosed. After the disk refused a commit every
// call gives ErrStorage, because what is in memory may be ahead of what is on
// disk; end the process and open the folder again.
type Engine struct {
	db    *pebble.DB
	lock  *pebble.Lock
	sync  *pebble.WriteOptions
	now   func() time.Time
	log   *slog.Logger
	hot   int // Options.Hot
	queue queue
	reg   registry
	cache cache

	open    sync.RWMutex          // held for reading while the database is used from outside the committer
	closed  atomic.Bool           // Close has begun
	failure atomic.Pointer[error] // what every call gives, once set
	ended   chan struct{}         // closed when failure is set
	stuck   atomic.Bool           // Pebble is in Fatalf and can't be closed
	flight  atomic.Pointer[flight]
	quit    chan struct{} // closed by Close
	running sync.WaitGroup

	watchMu  sync.Mutex
	watchers map[*watcher]struct{}

	sweepAt atomic.Int64  // when the sweeper looks next, in ms
	kick    chan struct{} // makes it look earlier
}

// Open opens the engine in its folder, made new if there is none. ErrLocked says
// that another process, or this one, has it open.
func Open(o Options) (*Engine, error) {
	e := &Engine{
		sync: pebble.Sync, now: o.Now, log: o.Log, hot: o.Hot,
		ended: make(chan struct{}), quit: make(chan struct{}), kick: make(chan struct{}, 1),
		watchers: map[*watcher]struct{}{},
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.log == nil {
		e.log = slog.Default()
	}
	if e.hot <= 0 {
		e.hot = defaultHot
	}
	e.reg.most = e.hot
	e.reg.streams = map[streamKey]*state{}
	e.reg.basins = map[string]*basinMeta{}
	e.reg.numbers = map[uint32]*basinMeta{}
	number, err := e.openWithin(o)
	if err != nil {
		return nil, err
	}
	e.queue.init()
	c := &committer{e: e, number: number}
	e.running.Go(c.run)
	e.running.Go(e.sweep)
	return e, nil
}

// Close lets what was submitted finish, ends readers and watchers with
// ErrClosed, and closes the folder. It returns when nothing of the engine runs,
// or with ErrStorage when the disk takes nothing for 10 s: then the folder stays
// locked until the process ends, or the disk works again.
func (e *Engine) Close() error {
	if !e.closed.CompareAndSwap(false, true) {
		return nil
	}
	e.queue.close()
	close(e.quit)
	if e.stuck.Load() { // the folder stays locked: Pebble may yet write to it
		return e.err()
	}
	closed := make(chan error, 1)
	go func() {
		e.running.Wait() // before the lock, which who waits for a stalled disk may hold
		e.end(ErrClosed)
		e.open.Lock() // waits for who is in the database; nobody enters it any more
		err := e.closeDB()
		e.open.Unlock()
		closed <- err
	}()
	late := time.NewTimer(parting)
	defer late.Stop()
	select {
	case err := <-closed:
		return err
	case <-late.C:
		err := fmt.Errorf("%w: the disk did not take what was left within %v", ErrStorage, parting)
		e.fail(err) // of what was submitted nobody knows whether it is stored
		return err
	}
}

// parting is how long Close waits for the disk.
const parting = 10 * time.Second

// Failed returns a channel that is closed when the engine answers no more: the
// disk refused a commit, or Close.
func (e *Engine) Failed() <-chan struct{} { return e.ended }

// Stalled reports whether the disk has not taken what it was given for 5 s: reads
// work, and appends are ErrLate. It works again by itself, or fails.
func (e *Engine) Stalled() bool { return e.queue.stalled() }

// fail makes every call from now on give err, which is in the tree of ErrStorage.
func (e *Engine) fail(err error) {
	if e.end(err) {
		e.log.Error("the embedded store has failed and answers nothing until it is opened again", slog.Any("error", err))
	}
}

// end makes every call from now on give err, if none does already, and wakes
// who waits for a change.
func (e *Engine) end(err error) bool {
	if !e.failure.CompareAndSwap(nil, &err) {
		return false
	}
	close(e.ended)
	e.queue.fail(err)
	e.reg.mu.Lock()
	for _, st := range e.reg.streams {
		st.mu.Lock()
		st.touch()
		st.mu.Unlock()
	}
	e.reg.mu.Unlock()
	e.watchMu.Lock()
	for w := range e.watchers {
		w.wake()
	}
	e.watchMu.Unlock()
	return true
}

// enter lets the caller use the database until leave, if err is nil.
func (e *Engine) enter() error {
	e.open.RLock()
	err := e.err()
	if err == nil && e.closed.Load() {
		err = ErrClosed
	}
	if err != nil {
		e.open.RUnlock()
	}
	return err
}

func (e *Engine) leave() { e.open.RUnlock() }

func (e *Engine) err() error {
	if f := e.failure.Load(); f != nil {
		return *f
	}
	return nil
}

func (e *Engine) nowMS() int64 { return e.now().UnixMilli() }
