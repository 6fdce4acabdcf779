package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/client"
)

// An event of the protocol at a position.
func event(seq uint64) string {
	return fmt.Sprintf("event: envelope\ndata: {\"seq_num\":%d,\"timestamp\":\"2026-07-19T12:00:00.000Z\",\"envelope\":{}}\nid: %d\n\n", seq, seq+1)
}

// An answer is what the fake server does with one connection.
type answer struct {
	status int // 0: 200
	header http.Header
	chunks []string
	every  time.Duration // between chunks
	end    end
}

type end int

const (
	clean end = iota // the answer ends
	cut              // the connection breaks in the middle of it
	hold             // nothing more comes, and the connection stays open
)

// A feed answers the connections of a follower one after the other, the last
// answer again and again, and keeps what was asked.
type feed struct {
	answers []answer
	began   time.Time

	mu    sync.Mutex
	asked []asked
}

type asked struct {
	Cursor string // "none" if there was none
	LastID string
	After  time.Duration
}

func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a := asked{Cursor: "none", LastID: r.Header.Get("Last-Event-ID"), After: time.Since(f.began)}
	if q.Has("cursor") {
		a.Cursor = q.Get("cursor")
	}
	f.mu.Lock()
	n := len(f.asked)
	f.asked = append(f.asked, a)
	f.mu.Unlock()
	if r.URL.Path != "/base/v1/agents/bob/inbox" || r.Header.Get("Accept") != "text/event-stream" || r.Header.Get("Authorization") == "" {
		http.Error(w, "not a follow of bob's inbox", http.StatusTeapot)
		return
	}
	ans := f.answers[min(n, len(f.answers)-1)]
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range ans.header {
		w.Header()[k] = v
	}
	if ans.status != 0 {
		w.WriteHeader(ans.status)
	}
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	for _, c := range ans.chunks {
		if ans.every > 0 {
			select {
			case <-time.After(ans.every):
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, c)
		_ = rc.Flush()
	}
	switch ans.end {
	case cut:
		panic(http.ErrAbortHandler)
	case hold:
		<-r.Context().Done()
	case clean:
	}
}

func (f *feed) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]asked(nil), f.asked...)
}

func (f *feed) cursors() []string {
	var cs []string
	for _, a := range f.requests() {
		cs = append(cs, a.Cursor)
	}
	return cs
}

