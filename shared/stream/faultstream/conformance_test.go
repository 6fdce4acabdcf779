package faultstream_test

import (
	"testing"

	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/stream/streamtest"
)

// Without faults the decorator is a store like any other.
func TestConformanceWithoutFaults(t *testing.T) {
	for _, bubble := range []bool{false, true} {
		name := "real time"
		if bubble {
			name = "bubble"
		}
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, streamtest.Options{Bubble: bubble, Open: func(t *testing.T) stream.Store {
				s, closeStore := localstream.Memory()
				t.Cleanup(closeStore)
				return faultstream.New(t, s, faultstream.Options{Lenient: true})
			}})
		})
	}
}
