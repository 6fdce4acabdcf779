package serve_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/sse"
)

// A tape is a client that keeps what it got, write by write, and when.
type tape struct {
	t      *testing.T
	begun  time.Time
	header http.Header
	status int
	writes []string
	at     []time.Duration
	fail   atomic.Bool // from now on, writes fail
	dirty  bool        // something was written and not flushed
}

func newTape(t *testing.T) *tape { return &tape{t: t, begun: time.Now(), header: http.Header{}} }

func (p *tape) Header() http.Header { return p.header }

func (p *tape) WriteHeader(status int) { p.status, p.dirty = status, true }

func (p *tape) Write(b []byte) (int, error) {
	if p.fail.Load() {
		return 0, errors.New("broken pipe")
	}
	if p.status == 0 {
		p.t.Error("a write before the status")
	}
	p.writes = append(p.writes, string(b))
	p.at = append(p.at, time.Since(p.begun))
	p.dirty = true
	return len(b), nil
}

func (p *tape) Flush() { p.dirty = false }

func (p *tape) text() string { return strings.Join(p.writes, "") }

// A step is what a test's source does next, and when.
type step struct {
	after  time.Duration
	events []sse.Event
	err    error
}

// steps returns a source that follows a script and then waits for its end.
func steps(all ...step) func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
	return func(ctx context.Context, _ caller, _ *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
		return func(yield func([]sse.Event, error) bool) {
			for _, s := range all {
				select {
				case <-time.After(s.after):
				case <-ctx.Done():
					return
				}
				if !yield(s.events, s.err) || s.err != nil {
					return
				}
			}
			<-ctx.Done()
		}
	}
}

func event(id string) sse.Event {
	return sse.Event{Name: "envelope", ID: id, Data: []byte(`{"n":` + id + `}`)}
}

// follow runs a stream to its end, or for d, in a bubble, and returns what the client got.
func follow(t *testing.T, w *world, source func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error], d time.Duration) *tape {
	t.Helper()
	p := newTape(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	defer time.AfterFunc(d, leave).Stop()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/agents/alice/inbox?follow=true", nil)
	r.Header.Set("Authorization", "Bearer "+aliceKey)
	inbox(w.Env, nil, source).ServeHTTP(p, r)
	if p.status == http.StatusOK && p.dirty {
		t.Error("the last write was not flushed")
	}
	return p
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, env.Config{})
		p := follow(t, w, steps(
			step{events: []sse.Event{event("1"), event("2")}},
			step{after: 40 * time.Second, events: []sse.Event{event("3")}},
		), 60*time.Second)
		want := []string{
			": connected\n",
			"event: envelope\nretry: 1000\ndata: {\"n\":1}\nid: 1\n\n",
			"event: envelope\ndata: {\"n\":2}\nid: 2\n\n",
			": keep-alive\n", ": keep-alive\n",
			"event: envelope\ndata: {\"n\":3}\nid: 3\n\n",
			": keep-alive\n",
		}
		if !slices.Equal(p.writes, want) {
			t.Errorf("writes are %q;\nwant %q", p.writes, want)
		}
		if want := []time.Duration{0, 0, 0, 15, 30, 40, 55}; !slices.Equal(inSeconds(p.at), want) {
			t.Errorf("written at %v; want at %v seconds", p.at, want)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
		} {
			if got := p.header.Get(name); got != want {
				t.Errorf("%s = %q; want %q", name, got, want)
			}
		}
		if line := w.lines(t)[0]; line["status"] != 200.0 || line["ended"] != "client" || line["level"] != "INFO" || line["bytes"] != float64(len(p.text())) {
			t.Errorf("logged %v; want 200, ended by the client, and all bytes", line)
		}
	})
}

func inSeconds(ds []time.Duration) []time.Duration {
	out := make([]time.Duration, len(ds))
	for i, d := range ds {
		out[i] = d / time.Second
	}
	return out
}