// follow runs a Follow against f inside a bubble, until n deliveries came or it
// ended by itself, and returns their positions and the error.
func follow(t *testing.T, f *feed, n int, within time.Duration, onState func(client.State)) (seqs []uint64, err error) {
	t.Helper()
	f.began = time.Now()
	c, _ := start(t, f.ServeHTTP, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for d, err := range c.Follow(ctx, api.InboxRequest{Agent: "bob"}, onState) {
		if err != nil {
			return seqs, err
		}
		if seqs = append(seqs, d.SeqNum); len(seqs) == n {
			break
		}
	}
	return seqs, nil
}

// FollowReads: whatever of the standard a server makes use of, and however the
// bytes come, each event comes out once.
func TestFollowReads(t *testing.T) {
	big := fmt.Sprintf(`{"seq_num":0,"timestamp":"2026-07-19T12:00:00Z","envelope":{"message":{"text":"%s"}}}`, strings.Repeat("x", 1<<20+100))
	for _, tt := range []struct {
		name  string
		bytes string
		want  []uint64
	}{
		{"as the protocol has it", event(0) + event(1), []uint64{0, 1}},
		{"CRLF", "event: envelope\r\nid: 1\r\ndata: {\"seq_num\":0}\r\n\r\n", []uint64{0}},
		{"CR", "event: envelope\rid: 1\rdata: {\"seq_num\":0}\r\r: \r", []uint64{0}},
		{"no space behind colons", "event:envelope\nid:1\ndata:{\"seq_num\":0}\n\n", []uint64{0}},
		{"no name", "id: 1\ndata: {\"seq_num\":0}\n\n", []uint64{0}},
		{"no id", "data: {\"seq_num\":0}\n\ndata: {\"seq_num\":1}\n\n", []uint64{0, 1}},
		{"data over several lines", "event: envelope\nid: 1\ndata: {\ndata: \"seq_num\":0}\n\n", []uint64{0}},
		{"byte order mark", "\ufeff" + event(0), []uint64{0}},
		{"comments between and within", ": hi\nevent: envelope\n: keep-alive\ndata: {\"seq_num\":0}\nid: 1\n\n: keep-alive\n" + event(1), []uint64{0, 1}},
		{"retry in a block of its own", "retry: 10\n\n" + event(0), []uint64{0}},
		{"id in a block of its own", event(0) + "id: 9\n\n" + event(1), []uint64{0, 1}},
		{"events of other names", "event: ping\ndata: x\n\nevent: gap\ndata: {}\n\n" + event(0), []uint64{0}},
		{"an event without data", "event: envelope\nid: 5\n\n" + event(0), []uint64{0}},
		{"over 1 MiB, then a small one", "event: envelope\nid: 1\ndata: " + big + "\n\n" + event(1), []uint64{0, 1}},
		{"a position only in the id", "event: envelope\ndata: {\"envelope\":{}}\nid: 5\n\n", []uint64{4}},
		{"positions that are not dense", event(0) + event(7), []uint64{0, 7}},
		{"an event twice", event(0) + event(0) + event(1), []uint64{0, 1}},
	} {
		for _, size := range []int{len(tt.bytes), 1000, 1} {
			if size == 1 && len(tt.bytes) > 1000 {
				continue
			}
			t.Run(fmt.Sprintf("%s in chunks of %d", tt.name, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &feed{answers: []answer{{chunks: chunks(tt.bytes, size), end: hold}}}
					got, err := follow(t, f, len(tt.want), time.Second, nil)
					if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
						t.Errorf("follow: err = %v, positions (-want +got):\n%s", err, diff)
					}
				})
			})
		}
	}
}

func chunks(s string, n int) []string {
	var cs []string
	for len(s) > n {
		cs, s = append(cs, s[:n]), s[n:]
	}
	return append(cs, s)
}

// FollowResumes: after any end of a connection it goes on behind the last event
// that was complete; none is lost and none comes twice.
func TestFollowResumes(t *testing.T) {
	half := strings.TrimSuffix(event(43), "\n")
	for _, tt := range []struct {
		name    string
		answers []answer
		want    []uint64
		cursors []string
	}{
		{
			"behind an event that was not finished",
			[]answer{{chunks: []string{event(42), "id: 44\n" + half}}, {chunks: []string{event(43)}, end: hold}},
			[]uint64{42, 43},
			[]string{"none", "43"},
		},
		{
			"behind a cut in the middle of an event",
			[]answer{{chunks: []string{event(42), half[:20]}, end: cut}, {chunks: []string{event(43)}, end: hold}},
			[]uint64{42, 43},
			[]string{"none", "43"},
		},
		{
			"before anything came",
			[]answer{{end: cut}, {}, {chunks: []string{event(0)}, end: hold}},
			[]uint64{0},
			[]string{"none", "none", "none"},
		},
		{
			"though the server sends again what it sent",
			[]answer{{chunks: []string{event(0), event(1)}, end: cut}, {chunks: []string{event(0), event(1), event(2)}, end: hold}},
			[]uint64{0, 1, 2},
			[]string{"none", "2"},
		},
		{
			"not behind an id without an event",
			[]answer{{chunks: []string{event(0), "id: 99\n\n", "event: ping\nid: 77\ndata: x\n\n"}}, {chunks: []string{event(1)}, end: hold}},
			[]uint64{0, 1},
			[]string{"none", "1"},
		},
		{
			"after a fault that the server tells",
			[]answer{
				{chunks: []string{event(0), "event: problem\ndata: {\"status\":503,\"code\":\"unavailable\"}\n\n"}, end: hold},
				{chunks: []string{event(1)}, end: hold},
			},
			[]uint64{0, 1},
			[]string{"none", "1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &feed{answers: tt.answers}
				got, err := follow(t, f, len(tt.want), time.Hour, nil)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("follow: err = %v, positions (-want +got):\n%s", err, diff)
				}
				if diff := cmp.Diff(tt.cursors, f.cursors()); diff != "" {
					t.Errorf("cursors asked for (-want +got):\n%s", diff)
				}
				for _, a := range f.requests() {
					if a.LastID != "" {
						t.Errorf("Last-Event-ID %q beside cursor %s; want none", a.LastID, a.Cursor)
					}
				}
			})
		})
	}
}

