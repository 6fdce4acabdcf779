package chatlog

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// both runs f for 0 and for 1 at once, and returns the first error.
func both(ctx context.Context, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range 2 {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}