// A client knows within a second that it is connected, though nothing comes,
// nor from a source that does not even say that it follows.
func TestStreamOpensWithinASecond(t *testing.T) {
	for name, source := range map[string]func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error]{
		"empty first batch": steps(step{}),
		"no batch at all":   steps(),
		"late first batch":  steps(step{after: 5 * time.Second, events: []sse.Event{event("1")}}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := follow(t, newWorld(t, env.Config{}), source, 10*time.Second)
				if p.status != 200 || len(p.writes) == 0 || p.writes[0] != ": connected\n" || p.at[0] >= time.Second {
					t.Errorf("status %d, writes %q at %v; want a comment within a second", p.status, p.writes, p.at)
				}
			})
		})
	}
}

// What is refused before the first batch is a status, and no stream.
func TestStreamRefusedAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []api.Code{api.Invalid, api.AgentNotRegistered, api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail, api.Unavailable, api.Internal} {
			w := newWorld(t, env.Config{})
			refusal := api.Errorf(c, "no")
			refusal.First = new(uint64(1))
			p := follow(t, w, steps(step{after: 100 * time.Millisecond, err: refusal}), time.Minute)
			if p.status != c.Trait().Status || p.header.Get("Content-Type") != "application/problem+json" || p.at[0] != 100*time.Millisecond {
				t.Errorf("%s: status %d, %q at %v; want a problem of %d at once", c, p.status, p.text(), p.at, c.Trait().Status)
			}
		}
	})
}

// What goes wrong later is an event without an id, and the end.
func TestStreamFault(t *testing.T) {
	for _, row := range []struct {
		name  string
		err   error
		code  api.Code
		level string
	}{
		{"told", api.Errorf(api.GenerationChanged, "again"), api.GenerationChanged, "INFO"},
		{"untold", errors.New("disk"), api.Internal, "ERROR"},
		{"refused late", api.Errorf(api.HistoryTrimmed, "late"), api.HistoryTrimmed, "INFO"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, env.Config{})
				first := step{events: []sse.Event{event("1")}}
				if row.name == "refused late" {
					first = step{after: 2 * time.Second}
				}
				p := follow(t, w, steps(first, step{after: time.Second, err: row.err}), time.Minute)
				last := p.writes[len(p.writes)-1]
				if !strings.HasPrefix(last, "event: problem\ndata: {") || !strings.Contains(last, `"code":"`+string(row.code)+`"`) || strings.Contains(last, "id: ") {
					t.Errorf("last write is %q; want a problem event without an id", last)
				}
				if !strings.HasSuffix(last, "\n\n") || strings.Contains(last, "disk") {
					t.Errorf("last write is %q; want it complete, and without the cause", last)
				}
				if line := w.lines(t)[0]; line["code"] != string(row.code) || line["level"] != row.level || line["ended"] != "fault" || line["status"] != 200.0 {
					t.Errorf("logged %v; want the code and how it ended", line)
				}
			})
		})
	}
}

// A source that panics ends its stream, not the process.
func TestStreamPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []int{0, 1} {
			w := newWorld(t, env.Config{})
			p := follow(t, w, func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
				return func(yield func([]sse.Event, error) bool) {
					for range after {
						yield([]sse.Event{event("1")}, nil)
					}
					panic("boom")
				}
			}, time.Minute)
			if want := map[int]int{0: 500, 1: 200}[after]; p.status != want || !strings.Contains(p.text(), `"code":"internal"`) || strings.Contains(p.text(), "boom") {
				t.Errorf("after %d batches: status %d, %q; want %d and an internal problem", after, p.status, p.text(), want)
			}
			if e, _ := w.lines(t)[0]["error"].(string); !strings.Contains(e, "boom") || !strings.Contains(e, "serve_test.TestStreamPanic") {
				t.Errorf("logged %q; want the panic and where it was", e)
			}
		}
	})
}

// An event that can't be written would forge others: it ends the stream.
func TestStreamRefusesToForge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := follow(t, newWorld(t, env.Config{}), steps(step{events: []sse.Event{event("1"), {ID: "2\ndata: x"}, event("3")}}), time.Minute)
		if !strings.Contains(p.text(), "id: 1\n") || strings.Contains(p.text(), "id: 2") || strings.Contains(p.text(), "id: 3") || !strings.Contains(p.text(), "event: problem\n") {
			t.Errorf("got %q; want the first event and a problem", p.text())
		}
	})
}

