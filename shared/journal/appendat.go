package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"agentchat/shared/deadline"
	"agentchat/shared/stream"
)

// AppendAt writes in at the position *in.At, which must be given, in one attempt
// and never again. Its records must be unlike any other that could come to stand
// there (they carry an operation's id, or a random epoch), because a reply that is
// lost, or refused, is settled by reading back what stands at the position. So
// an identical call may come again: at most one of them writes, and all that
// find the records return nil.
//
// On nil the records are there and durable. Otherwise the error wraps
//   - *stream.PositionError: other records stand there, and these never will; or
//     the stream does not reach that far.
//   - *stream.FencedError: the stream has another token than *in.Token, and the
//     records are not there. This attempt never will write them.
//   - stream.ErrUnknown: nothing stands there yet, but the attempt may still land;
//     or it could not be read back.
//   - stream.ErrTrimmed: what stood there can't be read any more.
//   - any other error of stream.Store's Append: nothing was written.
//
// Once begun it runs to its end, Options.Budget at most, though ctx ends.
func (j *Journal) AppendAt(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	ctx, cancel := deadline.Outlive(ctx, j.o.Budget, j.o.Grace)
	defer cancel()
	ack, err := j.store.Append(ctx, name, in)
	switch {
	case err == nil:
		return ack, nil
	case errors.Is(err, stream.ErrNotFound), errors.Is(err, stream.ErrInvalid), errors.Is(err, stream.ErrUnavailable):
		return stream.Ack{}, err
	case !errors.Is(err, stream.ErrPosition) && !errors.Is(err, stream.ErrFenced) && !errors.Is(err, stream.ErrUnknown):
		err = fmt.Errorf("%w: %w", stream.ErrUnknown, err)
	}
	stand, tail, readErr := j.readBack(ctx, name, *in.At, len(in.Records))
	switch {
	case errors.Is(readErr, stream.ErrTrimmed):
		return stream.Ack{}, readErr
	case readErr != nil:
		return stream.Ack{}, fmt.Errorf("%w: %w", stream.ErrUnknown, errors.Join(err, readErr))
	case same(stand, in.Records):
		last := stand[len(stand)-1]
		return stream.Ack{First: *in.At, Next: last.Seq + 1, Timestamp: last.Timestamp}, nil
	case !errors.Is(err, stream.ErrUnknown):
		return stream.Ack{}, err
	case tail > *in.At:
		return stream.Ack{}, &stream.PositionError{Tail: tail}
	}
	return stream.Ack{}, err
}

// readBack returns what stands in the n positions from at on, up to the tail.
func (j *Journal) readBack(ctx context.Context, name stream.Name, at uint64, n int) (stand []stream.Entry, tail uint64, err error) {
	var pauses Pauses
	for {
		next := at + uint64(len(stand))
		page, err := j.store.Read(ctx, name, stream.Start{Seq: next}, stream.Limit{Records: n - len(stand)})
		if beyond, ok := errors.AsType[*stream.BeyondTailError](err); ok {
			return nil, beyond.Tail, nil
		}
		if errors.Is(err, stream.ErrTrimmed) || errors.Is(err, stream.ErrNotFound) {
			return nil, 0, err
		}
		if err != nil {
			if pauses.Wait(ctx) != nil {
				return nil, 0, err
			}
			continue
		}
		stand = append(stand, page.Entries...)
		if len(stand) >= n || page.Next(next) >= page.Tail {
			return stand, page.Tail, nil
		}
	}
}

func same(stand []stream.Entry, want []stream.Record) bool {
	return slices.EqualFunc(stand, want, func(e stream.Entry, r stream.Record) bool {
		return slices.Equal(e.Headers, r.Headers) && bytes.Equal(e.Body, r.Body)
	})
}
