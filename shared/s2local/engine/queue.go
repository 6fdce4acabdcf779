package engine

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// What waits for the committer, how much of it goes into one commit, and how
// long a caller waits: until there is room, and then for the outcome.
const (
	maxQueued = 64 << 20
	maxGroup  = 4 << 20
	patience  = 5 * time.Second
	patrol    = 250 * time.Millisecond // how often it is looked for who has waited for too long
)

// A task is an append or a change, submitted to the committer.
type task interface {
	// stage decides it against the staged state and writes what it does into the group.
	stage(g *group)
	// settle tells who waits. err is why the group could not be committed, or nil.
	settle(err error)
	// giveUp tells who waits, if nothing was told yet, that the outcome is not known.
	// The committer may be at work on the task.
	giveUp(err error)
	weight() int
}

// A queue holds tasks in order of their submission, and bounds their size and
// how long they are waited for. One timer, and no wait of its own for each, does that.
type queue struct {
	mu     sync.Mutex
	filled sync.Cond // there is something, or the queue is closed
	room   sync.Cond
	tasks  []queued
	taken  []queued // by the committer, and not settled
	size   int      // of the tasks that are not settled yet
	closed bool
	failed bool

	round  int         // of the patrol
	patrol *time.Timer // runs while there are tasks
}

// A queued task, and the round of the patrol in which it came.
type queued struct {
	task
	since int
}

func (q *queue) init() { q.filled.L, q.room.L = &q.mu, &q.mu }

// put waits for room, then adds t. If it returns nil, t will be settled or given up.
func (q *queue) put(t task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size > maxQueued {
		if !q.waitForRoom() {
			return ErrBusy
		}
	}
	if q.closed || q.failed {
		return ErrClosed
	}
	q.size += t.weight()
	q.tasks = append(q.tasks, queued{t, q.round})
	q.filled.Signal()
	if q.patrol == nil {
		q.patrol = time.AfterFunc(patrol, q.look)
	}
	return nil
}

// waitForRoom reports whether there is any, or the queue is at its end, within
// patience. q.mu is held.
func (q *queue) waitForRoom() bool {
	late := false
	timer := time.AfterFunc(patience, func() {
		q.mu.Lock()
		late = true
		q.mu.Unlock()
		q.room.Broadcast()
	})
	defer timer.Stop()
	for q.size > maxQueued && !q.closed && !q.failed && !late {
		q.room.Wait()
	}
	return !late
}

// wait waits for a task. It reports false once the queue is closed and empty.
func (q *queue) wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 && !q.closed {
		q.filled.Wait()
	}
	return len(q.tasks) > 0
}

// take moves the next group of tasks into buf, which is empty and the queue's
// to read until settled.
func (q *queue) take(buf []queued) []queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.tasks) && size < maxGroup {
		size += q.tasks[n].weight()
		n++
	}
	buf = append(buf, q.tasks[:n]...)
	rest := copy(q.tasks, q.tasks[n:])
	clear(q.tasks[rest:])
	q.tasks = q.tasks[:rest]
	q.taken = buf
	return buf
}

// settled gives back the room of what was taken.
func (q *queue) settled(size int) {
	q.mu.Lock()
	q.taken = nil
	q.size -= size
	q.mu.Unlock()
	q.room.Broadcast()
}

// look gives up what has waited for patience, and comes back while anything waits.
func (q *queue) look() {
	q.mu.Lock()
	q.round++
	var late []queued
	for _, t := range slices.Concat(q.taken, q.tasks) { // the oldest first
		if !q.late(t) {
			break
		}
		late = append(late, t)
	}
	if len(q.taken)+len(q.tasks) > 0 {
		q.patrol.Reset(patrol)
	} else {
		q.patrol = nil
	}
	q.mu.Unlock()
	for _, t := range late {
		t.giveUp(fmt.Errorf("%w: the disk did not take it within %v", ErrLate, patience))
	}
}

// late reports whether t has waited for patience. q.mu is held.
func (q *queue) late(t queued) bool { return time.Duration(q.round-t.since)*patrol > patience }

// stalled reports whether the committer is at work on what has waited for patience.
func (q *queue) stalled() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.taken) > 0 && q.late(q.taken[0])
}

// fail refuses further tasks and gives up those that there are.
func (q *queue) fail(err error) {
	q.mu.Lock()
	q.failed = true
	left := slices.Concat(q.taken, q.tasks)
	q.mu.Unlock()
	q.room.Broadcast()
	for _, t := range left {
		t.giveUp(err)
	}
}

// close refuses further tasks.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.filled.Broadcast()
	q.room.Broadcast()
}
