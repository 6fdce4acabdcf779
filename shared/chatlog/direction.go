package chatlog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// A direction is the stream that one party of a chat writes.
type direction struct {
	name stream.Name
	chat ident.Chat
	side chat.Side // who writes it
	to   chat.Side // who reads it
}

func directionOf(s *chat.State, side, to chat.Side) direction {
	return direction{name: stream.Direction(s.ID, side.Agent), chat: s.ID, side: side, to: to}
}

// An item is a record of a direction, and what its headers say. Of a command
// they say nothing.
type item struct {
	stream.Entry
	chat.Header
}

// look returns the tail of d, having seen that the stream begins with the genesis
// that the chat was made with.
func (l *Log) look(ctx context.Context, d direction) (tail uint64, err error) {
	page, err := l.store.Read(ctx, d.name, stream.Start{}, stream.Limit{Records: 1})
	if err != nil {
		return 0, d.refusal(err)
	}
	if len(page.Entries) == 0 {
		return 0, d.changed(errors.New("it is empty"))
	}
	it, err := d.take(page.Entries[0], 0)
	if err == nil && it.Type != signed.TypeGenesis {
		err = d.changed(errors.New("it begins without a genesis"))
	}
	return page.Tail, err
}

// lookBoth looks at both directions at once.
func (l *Log) lookBoth(ctx context.Context, ds [2]direction) (tails [2]uint64, err error) {
	err = both(ctx, func(ctx context.Context, i int) (err error) {
		tails[i], err = l.look(ctx, ds[i])
		return err
	})
	return tails, err
}

// both runs f for 0 and for 1 at once, and returns the first error.
func both(ctx context.Context, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range 2 {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// read yields the records of d from one position up to another, or to the tail
// if that comes before. They are dense, and d's own; anything else is an error,
// yielded once as the last. A start behind the tail is a *stream.BeyondTailError.
//
// The first page has at most so many records, and each one after it twice as
// many: who wants a few need not get many, and who passes over many, as over the
// fences in front of a message, does not read them one by one.
func (l *Log) read(ctx context.Context, d direction, from, to uint64, atOnce int) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for from < to {
			limit := stream.Limit{Records: int(min(to-from, uint64(atOnce)))} // both are small
			page, err := l.store.Read(ctx, d.name, stream.Start{Seq: from}, limit)
			if err != nil {
				if !errors.Is(err, stream.ErrBeyondTail) {
					err = d.refusal(err)
				}
				yield(item{}, err)
				return
			}
			for _, e := range page.Entries {
				it, err := d.take(e, from)
				if !yield(it, err) || err != nil {
					return
				}
				from++
			}
			if from >= page.Tail {
				return
			}
			atOnce = min(2*atOnce, stream.MaxPageRecords)
		}
	}
}

// take returns e, which must stand at a position and be of d.
func (d direction) take(e stream.Entry, at uint64) (item, error) {
	if e.Seq != at {
		return item{}, damaged(d.name, stream.Misplaced(e.Seq, at))
	}
	if e.Command() != stream.None {
		return item{Entry: e}, nil
	}
	h, ok := chat.HeaderOf(e)
	if !ok || h.Chat != d.chat || h.Author != d.side.Agent || h.Generation != d.side.Stream {
		return item{}, d.changed(fmt.Errorf("record %d is not of this generation", at))
	}
	return item{Entry: e, Header: h}, nil
}

// show returns it as the protocol has it. Its bytes are those of the store.
func (d direction) show(it item) api.ChatRecord {
	return api.ChatRecord{
		StreamID: d.name.String(), Generation: d.side.Stream, Position: api.Position(it.Seq),
		Timestamp: api.Time{Time: it.Timestamp.Time()}, Record: it.Body,
	}
}

// owner returns the present fencing token of d: no stream ever has the token
// "?", so that the store always refuses, and names the one that there is.
func (l *Log) owner(ctx context.Context, d direction) (ident.Owner, error) {
	wrong := "?"
	_, err := l.store.Append(ctx, d.name, stream.Batch{Records: []stream.Record{{}}, Token: &wrong})
	if fenced, ok := errors.AsType[*stream.FencedError](err); ok {
		return ident.Owner(fenced.Token), nil
	}
	if err == nil {
		return "", damaged(d.name, errors.New(`the token is "?"`))
	}
	return "", d.refusal(err)
}

// refusal is the error for a call of the store on d that did nothing.
func (d direction) refusal(err error) error {
	trimmed, isTrimmed := errors.AsType[*stream.TrimmedError](err)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		return api.Errorf(api.StreamMissing, "the stream %s is gone; an operator must look", d.name).Because(err)
	case isTrimmed:
		return api.Errorf(api.PrefixUnavailable, "the records of %s before %d are gone; an operator must look", d.name, trimmed.First).Because(err)
	case errors.Is(err, stream.ErrBeyondTail), errors.Is(err, stream.ErrCorrupt):
		return damaged(d.name, err)
	}
	return journal.Unavailable(fmt.Errorf("%s: %w", d.name, err))
}

// orDamaged returns err, or, of a read behind the tail of what was longer before, the damage.
func (d direction) orDamaged(err error) error {
	if errors.Is(err, stream.ErrBeyondTail) {
		return d.refusal(err)
	}
	return err
}

// changed is the error for a stream that is not the one the chat was made with.
func (d direction) changed(cause error) error {
	return api.Errorf(api.GenerationChanged, "the stream %s is not of generation %s any more; an operator must look", d.name, d.side.Stream).
		Because(fmt.Errorf("%s: %w", d.name, cause))
}

// begin makes d with its genesis, unless it is there. Any number of processes may do it at once.
func (l *Log) begin(ctx context.Context, d direction) error {
	r := signed.Record{
		ChatID: d.chat, AuthorAgentID: d.side.Agent, AuthoredWith: signed.Fleet, // it is the server's, whoever asked first
		OperationID: signed.GenesisOperation(d.chat, d.side.Agent, d.side.Stream),
		Genesis:     &signed.Genesis{Generation: d.side.Stream, PeerAgentID: d.to.Agent},
	}
	rec, err := r.Encode()
	if err != nil {
		return err
	}
	rec = chat.Notes{Generation: d.side.Stream}.With(rec)
	var pauses journal.Pauses
	for {
		err := l.store.Create(ctx, d.name, stream.Config{})
		if err == nil || errors.Is(err, stream.ErrExists) {
			_, err = l.journal.AppendAt(ctx, d.name, stream.Batch{Records: []stream.Record{rec}, At: new(uint64(0)), Token: new("")})
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, stream.ErrPosition), errors.Is(err, stream.ErrFenced):
			_, err = l.look(ctx, d)
			return err
		case errors.Is(err, stream.ErrInvalid), errors.Is(err, stream.ErrTrimmed):
			return d.refusal(err)
		}
		if pauses.Wait(ctx) != nil {
			return journal.Unavailable(err)
		}
	}
}
