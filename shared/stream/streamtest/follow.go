package streamtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"agentchat/shared/stream"
)

func followCases() []testCase {
	return []testCase{
		{name: "FollowReplaysThenSeesLaterAppends", run: followReplaysThenSeesLaterAppends},
		{name: "FollowYieldsTheFirstPageAtOnce", run: followYieldsTheFirstPageAtOnce},
		{name: "FollowYieldsIdlePages", run: followYieldsIdlePages},
		{name: "FollowPagesAreWithinTheLimits", run: followPagesAreWithinTheLimits},
		{name: "HandOverFromReplayToLiveIsDense", run: handOverFromReplayToLiveIsDense},
		{name: "FollowFromABadPositionIsAnError", run: followFromABadPositionIsAnError},
		{name: "FollowThroughATrimNeverJumps", run: followThroughATrimNeverJumps},
		{name: "FollowEndsWithItsStream", run: followEndsWithItsStream},
		{name: "FollowEndsWithItsContext", run: followEndsWithItsContext},
		{name: "BreakFreesEverything", run: breakFreesEverything},
		{name: "ThousandFollowersSeeEveryRecord", run: thousandFollowersSeeEveryRecord},
	}
}

func followReplaysThenSeesLaterAppends(p *probe) {
	name := p.create()
	p.fill(name, 3)
	f := p.follow(name, 1, time.Hour)
	if got := bodies(f.until(3)); fmt.Sprint(got) != "[1 2]" {
		p.Errorf("replay from 1 = %q; want 1 and 2", got)
	}
	for next := uint64(3); next < 40; next++ {
		p.fill(name, 1)
		if got := bodies(f.until(next + 1)); fmt.Sprint(got) != fmt.Sprintf("[%d]", next) {
			p.Fatalf("follow = %q; want %d", got, next)
		}
	}
	// Commands are records like any other.
	p.append(name, stream.Fence("x"), stream.Trim(2))
	if got := f.until(42); len(got) != 2 || got[0].Command() != stream.FenceCommand || got[1].Command() != stream.TrimCommand {
		p.Errorf("follow = %q; want the fence and the trim", bodies(got))
	}
}

func followYieldsTheFirstPageAtOnce(p *probe) {
	name := p.create()
	// With an idle time longer than the test's patience, only a first page at once passes.
	if page := p.follow(name, 0, time.Hour).page(); len(page.Entries) != 0 || page.Tail != 0 {
		p.Errorf("first page of an empty stream: %d records, tail %d; want none, 0", len(page.Entries), page.Tail)
	}
	p.fill(name, 5)
	if page := p.follow(name, 5, time.Hour).page(); len(page.Entries) != 0 || page.Tail != 5 {
		p.Errorf("first page at the tail: %d records, tail %d; want none, 5", len(page.Entries), page.Tail)
	}
	if page := p.follow(name, 2, time.Hour).page(); len(page.Entries) == 0 || page.Tail != 5 {
		p.Errorf("first page behind the tail: %d records, tail %d; want some, 5", len(page.Entries), page.Tail)
	}
}

func followYieldsIdlePages(p *probe) {
	name := p.create()
	p.fill(name, 2)
	f := p.follow(name, 0, 30*time.Millisecond)
	f.until(2)
	for range 3 {
		if page := f.page(); len(page.Entries) != 0 || page.Tail != 2 {
			p.Errorf("idle page: %d records, tail %d; want none, 2", len(page.Entries), page.Tail)
		}
	}
	p.fill(name, 1)
	f.until(3)
	if page := f.page(); len(page.Entries) != 0 || page.Tail != 3 {
		p.Errorf("idle page: %d records, tail %d; want none, 3", len(page.Entries), page.Tail)
	}
}

