// Package stream is the one database: append-only, named streams of records on
// S2, or on a store that keeps S2's semantics. Everything that agent-chat knows
// is a fold of such a stream.
//
// Three backends implement Store: localstream (the embedded engine, no wire),
// s2stream (S2 or anything that speaks its API) and the decorator faultstream.
// streamtest is the suite that each of them passes; this package's comments are
// the contract that it checks.
package stream

import (
	"context"
	"iter"
	"time"
)

// Limits of S2, which every backend enforces alike before it writes anything.
const (
	MaxBatchRecords = 1000
	MaxBatchBytes   = 1 << 20 // metered, see Record.Metered; also of one record
	MaxTokenBytes   = 36      // of a fencing token
	MaxPageRecords  = 1000
	MaxPageBytes    = 1 << 20 // metered
)

// A Store keeps streams. Its methods may be called concurrently. Slices of
// arguments are the caller's again on return, but what records hold is the
// store's for good, as what is returned is: it is shared and must not be written
// to.
//
// Every method returns soon after ctx ends, with an error that wraps ctx's. A
// backend bounds its own waits besides: a store that accepts a call and never
// answers gives ErrUnavailable, and for an Append ErrUnknown, within 5 s.
type Store interface {
	// Append adds in.Records in order and at once: either all become visible or
	// none does. They are durable when it returns nil.
	//
	// The errors a caller must tell apart:
	//   - *FencedError: in.Token is not the stream's fencing token. Not written.
	//   - *PositionError: the tail is not *in.At. Not written. The token is
	//     compared before the position, both with the state before the batch.
	//   - ErrNotFound: no such stream (and its basin does not create on append). Not written.
	//   - ErrInvalid: the batch breaks a limit. Not written.
	//   - ErrUnavailable: refused for now, or never sent since ctx had ended; a
	//     repeat may succeed. Not written.
	//   - ErrUnknown: anything else, ctx's end included. It may have been
	//     written, it may still be written later, and no call of this
	//     interface can prevent that but one that changes the fencing token.
	//
	// Append is never repeated by a backend unless the failure was definite.
	Append(ctx context.Context, name Name, in Batch) (Ack, error)

	// Read returns the records from start on, in order: up to limit.Records and
	// limit.Bytes (zero: the maximum), at least one if there is one. Page.Tail
	// is a tail of the stream as of some moment during the call. At the tail the
	// page is empty and err is nil. It may be shorter than the limit and yet not
	// reach the tail: go by Page.Next and Page.Tail.
	//
	// A start behind the tail is *BeyondTailError; one before the first retained
	// record is *TrimmedError, never a silent jump. A start by time never is
	// either of them. A read that returns sees every record whose Append was
	// acknowledged before the read began.
	Read(ctx context.Context, name Name, start Start, limit Limit) (Page, error)

	// Follow yields what Read would, page after page from position from, then
	// what is appended, as it becomes durable: no record twice, none left out.
	// The first page comes as soon as from is known to be good, and is empty if
	// from is the tail. Whenever nothing came for idle, it yields an empty page
	// with the tail, so that a reader can send its heartbeat; idle is positive.
	//
	// It ends with an error, yielded once with an empty page: as Read's, ctx's,
	// or ErrUnavailable when the stream could not be re-opened for 30 s. Short
	// interruptions of the store are bridged from the own position. The caller's
	// break ends it and frees everything.
	Follow(ctx context.Context, name Name, from uint64, idle time.Duration) iter.Seq2[Page, error]

	// Tail returns the position that the next record will get, and the time of
	// the last one (zero if there never was one). It counts acknowledged records.
	Tail(ctx context.Context, name Name) (Position, error)

	// List returns up to limit names (zero: 1000) that begin with prefix and come
	// bytewise after the given one, in order, and whether there are more.
	// Streams being deleted are left out.
	List(ctx context.Context, prefix Prefix, after Name, limit int) (names []Name, more bool, err error)

	// Watch yields the streams under prefix whose tail moved, with that tail, in
	// batches of at most 1000: first every stream there is, then an empty batch
	// once when that is through, then what moves, new streams included. Moves are
	// joined: a reader sees the last tail of each, not every step. A stream whose
	// tail can't be told, though others' can, comes with the error, and again when
	// it can. It ends as Follow does.
	Watch(ctx context.Context, prefix Prefix) iter.Seq2[[]Moved, error]

	// Create makes an empty stream; ErrExists if there is one, whatever its
	// configuration. On ErrUnknown the stream may exist.
	Create(ctx context.Context, name Name, c Config) error

	// Delete removes a stream and its records for good; ErrNotFound if there is
	// none. Until the name can be used again, calls for it give ErrUnavailable.
	Delete(ctx context.Context, name Name) error

	// Ensure makes both basins, and their configuration what BasinConfig says.
	// Doing it again changes nothing.
	Ensure(ctx context.Context) error

	// Check reports whether the store can be reached and both basins are
	// configured as Ensure leaves them; the error says what differs.
	Check(ctx context.Context) error
}

// A Clock is a Store whose clock is not this machine's.
type Clock interface {
	// Ahead returns how far this machine's clock is ahead of the store's, as the
	// store's answers told last: less than 0 if it is behind, and 0 if what they
	// told does not tell the two apart, or if there was none.
	Ahead() time.Duration
}

// A Batch is what one Append adds.
type Batch struct {
	Records []Record // 1 to MaxBatchRecords
	At      *uint64  // if not nil, the tail that the stream must have
	Token   *string  // if not nil, the fencing token that the stream must have; "" is that of a stream that was never fenced
}

// A Record is the content of one position.
type Record struct {
	Headers []Header
	Body    []byte
}

// A Header is a name and a value of any bytes. An empty name marks a command.
type Header struct{ Name, Value string }

// An Ack says where a batch was written: at First up to, and without, Next.
// Timestamp is the last record's.
type Ack struct {
	First, Next uint64
	Timestamp   Timestamp
}

// An Entry is a record where it stands.
type Entry struct {
	Seq       uint64
	Timestamp Timestamp
	Record
}

// A Page is a run of consecutive entries and the tail.
type Page struct {
	Entries []Entry
	Tail    uint64
}

// Next returns the position after the page, which began at from.
func (p Page) Next(from uint64) uint64 {
	if n := len(p.Entries); n > 0 {
		return p.Entries[n-1].Seq + 1
	}
	return from
}

// A Position is the end of a stream.
type Position struct {
	Seq       uint64
	Timestamp Timestamp
}

// A Timestamp is the time of arrival at the store in milliseconds since 1970.
// It never decreases within a stream.
type Timestamp uint64

// Time returns t as a time.Time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// A Start is where a read begins: at a position, or at the first record whose
// timestamp is not before Time if that is not zero.
type Start struct {
	Seq  uint64
	Time Timestamp
}

// A Limit bounds a page. Zero is the maximum. A first record larger than Bytes
// is returned all the same.
type Limit struct {
	Records int
	Bytes   int // metered
}

// Moved is a stream and the tail it moved to. If Err is not nil the tail can't be
// told for now, and Tail is the last that was, or 0.
type Moved struct {
	Name Name
	Tail uint64
	Err  error
}

// Config is what a stream is created with.
type Config struct {
	Retention     time.Duration // age at which records go; zero: never
	DeleteOnEmpty time.Duration // how long empty before the stream itself goes; zero: never
}
