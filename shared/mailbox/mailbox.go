// Package mailbox is what a message does to streams: send, replay, follow, find;
// every family sends through it. Registering and deleting an agent are here too,
// because they open and close its inbox.
//
// An inbox is one stream. Every append into it carries the inbox's epoch, its
// fencing token, which moves only when an append of unknown outcome has to be
// settled and when the inbox is closed or opened. So whatever was sent under an
// epoch that has passed can never land any more, and what is said of it is final:
// a message is stored once and its position told, or it is refused for good, or
// the outcome is called unknown, with the id to repeat it with.
package mailbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Options of a Mailbox; zero values have defaults.
type Options struct {
	Now       func() time.Time // nil: time.Now
	Rand      io.Reader        // nil: crypto/rand.Reader
	Log       *slog.Logger     // nil: slog.Default
	Retention time.Duration    // of new inboxes; 0: for ever
	Sole      bool             // no other process is on the store, so what this one believes of agents is true
	Late      bool             // finish a claim's bookkeeping after the answer (hosts that live on); a Lambda does not
}

// The bounds of one operation.
const (
	budget     = 10 * time.Second // of one write
	grace      = 5 * time.Second  // of a write whose caller has gone
	maxInboxes = 16384            // of which epoch and tail are remembered
	maxLate    = 64               // claims being completed at once
)

// A Mailbox sends and reads. Its methods may be called concurrently. Their
// errors are *api.Error, but for faults of ours.
type Mailbox struct {
	store   stream.Store
	journal *journal.Journal
	o       Options
	agents  *journal.Fold[*agent.State]
	late    sync.WaitGroup
	slots   chan struct{} // of late

	mu   sync.Mutex
	seen *lru.Cache[ident.Agent, sight]
}

// A sight is what this process last saw of an inbox. It may be outdated: the
// store refuses what is sent under an epoch that has passed.
type sight struct {
	epoch string
	tail  uint64 // a tail that was seen; the present one is not lower
}

// New returns a Mailbox on store, whose registrations are kept by j.
func New(store stream.Store, j *journal.Journal, o Options) *Mailbox {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	seen, err := lru.New[ident.Agent, sight](maxInboxes)
	if err != nil {
		panic("mailbox: " + err.Error()) // only for a size that is not positive
	}
	return &Mailbox{
		store: store, journal: j, o: o, seen: seen, slots: make(chan struct{}, maxLate),
		agents: journal.Of[agent.State](),
	}
}

// Wait returns when the bookkeeping of earlier sends (Options.Late) is done. A
// host calls it before it closes the store; nothing is lost if it does not.
func (m *Mailbox) Wait() { m.late.Wait() }

// Registration returns the fold of agents/{id}, at most maxAge old. With
// Options.Sole, what is in memory is not outdated by its age, since every change
// that was acknowledged was made here: only for 0 is the store asked again.
func (m *Mailbox) Registration(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error) {
	if m.o.Sole && maxAge > 0 {
		maxAge = math.MaxInt64
	}
	s, err := journal.Read(ctx, m.journal, stream.Agent(id), m.agents, maxAge)
	return *s, err
}

// registration returns the fold of agents/{id}: one that is a little old, if the
// agent is registered according to it, else the present one, since a refusal must be true.
func (m *Mailbox) registration(ctx context.Context, id ident.Agent) (*agent.State, error) {
	s, err := journal.Read(ctx, m.journal, stream.Agent(id), m.agents, agent.MaxAge)
	if err == nil && s.Phase != agent.Registered {
		s, err = journal.Read(ctx, m.journal, stream.Agent(id), m.agents, 0)
	}
	return s, err
}

// sight returns what was last seen of an inbox.
func (m *Mailbox) sight(of ident.Agent) (sight, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen.Get(of)
}

// saw notes the epoch of an inbox and a tail that it had reached. The epoch of a
// closed inbox is forgotten, so that nothing is ever sent under it.
func (m *Mailbox) saw(of ident.Agent, epoch string, tail uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(epoch) {
		m.seen.Remove(of)
		return
	}
	was, ok := m.seen.Get(of)
	if tail == 0 && !ok {
		return // a sight without a tail would have later scans begin at 0
	}
	m.seen.Add(of, sight{epoch, max(tail, was.tail)})
}

func (m *Mailbox) now() api.Time { return api.TimeOf(m.o.Now()) }

func damaged(name stream.Name, cause error) *api.Error {
	return api.Errorf(api.StateLost, "the inbox is not what was written to it; an operator must look").
		Because(fmt.Errorf("%s: %w", name, cause))
}

// retryable reports whether a call that did not write may be repeated. Anything
// that is not known to be final is.
func retryable(err error) bool {
	for _, final := range []error{stream.ErrInvalid, stream.ErrNotFound, stream.ErrTrimmed, stream.ErrBeyondTail, stream.ErrCorrupt} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}
