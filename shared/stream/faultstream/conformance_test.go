package faultstream_test

import (
	"testing"

	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/stream/streamtest"
)

func memory(t *testing.T) stream.Store {
	t.Helper()
	s, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	return s
}

// Without faults the decorator is a store like any other.
func TestConformanceWithoutFaults(t *testing.T) {
	streamtest.Run(t, streamtest.Options{Bubble: true, Open: func(t *testing.T) stream.Store {
		return faultstream.New(t, memory(t), faultstream.Options{Lenient: true})
	}})
}

// It still is one when it is slow, gives crumbs, and tells what moved twice: a
// caller who can't live with that relies on more than the contract.
func TestConformanceWithFaultsThatAreNone(t *testing.T) {
	harmless := map[faultstream.Kind]bool{faultstream.Slow: true, faultstream.Short: true, faultstream.Again: true}
	streamtest.Run(t, streamtest.Options{Bubble: true, ShortPages: true, Small: 2, Open: func(t *testing.T) stream.Store {
		seeded := faultstream.Seeded(1, 0.9)
		return faultstream.New(t, memory(t), faultstream.Options{Lenient: true, Choose: func(c faultstream.Call) faultstream.Fault {
			if f := seeded(c); harmless[f.Kind] {
				return f
			}
			return faultstream.Fault{}
		}})
	}})
}
