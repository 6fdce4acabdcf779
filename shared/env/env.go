// Package env is what a handler works with. New takes a Store; FromEnviron is the
// only reader of environment variables and opens s2stream only, so that a Lambda
// does not link the embedded engine.
package env

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"agentchat/shared/auth"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// An Env is shared by all handlers of a process. It is not changed once made.
type Env struct {
	Store   stream.Store
	Journal *journal.Journal
	Mail    *mailbox.Mailbox
	Auth    *auth.Auth  // nil: the process serves what anybody may call, and nothing else
	Keys    *signed.Set // of signed chats; may have no key
	Now     func() time.Time
	Rand    io.Reader
	Log     *slog.Logger
	Config  Config
	// Draining is closed when the process is about to end: streams end cleanly, new ones are sent away with 200.
	Draining <-chan struct{}
}

// Options of New.
type Options struct {
	Store    stream.Store
	Config   Config           // APITokens and AdminTokens as auth.New wants them
	Now      func() time.Time // nil: time.Now
	Rand     io.Reader        // may be read concurrently; nil: crypto/rand.Reader
	Log      *slog.Logger     // nil: slog.Default
	Draining <-chan struct{}  // nil: never
	Sole     bool             // see mailbox.Options
	Late     bool             // see mailbox.Options and journal.Options
	Open     bool             // the process serves what anybody may call, and so starts without a token
}

// New returns an Env on a store. It refuses what auth.New refuses: a server
// without a token never starts, but for one that is Open.
func New(o Options) (*Env, error) {
	if o.Store == nil {
		return nil, errors.New("no store")
	}
	e := &Env{Store: o.Store, Now: o.Now, Rand: o.Rand, Log: o.Log, Config: o.Config, Draining: o.Draining, Keys: o.Config.SigningKeys}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Rand == nil {
		e.Rand = rand.Reader
	}
	if e.Log == nil {
		e.Log = slog.Default()
	}
	if e.Keys == nil {
		e.Keys = new(signed.Set)
	}
	if e.Config.Version == "" {
		e.Config.Version = buildVersion()
	}
	e.Journal = journal.New(e.Store, journal.Options{Now: e.Now, Rand: e.Rand, Log: e.Log, Late: o.Late})
	e.Mail = mailbox.New(e.Store, e.Journal, mailbox.Options{
		Now: e.Now, Rand: e.Rand, Log: e.Log, Retention: e.Config.Retention, Sole: o.Sole, Late: o.Late,
	})
	if o.Open && len(e.Config.APITokens) == 0 {
		return e, nil
	}
	var err error
	e.Auth, err = auth.New(auth.Options{
		APITokens: e.Config.APITokens, AdminTokens: e.Config.AdminTokens,
		Registration: e.Mail.Registration,
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// buildVersion returns the version that the binary was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
