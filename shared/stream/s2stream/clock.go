package s2stream

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"agentchat/shared/stream"
)

const (
	warnEvery = time.Hour // at most
	exactFor  = time.Hour // how long what an ack told counts for more than a Date does
)

var _ stream.Clock = (*Store)(nil)

// Ahead implements stream.Clock.
func (s *Store) Ahead() time.Duration {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return s.clock.ahead
}

// A clock compares this machine's with S2's: by the times that S2 gives to what is
// appended, which are those that readers compare with, and in a process that has
// appended nothing for a while by the dates of S2's answers.
type clock struct {
	now  func() time.Time
	most time.Duration // as Options.MaxSkew
	log  *slog.Logger

	mu     sync.Mutex
	ahead  time.Duration // of this machine's clock, as an answer told last
	acked  time.Time     // when an ack told
	warned time.Time
}

// acknowledged takes the time of what was appended by a call that began at a time of this machine.
func (c *clock) acknowledged(ctx context.Context, at stream.Timestamp, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = c.now()
	c.tell(ctx, at.Time(), at.Time().Add(time.Millisecond), began, c.acked)
}

// dated takes the date of an answer to a request that began at a time of this machine.
func (c *clock) dated(ctx context.Context, header http.Header, began time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return // it need not say
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.acked.IsZero() || now.Sub(c.acked) > exactFor {
		c.tell(ctx, date, date.Add(time.Second), began, now)
	}
}

// tell notes that S2's clock showed a time from first to last while this machine's
// went from began to ended. c.mu is held.
func (c *clock) tell(ctx context.Context, first, last, began, ended time.Time) {
	switch {
	case last.Before(began):
		c.ahead = began.Sub(last)
	case first.After(ended):
		c.ahead = ended.Sub(first)
	default:
		c.ahead = 0
	}
	if c.most == 0 || c.ahead.Abs() <= c.most || !c.warned.IsZero() && ended.Sub(c.warned) < warnEvery {
		return
	}
	c.warned = ended
	c.log.LogAttrs(ctx, slog.LevelWarn, "this machine's clock is not the store's", slog.Duration("ahead", c.ahead), slog.Duration("allowed", c.most))
}
