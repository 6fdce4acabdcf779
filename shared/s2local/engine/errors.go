package engine

import (
	"errors"
	"fmt"

	"agentchat/shared/stream"
)

// What a caller must tell apart; test with errors.Is. An append or a change
// that gives one of them has written nothing, except for ErrLate, which may yet be
// written, and ErrStorage, after which it may be found by the next Open.
//
// A condition that does not hold is *stream.FencedError or *stream.PositionError.
var (
	ErrInvalid        = stream.ErrInvalid // a limit or a rule of S2 is broken
	ErrBasinNotFound  = errors.New("no such basin")
	ErrStreamNotFound = errors.New("no such stream")
	ErrExists         = errors.New("resource exists")
	ErrDeleted        = errors.New("stream was deleted")  // under a Stream that was opened before
	ErrClosed         = errors.New("engine is closed")    // refused
	ErrBusy           = errors.New("engine is busy")      // refused: too much is queued, and the disk takes nothing
	ErrLate           = errors.New("no outcome in time")  // of an append: the disk takes nothing
	ErrStorage        = errors.New("storage has failed")  // nothing works until the engine is opened again
	ErrLocked         = errors.New("data folder is busy") // another process has it open
)

// A RangeError says that a read would begin behind the durable tail.
type RangeError struct{ Tail stream.Position }

func (e *RangeError) Error() string { return fmt.Sprintf("the tail is %d", e.Tail.Seq) }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
