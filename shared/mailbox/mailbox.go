// Package mailbox is what a message does to streams: send, replay, follow, find;
// every family sends through it. Algorithms (a), (b), (a') and (g).
package mailbox

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// Options of a Mailbox.
type Options struct {
	Now       func() time.Time // nil: time.Now
	Rand      io.Reader        // nil: crypto/rand.Reader
	Log       *slog.Logger     // nil: slog.Default
	Retention time.Duration    // of new inboxes; 0: for ever
	Late      bool             // finish a claim's bookkeeping after the answer (hosts that live on); a Lambda does not
}

// A Mailbox sends and reads. Its methods may be called concurrently.
type Mailbox struct{}

// New returns a Mailbox on store.
func New(store stream.Store, j *journal.Journal, o Options) *Mailbox { panic("unwritten") }

// A Draft is a message before it has an id and a time.
type Draft struct {
	Op             string // the operation, part of the digest of a repeated send
	Kind           api.Kind
	From, To       ident.Agent
	ID             ident.Message // "" to have one made
	ConversationID ident.Conversation
	CorrelationID  ident.Correlation
	CreatedAt      *api.Time
	Message        *api.Content
	Metadata       map[string]string
	TraceParent    string
}

// Send stores d in the recipient's inbox, exactly once: (a), (b).
func (m *Mailbox) Send(ctx context.Context, d Draft) (*api.SendResponse, error) { panic("unwritten") }

// A Query selects deliveries of an inbox.
type Query struct {
	Agent          ident.Agent
	Cursor         *uint64 // nil: the first retained position of the registration
	Limit          int
	Wait           time.Duration // Replay: how long to wait at the tail
	Kind           api.Kind
	From           ident.Agent
	ConversationID ident.Conversation
}

// Replay returns a page.
func (m *Mailbox) Replay(ctx context.Context, q Query) (*api.InboxPage, error) { panic("unwritten") }

// Follow yields pages for as long as ctx lives: the first at once (empty at the
// tail), an empty one whenever nothing came for idle. It ends with an *api.Error.
func (m *Mailbox) Follow(ctx context.Context, q Query, idle time.Duration) iter.Seq2[*api.InboxPage, error] {
	panic("unwritten")
}

// Find looks a message up in agent's own inbox.
func (m *Mailbox) Find(ctx context.Context, owner ident.Agent, id ident.Message, from ident.Agent, at *uint64) (*api.Delivery, error) {
	panic("unwritten")
}

// FindSent looks up what sender sent to recipient with an id of its own, through the claim.
func (m *Mailbox) FindSent(ctx context.Context, sender, recipient ident.Agent, id ident.Message) (*api.Delivery, error) {
	panic("unwritten")
}

// Register, Delete: algorithm (g), on agents/{a} and the inbox together.
func (m *Mailbox) Register(ctx context.Context, id ident.Agent, p api.Profile) (*api.RegisterResponse, error) {
	panic("unwritten")
}
func (m *Mailbox) Delete(ctx context.Context, id ident.Agent) error { panic("unwritten") }

// Registration returns the fold of agents/{agent}, at most maxAge old.
func (m *Mailbox) Registration(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error) {
	panic("unwritten")
}
