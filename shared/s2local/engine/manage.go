package engine

import (
	"context"
	"fmt"
	"time"
)

// An Info describes a basin or a stream. There is none of what is being deleted: a
// deletion is whole when it is answered.
type Info struct {
	Name      string
	CreatedAt time.Time
	Cipher    *string
}

// A Provision says what a create or an ensure did.
type Provision int

// The provisions.
const (
	Created Provision = iota
	Updated
	Noop
)

// A change is a task other than an append. do runs in the committer; what it
// returns is told once what it decided on is durable.
type change struct {
	do   func(g *group) error
	err  error
	done chan struct{}
}

func (c *change) stage(g *group) { c.err = c.do(g) }
func (c *change) weight() int    { return 1 << 10 }
func (c *change) giveUp(error)   {} // who waits has an end of his own
func (c *change) settle(err error) {
	if err != nil {
		c.err = err
	}
	close(c.done)
}

// change runs do in the committer and waits for its outcome. If ctx ends first
// it may still be made, and do may still run.
func (e *Engine) change(ctx context.Context, do func(g *group) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("change: %w", err)
	}
	if err := e.err(); err != nil {
		return err
	}
	c := &change{do: do, done: make(chan struct{})}
	if err := e.put(c); err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.err
	case <-e.ended:
	case <-ctx.Done():
		return fmt.Errorf("change: %w", ctx.Err())
	}
	select { // the outcome came with the end
	case <-c.done:
		return c.err
	default:
		return e.err()
	}
}

// find returns the state of a stream as staged, nil if there is none.
func (g *group) find(k streamKey) (*state, error) {
	st, err := g.e.lookup(k)
	if err != nil || st == nil || st.dead {
		return nil, err
	}
	return st, nil
}

// basinOf returns the basin of k, nil if it is gone.
func (g *group) basinOf(k streamKey) *basinMeta {
	g.e.reg.mu.Lock()
	defer g.e.reg.mu.Unlock()
	return g.e.reg.numbers[k.basin]
}
