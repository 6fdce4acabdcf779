// Package journal holds the only conditional writers. Update decides on the fold
// of a stream and appends right behind what the fold was made from, again if
// another writer was faster; AppendAt writes to one position, once. Both settle
// an append whose outcome is unknown by reading it back, so that success and
// refusal are always true; where that takes too long, the outcome is said to be
// unknown.
//
// A state is the fold of one stream. Folds are kept in memory, so that a warm
// process reads only what is new, and never trusted beyond that: they can be
// thrown away at any time. A cold process folds from position 0, or, if the fold
// has snapshots, from the latest that is complete; from nowhere else, and never
// over a gap.
package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"agentchat/shared/api"
	"agentchat/shared/stream"
)

// Options of a Journal; zero values have defaults.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Rand   io.Reader        // of nonces; nil: crypto/rand.Reader
	Budget time.Duration    // of one Update or AppendAt; 0: 10 s
	Grace  time.Duration    // of what is left of the budget once the caller has gone; 0: 5 s
	Folds  int              // folds kept in memory; 0: 16384
	Memory int              // bytes that those which have Size may take in all; 0: 64 MiB
	Log    *slog.Logger     // of snapshots that could not be written; nil: slog.Default

	// Every is after how many bytes, each record counting as 1 KiB at least, a fold
	// that has snapshots gets one; but never before as many bytes were written as
	// the last one took. 0: 1 MiB; negative: never. Late is whether it is written
	// after the answer (hosts that live on) or before it.
	Every int
	Late  bool
}

// A Journal folds streams and keeps what it folded. It may be used concurrently.
type Journal struct {
	store stream.Store
	o     Options
	folds *lru.Cache[key, any] // *cell[S] of the fold's S
	large large                // the same, of folds that have Size
	late  sync.WaitGroup       // snapshots
	slots chan struct{}        // of late
	sizes sizes                // standard, but in tests
}

// A key is a fold of a stream: the Fold's address tells two folds of one stream apart.
type key struct {
	name stream.Name
	fold any
}

// New returns a Journal on store.
func New(store stream.Store, o Options) *Journal {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Budget == 0 {
		o.Budget = 10 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.Folds <= 0 {
		o.Folds = 16384
	}
	if o.Memory <= 0 {
		o.Memory = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Every == 0 {
		o.Every = stream.MaxPageBytes
	}
	folds, err := lru.New[key, any](o.Folds)
	if err != nil {
		panic("journal: " + err.Error()) // only for a size that is not positive
	}
	j := &Journal{store: store, o: o, folds: folds, slots: make(chan struct{}, maxLate), sizes: standard}
	j.large.open(o)
	return j
}

// Wait returns when the snapshots that are being written (Options.Late) are. A
// host calls it before it closes the store; nothing is lost if it does not.
func (j *Journal) Wait() { j.late.Wait() }

// Pauses between repeats of what the store refused or did not answer.
type Pauses struct{ b *backoff.ExponentialBackOff }

// Wait lets a growing, jittered time pass, or returns ctx's error if ctx ends first.
func (p *Pauses) Wait(ctx context.Context) error {
	if p.b == nil {
		p.b = backoff.NewExponentialBackOff()
		p.b.InitialInterval, p.b.MaxInterval, p.b.Multiplier = 5*time.Millisecond, 500*time.Millisecond, 2
	}
	t := time.NewTimer(p.b.NextBackOff())
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unavailable is the error for a call that a store which is away, or a caller who
// has left, kept from being answered. Nothing was written.
func Unavailable(cause error) *api.Error {
	return api.Errorf(api.Unavailable, "the store can't be reached").Because(cause)
}

// lost is the error for a stream that is not what was written to it.
func lost(name stream.Name, cause error) error {
	return api.Errorf(api.StateLost, "the history behind this state is damaged; an operator must look").
		Because(errors.Join(errors.New("fold of "+name.String()), cause))
}
