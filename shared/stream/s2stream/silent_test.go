package s2stream_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

// A stream whose tail is never told does not hold up what is told of the others.
func TestWatchSilent(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(r *http.Request) fault {
		if strings.HasSuffix(r.URL.Path, "inbox/bob/records/tail") {
			return fault{kind: hang}
		}
		return fault{}
	})
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-silence"})
	other := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-silence"})
	create(t, s, stream.Inbox("bob"))
	create(t, s, stream.Inbox("carol"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var sent time.Time
	silent, sending := false, uint64(0)
	for moved, err := range s.Watch(ctx, stream.Inboxes) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moved {
			switch {
			case m.Name == stream.Inbox("bob") && m.Err != nil:
				silent = true
			case m.Name == stream.Inbox("carol") && sending > 0 && m.Tail == sending:
				if took := time.Since(sent); took > 4900*time.Millisecond {
					t.Errorf("what was appended was told of after %s", took)
				}
				if sending == 3 {
					return
				}
				sent = time.Time{}
			}
		}
		if silent && sent.IsZero() {
			sending++
			if _, err := other.Append(ctx, stream.Inbox("carol"), batch("m")); err != nil {
				t.Fatal(err)
			}
			sent = time.Now()
		}
	}
}
