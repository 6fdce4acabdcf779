package monitor

import (
	"container/heap"
	"context"
	"maps"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
)

const (
	maxHeads    = 10_000 // inboxes whose first record is looked at for one batch
	maxPassed   = 10_000 // records that one batch passes over because of filters
	maxFailures = 64     // reads of one batch that fail before it makes do with what it has
)

// A batch is what comes next of a set.
type batch struct {
	*set
	filter *mailbox.Query
	limit  int // deliveries
	bytes  int // of them

	found       []found
	size        int
	touched     map[ident.Agent]uint64 // where these inboxes are read on
	tails       map[ident.Agent]uint64 // of those that were read
	gaps        []api.GapEvent
	unavailable []api.UnavailableEvent
	gone        []ident.Agent
	passed      int // records that were no deliveries
	failures    int

	line  []*source // whose first record is known, in order
	merge merge     // taken out of line, with something held
	moved bool      // line is out of order, since records were lost
	spent *source   // nothing is held of it any more, but there is more
}

type found struct {
	inbox ident.Agent
	api.Delivery
}

// next takes the next deliveries from w, by time, inbox and position. There may
// be none although there is more: when all that was looked at was filtered out,
// lost or out of reach. What is held of the rest is bounded, whatever its size.
//
// The order is exact among the inboxes whose first record is known; if that of
// more than maxHeads has to be found out, the others wait for the next batch.
func (w *set) next(ctx context.Context, filter *mailbox.Query, limit, bytes int) *batch {
	b := &batch{set: w, filter: filter, limit: limit, bytes: bytes, touched: map[ident.Agent]uint64{}, tails: map[ident.Agent]uint64{}}
	b.listen(ctx)
	b.look(ctx)
	for ctx.Err() == nil && len(b.found) < limit && b.passed < maxPassed {
		b.begin(ctx)
		if len(b.merge) == 0 || !b.take() {
			break
		}
	}
	return b
}

// look finds out which record of each inbox is the first, and puts them in line.
func (b *batch) look(ctx context.Context) {
	var unknown []*source
	for _, s := range b.sources {
		if s.known || s.pause > 0 {
			continue
		}
		if s.head, s.known = b.m.heads.Peek(spot{s.agent, s.next}); !s.known {
			unknown = append(unknown, s)
		}
	}
	slices.SortFunc(unknown, order) // all at time 0
	unknown = unknown[:min(len(unknown), maxHeads)]
	if n := len(unknown); n > 0 {
		// Each reader begins elsewhere, by the golden section, so that those who
		// look at the same inboxes find out different ones for each other.
		at := b.nth * n * 618 / 1000 % n
		b.read(ctx, slices.Concat(unknown[at:], unknown[:at]), b.room()/n, false)
	}
	for _, s := range b.sources {
		if s.known {
			b.line = append(b.line, s)
		}
	}
	slices.SortFunc(b.line, order)
}

// begin puts into merge whatever is in line before the first that is there.
func (b *batch) begin(ctx context.Context) {
	if s := b.spent; s != nil {
		b.spent = nil
		b.read(ctx, []*source{s}, b.room()/(len(b.merge)+1), true)
		if s.known {
			heap.Push(&b.merge, s)
		}
	}
	for len(b.line) > 0 && (len(b.merge) == 0 || order(b.line[0], b.merge[0]) < 0) {
		if s := b.line[0]; len(s.held) > 0 {
			b.line = b.line[1:]
			heap.Push(&b.merge, s)
			continue
		}
		if ctx.Err() != nil || b.failures > maxFailures {
			return
		}
		b.ahead(ctx)
	}
}

// ahead reads the first in line, and those behind it that will be wanted too.
func (b *batch) ahead(ctx context.Context) {
	wanted := min(max(min(b.limit-len(b.found), (b.bytes-b.size)/max(b.typical, 1), b.room()/max(b.typical, 1)), 1), maxCalls)
	var sources []*source
	for _, s := range b.line {
		if len(sources) == wanted {
			break
		}
		if len(s.held) == 0 {
			sources = append(sources, s)
			s.known = false
		}
	}
	b.read(ctx, sources, b.room()/(len(b.line)+len(b.merge)), true)
	b.line = slices.DeleteFunc(b.line, func(s *source) bool { return !s.known })
	if b.moved {
		slices.SortFunc(b.line, order)
		b.moved = false
	}
}

// take takes the first record; it reports false if that is one too many.
func (b *batch) take() bool {
	s := b.merge[0]
	e := s.held[0]
	d, ok := b.filter.Deliver(e)
	if ok {
		n := mailbox.Size(&d) + len(s.agent) + b.each
		if len(b.found) > 0 && b.size+n > b.bytes {
			return false
		}
		b.found = append(b.found, found{s.agent, d})
		b.size += n
	} else {
		b.passed++
	}
	s.held = s.held[1:]
	s.next = e.Seq + 1
	b.touched[s.agent] = s.next
	switch {
	case len(s.held) > 0:
		s.head = s.held[0].Timestamp
		heap.Fix(&b.merge, 0)
		return true
	case s.next < s.tail:
		b.drop(s)
		s.known, b.spent = false, s
	default:
		b.forget(s)
	}
	heap.Pop(&b.merge)
	return true
}

// moves returns what the batch makes of the positions: a move for each delivery,
// in order, then what it went over besides.
func (b *batch) moves() []move {
	moves := make([]move, 0, len(b.found)+len(b.gone))
	told := make(map[ident.Agent]uint64, len(b.touched))
	for _, f := range b.found {
		moves = append(moves, move{f.inbox, f.SeqNum + 1})
		told[f.inbox] = f.SeqNum + 1
	}
	for _, agent := range slices.Sorted(maps.Keys(b.touched)) {
		if at := b.touched[agent]; told[agent] != at {
			moves = append(moves, move{agent, at})
		}
	}
	for _, agent := range b.gone {
		moves = append(moves, move{agent, 0})
	}
	return moves
}

// A merge is a heap of sources with something held.
type merge []*source

func (h merge) Len() int           { return len(h) }
func (h merge) Less(i, j int) bool { return order(h[i], h[j]) < 0 }
func (h merge) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop are container/heap's.
func (h *merge) Push(s any) { *h = append(*h, s.(*source)) }

// Pop removes the last.
func (h *merge) Pop() any {
	s := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return s
}
