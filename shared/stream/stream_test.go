package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentchat/shared/stream"
)

func TestPageNext(t *testing.T) {
	for _, tt := range []struct {
		name string
		page stream.Page
		want uint64
	}{
		{"empty at the tail", stream.Page{Tail: 7}, 7},
		{"one entry", stream.Page{Entries: []stream.Entry{{Seq: 7}}, Tail: 9}, 8},
		{"entries", stream.Page{Entries: []stream.Entry{{Seq: 7}, {Seq: 8}}, Tail: 9}, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.page.Next(7); got != tt.want {
				t.Errorf("Next(7): %d; want %d", got, tt.want)
			}
		})
	}
}

func TestTimestamp(t *testing.T) {
	want := time.Date(2026, 7, 19, 12, 0, 0, 123e6, time.UTC)
	if got := stream.Timestamp(want.UnixMilli()).Time(); !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("Time: %v; want %v in UTC", got, want)
	}
}

// TestErrors: the errors with a value are told apart by their sentinels, and by
// no other's.
func TestErrors(t *testing.T) {
	sentinels := []error{
		stream.ErrPosition, stream.ErrFenced, stream.ErrTrimmed, stream.ErrBeyondTail, stream.ErrNotFound,
		stream.ErrExists, stream.ErrInvalid, stream.ErrUnavailable, stream.ErrUnknown, stream.ErrCorrupt,
	}
	for _, tt := range []struct {
		err  error
		is   error
		text string
	}{
		{&stream.PositionError{Tail: 7}, stream.ErrPosition, "position taken: the tail is 7"},
		{&stream.FencedError{Token: "t\n"}, stream.ErrFenced, `fenced: the token is "t\n"`},
		{&stream.TrimmedError{First: 7}, stream.ErrTrimmed, "trimmed: the first retained position is 7"},
		{&stream.BeyondTailError{Tail: 7}, stream.ErrBeyondTail, "beyond the tail 7"},
	} {
		t.Run(tt.is.Error(), func(t *testing.T) {
			wrapped := fmt.Errorf("append: %w", tt.err)
			for _, s := range sentinels {
				if got := errors.Is(wrapped, s); got != (s == tt.is) { //nolint:errorlint // which of the sentinels it is
					t.Errorf("errors.Is(%v, %v) = %v", wrapped, s, got)
				}
			}
			if tt.err.Error() != tt.text {
				t.Errorf("Error: %q; want %q", tt.err, tt.text)
			}
		})
	}
}

// A gap that a reader finds is told as what is corrupt, with both positions.
func TestMisplaced(t *testing.T) {
	err := stream.Misplaced(7, 5)
	if !errors.Is(err, stream.ErrCorrupt) || !strings.Contains(err.Error(), "record 7 where 5") {
		t.Errorf("Misplaced(7, 5) = %v; want ErrCorrupt and both positions", err)
	}
}
