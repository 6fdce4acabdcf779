// Package journal holds the only conditional writers: Update (fold, decide,
// append right behind, again if overtaken; algorithm (c)) and AppendAt (one
// position, one attempt, settled by read-back).
package journal

import (
	"context"
	"io"
	"time"

	"agentchat/shared/stream"
)

// Options of a Journal; zero values have defaults.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // nil: crypto/rand.Reader
	Budget time.Duration    // of one Update; 0: 10 s
}

// A Journal folds streams and keeps what it folded.
type Journal struct{}

// New returns a Journal on store.
func New(store stream.Store, o Options) *Journal { panic("unwritten") }

// A Fold says how a state of type S is made from a stream's records. The state is
// shared by all readers: decide and Apply must not change what a former state
// points to.
type Fold[S any] struct {
	New   func() S
	Apply func(S, stream.Entry) (S, error)
}

// Update runs decide on the state and appends what it returns right behind what
// the state was made from; nil records and nil error is a no-op. See (c).
func Update[S any](ctx context.Context, j *Journal, name stream.Name, f *Fold[S], decide func(S) ([]stream.Record, error)) (S, error) {
	panic("unwritten")
}

// Read returns the state, at most maxAge old (0: what is acknowledged now).
// A stream that does not exist is the new state.
func Read[S any](ctx context.Context, j *Journal, name stream.Name, f *Fold[S], maxAge time.Duration) (S, error) {
	panic("unwritten")
}
