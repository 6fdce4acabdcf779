package streamtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

func manageCases() []testCase {
	return []testCase{
		{name: "CreateMakesOnlyNewStreams", run: createMakesOnlyNewStreams},
		{name: "CreateRaceHasOneWinner", run: createRaceHasOneWinner},
		{name: "DeletedStreamIsGone", run: deletedStreamIsGone},
		{name: "CreatedAgainStartsAfresh", run: createdAgainStartsAfresh},
		{name: "ListIsSortedAndPaged", run: listIsSortedAndPaged},
		{name: "ListPagesThroughMoreThanAThousand", run: listPagesThroughMoreThanAThousand},
		{name: "EnsureTwiceChangesNothing", run: ensureTwiceChangesNothing},
		{name: "RecordsAndStreamsAge", run: recordsAndStreamsAge, aging: true},
	}
}

func createMakesOnlyNewStreams(p *probe) {
	name := p.create()
	p.append(name, stream.Fence("x"))
	for _, c := range []stream.Config{{}, {Retention: time.Hour}} {
		if err := p.Create(p.Context(), name, c); !errors.Is(err, stream.ErrExists) {
			p.Errorf("create of what exists: err = %v; want ErrExists", err)
		}
	}
	if got := p.tail(name); got != 1 {
		p.Errorf("tail = %d after a refused create; want 1", got)
	}
	claim := stream.Claim(inbox, "0123456789abcdef", "m")
	p.append(claim, text("x"))
	if err := p.Create(p.Context(), claim, stream.Config{}); !errors.Is(err, stream.ErrExists) {
		p.Errorf("create of what an append created: err = %v; want ErrExists", err)
	}
}

func createRaceHasOneWinner(p *probe) {
	errs := make([]error, 16)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = p.Create(p.Context(), stream.Inbox(inbox), stream.Config{}) })
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, stream.ErrExists) && !errors.Is(err, stream.ErrUnavailable):
			p.Errorf("create in a race: err = %v; want nil, ErrExists or ErrUnavailable", err)
		}
	}
	if won != 1 {
		p.Errorf("%d of %d creates were told that they made the stream; want 1", won, len(errs))
	}
}

func deletedStreamIsGone(p *probe) {
	name, other := p.create(), stream.Inbox("bob")
	p.createAs(other)
	p.fill(name, 3)
	p.fill(other, 2)
	if err := p.Delete(p.Context(), name); err != nil {
		p.Fatal(err)
	}
	gone := func(method string, err error) {
		p.Helper()
		if !errors.Is(err, stream.ErrNotFound) && !errors.Is(err, stream.ErrUnavailable) {
			p.Errorf("%s of a deleted stream: err = %v; want ErrNotFound, or ErrUnavailable for a while", method, err)
		}
	}
	_, err := p.Append(p.Context(), name, stream.Batch{Records: numbered(0, 1)})
	gone("append", err)
	_, err = p.Read(p.Context(), name, stream.Start{}, stream.Limit{})
	gone("read", err)
	_, err = p.Tail(p.Context(), name)
	gone("tail", err)
	names, more, err := p.List(p.Context(), stream.Inboxes, stream.Name{}, 0)
	if err != nil || more || !slices.Equal(names, []stream.Name{other}) {
		p.Errorf("list = %v, %t, %v; want the other stream only", names, more, err)
	}
	p.eventually("deletion", func() error {
		if _, err := p.Tail(p.Context(), name); !errors.Is(err, stream.ErrNotFound) {
			return fmt.Errorf("tail of a deleted stream: err = %v; want ErrNotFound", err) //nolint:errorlint // may be nil
		}
		return nil
	})
	if err := p.Delete(p.Context(), name); !errors.Is(err, stream.ErrNotFound) {
		p.Errorf("delete of a deleted stream: err = %v; want ErrNotFound", err)
	}
	if got := p.tail(other); got != 2 {
		p.Errorf("tail of the other stream = %d; want 2", got)
	}
}

func createdAgainStartsAfresh(p *probe) {
	name := p.create()
	p.fill(name, 43)
	p.append(name, stream.Fence("old"), stream.Trim(20))
	for round := range 3 {
		if err := p.Delete(p.Context(), name); err != nil {
			p.Fatal(err)
		}
		p.eventually("creating again", func() error {
			err := p.Create(p.Context(), name, stream.Config{})
			if err != nil && !errors.Is(err, stream.ErrUnavailable) && !errors.Is(err, stream.ErrExists) {
				p.Fatalf("create during a deletion: %v", err)
			}
			return err
		})
		if got := p.tail(name); got != 0 {
			p.Fatalf("tail of a stream created again = %d; want 0", got)
		}
		if page := p.read(name, 0, stream.Limit{}); len(page.Entries) != 0 {
			p.Errorf("a stream created again holds %q", bodies(page.Entries))
		}
		if _, err := p.Read(p.Context(), name, stream.Start{Seq: 43}, stream.Limit{}); !errors.Is(err, stream.ErrBeyondTail) {
			p.Errorf("read at an old position: err = %v; want beyond the tail", err)
		}
		p.accepted(name, stream.Batch{Records: numbered(0, 50), At: ptr(uint64(0)), Token: ptr("")})
		p.append(name, stream.Fence(fmt.Sprint("round ", round)))
		if got := p.all(name, 0); len(got) != 51 || string(got[0].Body) != "0" {
			p.Errorf("%d records from %q; want 51 from 0", len(got), got[0].Body)
		}
	}
}