// FollowStops: a refusal that would come again ends it after one try.
func TestFollowStops(t *testing.T) {
	problem := func(status int, code api.Code) answer {
		return answer{
			status: status,
			header: http.Header{"Content-Type": {"application/problem+json"}},
			chunks: []string{fmt.Sprintf(`{"type":"about:blank","title":"t","status":%d,"detail":"because","code":%q,"request_id":"r1"}`, status, code)},
		}
	}
	html := http.Header{"Content-Type": {"text/html"}}
	for _, tt := range []struct {
		name string
		ans  answer
		want string
	}{
		{"bad cursor", problem(400, api.Invalid), "inbox.read: invalid: because (request r1)"},
		{"no credential", problem(401, api.UnknownCredential), "inbox.read: unknown_credential: because (request r1)"},
		{"forbidden", problem(403, api.Forbidden), "inbox.read: forbidden: because (request r1)"},
		{"not registered", problem(404, api.AgentNotRegistered), "inbox.read: agent_not_registered: because (request r1)"},
		{"trimmed", problem(410, api.HistoryTrimmed), "inbox.read: history_trimmed: because (request r1)"},
		{"beyond the tail", problem(416, api.CursorBeyondTail), "inbox.read: cursor_beyond_tail: because (request r1)"},
		{"a cursor too long for a proxy", answer{status: 431, header: html}, "inbox.read: 431 Request Header Fields Too Large"},
		{"not there", answer{status: 405, header: html}, "inbox.read: 405 Method Not Allowed"},
		{"no content", answer{status: 204}, "inbox.read: 204 No Content"},
		{
			"a redirect",
			answer{status: 302, header: http.Header{"Location": {"https://elsewhere.example/"}}},
			`inbox.read: 302 Found: the server redirects to "https://elsewhere.example/"; if that is right, use that URL`,
		},
		{"another server", answer{header: html, chunks: []string{"<html>"}}, `inbox.read: the answer is "text/html", not an event stream; is this the right URL?`},
		{
			"a refusal in the stream",
			answer{chunks: []string{"event: problem\ndata: {\"status\":410,\"code\":\"generation_changed\",\"detail\":\"gone\"}\n\n"}, end: hold},
			"inbox.read: generation_changed: gone",
		},
		{"an event that is too large", answer{chunks: []string{"data: " + strings.Repeat("x", 9<<20)}, end: hold}, "server-sent event too large: over 8388608 bytes"},
		{
			"an event that is no delivery",
			answer{chunks: []string{"event: envelope\nid: 7\ndata: {\"seq_num\":\n\n"}, end: hold},
			`an event that is no delivery: event "7": jsontext: unexpected EOF within "/seq_num" after offset 11`,
		},
		{"an event without a position", answer{chunks: []string{"event: envelope\ndata: null\n\n"}, end: hold}, `an event that is no delivery: event "": no position in it`},
		{
			"an event at no position that can be passed",
			answer{chunks: []string{"data: {\"seq_num\":18446744073709551615}\n\n"}, end: hold},
			`an event that is no delivery: event "": no position in it`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &feed{answers: []answer{tt.ans}}
				got, err := follow(t, f, 1, time.Hour, nil)
				if err == nil || err.Error() != tt.want || len(got) != 0 {
					t.Errorf("follow: %v, %v; want none and %q", got, err, tt.want)
				}
				if n := len(f.requests()); n != 1 {
					t.Errorf("%d requests; want 1", n)
				}
			})
		})
	}
}

