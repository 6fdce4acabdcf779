package api

import (
	"errors"
	"fmt"
	"time"
)

// A Time is an instant on the wire: RFC 3339 in UTC with Z and milliseconds
// when written; any RFC 3339 instant of the years 0001-9999 when read.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// AppendText appends t as it stands on the wire.
func (t Time) AppendText(b []byte) ([]byte, error) { return t.UTC().AppendFormat(b, timeLayout), nil }

// MarshalText returns t as it stands on the wire.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// MarshalJSON returns t as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

// UnmarshalJSON reads a JSON string.
func (t *Time) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		return errors.New("not an RFC 3339 time in a string")
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// UnmarshalText reads an RFC 3339 time (section 5.6): upper-case T, a zone of Z
// or ±hh:mm, a fraction of any length behind a dot. Leap seconds, 24:00 and
// year 0 are refused. Digits behind the millisecond are dropped.
func (t *Time) UnmarshalText(b []byte) error {
	v := time.Time{}
	if err := v.UnmarshalText(b); err != nil {
		return fmt.Errorf("not an RFC 3339 time: %q", b)
	}
	if v.UTC().Year() < 1 || v.UTC().Year() > 9999 {
		return fmt.Errorf("a time outside the years 0001 to 9999: %q", b)
	}
	t.Time = v.UTC().Truncate(time.Millisecond)
	return nil
}
