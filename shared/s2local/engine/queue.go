package engine

import (
	"sync"
	"time"
)

// What waits for the committer, how much of it goes into one commit, and how
// long a caller waits until there is room.
const (
	maxQueued = 64 << 20
	maxGroup  = 4 << 20
	patience  = 5 * time.Second
)

// A task is an append or a change, submitted to the committer.
type task interface {
	// stage decides it against the staged state and writes what it does into the group.
	stage(g *group)
	// settle tells who waits. err is why the group could not be committed, or nil.
	settle(err error)
	weight() int
}

// A queue holds tasks in order of their submission, and bounds their size.
type queue struct {
	mu     sync.Mutex
	filled sync.Cond // there is something, or the queue is closed
	room   sync.Cond
	tasks  []task
	size   int // of the tasks that are not settled yet
	closed bool
}

func (q *queue) init() { q.filled.L, q.room.L = &q.mu, &q.mu }

// put waits for room, then adds t. If it returns nil, t will be settled.
func (q *queue) put(t task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size > maxQueued {
		if !q.waitForRoom() {
			return ErrBusy
		}
	}
	if q.closed {
		return ErrClosed
	}
	q.size += t.weight()
	q.tasks = append(q.tasks, t)
	q.filled.Signal()
	return nil
}

// waitForRoom reports whether there is any, or the queue is closed, within
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
	for q.size > maxQueued && !q.closed && !late {
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

// take moves the next group of tasks into buf, which is empty.
func (q *queue) take(buf []task) []task {
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
	return buf
}

// settled gives back the room of tasks.
func (q *queue) settled(size int) {
	q.mu.Lock()
	q.size -= size
	q.mu.Unlock()
	q.room.Broadcast()
}

// close refuses further tasks.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.filled.Broadcast()
	q.room.Broadcast()
}
