package streamtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"agentchat/shared/stream"
)

func readCases() []testCase {
	return []testCase{
		{name: "ReadStopsAtItsLimits", run: readStopsAtItsLimits},
		{name: "PagesAreFullAndNotMore", run: pagesAreFullAndNotMore},
		{name: "ReadAtTheTailIsEmpty", run: readAtTheTailIsEmpty},
		{name: "ReadBehindTheTailIsAnError", run: readBehindTheTailIsAnError},
		{name: "ReadOfTrimmedIsAnError", run: readOfTrimmedIsAnError},
		{name: "TrimReachesItselfAtMost", run: trimReachesItselfAtMost},
		{name: "ReadByTimeFindsTheFirst", run: readByTimeFindsTheFirst},
		{name: "MissingStreamIsNotFound", run: missingStreamIsNotFound},
	}
}

func readStopsAtItsLimits(p *probe) {
	name := p.create()
	p.append(name, sized(100), sized(200), sized(300))
	p.append(name, sized(400))
	for _, c := range []struct {
		from  uint64
		limit stream.Limit
		want  int
	}{
		{0, stream.Limit{}, 4},
		{0, stream.Limit{Records: 1}, 1},
		{1, stream.Limit{Records: 2}, 2},
		{1, stream.Limit{Records: 3}, 3},
		{2, stream.Limit{Records: 100}, 2},
		{0, stream.Limit{Records: math.MaxInt, Bytes: math.MaxInt}, 4},
		{0, stream.Limit{Bytes: 1000}, 4},
		{0, stream.Limit{Bytes: 999}, 3},
		{0, stream.Limit{Bytes: 600}, 3},
		{0, stream.Limit{Bytes: 599}, 2},
		{0, stream.Limit{Bytes: 100}, 1},
		{0, stream.Limit{Bytes: 1}, 1}, // a first record larger than Bytes all the same
		{3, stream.Limit{Bytes: 399}, 1},
		{0, stream.Limit{Records: 2, Bytes: 1000}, 2},
		{0, stream.Limit{Records: 4, Bytes: 300}, 2},
	} {
		page := p.read(name, c.from, c.limit)
		if !p.full(len(page.Entries), c.want) {
			p.Errorf("read from %d with %+v: %d records; want %d", c.from, c.limit, len(page.Entries), c.want)
		}
		if page.Tail != 4 {
			p.Errorf("read from %d with %+v: tail = %d; want 4", c.from, c.limit, page.Tail)
		}
		if want := c.from + uint64(len(page.Entries)); page.Next(c.from) != want {
			p.Errorf("read from %d with %+v: next = %d; want %d", c.from, c.limit, page.Next(c.from), want)
		}
	}
}

func pagesAreFullAndNotMore(p *probe) {
	name := p.create()
	p.fill(name, 2001)
	for from, want := range map[uint64]int{0: 1000, 1: 1000, 1000: 1000, 1001: 1000, 1002: 999, 2000: 1} {
		page := p.read(name, from, stream.Limit{})
		if !p.full(len(page.Entries), want) || page.Tail != 2001 {
			p.Errorf("page from %d: %d records, tail %d; want %d, 2001", from, len(page.Entries), page.Tail, want)
		}
		for _, e := range page.Entries {
			if string(e.Body) != fmt.Sprint(e.Seq) {
				p.Fatalf("position %d holds %q", e.Seq, e.Body)
			}
		}
	}

	big := stream.Agent(inbox)
	p.createAs(big)
	p.append(big, sized(stream.MaxPageBytes/2))
	p.append(big, sized(stream.MaxPageBytes/2))
	p.append(big, sized(stream.MaxPageBytes))
	p.append(big, sized(100))
	for from, want := range []int{2, 1, 1, 1} {
		if page := p.read(big, uint64(from), stream.Limit{}); !p.full(len(page.Entries), want) || page.Tail != 4 {
			p.Errorf("page of large records from %d: %d records, tail %d; want %d, 4", from, len(page.Entries), page.Tail, want)
		}
	}
}

func readAtTheTailIsEmpty(p *probe) {
	name := p.create()
	for n := range uint64(3) {
		for _, start := range []stream.Start{{Seq: n}, {Time: stream.Timestamp(time.Now().Add(time.Hour).UnixMilli())}, {Time: math.MaxUint64}} {
			page, err := p.Read(p.Context(), name, start, stream.Limit{})
			if err != nil || len(page.Entries) != 0 || page.Tail != n {
				p.Errorf("read from %+v of %d records: %d, tail %d, %v; want an empty page", start, n, len(page.Entries), page.Tail, err)
			}
		}
		p.append(name, text("x"))
	}
}

func readBehindTheTailIsAnError(p *probe) {
	name := p.create()
	check := func(from, tail uint64) {
		p.Helper()
		var beyond *stream.BeyondTailError
		page, err := p.Read(p.Context(), name, stream.Start{Seq: from}, stream.Limit{})
		if !errors.As(err, &beyond) || beyond.Tail != tail || len(page.Entries) != 0 {
			p.Errorf("read from %d: %d records, err = %v; want beyond the tail %d", from, len(page.Entries), err, tail)
		}
	}
	check(1, 0)
	check(math.MaxUint64, 0)
	p.fill(name, 3)
	check(4, 3)
	check(math.MaxInt64, 3)
	check(math.MaxUint64, 3)
}