func TestStreamEndsItself(t *testing.T) {
	endless := steps(step{}, step{after: 90 * time.Second, events: []sse.Event{event("1")}})
	t.Run("at its age", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, env.Config{StreamMaxAge: 100 * time.Second})
			p := follow(t, w, endless, time.Hour)
			if last := len(p.writes) - 1; p.writes[last] != ": end\n" || p.at[last] != 100*time.Second {
				t.Errorf("last write %q at %v; want a comment at 100 s", p.writes[last], p.at[last])
			}
			if line := w.lines(t)[0]; line["ended"] != "age" {
				t.Errorf("logged %v; want ended: age", line)
			}
		})
	})
	t.Run("before the host's deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := newTape(t)
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/agents/alice/inbox?follow=true", nil)
			r.Header.Set("Authorization", "Bearer "+aliceKey)
			inbox(newWorld(t, env.Config{StreamMaxAge: time.Hour}).Env, nil, endless).ServeHTTP(p, r)
			if last := len(p.writes) - 1; p.writes[last] != ": end\n" || p.at[last] != 58*time.Second {
				t.Errorf("last write %q at %v; want a comment 2 s before the minute is over", p.writes[last], p.at[last])
			}
		})
	})
	t.Run("with its source", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := follow(t, newWorld(t, env.Config{}), func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
				return func(yield func([]sse.Event, error) bool) { yield([]sse.Event{event("1")}, nil) }
			}, time.Hour)
			if last := len(p.writes) - 1; p.writes[last] != ": end\n" || p.at[last] != 0 {
				t.Errorf("writes %q at %v; want a comment at once", p.writes, p.at)
			}
		})
	})
}

var goodbye = regexp.MustCompile(`^retry: [1-4][0-9]{3}\n: draining\n$`)

// When the process drains, an open stream ends between events, and a new one is
// sent away with a 200, each without a blank line that would be an empty event.
func TestStreamDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		w := newWorld(t, env.Config{})
		w.Draining = draining
		time.AfterFunc(20*time.Second, func() { close(draining) })
		p := follow(t, w, steps(step{events: []sse.Event{event("1")}}), time.Hour)
		if last := len(p.writes) - 1; !goodbye.MatchString(p.writes[last]) || p.at[last] != 20*time.Second {
			t.Errorf("last write %q at %v; want retry and a comment at 20 s", p.writes[last], p.at[last])
		}
		p = follow(t, w, func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
			t.Error("a stream was followed while draining")
			return nil
		}, time.Hour)
		if p.status != 200 || p.header.Get("Content-Type") != "text/event-stream" || !goodbye.MatchString(p.text()) {
			t.Errorf("status %d, %q; want a 200 with retry and a comment", p.status, p.text())
		}
		// Refusals for good keep their status.
		if got := do(inbox(w.Env, nil, nil), http.MethodGet, "/v1/agents/alice/inbox?follow=true", bobKey, ""); got.Code != http.StatusForbidden {
			t.Errorf("bob's follow of alice's inbox while draining: %d; want 403", got.Code)
		}
		if got := do(inbox(w.Env, nil, nil), http.MethodGet, "/v1/agents/alice/inbox?follow=true&cursor=x", aliceKey, ""); got.Code != http.StatusBadRequest {
			t.Errorf("a bad cursor while draining: %d; want 400", got.Code)
		}
	})
}

// A client whose connection fails is noticed at the next write, the source ends
// with it, and nobody calls it a fault.
func TestStreamWriteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, env.Config{})
		p := newTape(t)
		ended := false
		h := inbox(w.Env, nil, func(ctx context.Context, _ caller, _ *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
			return func(yield func([]sse.Event, error) bool) {
				yield([]sse.Event{event("1")}, nil)
				p.fail.Store(true)
				<-ctx.Done()
				ended = true
			}
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/agents/alice/inbox?follow=true", nil)
		r.Header.Set("Authorization", "Bearer "+aliceKey)
		h.ServeHTTP(p, r)
		if since := time.Since(p.begun); since != 15*time.Second || !ended {
			t.Errorf("ended after %v, source ended: %v; want both at the first heartbeat", since, ended)
		}
		if line := w.lines(t)[0]; line["ended"] != "client" || line["level"] != "INFO" {
			t.Errorf("logged %v; want an ordinary end by the client", line)
		}
	})
}

