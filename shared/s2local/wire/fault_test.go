package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

// What the engine refuses has S2's status and code: of what may be done yet it is
// one that a client does not take for a refusal.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		code   string
	}{
		{engine.ErrInvalid, 422, "invalid"},
		{engine.ErrBasinNotFound, 404, "basin_not_found"},
		{engine.ErrStreamNotFound, 404, "stream_not_found"},
		{engine.ErrDeleted, 409, "stream_deletion_pending"},
		{engine.ErrExists, 409, "resource_already_exists"},
		{engine.ErrClosed, 503, "unavailable"},
		{engine.ErrBusy, 503, "unavailable"},
		{engine.ErrLate, 504, "upstream_timeout"},
		{engine.ErrStorage, 500, "storage"},
		{errors.New("anything else"), 500, "other"},
	} {
		if status, code := wire.FaultOf(fmt.Errorf("append: %w", tt.err)); status != tt.status || code != tt.code {
			t.Errorf("of %q a client is told %d %s; want %d %s", tt.err, status, code, tt.status, tt.code)
		}
	}
}
