package s2stream_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentchat/shared/apitest"
	"agentchat/shared/stream/s2stream"
)

// A clock that is not the store's is noticed, by what is appended and by the dates
// of other answers, and told to the log once an hour.
func TestClock(t *testing.T) {
	t.Parallel()
	srv := serve(t, nil)
	var offset atomic.Int64
	var log apitest.Buffer
	s := open(t, s2stream.Options{
		Token: token, Endpoint: srv.url, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) },
		MaxSkew: 5 * time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	create(t, s, inbox)
	look := func() {
		if _, err := s.Tail(t.Context(), inbox); err != nil {
			t.Fatal(err)
		}
	}
	send := func() {
		if _, err := s.Append(t.Context(), inbox, batch("m")); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name   string
		offset time.Duration
		call   func()
		want   time.Duration
		warned int // in all
	}{
		{"the same, by a date", 0, look, 0, 0},
		{"ahead, by a date", 7 * time.Minute, look, 7 * time.Minute, 1},
		{"behind, by an append", -6 * time.Minute, send, -6 * time.Minute, 1}, // it was told of
		{"the same, by an append", 0, send, 0, 1},
		{"a little ahead", 4 * time.Minute, send, 4 * time.Minute, 1},
		{"a date that an append knows better", time.Minute, look, 4 * time.Minute, 1},
		{"far ahead, by an append", 68 * time.Minute, send, 68 * time.Minute, 2},
		{"farther, by an append", 100 * time.Minute, send, 100 * time.Minute, 2},
		{"by a date, long after the append", 170 * time.Minute, look, 170 * time.Minute, 3},
	} {
		offset.Store(int64(step.offset))
		step.call()
		// A Date has whole seconds, and a call may take some.
		if got := s.Ahead(); (got-step.want).Abs() > 2*time.Second || step.want == 0 && got != 0 {
			t.Errorf("%s: %v ahead; want %v", step.name, got, step.want)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != step.warned {
			t.Errorf("%s: %d warnings; want %d", step.name, n, step.warned)
		}
	}
}
