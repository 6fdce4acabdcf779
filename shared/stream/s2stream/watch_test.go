package s2stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

// Many watchers cost what one does, and nothing costs anything when the last has left.
func TestWatchersShareTheSweep(t *testing.T) {
	t.Parallel()
	srv := serve(t, nil)
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: 200 * time.Millisecond})
	other := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch"})
	const streams, watchers = 20, 50
	for n := range streams {
		create(t, s, stream.Inbox(ident.Agent(fmt.Sprint("a", n))))
	}
	// Something moves all the time, so that no pause grows.
	busy, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for busy.Err() == nil {
			_, _ = other.Append(busy, stream.Inbox("a0"), batch("m")) // ends with busy
			<-ticker.C
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	done := make(chan int)
	for range watchers {
		go func() {
			seen := map[stream.Name]bool{}
			for moved := range s.Watch(ctx, stream.Inboxes) {
				for _, m := range moved {
					seen[m.Name] = true
				}
			}
			done <- len(seen)
		}()
	}
	for range watchers {
		if seen := <-done; seen != streams {
			t.Errorf("a watcher was told of %d streams; want %d", seen, streams)
		}
	}
	// At most 8 sweeps fit into that time, and joining may hurry a few more.
	if n := len(srv.arrivals("GET tail")); n > 12*streams {
		t.Errorf("%d tails were asked for by %d watchers of %d streams", n, watchers, streams)
	}
	quiet := len(srv.arrivals("GET tail"))
	timer := time.NewTimer(time.Second)
	<-timer.C
	if n := len(srv.arrivals("GET tail")) - quiet; n > streams { // of a sweep that was under way
		t.Errorf("%d tails were asked for after the last watcher left", n)
	}
}

// Who joins a sweep is told of all that there is by then, not of what the sweep
// knew when it last came through.
func TestJoinedWatchIsFresh(t *testing.T) {
	t.Parallel()
	srv := serve(t, nil)
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: time.Hour})
	other := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch"})
	create(t, other, inbox)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// initial returns the tails up to the empty batch, and goes on watching.
	initial := func() map[stream.Name]uint64 {
		through := make(chan map[stream.Name]uint64, 1)
		go func() {
			tails := map[stream.Name]uint64{}
			for moved, err := range s.Watch(ctx, stream.Inboxes) {
				if err == nil && len(moved) == 0 {
					through <- maps.Clone(tails)
				}
				for _, m := range moved {
					tails[m.Name] = m.Tail
				}
			}
		}()
		select {
		case tails := <-through:
			return tails
		case <-ctx.Done():
			t.Fatal("a watch is not through")
			return nil
		}
	}
	if got := initial(); len(got) != 1 {
		t.Errorf("the first watch began with %v; want one stream", got)
	}
	create(t, other, stream.Inbox("new"))
	if _, err := other.Append(ctx, inbox, batch("m")); err != nil {
		t.Fatal(err)
	}
	want := map[stream.Name]uint64{inbox: 1, stream.Inbox("new"): 0}
	if got := initial(); !maps.Equal(got, want) {
		t.Errorf("a second watch began with %v; want %v", got, want)
	}
}

// What another process appends is found by the next sweep.
func TestWatchSeesForeignAppends(t *testing.T) {
	t.Parallel()
	srv := serve(t, nil)
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: 50 * time.Millisecond})
	other := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch"})
	create(t, s, inbox)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for moved, err := range s.Watch(ctx, stream.Inboxes) {
		switch {
		case err != nil:
			t.Fatal(err)
		case len(moved) == 0:
			if _, err := other.Append(ctx, inbox, batch("m")); err != nil {
				t.Fatal(err)
			}
		case moved[0].Tail == 1:
			return
		}
	}
}

// What a store appends itself its watchers hear of without a sweep.
func TestWatchSeesOwnAppends(t *testing.T) {
	t.Parallel()
	srv := serve(t, nil)
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: time.Hour})
	create(t, s, inbox)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for moved, err := range s.Watch(ctx, stream.Inboxes) {
		switch {
		case err != nil:
			t.Fatal(err)
		case len(moved) == 0:
			if _, err := s.Append(ctx, inbox, batch("m")); err != nil {
				t.Fatal(err)
			}
		case moved[0].Tail == 1:
			return
		}
	}
}

