// Package deadline makes contexts that end by themselves. Most calls are done
// without anybody having waited for their context, so its clockwork is made when
// Done is first asked for: until then, one costs an allocation and no timer.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Within returns ctx with an end after d, at the latest. cancel frees it.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(d)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	l := &lazy{caller: ctx, deadline: deadline}
	return l, l.cancel
}

// Outlive returns the context of a write that was decided on: it lasts for
// budget though ctx ends, but no longer than grace after that. cancel frees it.
func Outlive(ctx context.Context, budget, grace time.Duration) (write context.Context, cancel context.CancelFunc) {
	l := &lazy{caller: ctx, deadline: time.Now().Add(budget), outlives: true, grace: grace}
	return l, l.cancel
}

// A lazy is a context with the values of its caller's, and an end of its own.
type lazy struct {
	caller   context.Context // l is a context itself
	deadline time.Time
	outlives bool // the caller, by grace
	grace    time.Duration

	mu       sync.Mutex
	canceled bool
	inner    context.Context // nil until Done is asked for
	end      func()
}

func (l *lazy) Deadline() (time.Time, bool) { return l.deadline, true }

// Value asks the clockwork where there is one, so that a context made from l is
// ended by it and needs no goroutine.
func (l *lazy) Value(key any) any {
	l.mu.Lock()
	inner := l.inner
	l.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return l.caller.Value(key)
}

func (l *lazy) Done() <-chan struct{} { return l.clockwork().Done() }

func (l *lazy) Err() error {
	l.mu.Lock()
	asleep := l.inner == nil && !l.canceled && l.caller.Err() == nil && time.Now().Before(l.deadline)
	l.mu.Unlock()
	if asleep {
		return nil
	}
	return l.clockwork().Err()
}

// clockwork returns the context that does what l promises. A caller that left
// before it was made has its grace from then on.
func (l *lazy) clockwork() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner != nil {
		return l.inner
	}
	if l.outlives {
		l.inner, l.end = l.behindCaller()
	} else {
		l.inner, l.end = context.WithDeadline(l.caller, l.deadline)
	}
	if l.canceled {
		l.end()
	}
	return l.inner
}

// behindCaller returns a context that ends at the deadline, and grace after the caller.
func (l *lazy) behindCaller() (context.Context, func()) {
	inner, end := context.WithDeadline(context.WithoutCancel(l.caller), l.deadline)
	stop := context.AfterFunc(l.caller, func() {
		late := time.NewTimer(l.grace)
		defer late.Stop()
		select {
		case <-late.C:
			end()
		case <-inner.Done():
		}
	})
	return inner, func() { stop(); end() }
}

func (l *lazy) cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.canceled = true
	if l.end != nil {
		l.end()
	}
}