func listIsSortedAndPaged(p *probe) {
	// Bytewise: '-' < '.' < digits < '_' < letters, and a prefix before what it begins.
	var names []stream.Name
	for _, agent := range []ident.Agent{"a", "a-b", "a.b", "a0", "a_b", "aa", "b", "ba"} {
		names = append(names, stream.Inbox(agent))
	}
	for _, i := range []int{5, 2, 7, 0, 3, 6, 1, 4} {
		p.createAs(names[i])
	}
	p.createAs(stream.Agent("a")) // other families
	p.append(stream.Claim("a", "0123456789abcdef", "m"), text("x"))

	for _, c := range []struct {
		after stream.Name
		limit int
		want  []stream.Name
		more  bool
	}{
		{stream.Name{}, 0, names, false},
		{stream.Name{}, 8, names, false},
		{stream.Name{}, 5000, names, false},
		{stream.Name{}, 3, names[:3], true},
		{names[0], 1, names[1:2], true},
		{names[2], 5, names[3:], false},
		{names[6], 0, names[7:], false},
		{names[7], 0, nil, false},
		{stream.Inbox("a-"), 2, names[1:3], true}, // after what does not exist
		{stream.Agent("z"), 2, names[:2], true},   // after another family, which comes before
	} {
		got, more, err := p.List(p.Context(), stream.Inboxes, c.after, c.limit)
		if err != nil || more != c.more || !slices.Equal(got, c.want) {
			p.Errorf("list after %q, limit %d = %v, %t, %v; want %v, %t", c.after, c.limit, got, more, err, c.want, c.more)
		}
	}
	got, more, err := p.List(p.Context(), stream.Agents, stream.Name{}, 0)
	if err != nil || more || !slices.Equal(got, []stream.Name{stream.Agent("a")}) {
		p.Errorf("list of agents = %v, %t, %v; want one", got, more, err)
	}
}

func listPagesThroughMoreThanAThousand(p *probe) {
	names := p.createMany(1005)
	for _, limit := range []int{0, 400} {
		var got []stream.Name
		after, pages := stream.Name{}, 0
		for more := true; more; pages++ {
			var page []stream.Name
			var err error
			page, more, err = p.List(p.Context(), stream.Inboxes, after, limit)
			if err != nil || len(page) == 0 {
				p.Fatalf("page %d after %q: %d names, %v", pages, after, len(page), err)
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if !slices.Equal(got, names) {
			p.Errorf("limit %d: %d names in %d pages; want %d, each once and in order", limit, len(got), pages, len(names))
		}
		if want := map[int]int{0: 2, 400: 3}[limit]; pages != want {
			p.Errorf("limit %d: %d pages; want %d", limit, pages, want)
		}
	}
}

func ensureTwiceChangesNothing(p *probe) {
	name := p.create()
	p.append(name, text("x"))
	for range 2 {
		if err := p.Check(p.Context()); err != nil {
			p.Errorf("check after ensure: %v", err)
		}
		if err := p.Ensure(p.Context()); err != nil {
			p.Errorf("ensure again: %v", err)
		}
	}
	if got := p.tail(name); got != 1 {
		p.Errorf("tail = %d after ensure; want 1", got)
	}
}

func recordsAndStreamsAge(p *probe) {
	aging, keeping := p.create(), stream.Inbox("keeper")
	if err := p.Delete(p.Context(), aging); err != nil {
		p.Fatal(err)
	}
	p.eventually("creating with a retention", func() error {
		return p.Create(p.Context(), aging, stream.Config{Retention: 2 * time.Second})
	})
	p.createAs(keeping)
	p.fill(aging, 3)
	p.fill(keeping, 3)
	p.trimmed(aging, 3)
	if page := p.read(aging, 3, stream.Limit{}); len(page.Entries) != 0 || page.Tail != 3 {
		p.Errorf("a stream whose records are gone: %d records, tail %d; want none, 3", len(page.Entries), page.Tail)
	}
	p.fill(aging, 1)
	if page := p.read(aging, 3, stream.Limit{}); len(page.Entries) != 1 {
		p.Errorf("%d records after the old ones are gone; want the new one", len(page.Entries))
	}
	if got := len(p.all(keeping, 0)); got != 3 {
		p.Errorf("%d records of a stream without retention; want 3", got)
	}
}
