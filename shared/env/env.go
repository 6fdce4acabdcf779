// Package env is what a handler works with. New takes a Store; FromEnviron is the
// only reader of environment variables and opens s2stream only, so that a Lambda
// does not link the embedded engine.
package env

import (
	"context"
	"io"
	"log/slog"
	"time"

	"agentchat/shared/auth"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
)

// An Env is shared by all handlers of a process. It is not changed once made.
type Env struct {
	Store   stream.Store
	Journal *journal.Journal
	Mail    *mailbox.Mailbox
	Auth    *auth.Auth
	Now     func() time.Time
	Rand    io.Reader
	Log     *slog.Logger
	Config  Config
	// Draining is closed when the process is about to end: streams end cleanly, new ones are sent away with 200.
	Draining <-chan struct{}
}

// Config is what variables say; see docs/OPERATIONS.md.
type Config struct {
	APITokens    []string
	AdminTokens  []string
	S2Token      string
	S2Endpoint   string
	Basin        string        // default "agent-chat"
	Data         string        // the embedded store's folder
	Retention    time.Duration // of inboxes; 0: for ever
	StreamMaxAge time.Duration // 0: no bound
	Origins      []string      // CORS
	Version      string
}

// Options of New.
type Options struct {
	Store    stream.Store
	Config   Config
	Now      func() time.Time
	Rand     io.Reader
	Log      *slog.Logger
	Draining <-chan struct{}
	Late     bool // see mailbox.Options
}

// New returns an Env on a store.
func New(o Options) (*Env, error) { panic("unwritten") }

// FromEnviron reads the configuration and opens the store on S2.
func FromEnviron(ctx context.Context, getenv func(string) string) (*Env, error) { panic("unwritten") }
