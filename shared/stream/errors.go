package stream

import (
	"errors"
	"fmt"
)

// What a caller of a Store must tell apart; test with errors.Is. Only ErrUnknown
// may have written anything.
var (
	ErrPosition    = errors.New("position taken")                  // *PositionError
	ErrFenced      = errors.New("fenced")                          // *FencedError
	ErrTrimmed     = errors.New("trimmed")                         // *TrimmedError
	ErrBeyondTail  = errors.New("beyond the tail")                 // *BeyondTailError
	ErrNotFound    = errors.New("no such stream")                  // Create it first
	ErrExists      = errors.New("stream exists")                   // Create only
	ErrInvalid     = errors.New("invalid")                         // a limit of S2 is broken
	ErrUnavailable = errors.New("store unavailable")               // definite: nothing was written, a repeat may succeed
	ErrUnknown     = errors.New("outcome unknown")                 // an append or a change that may have happened, or may still
	ErrCorrupt     = errors.New("stream is not what it should be") // a gap where records must be dense
)

// Misplaced is the error, in the tree of ErrCorrupt, of a record that stands where
// another one should: what a reader that counts says of a gap.
func Misplaced(got, want uint64) error {
	return fmt.Errorf("%w: record %d where %d should be", ErrCorrupt, got, want)
}

// A PositionError says that another record stands where one was to be written.
type PositionError struct{ Tail uint64 }

// Error says what stands in the way.
func (e *PositionError) Error() string { return fmt.Sprintf("position taken: the tail is %d", e.Tail) }

// Is makes errors.Is(err, ErrPosition) true.
func (e *PositionError) Is(target error) bool { return target == ErrPosition }

// A FencedError says that a stream has another fencing token than the append
// carried. Token is public; "" means that the stream has none.
type FencedError struct{ Token string }

// Error says what stands in the way.
func (e *FencedError) Error() string { return fmt.Sprintf("fenced: the token is %q", e.Token) }

// Is makes errors.Is(err, ErrFenced) true.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// A TrimmedError says that records were removed; First is the first position
// that can be read (the tail if none is left).
type TrimmedError struct{ First uint64 }

// Error says what stands in the way.
func (e *TrimmedError) Error() string {
	return fmt.Sprintf("trimmed: the first retained position is %d", e.First)
}

// Is makes errors.Is(err, ErrTrimmed) true.
func (e *TrimmedError) Is(target error) bool { return target == ErrTrimmed }

// A BeyondTailError says that a read began behind the end of the stream.
type BeyondTailError struct{ Tail uint64 }

// Error says what stands in the way.
func (e *BeyondTailError) Error() string { return fmt.Sprintf("beyond the tail %d", e.Tail) }

// Is makes errors.Is(err, ErrBeyondTail) true.
func (e *BeyondTailError) Is(target error) bool { return target == ErrBeyondTail }
