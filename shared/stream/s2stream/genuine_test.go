package s2stream_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

// What a proxy or a captive portal answers in S2's place is no empty stream, no
// tail of 0 and no history that was trimmed: a read does not know, and the outcome
// of a write is unknown.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html><title>Sign in</title>"
	for _, c := range []struct {
		name  string
		fault fault
	}{
		{"nothing", fault{status: 200, mime: "text/plain"}},
		{"a page", fault{status: 200, mime: "text/html; charset=utf-8", body: page}},
		{"bytes", fault{status: 200, mime: "application/octet-stream", body: "\x00\x00\x00"}},
		{"other JSON", fault{status: 200, mime: "application/json", body: `{"status":"ok"}`}},
		{"nothing in JSON", fault{status: 200, mime: "application/json"}},
		{"a tail that is none", fault{status: 200, mime: "application/json", body: `{"tail":{}}`}},
		{"no content", fault{status: 204, mime: "application/protobuf"}},
		{"part of it", fault{status: 206, mime: "application/protobuf"}},
		{"a redirect", fault{status: 302, mime: "text/html", body: page}},
		{"a redirect of a method", fault{status: 307, mime: "application/protobuf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.fault.kind = answer
			var foreign atomic.Bool
			srv := serve(t, func(*http.Request) fault {
				if foreign.Load() {
					return c.fault
				}
				return fault{}
			})
			s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Timeout: 300 * time.Millisecond})
			create(t, s, inbox)
			if _, err := s.Append(t.Context(), inbox, batch("m")); err != nil {
				t.Fatal(err)
			}
			foreign.Store(true)
			for _, call := range []struct {
				name string
				run  func(context.Context) error
				want error
			}{
				{"read", func(ctx context.Context) error {
					_, err := s.Read(ctx, inbox, stream.Start{}, stream.Limit{})
					return err
				}, stream.ErrUnavailable},
				{"tail", func(ctx context.Context) error { _, err := s.Tail(ctx, inbox); return err }, stream.ErrUnavailable},
				{"list", func(ctx context.Context) error {
					_, _, err := s.List(ctx, stream.Inboxes, stream.Name{}, 0)
					return err
				}, stream.ErrUnavailable},
				{"follow", func(ctx context.Context) error {
					for page, err := range s.Follow(ctx, inbox, 0, time.Minute) {
						if err == nil {
							t.Errorf("follow: a page of %d up to %d; want none", len(page.Entries), page.Tail)
						}
						return err
					}
					return nil
				}, stream.ErrUnavailable},
				{"append", func(ctx context.Context) error { _, err := s.Append(ctx, inbox, batch("n")); return err }, stream.ErrUnknown},
				{"create", func(ctx context.Context) error { return s.Create(ctx, stream.Inbox("eve"), stream.Config{}) }, stream.ErrUnknown},
			} {
				if err := call.run(t.Context()); !errors.Is(err, call.want) || errors.Is(err, stream.ErrTrimmed) {
					t.Errorf("%s: err = %v; want %v", call.name, err, call.want)
				}
			}
			if err := s.Check(t.Context()); err == nil {
				t.Error("check: no error")
			}
			if c.fault.status != http.StatusNoContent { // what S2 may say of a deletion
				if err := s.Delete(t.Context(), inbox); !errors.Is(err, stream.ErrUnknown) {
					t.Errorf("delete: err = %v; want ErrUnknown", err)
				}
			}
			foreign.Store(false)
			if diff := cmp.Diff([]string{"m"}, texts(t, s)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// A proxy that takes sessions for pages does not end following, and makes up no record.
func TestFollowBehindForeignSessions(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{
		{kind: answer, status: 200, mime: "text/html", body: "<!DOCTYPE html><title>Sign in</title>"},
		{kind: answer, status: 200, mime: "text/plain"},
		{kind: answer, status: 200, mime: "application/octet-stream", body: "\x00\x00\x01\x00"},
	} {
		srv := serve(t, func(r *http.Request) fault {
			if r.Header.Get("Content-Type") == "s2s/proto" {
				return f
			}
			return fault{}
		})
		s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
		create(t, s, inbox)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		next, opened := uint64(0), false
		for page, err := range s.Follow(ctx, inbox, 0, time.Minute) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Entries {
				if e.Seq != next || page.Tail > 2 {
					t.Fatalf("position %d of %d; want %d of 2", e.Seq, page.Tail, next)
				}
				next++
			}
			if !opened {
				opened = true
				if _, err := s.Append(ctx, inbox, batch("m", "n")); err != nil {
					t.Fatal(err)
				}
			}
			if next == 2 {
				break
			}
		}
	}
}
