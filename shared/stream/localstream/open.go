package localstream

import (
	"context"
	"errors"

	"agentchat/shared/s2local/engine"
)

// memoryBasin is the base name of Memory's basins.
const memoryBasin = "agent-chat"

// Open opens an engine and returns a store on it with its basins ensured, and
// what ends both.
func Open(ctx context.Context, o engine.Options, base string) (*Store, func() error, error) {
	e, err := engine.Open(o)
	if err != nil {
		return nil, nil, err
	}
	s := New(e, base)
	if err := s.Ensure(ctx); err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	return s, e.Close, nil
}

// Memory returns a store on a new engine in memory, and what ends it.
// Its basins are ensured. It may be used inside a synctest bubble, if it is
// ended inside.
func Memory() (s *Store, closeStore func()) {
	s, end, err := Open(context.Background(), engine.Options{Memory: true}, memoryBasin)
	if err != nil {
		panic(err) // nothing outside this process is involved
	}
	return s, func() { _ = end() } // nothing is kept
}
