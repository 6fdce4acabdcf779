package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/deadline"
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
				w, cancel := deadline.Outlive(caller, budget, grace)
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

// A call ends with its caller, and at the end of its time, whenever its context
// is first looked at.
func TestWithin(t *testing.T) {
	const d = 10 * time.Second
	tests := []struct {
		name     string
		looked   time.Duration // when Done is first asked for
		left     time.Duration // when the caller leaves; 0: never
		earlier  time.Duration // when the caller's own time ends; 0: never
		canceled time.Duration // when the call is done; 0: never
		ends     time.Duration
		err      error
	}{
		{name: "time", ends: d, err: context.DeadlineExceeded},
		{name: "caller leaves", left: 2 * time.Second, ends: 2 * time.Second, err: context.Canceled},
		{name: "looked at after the caller left", left: time.Second, looked: 3 * time.Second, ends: 3 * time.Second, err: context.Canceled},
		{name: "looked at late", looked: 12 * time.Second, ends: 12 * time.Second, err: context.DeadlineExceeded},
		{name: "caller's time", earlier: 4 * time.Second, ends: 4 * time.Second, err: context.DeadlineExceeded},
		{name: "done", canceled: time.Second, ends: time.Second, err: context.Canceled},
		{name: "done before it is looked at", canceled: time.Second, looked: 2 * time.Second, ends: 2 * time.Second, err: context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				caller, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
				defer leave()
				if tt.earlier != 0 {
					var end context.CancelFunc
					caller, end = context.WithTimeout(caller, tt.earlier)
					defer end()
				}
				call, cancel := deadline.Within(caller, d)
				defer cancel()
				if tt.left != 0 {
					time.AfterFunc(tt.left, leave)
				}
				if tt.canceled != 0 {
					time.AfterFunc(tt.canceled, cancel)
				}
				want := d
				if tt.earlier != 0 {
					want = tt.earlier
				}
				if at, ok := call.Deadline(); !ok || at.Sub(begun) != want || call.Err() != nil {
					t.Errorf("at the beginning: Deadline in %v, %t, Err %v; want in %v and no error", at.Sub(begun), ok, call.Err(), want)
				}
				<-time.After(tt.looked)
				<-call.Done()
				if got := time.Since(begun); got != tt.ends || !errors.Is(call.Err(), tt.err) {
					t.Errorf("ended after %v with %v; want %v with %v", got, call.Err(), tt.ends, tt.err)
				}
				if call.Value(key{}) != "kept" {
					t.Errorf("Value = %v; want the caller's", call.Value(key{}))
				}
			})
		})
	}
}

type key struct{}
