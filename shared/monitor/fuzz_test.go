package monitor_test

import (
	"bytes"
	"strings"
	"testing"

	"agentchat/shared/monitor"
)

// A record that is taken for a checkpoint means what is written of it, and what
// is none is refused.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte(`{"schema":"agent-chat/checkpoint.v1","since":1,"sum":1,"moves":"bob 43\nalice 0\n"}`))
	f.Add([]byte(`{"schema":"agent-chat/checkpoint.v1","base":{"c":1,"n":2,"h":"AQIDBAUGB_8"},"since":1,"sum":1,"deflate":"AQAA//8="}`))
	f.Add([]byte(`{"schema":"agent-chat/checkpoint.v1","since":1,"sum":1,"moves":"` + strings.Repeat(`bob 43\n`, 400) + `"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := monitor.CheckpointRoundTrip(body)
		if err != nil {
			return
		}
		second, err := monitor.CheckpointRoundTrip(first.Body)
		if err != nil || !bytes.Equal(first.Body, second.Body) {
			t.Errorf("%q was written as %q, and then %q: %v", body, first.Body, second.Body, err)
		}
	})
}
