package chatlog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// A window is what a process knows of the latest records of a direction, so that
// a warm one need not read them again: which operations stand where, and how far
// the author has acknowledged. It is never trusted for what is answered: what
// it finds is read again.
type window struct {
	turn chan struct{} // filled by who uses the rest

	from, next   uint64 // what it has seen
	seen         []seen // operations in it, by position; what stands in it is never changed
	told         bool   // a record in it was seen, not commands only
	acknowledged uint64 // by the last of those records
}

// seen is where an operation begins.
type seen struct {
	op ident.Operation
	at uint64
}

func (l *Log) window(d direction) *window {
	w := &window{turn: make(chan struct{}, 1)}
	if was, found, _ := l.windows.PeekOrAdd(d.name, w); found {
		l.windows.Get(d.name) // it is used
		return was
	}
	return w
}

// A glance is what is known of a direction that ends at Tail.
type glance struct {
	tail         uint64
	acknowledged uint64
	seen         []seen
}

// at returns where op stands among the latest records.
func (g glance) at(op ident.Operation) (uint64, bool) {
	for _, s := range g.seen {
		if s.op == op {
			return s.at, true
		}
	}
	return 0, false
}

// glance returns what the last depth records of d before position p say: all of
// them, or those up to the tail if that comes before p. What this process has
// seen before is not read again.
func (l *Log) glance(ctx context.Context, d direction, p, depth uint64) (glance, error) {
	w := l.window(d)
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return glance{}, journal.Unavailable(ctx.Err())
	}
	start := p - min(p, depth)
	if start > w.next || w.from == w.next {
		w.from, w.next, w.seen, w.told = start, start, nil, false
	}
	if err := l.extend(ctx, d, w, start); err != nil {
		return glance{}, err
	}
	for it, err := range l.read(ctx, d, w.next, p, stream.MaxPageRecords) {
		if beyond, ok := errors.AsType[*stream.BeyondTailError](err); ok {
			return glance{tail: beyond.Tail}, nil
		}
		if err != nil {
			return glance{}, err
		}
		w.seen, w.next = it.noted(w.seen), it.Seq+1
		if it.Type != "" {
			w.told, w.acknowledged = true, it.Acknowledged
		}
	}
	for back := uint64(1); !w.told && w.from > 0 && w.from < w.next; back *= 2 { // at the latest the genesis tells it
		if err := l.extend(ctx, d, w, w.from-min(w.from, back)); err != nil {
			return glance{}, err
		}
	}
	const kept = 2 * api.ChatRepeats
	if n := len(w.seen); n > kept {
		w.seen = slices.Clone(w.seen[n-api.ChatRepeats:])
		w.from = w.seen[0].at
	}
	return glance{tail: w.next, acknowledged: w.acknowledged, seen: w.seen}, nil
}

// extend makes w begin at start at the latest.
func (l *Log) extend(ctx context.Context, d direction, w *window, start uint64) error {
	if start >= w.from {
		return nil
	}
	var earlier []seen
	told, acknowledged := w.told, w.acknowledged
	for it, err := range l.read(ctx, d, start, w.from, stream.MaxPageRecords) {
		if err != nil {
			return d.orDamaged(err) // it was there before
		}
		earlier = it.noted(earlier)
		if !w.told && it.Type != "" {
			told, acknowledged = true, it.Acknowledged
		}
	}
	w.from, w.seen, w.told, w.acknowledged = start, append(earlier, w.seen...), told, acknowledged
	return nil
}

// wrote notes that op was appended, unless somebody else is at it.
func (w *window) wrote(op ident.Operation, ack stream.Ack, acknowledged uint64) {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	default:
		return
	}
	if w.next == ack.First && w.next > w.from {
		w.seen = append(w.seen, seen{op, ack.First})
		w.next, w.told, w.acknowledged = ack.Next, true, acknowledged
	}
}

// noted returns all with it, if it begins an operation.
func (it item) noted(all []seen) []seen {
	if it.Operation == "" || it.Index != 0 {
		return all
	}
	return append(all, seen{ident.Operation(strings.Clone(string(it.Operation))), it.Seq})
}
