package api_test

import (
	"encoding/json"
	"math"
	"testing"

	"agentchat/shared/api"
)

// A position is a string of plain decimal digits, and nothing else is (case B58).
func TestPosition(t *testing.T) {
	for _, p := range []api.Position{0, 1, 10, math.MaxUint64} {
		b, err := json.Marshal(p)
		var got api.Position
		if err != nil || json.Unmarshal(b, &got) != nil || got != p || b[0] != '"' {
			t.Errorf("%d is %s, which is %d; %v", p, b, got, err)
		}
	}
	for _, s := range []string{
		"", "-1", "-0", "+1", "1.5", "1e3", "0x10", " 1", "1 ", "1_0", "\u0661", "18446744073709551616", "00", "00043",
	} {
		var p api.Position
		if err := p.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%q is %d; want an error", s, p)
		}
	}
}
