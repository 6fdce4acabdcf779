package serve_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/sse"
)

// discard is a client that takes everything and costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) Flush()                      {}

func benchWorld(b *testing.B) *env.Env {
	b.Helper()
	e := newWorld(b, env.Config{}).Env
	e.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // to format the line is part of the cost
	return e
}

// What a send costs beside the store: credential, values, a body of 1 KiB, the answer, the log.
func BenchmarkSend(b *testing.B) {
	h := messages(benchWorld(b), func(_ context.Context, _ caller, q *api.SendRequest) (*api.SendResponse, error) {
		return &api.SendResponse{Envelope: json.RawMessage(`{}`)}, nil
	}, nil)
	body := `{"to":"bob","text":"` + strings.Repeat("x", 1000) + `"}`
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://h"+sendPath, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+operator)
		h.ServeHTTP(&discard{http.Header{}}, r)
	}
}

// What an event of 1 KiB costs between the source and the connection.
func BenchmarkEvents(b *testing.B) {
	e := sse.Event{Name: "envelope", ID: "1", Data: []byte(strings.Repeat("x", 1000))}
	for _, size := range []int{1, 100} {
		b.Run(map[int]string{1: "batches of 1", 100: "batches of 100"}[size], func(b *testing.B) {
			events := make([]sse.Event, size)
			for i := range events {
				events[i] = e
			}
			h := inbox(benchWorld(b), nil, func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
				return func(yield func([]sse.Event, error) bool) {
					for i := 0; i < b.N; i += size {
						yield(events, nil)
					}
				}
			})
			r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://h/v1/agents/alice/inbox?follow=true", nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+operator)
			b.ReportAllocs()
			h.ServeHTTP(&discard{http.Header{}}, r)
		})
	}
}