// FollowWaits: what a repeat may better is tried again, not before the server
// asks for it, nor much later.
func TestFollowWaits(t *testing.T) {
	after := func(status int, seconds string) answer {
		return answer{status: status, header: http.Header{"Retry-After": {seconds}, "Content-Type": {"text/plain"}}, chunks: []string{"no"}}
	}
	for _, tt := range []struct {
		name     string
		first    answer
		min, max time.Duration
	}{
		{"rate limited", after(429, "2"), 2 * time.Second, 3 * time.Second},
		{"unavailable", after(503, "4"), 4 * time.Second, 6 * time.Second},
		{"unavailable until a date", after(503, "Sat, 01 Jan 2000 00:00:30 GMT"), 29 * time.Second, 40 * time.Second},
		{"unavailable for a month", after(503, "2592000"), 10 * time.Minute, 13 * time.Minute},
		{"a proxy's 502", answer{status: 502, header: http.Header{"Content-Type": {"text/html"}}}, 100 * time.Millisecond, time.Second},
		{"a cut", answer{end: cut}, 100 * time.Millisecond, time.Second},
		{"a clean end", answer{}, 100 * time.Millisecond, time.Second},
		{"a clean end that asks for a pause", answer{chunks: []string{"retry: 7000\n: draining\n"}}, 7 * time.Second, 9 * time.Second},
		{"an end after an event that asks for one", answer{chunks: []string{"retry: 3000\n" + event(0)}, end: cut}, 3 * time.Second, 4 * time.Second},
		{"silence", answer{end: hold}, 45 * time.Second, 47 * time.Second},
		{"silence after a heartbeat", answer{chunks: []string{": keep-alive\n"}, every: 15 * time.Second, end: hold}, 60 * time.Second, 62 * time.Second},
		{"silence in the middle of an event", answer{chunks: []string{"event: envelope\nda"}, end: hold}, 45 * time.Second, 47 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &feed{answers: []answer{tt.first, {chunks: []string{event(1)}, end: hold}}}
				var lost []client.State
				before := strings.Count(strings.Join(tt.first.chunks, ""), "seq_num")
				_, err := follow(t, f, before+1, time.Hour, func(s client.State) {
					if !s.Connected {
						lost = append(lost, s)
					}
				})
				asked := f.requests()
				if err != nil || len(asked) != 2 {
					t.Fatalf("follow: %v after %d requests; want 2", err, len(asked))
				}
				if d := asked[1].After; d < tt.min || d > tt.max {
					t.Errorf("second request after %v; want %v to %v", d, tt.min, tt.max)
				}
				if len(lost) != 1 || lost[0].Err == nil || lost[0].Pause <= 0 {
					t.Errorf("states without a connection: %+v; want one, with its reason and pause", lost)
				}
			})
		})
	}
}

// FollowBacksOff: a server that is away is asked ever less often, never less than
// every 30 seconds, and without end; the caller's end ends it at once.
func TestFollowBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := start(t, func(http.ResponseWriter, *http.Request) {}, client.Options{})
		n.down = true
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var pauses []time.Duration
		var last error
		for _, err := range c.Follow(ctx, api.InboxRequest{Agent: "bob"}, func(s client.State) { pauses = append(pauses, s.Pause) }) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("follow ended with %v; want the deadline", last)
		}
		if len(pauses) < 20 || len(pauses) > 60 {
			t.Errorf("%d tries in 10 minutes; want 20 to 60", len(pauses))
		}
		for i, p := range pauses {
			if p <= 0 || p > 31*time.Second || i > 8 && p < 10*time.Second {
				t.Errorf("pause %d is %v", i, p)
			}
		}
	})
}