// A store that is away is bridged by a watch, too, and one that stays away ends it.
func TestWatchBridgesAnOutage(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	srv := serve(t, func(r *http.Request) fault {
		if away.Load() && strings.HasPrefix(r.URL.Path, "/v1/streams") && r.Method == http.MethodGet {
			return fault{kind: answer, status: 403}
		}
		return fault{}
	})
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: 50 * time.Millisecond, Outage: 2 * time.Second})
	other := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch"})
	create(t, s, inbox)
	began := time.Time{}
	for moved, err := range s.Watch(t.Context(), stream.Inboxes) {
		switch {
		case err != nil && !errors.Is(err, stream.ErrUnavailable):
			t.Fatalf("err = %v; want ErrUnavailable", err)
		case err != nil:
			if took := time.Since(began); began.IsZero() || took < 2*time.Second {
				t.Errorf("it ended after %v", took)
			}
			return
		case len(moved) == 0:
			away.Store(true)
			timer := time.NewTimer(700 * time.Millisecond)
			<-timer.C
			away.Store(false)
			// Only a sweep that goes well finds it.
			if _, err := other.Append(t.Context(), inbox, batch("m")); err != nil {
				t.Fatal(err)
			}
		case moved[0].Tail == 1:
			began = time.Now()
			away.Store(true)
		}
	}
	t.Error("watch ended without an error")
}

// A stream whose tail can't be told is named with the error, and does not keep
// the others; when it can be told, it is.
func TestWatchOfOneThatFails(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	srv := serve(t, func(r *http.Request) fault {
		if down.Load() && strings.HasSuffix(r.URL.EscapedPath(), "bad/records/tail") {
			return fault{kind: answer, status: http.StatusInternalServerError, body: `{"code":"storage","message":"broken"}`}
		}
		return fault{}
	})
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: 50 * time.Millisecond})
	other := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-watch"})
	bad := stream.Inbox("bad")
	create(t, other, bad)
	create(t, other, inbox)
	if _, err := other.Append(t.Context(), bad, batch("m")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	told := map[stream.Name]stream.Moved{}
	for moved, err := range s.Watch(ctx, stream.Inboxes) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moved {
			told[m.Name] = m
		}
		switch {
		case len(moved) == 0:
			if told[bad].Err == nil || told[inbox].Err != nil || len(told) != 2 {
				t.Fatalf("told of %v; want both, one with an error", told)
			}
			down.Store(false)
		case !down.Load() && told[bad].Err == nil:
			if told[bad].Tail != 1 {
				t.Errorf("the tail is %d; want 1", told[bad].Tail)
			}
			return
		}
	}
}

// What others write is told of in time whatever a sweep takes, as long as S2 can
// keep up; and S2 has as much rest as work.
func TestPauseBetweenSweeps(t *testing.T) {
	t.Parallel()
	o := s2stream.Options{Sweep: 250 * time.Millisecond, Within: 5 * time.Second}
	const ms, s = time.Millisecond, time.Second
	for _, tt := range []struct{ idle, took, want time.Duration }{
		{250 * ms, 10 * ms, 250 * ms},
		{4 * s, 10 * ms, 4 * s},
		{4 * s, s, 4 * s},
		{4 * s, 1500 * ms, 3500 * ms},
		{4 * s, 2500 * ms, 2500 * ms},
		{250 * ms, 2 * s, 2 * s},
		{4 * s, 4 * s, 4 * s},
		{250 * ms, 10 * s, 10 * s},
	} {
		if got := s2stream.Pause(o, tt.idle, tt.took); got != tt.want {
			t.Errorf("Pause(%v, %v) = %v; want %v", tt.idle, tt.took, got, tt.want)
		}
	}
	if got := s2stream.Pause(s2stream.Options{Sweep: time.Hour, Within: 5 * s}, time.Hour, ms); got != time.Hour {
		t.Errorf("the pause is %v; want as long as was asked for", got)
	}
}

// When sweeps take so long that what others write is told of late, the operator
// is told, once, and once when it is over.
func TestWatchSaysThatItIsLate(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	srv := serve(t, func(r *http.Request) fault {
		if slow.Load() && strings.HasSuffix(r.URL.Path, "/records/tail") {
			<-time.After(150 * time.Millisecond)
		}
		return fault{}
	})
	lines := make(logLines, 100)
	s := open(t, s2stream.Options{
		Token: token, Endpoint: srv.url, Basin: "basin-of-watch", Sweep: 10 * time.Millisecond, Within: 250 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(lines, nil)),
	})
	create(t, s, inbox)
	slow.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		for range s.Watch(ctx, stream.Inboxes) {
		}
	})
	for _, want := range []string{`level=WARN msg="what others write is seen late`, `level=INFO msg="what others write is seen in time again"`} {
		line := <-lines
		if !strings.Contains(line, want) || !strings.Contains(line, " under=inbox/ streams=1 sweep=") {
			t.Errorf("the log says %q; want %s", line, want)
		}
		if slow.Load() {
			for sweeps := len(srv.arrivals("GET tail")); len(srv.arrivals("GET tail")) < sweeps+3; {
				<-time.After(10 * time.Millisecond)
			}
		}
		if len(lines) > 0 {
			t.Errorf("it is said again: %s", <-lines)
		}
		slow.Store(false)
	}
	cancel()
	watching.Wait()
}

type logLines chan string

func (l logLines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