func readOfTrimmedIsAnError(p *probe) {
	name := p.create()
	p.fill(name, 10)
	p.append(name, stream.Trim(4)) // at 10
	p.trimmed(name, 4)
	for from := range uint64(4) {
		var trimmed *stream.TrimmedError
		page, err := p.Read(p.Context(), name, stream.Start{Seq: from}, stream.Limit{})
		if !errors.As(err, &trimmed) || trimmed.First != 4 || len(page.Entries) != 0 {
			p.Errorf("read from %d: %d records, err = %v; want trimmed, first 4", from, len(page.Entries), err)
		}
	}
	if got := p.all(name, 4); len(got) != 7 || string(got[0].Body) != "4" {
		p.Errorf("read from 4: %q; want 4 to 9 and the trim", bodies(got))
	}
	// A smaller trim takes nothing back, and takes nothing.
	p.append(name, stream.Trim(2)) // at 11
	p.trimmed(name, 4)
	p.append(name, stream.Trim(11)) // at 12
	p.trimmed(name, 11)
	if got := p.all(name, 11); len(got) != 2 || got[0].Command() != stream.TrimCommand {
		p.Errorf("read from 11: %d records; want the two last trims", len(got))
	}
	if got := p.tail(name); got != 13 {
		p.Errorf("tail = %d after trims; want 13", got)
	}
}

func trimReachesItselfAtMost(p *probe) {
	name := p.create()
	p.fill(name, 3)
	p.append(name, text("with the trim"), stream.Trim(math.MaxUint64)) // the trim at 4
	p.trimmed(name, 5)
	if page := p.read(name, 5, stream.Limit{}); len(page.Entries) != 0 || page.Tail != 5 {
		p.Errorf("read from 5: %d records, tail %d; want none, 5", len(page.Entries), page.Tail)
	}
	page, err := p.Read(p.Context(), name, stream.Start{Time: 1}, stream.Limit{})
	if err != nil || len(page.Entries) != 0 || page.Tail != 5 {
		p.Errorf("read by time of nothing: %d records, tail %d, %v; want none, 5", len(page.Entries), page.Tail, err)
	}
	ack := p.append(name, text("after"))
	if ack.First != 5 {
		p.Errorf("append after a full trim at %d; want 5", ack.First)
	}
	p.trimmed(name, 5)
	if got := bodies(p.all(name, 5)); !slices.Equal(got, []string{"after"}) {
		p.Errorf("read from 5: %q; want what came after", got)
	}
}

func readByTimeFindsTheFirst(p *probe) {
	name := p.create()
	for range 5 {
		p.append(name, text("a"), text("b"))
		p.pause(3 * time.Millisecond)
	}
	entries := p.all(name, 0)
	if len(entries) != 10 {
		p.Fatalf("%d records; want 10", len(entries))
	}
	check := func(at stream.Timestamp, first uint64) {
		p.Helper()
		want := slices.IndexFunc(entries, func(e stream.Entry) bool { return e.Timestamp >= at && e.Seq >= first })
		page, err := p.Read(p.Context(), name, stream.Start{Seq: 3, Time: at}, stream.Limit{}) // Seq does not count
		switch {
		case err != nil:
			p.Errorf("read from time %d: %v", at, err)
		case want < 0 && (len(page.Entries) > 0 || page.Tail < 10):
			p.Errorf("read from time %d: %d records, tail %d; want none", at, len(page.Entries), page.Tail)
		case want >= 0 && (len(page.Entries) == 0 || page.Entries[0].Seq != uint64(want)):
			p.Errorf("read from time %d: %q, began otherwise than at %d", at, bodies(page.Entries), want)
		}
	}
	last := entries[9].Timestamp
	for _, at := range []stream.Timestamp{1, entries[0].Timestamp, entries[2].Timestamp, entries[4].Timestamp + 1, last, last + 1} {
		check(at, 0)
	}
	p.append(name, stream.Trim(5))
	p.trimmed(name, 5)
	check(1, 5)
	check(entries[2].Timestamp, 5)
	check(entries[6].Timestamp, 5)
}

func missingStreamIsNotFound(p *probe) {
	name := stream.Inbox("nobody")
	check := func(method string, err error) {
		if !errors.Is(err, stream.ErrNotFound) {
			p.Errorf("%s of a missing stream: err = %v; want ErrNotFound", method, err)
		}
	}
	for _, start := range []stream.Start{{}, {Seq: 7}, {Time: 1}} {
		_, err := p.Read(p.Context(), name, start, stream.Limit{})
		check("Read", err)
	}
	_, err := p.Tail(p.Context(), name)
	check("Tail", err)
	check("Delete", p.Delete(p.Context(), name))
	n := 0
	for _, err = range p.Follow(p.Context(), name, 0, p.o.Patience) {
		n++
	}
	check("Follow", err)
	if n != 1 {
		p.Errorf("Follow of a missing stream yielded %d times; want once, the error", n)
	}
	if _, err := p.Tail(p.Context(), name); !errors.Is(err, stream.ErrNotFound) {
		p.Errorf("looking at a missing stream created it: err = %v", err)
	}
}
