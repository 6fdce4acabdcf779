package streamtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func appendCases() []testCase {
	return []testCase{
		{name: "AppendsStandInOrder", run: appendsStandInOrder},
		{name: "AppendKeepsEveryByte", run: appendKeepsEveryByte},
		{name: "AppendTakesItsArgumentsOnly", run: appendTakesItsArgumentsOnly},
		{name: "BatchesOfManyWritersStayWhole", run: batchesOfManyWritersStayWhole},
		{name: "PositionMustBeTheTail", run: positionMustBeTheTail},
		{name: "OnePositionHasOneWriter", run: onePositionHasOneWriter},
		{name: "TokenMustBeTheStreams", run: tokenMustBeTheStreams},
		{name: "TokenIsComparedBeforePosition", run: tokenIsComparedBeforePosition},
		{name: "ConditionsSeeTheStateBeforeTheBatch", run: conditionsSeeTheStateBeforeTheBatch},
		{name: "FenceRaceHasOneWinner", run: fenceRaceHasOneWinner},
		{name: "MissingStreamIsCreatedInOpsOnly", run: missingStreamIsCreatedInOpsOnly},
	}
}

func appendsStandInOrder(p *probe) {
	name := p.create()
	if tail, err := p.Tail(p.Context(), name); err != nil || tail != (stream.Position{}) {
		p.Fatalf("tail of a new stream = %v, %v; want zero", tail, err)
	}
	a := p.append(name, text("one"))
	b := p.append(name, text("two"), text("three"))
	c := p.append(name, text("four"))
	if a.First != 0 || b.First != 1 || c.First != 3 || c.Next != 4 {
		p.Errorf("acks %v, %v, %v; want positions 0, 1 and 3 to 4", a, b, c)
	}
	entries := p.all(name, 0)
	if got, want := bodies(entries), []string{"one", "two", "three", "four"}; !slices.Equal(got, want) {
		p.Errorf("read %q; want %q", got, want)
	}
	tail, err := p.Tail(p.Context(), name)
	if want := (stream.Position{Seq: 4, Timestamp: c.Timestamp}); err != nil || tail != want {
		p.Errorf("tail = %v, %v; want %v, the end of the last ack", tail, err, want)
	}
	if len(entries) == 4 && (entries[2].Timestamp != b.Timestamp || entries[3].Timestamp != c.Timestamp) {
		p.Errorf("timestamps %d and %d; want those of the acks, %d and %d", entries[2].Timestamp, entries[3].Timestamp, b.Timestamp, c.Timestamp)
	}
}

func appendKeepsEveryByte(p *probe) {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	records := []stream.Record{
		{},
		{Body: all[:]},
		{Headers: []stream.Header{{Name: string(all[:]), Value: string(all[:])}}},
		{Headers: []stream.Header{{Name: "a", Value: ""}, {Name: "a", Value: "2"}, {Name: "A", Value: "3"}, {Name: "\x00", Value: "\x00"}}, Body: []byte("\xff\xfe")},
		{Headers: []stream.Header{{Name: "fence", Value: "fence"}}, Body: []byte("no command")},
		stream.Fence("tökén"),
		stream.Trim(0),
	}
	name := p.create()
	p.append(name, records...)
	for i, e := range p.all(name, 0) {
		if !same(e.Record, records[i]) {
			p.Errorf("record %d came back as %q; want %q", i, e.Record, records[i])
		}
		if e.Command() != records[i].Command() {
			p.Errorf("record %d came back as command %v; want %v", i, e.Command(), records[i].Command())
		}
	}
}

func appendTakesItsArgumentsOnly(p *probe) {
	name := p.create()
	want := stream.Record{Headers: []stream.Header{{Name: "k", Value: "v"}}, Body: []byte("mine")} // the store's
	at, token := uint64(0), ""
	in := stream.Batch{Records: []stream.Record{want}, At: &at, Token: &token}
	if _, err := p.Append(p.Context(), name, in); err != nil {
		p.Fatal(err)
	}
	at, token = 9, "x"
	in.Records[0] = text("other")
	if got := p.all(name, 0); len(got) != 1 || !same(got[0].Record, want) {
		p.Errorf("read %v after the arguments were reused; want %v", got, want)
	}
}

