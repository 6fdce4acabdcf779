package journal

import (
	"context"
	"sync"
	"time"
)

// Outlive returns the context of a write that was decided on: it lasts for
// budget though ctx ends, but no longer than grace after that. cancel frees it.
//
// Most writes end without anybody waiting for their context, so its clockwork is
// made when Done is first asked for: a send to the embedded store pays one allocation.
func Outlive(ctx context.Context, budget, grace time.Duration) (write context.Context, cancel context.CancelFunc) {
	w := &outlived{caller: ctx, deadline: time.Now().Add(budget), grace: grace}
	return w, w.cancel
}

// An outlived is a context with the values of its caller's, and a life of its own.
type outlived struct {
	caller   context.Context // w is a context itself
	deadline time.Time
	grace    time.Duration

	mu       sync.Mutex
	canceled bool
	inner    context.Context // nil until Done is asked for
	end      func()
}

func (w *outlived) Deadline() (time.Time, bool) { return w.deadline, true }

// Value asks the clockwork where there is one, so that a context made from w is
// ended by it and needs no goroutine.
func (w *outlived) Value(key any) any {
	w.mu.Lock()
	inner := w.inner
	w.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return w.caller.Value(key)
}

func (w *outlived) Done() <-chan struct{} { return w.clockwork().Done() }

func (w *outlived) Err() error {
	w.mu.Lock()
	asleep := w.inner == nil && !w.canceled && w.caller.Err() == nil && time.Now().Before(w.deadline)
	w.mu.Unlock()
	if asleep {
		return nil
	}
	return w.clockwork().Err()
}

// clockwork returns the context that does what w promises. A caller that left
// before it was made has its grace from then on.
func (w *outlived) clockwork() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inner != nil {
		return w.inner
	}
	inner, end := context.WithDeadline(context.WithoutCancel(w.caller), w.deadline)
	stop := context.AfterFunc(w.caller, func() {
		late := time.NewTimer(w.grace)
		defer late.Stop()
		select {
		case <-late.C:
			end()
		case <-inner.Done():
		}
	})
	w.inner, w.end = inner, func() { stop(); end() }
	if w.canceled {
		w.end()
	}
	return w.inner
}

func (w *outlived) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.canceled = true
	if w.end != nil {
		w.end()
	}
}
