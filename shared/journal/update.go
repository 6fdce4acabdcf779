package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"agentchat/shared/api"
	"agentchat/shared/deadline"
	"agentchat/shared/event"
	"agentchat/shared/stream"
)

// The headers of this package's own. Every record of every attempt of one Update
// carries the call's nonce; a record of kind "nop" only takes up its position.
const (
	nonceHeader = "agent-chat-nonce"
	kindHeader  = event.HeaderKind
	nopKind     = "nop"
)

// Update runs decide on the state and appends what it returns right behind what
// the state was made from, so that no other record comes between. If another
// writer was faster, decide is asked again. No records and no error from decide
// mean that the state is as wanted; an error of decide's is returned as it is,
// and is true of a moment during the call. decide must be pure: the time is to be fixed
// before the call. It may be called several times, and is called
// last with the state that its records or its refusal belong to.
//
// On success the result is the state right after the appended records, which
// are durable. A stream that does not exist is created on the first write.
//
// Otherwise the error is decide's or an *api.Error: Unavailable, Busy, StateLost
// (nothing was written), or OutcomeUnknown (it may have been, and may still be).
// Once begun it runs to its end, Options.Budget at most, though ctx ends.
func Update[S any](ctx context.Context, j *Journal, name stream.Name, f *Fold[S], decide func(S) ([]stream.Record, error)) (S, error) {
	ctx, cancel := deadline.Outlive(ctx, j.o.Budget, j.o.Grace)
	defer cancel()
	u := update[S]{j: j, name: name, fold: f, cell: cellOf(j, name, f), nonce: nonce(j.o.Rand)}
	u.cell.mu.Lock()
	u.at = u.cell.folded
	u.cell.mu.Unlock()
	for {
		done, state, err := u.attempt(ctx, decide)
		if done && err == nil {
			save(ctx, j, name, f, u.cell)
		}
		if done {
			return state, err
		}
		if ctx.Err() != nil {
			return state, u.gaveUp(err)
		}
	}
}

// An update is one call of Update.
type update[S any] struct {
	j      *Journal
	name   stream.Name
	fold   *Fold[S]
	cell   *cell[S]
	nonce  string
	at     folded[S]
	open   *uint64 // the position at which an earlier attempt may still land
	pauses Pauses
}

// attempt folds to the tail, decides and appends once. done says that state and
// err are the result; if not, err is why there is none yet.
func (u *update[S]) attempt(ctx context.Context, decide func(S) ([]stream.Record, error)) (done bool, state S, err error) {
	began := u.j.o.Now()
	var mine *S
	exists, err := advance(ctx, u.j.store, u.name, u.fold, &u.at, func(e stream.Entry, after S) {
		if kind, n := own(e.Record); n == u.nonce && kind == "" {
			mine = &after
		}
	})
	if err == nil && u.open != nil && *u.open < u.at.from { // it may have stood in what was trimmed
		err = lost(u.name, stream.ErrTrimmed)
	}
	u.cell.mu.Lock()
	u.cell.keep(u.at, began, err)
	u.cell.mu.Unlock()
	switch {
	case mine != nil: // an attempt whose reply was lost
		return true, *mine, nil
	case err != nil && u.open == nil:
		return true, u.at.state, err
	case err != nil && api.AsError(err).Code == api.StateLost:
		return true, u.at.state, u.gaveUp(err)
	case err != nil:
		_ = u.pauses.Wait(ctx) // Update looks at ctx
		return false, u.at.state, err
	}
	if u.open != nil && *u.open < u.at.next {
		u.open = nil // another record stands there, so it never will land
	}
	recs, refusal := decide(u.at.state)
	nop := refusal != nil || len(recs) == 0
	if nop && u.open == nil {
		return true, u.at.state, refusal
	}
	if nop { // the answer would be a lie if the open attempt landed after all
		recs = []stream.Record{{Headers: []stream.Header{{Name: kindHeader, Value: nopKind}}}}
	}
	if !exists {
		if err := u.j.store.Create(ctx, u.name, stream.Config{}); err != nil && !errors.Is(err, stream.ErrExists) {
			_ = u.pauses.Wait(ctx) // whether it exists now, the append tells
		}
	}
	recs = stamped(recs, u.nonce, u.at.marks.name())
	ack, err := u.append(ctx, recs)
	if err == nil && nop {
		return true, u.at.state, refusal
	}
	if err == nil {
		return true, u.applied(recs, ack), nil
	}
	return u.failed(ctx, err)
}

func (u *update[S]) append(ctx context.Context, recs []stream.Record) (stream.Ack, error) {
	pos := u.at.next
	return u.j.store.Append(ctx, u.name, stream.Batch{Records: recs, At: &pos})
}

// applied returns the state after recs, which were acknowledged. Only one record
// is known as it stands in the stream, time included, and so may be kept.
func (u *update[S]) applied(recs []stream.Record, ack stream.Ack) S {
	s := u.at
	for i, r := range recs {
		if s.add(u.fold, stream.Entry{Seq: ack.First + uint64(i), Timestamp: ack.Timestamp, Record: r}) != nil { // a batch is small
			break // the next read says so; this write happened
		}
	}
	if len(recs) == 1 {
		u.cell.mu.Lock()
		u.cell.keep(s, u.cell.asOf, nil)
		u.cell.mu.Unlock()
	}
	return s.state
}

// failed says what the failure of an append at u.at.next means.
func (u *update[S]) failed(ctx context.Context, err error) (done bool, state S, _ error) {
	pos := u.at.next
	switch {
	case errors.Is(err, stream.ErrPosition):
	case errors.Is(err, stream.ErrNotFound), errors.Is(err, stream.ErrUnavailable):
		_ = u.pauses.Wait(ctx)
	case errors.Is(err, stream.ErrInvalid), errors.Is(err, stream.ErrFenced):
		// A fault of ours that a repeat can't mend, and that no attempt escapes.
		return true, u.at.state, fmt.Errorf("append to %s: %w", u.name, err)
	default:
		u.open = &pos
		_ = u.pauses.Wait(ctx)
	}
	return false, u.at.state, err
}

// gaveUp is the error of an Update whose budget is used up.
func (u *update[S]) gaveUp(cause error) error {
	cause = fmt.Errorf("update %s: %w", u.name, cause)
	if u.open != nil {
		return api.Errorf(api.OutcomeUnknown, "the change may have been made, or may still be; look before repeating it").Because(cause)
	}
	if errors.Is(cause, stream.ErrUnavailable) {
		return Unavailable(cause)
	}
	return api.Errorf(api.Busy, "other writers were faster each time").Because(cause)
}

// stamped returns copies of recs that carry the nonce, and name the latest snapshot.
func stamped(recs []stream.Record, nonce string, latest *uint64) []stream.Record {
	headers := []stream.Header{{Name: nonceHeader, Value: nonce}}
	if latest != nil {
		headers = append(headers, stream.Header{Name: snapshotHeader, Value: strconv.FormatUint(*latest, 10)})
	}
	out := make([]stream.Record, len(recs))
	for i, r := range recs {
		out[i] = stream.Record{Headers: slices.Concat(r.Headers, headers), Body: r.Body}
	}
	return out
}

func nonce(random io.Reader) string {
	b := make([]byte, 16)
	if _, err := io.ReadFull(random, b); err != nil {
		panic("journal: no randomness: " + err.Error())
	}
	return hex.EncodeToString(b)
}