// A client that leaves while an event is written ends its source as well, and
// the loop that waits for it.
func TestStreamLeftWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		p := newTape(t)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/agents/alice/inbox?follow=true", nil)
		r.Header.Set("Authorization", "Bearer "+aliceKey)
		h := inbox(newWorld(t, env.Config{}).Env, nil, steps(step{events: []sse.Event{event("1")}}))
		h.ServeHTTP(leaving{p, leave}, r)
		if since := time.Since(p.begun); since > 10*time.Second {
			t.Errorf("ended after %v; want it to end with the client", since)
		}
	})
}

// leaving is a client that leaves at each write, and takes a second for it.
type leaving struct {
	*tape
	leave func()
}

func (l leaving) Write(b []byte) (int, error) {
	l.leave()
	time.Sleep(time.Second)
	return l.tape.Write(b)
}

// One batch is with the writer at a time: a source may use its memory again.
func TestStreamBatchMayBeReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := follow(t, newWorld(t, env.Config{}), func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
			return func(yield func([]sse.Event, error) bool) {
				events := make([]sse.Event, 1)
				for _, id := range []string{"1", "2", "3", "4"} {
					events[0] = event(id)
					if !yield(events, nil) {
						return
					}
					events[0] = sse.Event{Name: "spoiled"}
				}
			}
		}, time.Minute)
		if got := regexp.MustCompile(`id: .`).FindAllString(p.text(), -1); !slices.Equal(got, []string{"id: 1", "id: 2", "id: 3", "id: 4"}) || strings.Contains(p.text(), "spoiled") {
			t.Errorf("got %q; want events 1 to 4", p.text())
		}
	})
}

func TestStreamOrPage(t *testing.T) {
	for _, row := range []struct {
		name, query string
		accept      []string
		stream      bool
	}{
		{"nothing", "", nil, false},
		{"events", "", []string{"text/event-stream"}, true},
		{"events in capitals", "", []string{"Text/Event-Stream; charset=utf-8"}, true},
		{"events among others", "", []string{"application/json;q=0.9, text/event-stream;q=0.1"}, true},
		{"events in a second header", "", []string{"application/json", "text/event-stream"}, true},
		{"events refused", "", []string{"text/event-stream;q=0"}, false},
		{"events refused finely", "", []string{"text/event-stream; q=0.000, */*"}, false},
		{"anything", "", []string{"*/*"}, false},
		{"any text", "", []string{"text/*"}, false},
		{"other type with the words", "", []string{"application/json; x=\"text/event-stream\""}, false},
		{"malformed", "", []string{"text/event-stream;;;=, ,"}, false},
		{"follow", "follow=true", nil, true},
		{"follow, accepting JSON", "follow=true", []string{"application/json"}, true},
		{"no follow, accepting events", "follow=false", []string{"text/event-stream"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got api.InboxRequest
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/agents/alice/inbox?"+row.query, nil)
			r.Header.Set("Authorization", "Bearer "+aliceKey)
			r.Header["Accept"] = row.accept
			w := answer(reads(newWorld(t, env.Config{}).Env, &got), r)
			want := map[bool]string{true: "text/event-stream", false: "application/json"}[row.stream]
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != want || got.Agent != "alice" {
				t.Errorf("answered %d %s; want %s", w.Code, w.Header().Get("Content-Type"), want)
			}
		})
	}
}

// HEAD of a stream tells what GET would begin with, and ends.
func TestStreamHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, source := range map[int]func(context.Context, caller, *api.InboxRequest) iter.Seq2[[]sse.Event, error]{
			200: steps(step{events: []sse.Event{event("1")}}), 410: steps(step{err: api.Errorf(api.HistoryTrimmed, "gone")}),
		} {
			p := newTape(t)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/v1/agents/alice/inbox?follow=true", nil)
			r.Header.Set("Authorization", "Bearer "+aliceKey)
			inbox(newWorld(t, env.Config{}).Env, nil, source).ServeHTTP(p, r)
			if p.status != want || len(p.writes) > 0 || time.Since(p.begun) > 0 {
				t.Errorf("status %d, writes %q after %v; want %d and nothing, at once", p.status, p.writes, time.Since(p.begun), want)
			}
		}
	})
}
