package functions_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/functions"
	"agentchat/shared/env"
	"agentchat/shared/stream/localstream"
)

// quiet is all families in process, without faults and without a log.
func quiet(b *testing.B) *world {
	b.Helper()
	store, closeStore := localstream.Memory()
	b.Cleanup(closeStore)
	e, err := env.New(env.Options{
		Store: store, Config: env.Config{APITokens: []string{apiToken}}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	w := &world{t: b, handler: functions.Handler(e)}
	w.register("alice", "bob")
	return w
}

var kib = fmt.Sprintf(`{"to":"bob","text":%q}`, strings.Repeat("x", 1000))

// A message of 1 KiB from the request to the store in memory and back.
func BenchmarkSend(b *testing.B) {
	w := quiet(b)
	b.ReportAllocs()
	for b.Loop() {
		if r := w.do(http.MethodPost, "/v1/agents/alice/messages", kib); r.Code != http.StatusCreated {
			b.Fatalf("%d %s", r.Code, r.Body)
		}
	}
}

// A page of 1,000 messages of 1 KiB.
func BenchmarkReplay(b *testing.B) {
	w := quiet(b)
	for range 1000 {
		w.do(http.MethodPost, "/v1/agents/alice/messages", kib)
	}
	var r *httptest.ResponseRecorder
	b.ReportAllocs()
	for b.Loop() {
		if r = w.do(http.MethodGet, "/v1/agents/bob/inbox?limit=1000", ""); r.Code != http.StatusOK {
			b.Fatalf("%d %s", r.Code, r.Body)
		}
	}
	b.SetBytes(int64(r.Body.Len()))
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
