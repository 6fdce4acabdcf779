package s2stream_test

import (
	"os"
	"testing"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
	"agentchat/shared/stream/streamtest"
)

// Over the embedded store's S2 API: the SDK, HTTP and the engine are all real.
func TestConformanceOverWire(t *testing.T) {
	streamtest.Run(t, streamtest.Options{NoAging: true, Open: func(t *testing.T) stream.Store {
		return open(t, s2stream.Options{Token: token, Endpoint: serve(t, nil).url})
	}})
}

// The judge: the suite against a real S2, such as `s2 lite`. That one removes
// aged records when it compacts, so a test can't wait for it.
func TestConformanceOfRealS2(t *testing.T) {
	endpoint := os.Getenv("S2_ENDPOINT")
	if endpoint == "" {
		t.Skip("SKIPPED: no real S2. Set S2_ENDPOINT, or run `make test-s2lite`.")
	}
	streamtest.Run(t, streamtest.Options{Small: 4, NoAging: true, Open: func(t *testing.T) stream.Store {
		return open(t, s2stream.Options{Token: "ignored", Endpoint: endpoint})
	}})
}