// FollowStaysOn: heartbeats keep one connection for as long as they come.
func TestFollowStaysOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beats []string
		for range 24 { // 6 minutes
			beats = append(beats, ": keep-alive\n")
		}
		f := &feed{answers: []answer{{chunks: append(beats, event(0)), every: 15 * time.Second, end: hold}}}
		got, err := follow(t, f, 1, time.Hour, nil)
		if diff := cmp.Diff([]uint64{0}, got); diff != "" || err != nil || len(f.requests()) != 1 {
			t.Errorf("follow: %v, %v over %d connections; want position 0 over one", got, err, len(f.requests()))
		}
	})
}

// FollowCalmsDown: a connection that was of use is no failure, however it ends:
// the pause before the next one does not grow.
func TestFollowCalmsDown(t *testing.T) {
	busy := make([]answer, 40)
	for seq := range busy {
		busy[seq] = answer{chunks: []string{event(uint64(seq))}, end: cut}
	}
	for _, tt := range []struct {
		name    string
		answers []answer
	}{
		{"idle streams that end now and then", []answer{{chunks: []string{": a\n", ": b\n"}, every: 10 * time.Second}}},
		{"a cut after every event", append(busy, answer{end: hold})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &feed{answers: tt.answers}
				var pauses []time.Duration
				_, err := follow(t, f, len(busy), 10*time.Minute, func(s client.State) {
					if !s.Connected {
						pauses = append(pauses, s.Pause)
					}
				})
				if err != nil && !errors.Is(err, context.DeadlineExceeded) || len(pauses) < 25 {
					t.Fatalf("follow: %v after %d streams", err, len(pauses))
				}
				for i, p := range pauses {
					if p > time.Second {
						t.Errorf("pause %d is %v; want under a second", i, p)
					}
				}
			})
		})
	}
}

// FollowBegins: behind the larger of cursor and last id, asked for as a cursor.
func TestFollowBegins(t *testing.T) {
	five, nine := uint64(5), uint64(9)
	for _, tt := range []struct {
		name string
		req  api.InboxRequest
		want string
	}{
		{"nothing", api.InboxRequest{Agent: "bob"}, "none"},
		{"a cursor", api.InboxRequest{Agent: "bob", Cursor: &five}, "5"},
		{"a last id", api.InboxRequest{Agent: "bob", LastEventID: &five}, "5"},
		{"a later last id", api.InboxRequest{Agent: "bob", Cursor: &five, LastEventID: &nine}, "9"},
		{"an earlier last id", api.InboxRequest{Agent: "bob", Cursor: &nine, LastEventID: &five}, "9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &feed{answers: []answer{{chunks: []string{event(20)}, end: hold}}}
				c, _ := start(t, f.ServeHTTP, client.Options{})
				for _, err := range c.Follow(t.Context(), tt.req, nil) {
					if err != nil {
						t.Error(err)
					}
					break
				}
				if diff := cmp.Diff([]string{tt.want}, f.cursors()); diff != "" {
					t.Errorf("cursors (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// FollowSurvives: over many connections that break anywhere, a dense stream comes
// out dense.
func TestFollowSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 200
		var all strings.Builder
		starts := []int{0}
		for seq := range uint64(total) {
			all.WriteString(event(seq))
			starts = append(starts, all.Len())
		}
		connections := 0
		c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
			connections++
			from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
			rest := all.String()[starts[from]:]
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, rest[:min(len(rest), 37*connections)])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, client.Options{})
		want := uint64(0)
		for d, err := range c.Follow(t.Context(), api.InboxRequest{Agent: "bob"}, nil) {
			if err != nil || d.SeqNum != want {
				t.Fatalf("position %d, %v; want %d", d.SeqNum, err, want)
			}
			if want++; want == total {
				break
			}
		}
		if connections < 10 {
			t.Errorf("%d connections; the test wants many", connections)
		}
	})
}
