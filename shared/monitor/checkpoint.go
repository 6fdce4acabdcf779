package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/cursor"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

const (
	checkpointRetention = 7 * 24 * time.Hour
	renewAfter          = 24 * time.Hour // a checkpoint whose first is older would not last much longer than that
	maxMerged           = 4096           // moves that are written again with a new checkpoint
	maxLinks            = 256            // of a chain that is read; one that is written has about 20
	outage              = 30 * time.Second
)

// A chain is a checkpoint and those that it stands on: the first has no base,
// and each other has the one before it.
//
// A new one takes along the latest ones that are not larger than itself, so that
// their sizes fall from link to link: there are few of them, and each move is
// written anew only when what it stands in doubles. When more moves have been
// written than a checkpoint of everything would have, it is time for one.
type chain struct {
	links []link
	sum   int       // moves written since the first
	since time.Time // when the first was written
}

// A link is a checkpoint of a chain. The moves of the first are not kept.
type link struct {
	ref   cursor.Ref
	moves []move
}

// end returns the latest checkpoint.
func (c *chain) end() cursor.Ref { return c.links[len(c.links)-1].ref }

// expired is the error for a client whose checkpoint is not there as it was.
func expired(ref cursor.Ref, cause error) error {
	return api.Errorf(api.CursorExpired, "the cursor's checkpoint is no longer kept; begin without a cursor, or with one that is younger").
		Because(fmt.Errorf("checkpoint %d: %w", ref.Position, cause))
}

// resolve reads the chain that ends with ref, and returns it with the positions
// that it stands for.
func (m *Monitor) resolve(ctx context.Context, ref cursor.Ref) (*chain, cursor.Vector, error) {
	c := &chain{}
	for at, n := ref, 0; ; n++ {
		r, err := m.checkpoint(ctx, at)
		if err != nil {
			return nil, nil, err
		}
		if uint64(len(r.moves)) < at.N || n == maxLinks {
			return nil, nil, expired(ref, errRecord)
		}
		if n == 0 {
			c.sum, c.since = r.Sum, time.UnixMilli(int64(r.Since))
		}
		c.links = append(c.links, link{at, r.moves[:at.N]})
		if r.Base == nil {
			break
		}
		below, err := r.Base.ref()
		if err != nil || below.Position >= at.Position {
			return nil, nil, expired(ref, errRecord)
		}
		at = below
	}
	slices.Reverse(c.links)
	v := make(cursor.Vector, len(c.links[0].moves))
	for _, l := range c.links {
		apply(v, l.moves)
	}
	c.links[0].moves = nil
	return c, v, nil
}

func apply(v cursor.Vector, moves []move) {
	for _, m := range moves {
		if m.to == 0 {
			delete(v, m.agent)
		} else {
			v[m.agent] = m.to
		}
	}
}

// checkpoint reads the record that ref names.
func (m *Monitor) checkpoint(ctx context.Context, ref cursor.Ref) (record, error) {
	p, err := m.store.Read(ctx, stream.Checkpoints(), stream.Start{Seq: ref.Position}, stream.Limit{Records: 1})
	switch {
	case errors.Is(err, stream.ErrTrimmed), errors.Is(err, stream.ErrBeyondTail), errors.Is(err, stream.ErrNotFound):
		return record{}, expired(ref, err)
	case err != nil:
		return record{}, journal.Unavailable(err)
	case len(p.Entries) == 0 || p.Entries[0].Seq != ref.Position || hashOf(p.Entries[0].Body) != ref.Hash:
		return record{}, expired(ref, errRecord)
	}
	r, err := decodeRecord(p.Entries[0].Body)
	if err != nil {
		return record{}, expired(ref, err)
	}
	return r, nil
}

// extend stores moves behind those of c, on top of which over has moved already;
// all is everything that has been read before moves. It returns the chain that
// ends with them, and the Ref of each move: what a cursor right behind it names.
// c is not changed, and nil if there was none.
func (m *Monitor) extend(ctx context.Context, c *chain, all, over cursor.Vector, moves []move) (*chain, []cursor.Ref, error) {
	now := m.now()
	next := &chain{}
	var head []move // of what was read before
	whole := c == nil || now.Sub(c.since) > renewAfter || c.sum+len(over)+len(moves) > max(len(all), len(moves))
	if whole {
		head, next.since = sorted(all), now
	} else {
		*next = chain{links: c.links, sum: c.sum, since: c.since}
		for len(next.links) > 1 {
			top := next.links[len(next.links)-1].moves
			if len(top) > len(over)+len(moves) || len(top)+len(over) > maxMerged {
				break
			}
			merged := make(cursor.Vector, len(top)+len(over))
			for _, mv := range top {
				merged[mv.agent] = mv.to
			}
			maps.Copy(merged, over)
			over = merged
			next.links = next.links[:len(next.links)-1]
		}
		next.links = slices.Clone(next.links)
		head = sorted(over)
	}
	refs := make([]cursor.Ref, 0, len(moves))
	for rest := append(head, moves...); len(rest) > 0; {
		part := rest[:fitting(rest)]
		rest = rest[len(part):]
		if !whole {
			next.sum += len(part)
		}
		r := record{Since: uint64(next.since.UnixMilli()), Sum: next.sum, moves: part}
		if len(next.links) > 0 {
			r.Base = baseOf(next.end())
		}
		ref, err := m.put(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		for i := range part {
			if len(head) > 0 {
				head = head[1:]
				continue
			}
			refs = append(refs, cursor.Ref{Position: ref.Position, N: uint64(i) + 1, Hash: ref.Hash})
		}
		l := link{ref: ref}
		if r.Base != nil {
			l.moves = part
		}
		next.links = append(next.links, l)
	}
	return next, refs, nil
}

func sorted(v cursor.Vector) []move {
	moves := make([]move, 0, len(v))
	for _, agent := range slices.Sorted(maps.Keys(v)) {
		moves = append(moves, move{agent, v[agent]})
	}
	return moves
}

// fitting returns how many of the moves one record takes, at least one.
func fitting(moves []move) int {
	size := 0
	for i, mv := range moves {
		if size += cursor.Entry(mv.agent, mv.to); size > maxText && i > 0 {
			return i
		}
	}
	return len(moves)
}

// put appends a checkpoint, again and again for a while if the store is away:
// one that is there twice is harmless.
func (m *Monitor) put(ctx context.Context, r record) (cursor.Ref, error) {
	rec, hash, err := r.encode()
	if err != nil {
		return cursor.Ref{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, outage)
	defer cancel()
	for pauses := (journal.Pauses{}); ; {
		ack, err := m.store.Append(ctx, stream.Checkpoints(), stream.Batch{Records: []stream.Record{rec}})
		if err == nil {
			return cursor.Ref{Position: ack.First, N: uint64(len(r.moves)), Hash: hash}, nil
		}
		if errors.Is(err, stream.ErrInvalid) {
			return cursor.Ref{}, err
		}
		if errors.Is(err, stream.ErrNotFound) {
			err = m.store.Create(ctx, stream.Checkpoints(), stream.Config{Retention: checkpointRetention})
		}
		if pauses.Wait(ctx) != nil {
			return cursor.Ref{}, journal.Unavailable(fmt.Errorf("store a checkpoint: %w", err))
		}
	}
}
