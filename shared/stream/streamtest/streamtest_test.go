package streamtest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/stream/streamtest"
)

// defectVariable names, in a child process, the defect that its store has.
const defectVariable = "STREAMTEST_DEFECT"

// A defective store does something that the contract forbids, and is found out
// by the case that is there for it.
func TestSuiteFindsDefects(t *testing.T) {
	defects := []struct {
		name  string
		found string // the case that fails
		with  func(stream.Store) stream.Store
	}{
		{"ignores tokens", "TokenMustBeTheStreams", func(s stream.Store) stream.Store { return tokenless{s} }},
		{"ignores positions", "OnePositionHasOneWriter", func(s stream.Store) stream.Store { return positionless{s} }},
		{"repeats appends", "AppendsStandInOrder", func(s stream.Store) stream.Store { return repeating{s} }},
		{"tears batches", "BatchesOfManyWritersStayWhole", func(s stream.Store) stream.Store { return tearing{s} }},
		{"splits what is too large", "LimitsHoldExactly", func(s stream.Store) stream.Store { return tearing{s} }},
		{"jumps over what is trimmed", "ReadOfTrimmedIsAnError", func(s stream.Store) stream.Store { return jumping{s} }},
		{"follows over what is trimmed", "FollowThroughATrimNeverJumps", func(s stream.Store) stream.Store { return jumping{s} }},
		{"loses records between replay and live", "HandOverFromReplayToLiveIsDense", func(s stream.Store) stream.Store { return gapped{s} }},
		{"yields no empty page", "FollowYieldsTheFirstPageAtOnce", func(s stream.Store) stream.Store { return silent{s} }},
		{"yields no idle page", "FollowYieldsIdlePages", func(s stream.Store) stream.Store { return silent{s} }},
		{"leaks", "BreakFreesEverything", func(s stream.Store) stream.Store { return leaking{s} }},
		{"does not know the tail", "ReadStopsAtItsLimits", func(s stream.Store) stream.Store { return tailless{s} }},
		{"never says that a watch is through", "WatchTellsAllThenWhatMoves", func(s stream.Store) stream.Store { return silent{s} }},
		{"lists what after names", "ListIsSortedAndPaged", func(s stream.Store) stream.Store { return unordered{s} }},
		{"creates what exists", "CreateMakesOnlyNewStreams", func(s stream.Store) stream.Store { return careless{s} }},
		{"ignores contexts", "EndedContextIsToldByEveryMethod", func(s stream.Store) stream.Store { return careless{s} }},
	}
	if name := os.Getenv(defectVariable); name != "" {
		for _, d := range defects {
			if d.name == name {
				streamtest.Run(t, streamtest.Options{Patience: 300 * time.Millisecond, Open: func(t *testing.T) stream.Store {
					s, closeStore := localstream.Memory()
					t.Cleanup(closeStore)
					return d.with(s)
				}})
			}
		}
		return
	}
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel() // each in a process of its own
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuiteFindsDefects$/^"+d.found+"$", "-test.timeout=30s")
			child.Env = append(os.Environ(), defectVariable+"="+d.name)
			out, err := child.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestSuiteFindsDefects/"+d.found) {
				t.Errorf("%s passed: %v\n%s", d.found, err, out)
			}
		})
	}
}

type tokenless struct{ stream.Store }

func (s tokenless) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	in.Token = nil
	return s.Store.Append(ctx, name, in)
}

type positionless struct{ stream.Store }

func (s positionless) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	in.At = nil
	return s.Store.Append(ctx, name, in)
}

type repeating struct{ stream.Store }

func (s repeating) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	_, _ = s.Store.Append(ctx, name, in)
	return s.Store.Append(ctx, name, in)
}

type tearing struct{ stream.Store }

func (s tearing) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	if len(in.Records) < 2 {
		return s.Store.Append(ctx, name, in)
	}
	half := stream.Batch{Records: in.Records[:len(in.Records)/2], At: in.At, Token: in.Token}
	first, err := s.Store.Append(ctx, name, half)
	if err != nil {
		return first, err
	}
	rest, err := s.Store.Append(ctx, name, stream.Batch{Records: in.Records[len(half.Records):]})
	rest.First = first.First
	return rest, err
}

type jumping struct{ stream.Store }

func (s jumping) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	page, err := s.Store.Read(ctx, name, start, limit)
	var trimmed *stream.TrimmedError
	if errors.As(err, &trimmed) && start.Seq > 0 { // 0 is where the suite looks whether a trim has taken effect
		return s.Store.Read(ctx, name, stream.Start{Seq: trimmed.First}, limit)
	}
	return page, err
}

func (s jumping) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	return func(yield func(stream.Page, error) bool) {
		var trimmed *stream.TrimmedError
		for page, err := range s.Store.Follow(ctx, name, from, idle) {
			if errors.As(err, &trimmed) {
				break
			}
			if !yield(page, err) {
				return
			}
		}
		if trimmed != nil {
			s.Follow(ctx, name, trimmed.First, idle)(yield)
		}
	}
}

type gapped struct{ stream.Store }

// Follow reads up to the tail and then follows from what has become the tail since.
func (s gapped) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	return func(yield func(stream.Page, error) bool) {
		page, err := s.Read(ctx, name, stream.Start{Seq: from}, stream.Limit{})
		if !yield(page, err) || err != nil {
			return
		}
		timer := time.NewTimer(5 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		tail, err := s.Tail(ctx, name)
		if err != nil {
			yield(stream.Page{}, err)
			return
		}
		s.Store.Follow(ctx, name, tail.Seq, idle)(yield)
	}
}

type silent struct{ stream.Store }

func (s silent) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	return func(yield func(stream.Page, error) bool) {
		for page, err := range s.Store.Follow(ctx, name, from, idle) {
			if (err != nil || len(page.Entries) > 0) && !yield(page, err) {
				return
			}
		}
	}
}

func (s silent) Watch(ctx context.Context, prefix stream.Prefix) iter.Seq2[[]stream.Moved, error] {
	return func(yield func([]stream.Moved, error) bool) {
		for moved, err := range s.Store.Watch(ctx, prefix) {
			if (err != nil || len(moved) > 0) && !yield(moved, err) {
				return
			}
		}
	}
}

type leaking struct{ stream.Store }

func (s leaking) Follow(ctx context.Context, name stream.Name, from uint64, idle time.Duration) iter.Seq2[stream.Page, error] {
	go func() { <-ctx.Done() }() // the caller's context, which outlives the break
	return s.Store.Follow(ctx, name, from, idle)
}

type tailless struct{ stream.Store }

func (s tailless) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	page, err := s.Store.Read(ctx, name, start, limit)
	page.Tail = page.Next(start.Seq)
	return page, err
}

type unordered struct{ stream.Store }

func (s unordered) List(ctx context.Context, prefix stream.Prefix, after stream.Name, limit int) ([]stream.Name, bool, error) {
	names, more, err := s.Store.List(ctx, prefix, after, limit)
	if !after.IsZero() && len(names) > 0 {
		names = slices.Concat([]stream.Name{after}, names[:len(names)-1])
	}
	return names, more, err
}

type careless struct{ stream.Store }

func (s careless) Create(ctx context.Context, name stream.Name, c stream.Config) error {
	if err := s.Store.Create(context.WithoutCancel(ctx), name, c); !errors.Is(err, stream.ErrExists) {
		return err
	}
	return nil
}
