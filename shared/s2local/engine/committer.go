package engine

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// A committer is the one goroutine that changes anything.
type committer struct {
	e      *Engine
	number uint64 // the last one given to a stream or a basin
	tasks  []queued
	group  group
}

// run commits groups until the queue is closed and empty.
func (c *committer) run() {
	for c.e.queue.wait() {
		// Let those who were woken by the last commit submit again first: with
		// sixteen writers this makes groups half as large again.
		runtime.Gosched()
		c.tasks = c.e.queue.take(c.tasks[:0])
		size := 0
		for _, t := range c.tasks {
			size += t.weight()
		}
		c.commit(c.tasks)
		c.e.queue.settled(size)
		clear(c.tasks)
		c.e.evict()
	}
}

func (c *committer) commit(tasks []queued) {
	g := &c.group
	g.begin(c)
	for _, t := range tasks {
		t.stage(g)
		g.tasks = append(g.tasks, t.task)
	}
	g.finish()
}

// A group is what one Pebble batch does. What it decides is staged in the states
// it touches, and becomes durable, and visible, all together.
type group struct {
	*committer
	now     int64 // ms, of everything in the group
	batch   *pebble.Batch
	tasks   []task
	dirty   []*state
	publish []func() // run when the group is durable, for what is not a stream's
	soonest int64    // when retention is due first of what was scheduled; 0: nothing was
	keyBuf  []byte
	err     error // why nothing of the group can be committed
}

// A flight is a commit under way.
type flight struct{ done chan struct{} }

func (g *group) begin(c *committer) {
	g.committer = c
	g.now = c.e.nowMS()
	g.err = c.e.err()
	g.batch = c.e.db.NewBatch()
}

// flush commits what is staged so far and begins anew, for the few changes that
// can't be staged on top of a staged one.
func (g *group) flush() {
	g.finish()
	g.begin(g.committer)
}

// finish commits the group, makes it visible, and settles its tasks.
func (g *group) finish() {
	for _, st := range g.dirty {
		g.writeHead(st)
	}
	f := &flight{done: make(chan struct{})}
	if g.err == nil && !g.batch.Empty() {
		g.e.flight.Store(f)
		if err := g.batch.Commit(g.e.sync); err != nil {
			g.err = fmt.Errorf("%w: commit: %w", ErrStorage, err)
		}
	}
	_ = g.batch.Close() // gives memory back, nothing else
	if g.err != nil {
		g.e.fail(g.err)
	} else {
		for _, st := range g.dirty {
			g.e.expose(st)
		}
		for _, f := range g.publish {
			f()
		}
		if at := g.e.sweepAt.Load(); g.soonest != 0 && g.soonest < at {
			g.e.kickSweeper()
		}
	}
	g.e.flight.Store(nil)
	close(f.done)
	for _, t := range g.tasks {
		t.settle(g.err)
	}
	clear(g.tasks)
	clear(g.dirty)
	clear(g.publish)
	g.tasks, g.dirty, g.publish, g.batch, g.soonest = g.tasks[:0], g.dirty[:0], g.publish[:0], nil, 0
}

// touch notes that st's staged state differs from the durable one.
func (g *group) touch(st *state) {
	if !st.dirty {
		st.dirty = true
		st.trimmedTo = st.staged.first
		g.dirty = append(g.dirty, st)
	}
}

// writeHead writes what has become of st in this group beside its batches: what was
// trimmed, when retention is due, and the head if the batches do not tell it.
func (g *group) writeHead(st *state) {
	if st.dead || g.err != nil {
		return
	}
	h := &st.staged
	if h.first > st.trimmedTo {
		g.deleteBatches(st, st.trimmedTo, h.first)
		if h.empty() {
			h.emptied = g.now
		}
	}
	if due := h.dueNext(st.life.Config); due != 0 && (h.due == 0 || due < h.due) {
		due = max(due, g.now) // the sweeper does not look far back
		g.unschedule(st)
		h.due = due
		g.set(st.key.due(due), binary.BigEndian.AppendUint64(nil, st.id))
		if g.soonest == 0 || due < g.soonest {
			g.soonest = due
		}
	}
	if h.saved(st.stored) {
		return
	}
	st.stored = *h
	g.keyBuf = h.encode(g.keyBuf[:0])
	g.set(st.key.in(keyHead), g.keyBuf)
}

// deleteBatches removes the batches of st that end before to, knowing that there
// is none that ends before from.
func (g *group) deleteBatches(st *state, from, to uint64) {
	g.check(g.batch.DeleteRange(
		batchKey(nil, st.key.basin, st.id, from),
		batchKey(nil, st.key.basin, st.id, to), nil))
}

func (g *group) unschedule(st *state) {
	if st.staged.due != 0 {
		g.delete(st.key.due(st.staged.due))
		st.staged.due = 0
	}
}

func (g *group) set(key, value []byte) { g.check(g.batch.Set(key, value, nil)) }
func (g *group) delete(key []byte)     { g.check(g.batch.Delete(key, nil)) }

func (g *group) check(err error) {
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("%w: %w", ErrStorage, err)
	}
}

// give returns a number that was never given before.
func (g *group) give() uint64 {
	g.number++
	g.set([]byte{keyNumber}, binary.BigEndian.AppendUint64(nil, g.number))
	return g.number
}

// expose makes what is staged of st, now durable, what readers see.
func (e *Engine) expose(st *state) {
	chunks := st.chunks
	st.mu.Lock()
	moved := st.now == nil || st.durable.next != st.staged.next
	st.durable = st.staged
	st.now = st.life
	st.used = true
	if st.dead {
		st.now, st.gone, st.recent = nil, true, nil
	} else {
		st.recent = append(st.recent, chunks...)
	}
	st.touch()
	st.mu.Unlock()
	if st.dead {
		e.reg.mu.Lock()
		delete(e.reg.streams, st.key)
		e.reg.mu.Unlock()
	} else {
		e.cache.add(chunks)
		if moved {
			e.moved(st)
		}
	}
	clear(st.chunks)
	st.chunks, st.dirty = st.chunks[:0], false
}

// settle waits until everything that a read of the database can have seen before
// is durable: Pebble shows what is committed before it is synced.
func (e *Engine) settle() error {
	if f := e.flight.Load(); f != nil {
		select {
		case <-f.done:
		case <-e.ended:
		}
	}
	return e.err()
}
