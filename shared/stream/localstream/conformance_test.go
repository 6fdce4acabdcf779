package localstream_test

import (
	"testing"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/stream/streamtest"
)

// A store in memory is one to the letter, in real time and in a bubble's.
func TestMemoryConforms(t *testing.T) {
	for name, bubble := range map[string]bool{"real time": false, "bubble": true} {
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, streamtest.Options{Bubble: bubble, NoAging: !bubble, Open: func(t *testing.T) stream.Store {
				s, end := localstream.Memory()
				t.Cleanup(end)
				return s
			}})
		})
	}
}

// So is one on disk.
func TestDiskConforms(t *testing.T) {
	streamtest.Run(t, streamtest.Options{NoAging: true, Open: func(t *testing.T) stream.Store {
		s, end, err := localstream.Open(t.Context(), engine.Options{Dir: t.TempDir()}, "test-basin")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		})
		return s
	}})
}
