// Package chatlog is what a signed chat does to streams: create-or-find, claim,
// append, look up, read, follow. A chat has a journal, which says what it is, and
// two directional streams, each written by one party under S2's fencing token
// and at an expected position: the store itself refuses who was replaced and who
// did not see all that stands there.
//
// Nothing is repeated here that could be stored twice, and nothing is told that is not
// so: an append is stored, or refused for good, or its outcome is unknown and the
// operation is named that can be looked up. Reads never create and never skip.
package chatlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// The bounds of one operation, and of what is remembered.
const (
	budget     = 10 * time.Second // of one write
	grace      = 5 * time.Second  // of a write whose caller has gone
	settled    = time.Hour        // how old the state of an open chat may be where only what never changes is asked of it
	maxWindows = 256              // directions of which the latest operations are remembered
	maxPassed  = 10_000           // records that one page may pass over
	maxDamaged = 1024             // damaged chats that are logged once
)

// Options of a Log.
type Options struct {
	Keys           *signed.Set      // of records, and of what the server authenticates for itself
	Policy         api.PIIPolicy    // the server's; "": off
	GrantsRequired bool             // what a chat's creator sends waits for the peer's permission
	Now            func() time.Time // nil: time.Now
	Rand           io.Reader        // nil: crypto/rand.Reader
	Log            *slog.Logger     // of chats that can't be read; nil: slog.Default
}

// A Log keeps signed chats. Its methods may be called concurrently. Their errors
// are *api.Error, but for faults of ours.
type Log struct {
	store   stream.Store
	journal *journal.Journal
	mail    *mailbox.Mailbox
	o       Options
	chats   *journal.Fold[*chat.State]
	index   *journal.Fold[*listed]
	windows *lru.Cache[stream.Name, *window]
	damaged *lru.Cache[ident.Chat, struct{}] // that were logged
}

// New returns a Log on store, whose chats are kept by j, between the agents whose
// registrations mail has.
func New(store stream.Store, j *journal.Journal, mail *mailbox.Mailbox, o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Policy == "" {
		o.Policy = api.PIIOff
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Log{
		store: store, journal: j, mail: mail, o: o, windows: cache[stream.Name, *window](maxWindows), damaged: cache[ident.Chat, struct{}](maxDamaged),
		chats: journal.Of[chat.State](),
		index: &journal.Fold[*listed]{New: func() *listed { return nil }, Apply: (*listed).apply},
	}
}

func cache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic("chatlog: " + err.Error()) // only for a size that is not positive
	}
	return c
}

// An Actor is who does something in a chat. Operator says that the API token
// acts for the agent.
type Actor struct {
	Agent    ident.Agent
	Operator bool
}

func (a Actor) author() signed.Author {
	if a.Operator {
		return signed.Fleet
	}
	return signed.AgentKey
}

// A room is a chat as one of its parties is in it.
type room struct {
	state     *chat.State
	by        Actor
	own, peer direction
}

// enter returns the chat for one who acts in it: a party, under the registration
// that the chat was made with. Everybody else is told that there is none. The
// operator may read for an agent that was deleted since.
func (l *Log) enter(ctx context.Context, id ident.Chat, by Actor, writes bool) (*room, error) {
	maxAge := settled
	if writes {
		maxAge = 0
	}
	s, err := journal.Read(ctx, l.journal, stream.Chat(id), l.chats, maxAge)
	if err == nil && !s.Open && maxAge > 0 {
		s, err = journal.Read(ctx, l.journal, stream.Chat(id), l.chats, 0)
	}
	if err != nil {
		return nil, err
	}
	own, peer, ok := s.Of(by.Agent)
	if !ok || !s.Open {
		return nil, chat.NotFound()
	}
	is := func(reg agent.State) bool {
		return reg.Generation == own.Generation && (reg.Phase == agent.Registered || reg.Phase == agent.Deleted && by.Operator && !writes)
	}
	if ok, err = l.registered(ctx, by.Agent, is); err != nil {
		return nil, err
	} else if !ok {
		return nil, chat.NotFound()
	}
	return &room{state: s, by: by, own: directionOf(s, own, peer), peer: directionOf(s, peer, own)}, nil
}

// registered reports whether is holds of an agent's registration: of one that is
// a little old, or else of the present one, since a refusal must be true.
func (l *Log) registered(ctx context.Context, id ident.Agent, is func(agent.State) bool) (bool, error) {
	for _, maxAge := range []time.Duration{agent.MaxAge, 0} {
		reg, err := l.mail.Registration(ctx, id, maxAge)
		if err != nil || is(reg) {
			return err == nil, err
		}
	}
	return false, nil
}

// scope is what the cursors of this reader are bound to.
func (r *room) scope() chat.Scope {
	s := r.state
	return chat.Scope{Chat: s.ID, Reader: r.by.Agent, Streams: [2]ident.Generation{s.Sides[0].Stream, s.Sides[1].Stream}}
}

// directions returns both, agentA's first.
func (r *room) directions() [2]direction {
	if r.own.side.Agent == r.state.Sides[0].Agent {
		return [2]direction{r.own, r.peer}
	}
	return [2]direction{r.peer, r.own}
}

func (l *Log) now() api.Time { return api.TimeOf(l.o.Now()) }

// secrets returns the keys for a purpose, the one for what is new first.
func (l *Log) secrets(purpose string) ([]signed.Secret, error) {
	all := l.o.Keys.Secrets(purpose, l.o.Now())
	if len(all) == 0 {
		return nil, errors.New("the signing keys have no symmetric key")
	}
	return all, nil
}

// The purposes of secrets.
const (
	forOwners  = "chat owner"
	forBatches = "chat batch"
	forCursors = "chat cursor"
	forRepeats = "chat repeat"
)

func damaged(name stream.Name, cause error) *api.Error {
	return api.Errorf(api.StateLost, "a stream of the chat is not what was written to it; an operator must look").
		Because(fmt.Errorf("%s: %w", name, cause))
}