func followPagesAreWithinTheLimits(p *probe) {
	name := p.create()
	p.fill(name, 2000)
	half := sized(stream.MaxPageBytes / 2)
	for range 3 {
		p.append(name, half)
	}
	p.append(name, sized(stream.MaxPageBytes))
	f := p.follow(name, 0, time.Hour)
	within := func(to uint64) {
		p.Helper()
		for f.next < to {
			page, size := f.page(), 0
			for _, e := range page.Entries {
				size += e.Metered()
			}
			if len(page.Entries) > stream.MaxPageRecords || size > stream.MaxPageBytes {
				p.Fatalf("a page of %d records and %d bytes", len(page.Entries), size)
			}
		}
	}
	within(2004)
	// Live, while the reader is away.
	p.fill(name, 1000)
	p.append(name, half, half)
	p.fill(name, 1000)
	within(4006)
}

func handOverFromReplayToLiveIsDense(p *probe) {
	name := p.create()
	total := uint64(2000 / p.o.Small)
	const followers = 20
	ctx, cancel := p.bounded()
	defer cancel()
	var group sync.WaitGroup
	for n := range followers {
		random := rand.New(rand.NewPCG(1, uint64(n))) // a schedule, no secret
		stops := []uint64{random.Uint64N(total), random.Uint64N(total), total}
		delay := time.Duration(random.IntN(300)) * time.Millisecond
		group.Go(func() {
			p.pause(delay)
			next := uint64(0)
			for _, stop := range stops { // broken off and taken up again twice
				for page, err := range p.Follow(ctx, name, next, p.o.Patience) {
					if err != nil {
						p.Errorf("follower %d at %d: %v", n, next, err)
						return
					}
					for _, e := range page.Entries {
						if e.Seq != next || string(e.Body) != fmt.Sprint(next) {
							p.Errorf("follower %d: position %d with %q; want %d", n, e.Seq, e.Body, next)
							return
						}
						next++
					}
					if next >= stop {
						break
					}
				}
			}
			if next != total {
				p.Errorf("follower %d ended at %d; want %d", n, next, total)
			}
		})
	}
	for next := uint64(0); next < total; {
		size := min(rand.Uint64N(30)+1, total-next)
		next = p.append(name, numbered(next, int(size))...).Next
	}
	group.Wait()
}

func followFromABadPositionIsAnError(p *probe) {
	name := p.create()
	p.fill(name, 3)
	var beyond *stream.BeyondTailError
	for _, from := range []uint64{4, 999999, 1<<64 - 1} {
		if err := p.follow(name, from, time.Hour).error(); !errors.As(err, &beyond) || beyond.Tail != 3 {
			p.Errorf("follow from %d: err = %v; want beyond the tail 3", from, err)
		}
	}
	p.append(name, stream.Trim(2))
	p.trimmed(name, 2)
	var trimmed *stream.TrimmedError
	if err := p.follow(name, 0, time.Hour).error(); !errors.As(err, &trimmed) || trimmed.First != 2 {
		p.Errorf("follow from 0: err = %v; want trimmed, first 2", err)
	}
	p.follow(name, 2, time.Hour).until(4)
}

func followThroughATrimNeverJumps(p *probe) {
	name := p.create()
	p.fill(name, 10)
	f := p.follow(name, 0, time.Hour)
	f.until(10)
	// The reader is away while more than any buffer holds is written and trimmed.
	const trim = 14000
	p.fill(name, trim+500)
	p.append(name, stream.Trim(trim))
	p.trimmed(name, trim)
	for f.next < trim+500 {
		y, ok := f.take()
		if !ok {
			p.Fatalf("follow ended without an error at %d", f.next)
		}
		if y.err != nil {
			var trimmed *stream.TrimmedError
			if !errors.As(y.err, &trimmed) || trimmed.First != trim {
				p.Errorf("follow at %d: err = %v; want trimmed, first %d", f.next, y.err, trim)
			}
			return
		}
		p.dense(f.next, y.page.Entries) // a jump fails here
		f.next = y.page.Next(f.next)
	}
}

