package api

import (
	"encoding/json"
	"errors"
	"time"
)

// A Time is an instant on the wire: RFC 3339 in UTC with Z and milliseconds
// when written; any RFC 3339 instant of the years 0001-9999 when read.
type Time struct{ time.Time }

// TimeOf returns t as it is kept: in UTC, to the millisecond.
func TimeOf(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// AppendText appends t as it stands on the wire. Package time has a short way for
// RFC 3339 without a fraction, and none for three digits of it.
func (t Time) AppendText(b []byte) ([]byte, error) {
	u := t.UTC()
	b = u.AppendFormat(b, time.RFC3339)
	ms := u.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'), nil
}

// MarshalText returns t as it stands on the wire.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// MarshalJSON returns t as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) {
	return appendTime(nil, t), nil
}

// UnmarshalJSON reads a JSON string.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return errTime
	}
	return t.UnmarshalText([]byte(*s))
}

// UnmarshalText reads an RFC 3339 time (section 5.6): upper-case T, two-digit
// fields, a fraction of any length behind a dot, a zone of Z or ±hh:mm up to
// 23:59, of which -00:00 means Z. Leap seconds, 24:00 and instants outside the
// years 0001 to 9999 are refused. Digits behind the millisecond are dropped.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339, string(b))
	if err != nil || !exact(b) {
		return errTime
	}
	v = v.UTC().Truncate(time.Millisecond)
	if v.Year() < 1 || v.Year() > 9999 {
		return errYear
	}
	t.Time = v
	return nil
}

// What is wrong is said without the text, which may be long and anybody's.
var (
	errTime = errors.New("a time is RFC 3339 with a zone, as 2026-07-19T12:00:00.000Z")
	errYear = errors.New("a time is in the years 0001 to 9999 of UTC")
)

// exact refuses what time.Parse lets through: an hour of one digit, a comma
// before the fraction, and zones of 24 hours or 60 minutes (golang/go#54580).
// b is otherwise of the form.
func exact(b []byte) bool {
	if b[len("2006-01-02T15")] != ':' || b[len("2006-01-02T15:04:05")] == ',' {
		return false
	}
	zone := string(b[len(b)-len("07:00"):])
	return zone[len(zone)-1] == 'Z' || zone[:2] < "24" && zone[3:] < "60"
}