func batchesOfManyWritersStayWhole(p *probe) {
	name := p.create()
	const size = 7
	writers, each := 16, 20/p.o.Small
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			var last stream.Ack
			for n := range each {
				records := make([]stream.Record, size)
				for i := range records {
					records[i] = text(fmt.Sprintf("%d/%d/%d", w, n, i))
				}
				ack, err := p.Append(p.Context(), name, stream.Batch{Records: records})
				if err != nil || ack.Next != ack.First+size {
					p.Errorf("append %d of writer %d: %v, %v", n, w, ack, err)
					return
				}
				if n > 0 && ack.First < last.Next {
					p.Errorf("append %d of writer %d at %d, before the one it waited for, which ended at %d", n, w, ack.First, last.Next)
				}
				last = ack
				// Acknowledged is visible.
				page, err := p.Read(p.Context(), name, stream.Start{Seq: ack.First}, stream.Limit{Records: 1})
				if err != nil || len(page.Entries) != 1 || string(page.Entries[0].Body) != string(records[0].Body) || page.Tail < ack.Next {
					p.Errorf("read of what was acknowledged at %d: %q, tail %d, %v; want %q", ack.First, bodies(page.Entries), page.Tail, err, records[0].Body)
				}
			}
		})
	}
	group.Wait()
	entries := p.all(name, 0)
	if want := writers * each * size; len(entries) != want {
		p.Fatalf("%d records; want %d", len(entries), want)
	}
	next := make([]int, writers)
	for i := 0; i < len(entries); i += size {
		var w, n int
		if _, err := fmt.Sscanf(string(entries[i].Body), "%d/%d/0", &w, &n); err != nil {
			p.Fatalf("position %d holds %q; want the beginning of a batch", i, entries[i].Body)
		}
		if n != next[w] {
			p.Errorf("batch %d of writer %d at %d; want batch %d", n, w, i, next[w])
		}
		next[w] = n + 1
		for j := range size {
			if want := fmt.Sprintf("%d/%d/%d", w, n, j); string(entries[i+j].Body) != want {
				p.Fatalf("position %d holds %q; want %q", i+j, entries[i+j].Body, want)
			}
		}
	}
}

func positionMustBeTheTail(p *probe) {
	name := p.create()
	for _, at := range []uint64{1, 1 << 40} {
		p.refused(name, stream.Batch{Records: numbered(0, 1), At: &at}, 0, nil)
	}
	p.accepted(name, stream.Batch{Records: numbered(0, 3), At: ptr(uint64(0))})
	for _, at := range []uint64{0, 2, 4} {
		p.refused(name, stream.Batch{Records: numbered(3, 2), At: &at}, 3, nil)
	}
	p.accepted(name, stream.Batch{Records: numbered(3, 2), At: ptr(uint64(3))})
	if got := p.all(name, 0); len(got) != 5 {
		p.Errorf("%d records; want 5", len(got))
	}
}

func onePositionHasOneWriter(p *probe) {
	name := p.create()
	const writers = 12
	for at := range uint64(20 / p.o.Small) {
		won := make([]bool, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				_, err := p.Append(p.Context(), name, stream.Batch{Records: []stream.Record{text(fmt.Sprint(w))}, At: &at})
				var taken *stream.PositionError
				switch {
				case err == nil:
					won[w] = true
				case !errors.As(err, &taken) || taken.Tail != at+1:
					p.Errorf("a loser at %d: err = %v; want position taken, tail %d", at, err, at+1)
				}
			})
		}
		group.Wait()
		page := p.read(name, at, stream.Limit{})
		if len(page.Entries) != 1 {
			p.Fatalf("%d records at %d; want 1", len(page.Entries), at)
		}
		for w := range writers {
			if mine := string(page.Entries[0].Body) == fmt.Sprint(w); mine != won[w] {
				p.Errorf("writer %d was told %t; its record is there: %t", w, won[w], mine)
			}
		}
	}
}

func tokenMustBeTheStreams(p *probe) {
	name := p.create()
	one := []stream.Record{text("x")}
	p.accepted(name, stream.Batch{Records: one})
	p.accepted(name, stream.Batch{Records: one, Token: ptr("")})
	p.refused(name, stream.Batch{Records: one, Token: ptr("a")}, 0, ptr(""))

	p.accepted(name, stream.Batch{Records: []stream.Record{stream.Fence("a")}, Token: ptr("")})
	p.accepted(name, stream.Batch{Records: one})
	p.accepted(name, stream.Batch{Records: one, Token: ptr("a")})
	p.refused(name, stream.Batch{Records: one, Token: ptr("")}, 0, ptr("a"))
	p.refused(name, stream.Batch{Records: one, Token: ptr("A")}, 0, ptr("a"))
	p.refused(name, stream.Batch{Records: []stream.Record{stream.Fence("c")}, Token: ptr("b")}, 0, ptr("a"))

	long := strings.Repeat("é", stream.MaxTokenBytes/2)
	p.accepted(name, stream.Batch{Records: []stream.Record{stream.Fence(long)}, Token: ptr("a")})
	p.accepted(name, stream.Batch{Records: one, Token: &long})
	p.refused(name, stream.Batch{Records: one, Token: ptr("a")}, 0, &long)

	p.accepted(name, stream.Batch{Records: []stream.Record{stream.Fence("")}, Token: &long})
	p.accepted(name, stream.Batch{Records: one, Token: ptr("")})
	p.refused(name, stream.Batch{Records: one, Token: &long}, 0, ptr(""))
}

