package s2stream_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
	"agentchat/shared/stream/streamtest"
)

// The judge: the suite against a real S2, such as `s2 lite`.
func TestConformanceOfRealS2(t *testing.T) {
	endpoint := os.Getenv("S2_ENDPOINT")
	if endpoint == "" {
		t.Skip("SKIPPED: no real S2. Set S2_ENDPOINT, or run `make test-s2lite`.")
	}
	streamtest.Run(t, streamtest.Options{Small: 4, NoAging: true, Open: func(t *testing.T) stream.Store { return open(t, endpoint, "ignored") }})
}

// open returns a store with two basins of its own.
func open(t *testing.T, endpoint, token string) *s2stream.Store {
	t.Helper()
	s, err := s2stream.New(s2stream.Options{Token: token, Endpoint: endpoint, Basin: "t-" + strings.ToLower(rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
