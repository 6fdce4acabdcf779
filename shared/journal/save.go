package journal

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"agentchat/shared/stream"
)

// The bounds of writing snapshots.
const (
	saveBudget = 5 * time.Second
	saveRest   = 10 * time.Second // of a fold whose snapshot failed
	maxLate    = 4                // being written at once by one process
)

// save writes a snapshot of the stream if one is due; after the answer, on a
// host that lives on. Whether that goes well is nothing to the caller: a
// snapshot that stays unfinished is ignored by every reader, and the next one is
// due when as much again has been written.
func save[S any](ctx context.Context, j *Journal, name stream.Name, f *Fold[S], c *cell[S]) {
	c.mu.Lock()
	due := f.Snapshot != nil && !c.saving && j.due(c.folded.marks) && !j.o.Now().Before(c.rest)
	c.saving = c.saving || due
	c.mu.Unlock()
	if !due {
		return
	}
	write := func() {
		failed := true // unless it gets to its end
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.saving = false
			if failed {
				c.rest = j.o.Now().Add(saveRest)
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveBudget)
		defer cancel()
		err := writeSnapshot(ctx, j, name, f, c)
		if failed = err != nil; failed {
			j.o.Log.LogAttrs(ctx, slog.LevelWarn, "no snapshot", slog.Any("stream", name), slog.Any("err", err))
		}
	}
	if !j.o.Late {
		write()
		return
	}
	select {
	case j.slots <- struct{}{}:
		j.late.Go(func() {
			defer func() { <-j.slots }()
			write()
		})
	default: // too many at once: the next update tries again
		c.mu.Lock()
		c.saving = false
		c.mu.Unlock()
	}
}

// due reports whether enough was written since a snapshot was begun, by whomever
// and whether or not it was ended: at least as many bytes as that one took, so
// that all of them take no more than in proportion to what else is written.
func (j *Journal) due(m marks) bool {
	return j.o.Every > 0 && m.weight >= j.o.Every && m.bytes >= m.size
}

// writeSnapshot appends a snapshot, unless another process turns out to have begun one.
func writeSnapshot[S any](ctx context.Context, j *Journal, name stream.Name, f *Fold[S], c *cell[S]) error {
	c.mu.Lock()
	s := c.folded
	c.mu.Unlock()
	of := s.next
	data, err := f.Snapshot(s.state)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", name, err)
	}
	_, err = advance(ctx, j.store, name, f, &s, nil)
	c.keepKnown(s)
	switch {
	case err != nil || !j.due(s.marks):
		return err
	case s.next-of > maxLag/2:
		return fmt.Errorf("snapshot of %s: %d records were written meanwhile", name, s.next-of)
	}
	recs, err := snapshotRecords(f.Format, of, data, j.sizes.chunk, nonce(j.o.Rand), s.marks.name())
	if err != nil {
		return err
	}
	defer func() { c.keepKnown(s) }()
	return appendSnapshot(ctx, j, name, recs, f, &s)
}

// keepKnown stores s, which may be behind the tail.
func (c *cell[S]) keepKnown(s folded[S]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(s, c.asOf, nil)
}

// appendSnapshot appends recs, in as few batches as will hold them, and stops
// at the first that is not acknowledged: what of it may still land harms nobody.
// As long as no other record comes between, s is moved on without reading.
func appendSnapshot[S any](ctx context.Context, j *Journal, name stream.Name, recs []stream.Record, f *Fold[S], s *folded[S]) error {
	for len(recs) > 0 {
		n, size := 0, 0
		for n < len(recs) && (n == 0 || size+recs[n].Metered() <= j.sizes.batch) {
			size += recs[n].Metered()
			n++
		}
		ack, err := j.store.Append(ctx, name, stream.Batch{Records: recs[:n]})
		if err != nil {
			return fmt.Errorf("append to %s: %w", name, err)
		}
		for i, r := range recs[:n] {
			e := stream.Entry{Seq: ack.First + uint64(i), Timestamp: ack.Timestamp, Record: r}
			if e.Seq == s.next {
				_ = s.add(f, e) // none of them is an event
			}
		}
		recs = recs[n:]
	}
	return nil
}
