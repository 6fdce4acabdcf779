package journal

import (
	"context"
	"errors"
	"slices"

	"agentchat/shared/stream"
)

// look bounds the first read of a stream whose fold can be restored: a short one
// is read in one call, and of a long one little is read in vain.
var look = stream.Limit{Records: 128, Bytes: 128 << 10}

// A cold fold of a stream that is longer than look takes the tail that look
// found, the last record, the snapshot which that names, and what follows. If
// there is none, or it can't be restored, the fold begins at 0, which is
// always right. If records were removed there, any complete snapshot will do;
// without one, the state is lost.

// leap begins s at the latest snapshot as the last records before tail name it.
// If there is none that can be restored, found is false and s is as it was.
func leap[S any](ctx context.Context, store stream.Store, name stream.Name, f *Fold[S], tail uint64, s *folded[S], each func(stream.Entry, S)) (now uint64, found bool, err error) {
	for _, back := range []uint64{1, 32} {
		page, err := store.Read(ctx, name, stream.Start{Seq: tail - min(back, tail)}, stream.Limit{Records: int(back)})
		if err != nil {
			return 0, false, unlessDamaged(name, err)
		}
		for _, e := range slices.Backward(page.Entries) {
			if at, ok := latestNamed(e); ok {
				return restore(ctx, store, name, f, at, s, each)
			}
			if e.Command() == stream.None { // a command names nothing
				return 0, false, nil
			}
		}
	}
	return 0, false, nil
}

// over begins s at a complete snapshot, since what is before first was trimmed.
func over[S any](ctx context.Context, store stream.Store, name stream.Name, f *Fold[S], first uint64, s *folded[S], each func(stream.Entry, S)) (now uint64, found bool, err error) {
	end, err := store.Tail(ctx, name)
	if err != nil {
		return 0, false, unlessDamaged(name, err)
	}
	if now, found, err = leap(ctx, store, name, f, end.Seq, s, each); found || err != nil {
		return now, found, err
	}
	return search(ctx, store, name, f, first, s, each)
}

// search begins s at the latest complete snapshot from first on, whatever the
// records name.
func search[S any](ctx context.Context, store stream.Store, name stream.Name, f *Fold[S], first uint64, s *folded[S], each func(stream.Entry, S)) (now uint64, found bool, err error) {
	var m marks
	for next := first; ; {
		page, err := store.Read(ctx, name, stream.Start{Seq: next}, stream.Limit{})
		if err != nil {
			return 0, false, unlessDamaged(name, err)
		}
		for _, e := range page.Entries {
			if e.Seq != next {
				return 0, false, nil
			}
			m = m.add(e, f.Format)
			next++
		}
		if next >= page.Tail {
			break
		}
	}
	if m.latest == nil {
		return 0, false, nil
	}
	return restore(ctx, store, name, f, m.latest.Of, s, each)
}

// restore begins s at a snapshot of position at, or of a later one that ends
// sooner, and reads on to the end of a page; now is the tail according to it.
func restore[S any](ctx context.Context, store stream.Store, name stream.Name, f *Fold[S], at uint64, s *folded[S], each func(stream.Entry, S)) (now uint64, found bool, err error) {
	var run []stream.Entry // from at on
	m := marks{floor: at}
	for next := at; ; {
		page, err := store.Read(ctx, name, stream.Start{Seq: next}, stream.Limit{})
		if err != nil {
			return 0, false, unlessDamaged(name, err)
		}
		for i, e := range page.Entries {
			m = m.add(e, f.Format)
			if e.Seq != next || m.latest == nil && len(m.open) == 0 && next >= at+maxLag {
				return 0, false, nil
			}
			run = append(run, e)
			next++
			if m.latest == nil {
				continue
			}
			run = run[m.latest.Of-at:]
			restored, err := restored(f, m.latest, run)
			if err != nil {
				return 0, false, nil //nolint:nilerr // the fold from 0 does not need it
			}
			*s = restored
			return page.Tail, true, s.take(name, f, append(run, page.Entries[i+1:]...), each)
		}
		if next >= page.Tail {
			return 0, false, nil
		}
	}
}

// restored returns the state before run, which holds the snapshot p.
func restored[S any](f *Fold[S], p *pending, run []stream.Entry) (s folded[S], err error) {
	data, err := p.data(run)
	if err != nil {
		return s, err
	}
	state, err := f.Restore(data)
	return folded[S]{state: state, next: p.Of, from: p.Of, marks: marks{floor: p.Of}}, err
}

// unlessDamaged returns what a failed read is to the caller, or nil if it says
// that records are missing.
func unlessDamaged(name stream.Name, err error) error {
	for _, is := range []error{stream.ErrNotFound, stream.ErrTrimmed, stream.ErrBeyondTail, stream.ErrCorrupt} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return unavailable(name, err)
}