func followEndsWithItsStream(p *probe) {
	name := p.create()
	p.fill(name, 5)
	f := p.follow(name, 0, time.Hour)
	f.until(5)
	if err := p.Delete(p.Context(), name); err != nil {
		p.Fatal(err)
	}
	if err := f.error(); !errors.Is(err, stream.ErrNotFound) && !errors.Is(err, stream.ErrUnavailable) {
		p.Errorf("follow of a deleted stream: err = %v; want ErrNotFound or ErrUnavailable", err)
	}
}

func followEndsWithItsContext(p *probe) {
	name := p.create()
	p.fill(name, 1)
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	done := make(chan error, 1)
	opened := make(chan struct{})
	go func() {
		var last error
		for page, err := range p.Follow(ctx, name, 0, time.Hour) {
			last = err
			if len(page.Entries) > 0 {
				close(opened)
			}
		}
		done <- last
	}()
	<-opened
	cancel()
	timer := time.NewTimer(p.o.Patience)
	defer timer.Stop()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			p.Errorf("follow ended with %v; want one that wraps context.Canceled", err)
		}
	case <-timer.C:
		p.Errorf("follow goes on %v after its context ended", p.o.Patience)
	}
}

func breakFreesEverything(p *probe) {
	name := p.create()
	p.fill(name, 50)
	// It ends long after the last round: its end would free what leaked.
	ctx, cancel := context.WithTimeout(p.Context(), 6*p.o.Patience+time.Minute)
	defer cancel()
	once := func() {
		var group sync.WaitGroup
		for n := range 60 {
			group.Go(func() {
				next := uint64(0)
				for page, err := range p.Follow(ctx, name, next, 20*time.Millisecond) {
					if err != nil {
						p.Errorf("follow: %v", err)
					}
					// Some leave in the replay, some while nothing comes.
					if next = page.Next(next); n%2 == 0 || len(page.Entries) == 0 {
						break
					}
				}
			})
			group.Go(func() {
				for moved, err := range p.Watch(ctx, stream.Inboxes) {
					if err != nil {
						p.Errorf("watch: %v", err)
					}
					if n%2 == 0 || len(moved) == 0 {
						break
					}
				}
			})
		}
		group.Wait()
	}
	// What stays for good, such as connections, comes to an end within a few
	// rounds; what leaks grows by more than this in every one of them.
	const leak = 30
	once()
	before, history := runtime.NumGoroutine(), []int{}
	for range 8 {
		once()
		for range 50 { // what ends a little later than its reader
			if runtime.NumGoroutine() <= before+leak {
				return
			}
			p.pause(10 * time.Millisecond)
		}
		before = runtime.NumGoroutine()
		history = append(history, before)
	}
	p.Errorf("goroutines after each round of 120 readers: %v", history)
}

func thousandFollowersSeeEveryRecord(p *probe) {
	name := p.create()
	p.fill(name, 3)
	const total = 13
	followers := 1000 / p.o.Small
	ctx, cancel := p.bounded()
	defer cancel()
	var opened, ended sync.WaitGroup
	opened.Add(followers)
	slots := make(chan struct{}, 100) // that many open at a time; all are open together
	for n := range followers {
		slots <- struct{}{}
		ended.Go(func() {
			open := sync.OnceFunc(func() {
				<-slots
				opened.Done()
			})
			defer open()
			next := uint64(0)
			for page, err := range p.Follow(ctx, name, next, time.Hour) {
				open()
				if err != nil {
					p.Errorf("follower %d at %d: %v", n, next, err)
					return
				}
				for _, e := range page.Entries {
					if e.Seq != next || string(e.Body) != fmt.Sprint(next) {
						p.Errorf("follower %d: position %d with %q; want %d", n, e.Seq, e.Body, next)
						return
					}
					next++
				}
				if next == total {
					return
				}
			}
		})
	}
	opened.Wait()
	for range total - 3 {
		p.fill(name, 1)
	}
	ended.Wait()
}
