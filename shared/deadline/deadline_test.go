package journal_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/journal"
)

// A write outlives its caller by the grace, and nothing by more than the budget,
// whenever its context is first looked at.
func TestOutlive(t *testing.T) {
	const budget, grace = 10 * time.Second, 5 * time.Second
	tests := []struct {
		name          string
		looked        time.Duration // when Done is first asked for
		left          time.Duration // when the caller leaves; 0: never
		canceled      time.Duration // when the write is done with; 0: never
		ends          time.Duration
		err           error
		askedByDerive bool // by a context made from it
	}{
		{name: "budget", ends: budget, err: context.DeadlineExceeded},
		{name: "caller leaves", left: 2 * time.Second, ends: 2*time.Second + grace, err: context.Canceled},
		{name: "caller leaves late", left: 8 * time.Second, ends: budget, err: context.DeadlineExceeded},
		{name: "looked at after the caller left", left: time.Second, looked: 3 * time.Second, ends: 3*time.Second + grace, err: context.Canceled},
		{name: "looked at behind the budget", looked: 12 * time.Second, ends: 12 * time.Second, err: context.DeadlineExceeded},
		{name: "canceled", canceled: time.Second, ends: time.Second, err: context.Canceled},
		{name: "canceled before it is looked at", canceled: time.Second, looked: 2 * time.Second, ends: 2 * time.Second, err: context.Canceled},
		{name: "derived", askedByDerive: true, left: 2 * time.Second, ends: 2*time.Second + grace, err: context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				caller, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
				defer leave()
				w, cancel := journal.Outlive(caller, budget, grace)
				defer cancel()
				if tt.left != 0 {
					time.AfterFunc(tt.left, leave)
				}
				if tt.canceled != 0 {
					time.AfterFunc(tt.canceled, cancel)
				}
				<-time.After(tt.looked)
				look := w
				if tt.askedByDerive {
					derived, end := context.WithCancel(w)
					defer end()
					look = derived
				}
				if tt.looked == 0 && w.Err() != nil {
					t.Errorf("Err at the beginning = %v; want nil", w.Err())
				}
				<-look.Done()
				if got := time.Since(begun); got != tt.ends || !errors.Is(w.Err(), tt.err) {
					t.Errorf("ended after %v with %v; want %v with %v", got, w.Err(), tt.ends, tt.err)
				}
				if w.Value(key{}) != "kept" {
					t.Errorf("Value = %v; want the caller's", w.Value(key{}))
				}
			})
		})
	}
}

type key struct{}
