package api

import (
	"encoding/json"
	"errors"
	"strconv"
)

// A Position is a place in a direction of a chat. On the wire it is a string of
// decimal digits, since a JSON number loses the large ones (Chat protocol,
// Directional records).
type Position uint64

// AppendText appends p as it stands on the wire.
func (p Position) AppendText(b []byte) ([]byte, error) {
	return strconv.AppendUint(b, uint64(p), 10), nil
}

// MarshalText returns p as it stands on the wire.
func (p Position) MarshalText() ([]byte, error) { return p.AppendText(nil) }

// UnmarshalText reads plain decimal digits: no sign, no leading zero, at most 2^64-1.
func (p *Position) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil || len(b) > 1 && b[0] == '0' {
		return errPosition
	}
	*p = Position(n)
	return nil
}

var errPosition = errors.New("a position is a string of decimal digits without leading zeros")

// A Tail is the tail of a stream in a problem: a number where positions are
// numbers (inboxes), a string where they are strings (chats).
type Tail struct {
	At   uint64
	Text bool
}

// MarshalJSON returns t in its form.
func (t Tail) MarshalJSON() ([]byte, error) {
	if t.Text {
		return json.Marshal(Position(t.At))
	}
	return json.Marshal(t.At)
}

// UnmarshalJSON reads either form.
func (t *Tail) UnmarshalJSON(b []byte) error {
	t.Text = len(b) > 0 && b[0] == '"'
	if t.Text {
		return json.Unmarshal(b, (*Position)(&t.At))
	}
	return json.Unmarshal(b, &t.At)
}

// PositionExtensions is what a problem tells of positions in a stream.
type PositionExtensions struct {
	First *uint64 `json:"first,omitempty" doc:"With generation_changed and history_trimmed: the first usable position."`
	Tail  *Tail   `json:"tail,omitempty" doc:"With cursor_beyond_tail: the tail, a number. With claim_stale, position_taken and delivery_outcome_unknown: the tail of the direction, a string."`
}