func tokenIsComparedBeforePosition(p *probe) {
	name := p.create()
	p.append(name, stream.Fence("a"))
	one := []stream.Record{text("x")}
	p.refused(name, stream.Batch{Records: one, At: ptr(uint64(7)), Token: ptr("b")}, 0, ptr("a"))
	p.refused(name, stream.Batch{Records: one, At: ptr(uint64(1)), Token: ptr("b")}, 0, ptr("a"))
	p.refused(name, stream.Batch{Records: one, At: ptr(uint64(7)), Token: ptr("a")}, 1, nil)
	p.accepted(name, stream.Batch{Records: one, At: ptr(uint64(1)), Token: ptr("a")})
}

func conditionsSeeTheStateBeforeTheBatch(p *probe) {
	name := p.create()
	p.append(name, stream.Fence("a"))
	takeOver := []stream.Record{stream.Fence("b"), text("first of b")}
	p.refused(name, stream.Batch{Records: takeOver, Token: ptr("b")}, 0, ptr("a"))
	p.accepted(name, stream.Batch{Records: takeOver, Token: ptr("a"), At: ptr(uint64(1))})
	p.refused(name, stream.Batch{Records: takeOver, Token: ptr("a")}, 0, ptr("b"))
	// Of several fences in a batch the last one counts.
	p.accepted(name, stream.Batch{Records: []stream.Record{stream.Fence("c"), text("x"), stream.Fence("d")}, Token: ptr("b")})
	p.refused(name, stream.Batch{Records: []stream.Record{text("x")}, Token: ptr("c")}, 0, ptr("d"))
	p.accepted(name, stream.Batch{Records: []stream.Record{text("x")}, Token: ptr("d")})
}

func fenceRaceHasOneWinner(p *probe) {
	name := p.create()
	const claimers = 10
	won := make([]bool, claimers)
	var group sync.WaitGroup
	for c := range claimers {
		group.Go(func() {
			mine := fmt.Sprint("owner-", c)
			batch := stream.Batch{Records: []stream.Record{stream.Fence(mine), text(mine)}, Token: ptr("")}
			if _, err := p.Append(p.Context(), name, batch); err == nil {
				won[c] = true
			} else if !errors.Is(err, stream.ErrFenced) {
				p.Errorf("claim %d: err = %v; want nil or fenced", c, err)
			}
		})
	}
	group.Wait()
	entries := p.all(name, 0)
	if len(entries) != 2 {
		p.Fatalf("%d records; want one fence and one record", len(entries))
	}
	for c := range claimers {
		if mine := string(entries[0].Body) == fmt.Sprint("owner-", c); mine != won[c] {
			p.Errorf("claimer %d was told %t; the fence is its own: %t", c, won[c], mine)
		}
	}
}

func missingStreamIsCreatedInOpsOnly(p *probe) {
	one := []stream.Record{text("x")}
	for _, in := range []stream.Batch{{Records: one}, {Records: one, At: ptr(uint64(0))}, {Records: one, Token: ptr("")}} {
		if _, err := p.Append(p.Context(), stream.Inbox(inbox), in); !errors.Is(err, stream.ErrNotFound) {
			p.Errorf("append to a missing stream: err = %v; want ErrNotFound", err)
		}
	}
	if _, err := p.Tail(p.Context(), stream.Inbox(inbox)); !errors.Is(err, stream.ErrNotFound) {
		p.Errorf("tail after refused appends: err = %v; want ErrNotFound", err)
	}

	claim := func(id ident.Message) stream.Name { return stream.Claim(inbox, "0123456789abcdef", id) }
	if _, err := p.Read(p.Context(), claim("a"), stream.Start{}, stream.Limit{}); !errors.Is(err, stream.ErrNotFound) {
		p.Errorf("read of a missing stream of ops: err = %v; want ErrNotFound", err)
	}
	if _, err := p.Tail(p.Context(), claim("a")); !errors.Is(err, stream.ErrNotFound) {
		p.Errorf("tail of a missing stream of ops: err = %v; want ErrNotFound", err)
	}
	p.accepted(claim("a"), stream.Batch{Records: one})
	p.accepted(claim("b"), stream.Batch{Records: one, At: ptr(uint64(0)), Token: ptr("")})
	p.refused(claim("b"), stream.Batch{Records: one, At: ptr(uint64(0))}, 1, nil)
	var taken *stream.PositionError
	if _, err := p.Append(p.Context(), claim("c"), stream.Batch{Records: one, At: ptr(uint64(1))}); !errors.As(err, &taken) || taken.Tail != 0 {
		p.Errorf("append at 1 of a missing stream of ops: err = %v; want position taken, tail 0", err)
	}

	// Many at once create one stream.
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			err := errors.New("not tried")
			for range 10 { // two creations may get in each other's way, and say so
				if _, err = p.Append(p.Context(), claim("d"), stream.Batch{Records: one}); !errors.Is(err, stream.ErrUnavailable) {
					break
				}
			}
			if err != nil {
				p.Errorf("concurrent first appends: %v", err)
			}
		})
	}
	group.Wait()
	if got := len(p.all(claim("d"), 0)); got != 16 {
		p.Errorf("%d records of 16 concurrent first appends", got)
	}
}
