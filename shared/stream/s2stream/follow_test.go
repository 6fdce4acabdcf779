package s2stream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

// sessions gives each read session one of the faults in turn.
func sessions(faults ...fault) func(*http.Request) fault {
	var n atomic.Int64
	return func(r *http.Request) fault {
		if r.Header.Get("Content-Type") != "s2s/proto" {
			return fault{}
		}
		return faults[int(n.Add(1)-1)%len(faults)]
	}
}

// Stores and proxies end long sessions, cleanly or not. A follower sees none of
// it: an idle page at its times, and each record once.
func TestFollowOutlivesItsSessions(t *testing.T) {
	t.Parallel()
	const life = 150 * time.Millisecond
	srv := serve(t, sessions(fault{kind: endClean, after: life}, fault{kind: endError, after: life}, fault{kind: cut, after: life},
		fault{kind: endClean}, fault{kind: dropRequest}, fault{kind: answer, status: 503}, fault{kind: answer, status: 200}))
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	create(t, s, inbox)

	const total = 25
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() {
		for n := range total {
			if _, err := s.Append(ctx, inbox, batch(fmt.Sprint(n))); err != nil {
				t.Errorf("append %d: %v", n, err)
				return
			}
			timer := time.NewTimer(80 * time.Millisecond)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
	}()
	next, idle, last := uint64(0), 0, time.Now()
	for page, err := range s.Follow(ctx, inbox, 0, 60*time.Millisecond) {
		if err != nil {
			t.Fatalf("follow at %d: %v", next, err)
		}
		if gap := time.Since(last); gap > 2*time.Second {
			t.Errorf("no page for %v; want an idle page each 60 ms", gap)
		}
		last = time.Now()
		for _, e := range page.Entries {
			if e.Seq != next || string(e.Body) != fmt.Sprint(next) {
				t.Fatalf("position %d with %q; want %d", e.Seq, e.Body, next)
			}
			next++
		}
		if len(page.Entries) == 0 {
			idle++
		}
		if next == total && idle > 10 {
			break
		}
	}
	if n := len(srv.arrivals("session")); n < 5 {
		t.Errorf("%d sessions; want one after another", n)
	}
}

// A session that ends at once, every time, is not opened in a tight loop, and
// the follower still gets its records.
func TestFollowDoesNotSpin(t *testing.T) {
	t.Parallel()
	srv := serve(t, sessions(fault{kind: endClean}))
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	create(t, s, inbox)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	for page, err := range s.Follow(ctx, inbox, 0, 500*time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) > 0 {
			break
		}
		if time.Since(began) > 2*time.Second {
			if _, err := s.Append(ctx, inbox, batch("late")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(srv.arrivals("session")); n > 25 {
		t.Errorf("%d sessions in %v", n, time.Since(began))
	}
}

// A store that is away for a while is bridged, and one that stays away ends it.
func TestFollowBridgesAnOutage(t *testing.T) {
	t.Parallel()
	srv := serve(t, nil)
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Outage: 2 * time.Second})
	create(t, s, inbox)
	if _, err := s.Append(t.Context(), inbox, batch("before")); err != nil {
		t.Fatal(err)
	}
	var got []string
	down := time.Time{}
	for page, err := range s.Follow(t.Context(), inbox, 0, 50*time.Millisecond) {
		if err != nil {
			if !errors.Is(err, stream.ErrUnavailable) {
				t.Errorf("err = %v; want ErrUnavailable", err)
			}
			// Up to a read's own tries longer than the outage that is bridged.
			if took := time.Since(down); len(got) != 2 || took < 2*time.Second || took > 8*time.Second {
				t.Errorf("it ended after %q, %v without a store", got, took)
			}
			return
		}
		for _, e := range page.Entries {
			got = append(got, string(e.Body))
		}
		switch {
		case len(got) == 1 && down.IsZero(): // away for a second
			srv.stop()
			down = time.Now()
		case len(got) == 1 && time.Since(down) > time.Second:
			srv.start(srv.addr)
			if _, err := s.Append(t.Context(), inbox, batch("after")); err != nil {
				t.Fatal(err)
			}
			down = time.Now().Add(time.Hour)
		case len(got) == 2 && time.Until(down) > time.Minute: // away for good
			srv.stop()
			down = time.Now()
		}
	}
	t.Error("follow ended without an error")
}

// A reader that was cut off inside a trimmed part is told, not moved on.
func TestFollowIsToldOfATrimWhileItWasCutOff(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	srv := serve(t, func(r *http.Request) fault {
		switch {
		case r.Header.Get("Content-Type") == "s2s/proto":
			return fault{kind: endClean, after: 100 * time.Millisecond}
		case away.Load() && r.Method == http.MethodGet:
			return fault{kind: answer, status: 503}
		}
		return fault{}
	})
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	create(t, s, inbox)
	if _, err := s.Append(t.Context(), inbox, batch("0", "1", "2")); err != nil {
		t.Fatal(err)
	}
	for page, err := range s.Follow(t.Context(), inbox, 0, 400*time.Millisecond) {
		var trimmed *stream.TrimmedError
		switch {
		case errors.As(err, &trimmed):
			if trimmed.First != 5 {
				t.Errorf("first = %d; want 5", trimmed.First)
			}
			return
		case err != nil:
			t.Fatalf("err = %v; want *TrimmedError", err)
		case len(page.Entries) > 0 && page.Entries[0].Seq > 0:
			t.Fatalf("jumped to %d", page.Entries[0].Seq)
		case len(page.Entries) == 0 && !away.Load(): // idle: the session has ended by now, and reads will fail
			away.Store(true)
		case len(page.Entries) == 0:
			if _, err := s.Append(t.Context(), inbox, batch("3", "4", "5")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(t.Context(), inbox, stream.Batch{Records: []stream.Record{stream.Trim(5)}}); err != nil {
				t.Fatal(err)
			}
			away.Store(false)
		}
	}
	t.Error("follow ended without an error")
}
