package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The command against servers that misbehave in ways the real one can't be made
// to: what it prints, how often it asks, and how it ends.
func TestFollowFakeServers(t *testing.T) {
	event := func(seq int, text string) string {
		return fmt.Sprintf("event: envelope\r\nid: %d\r\ndata:{\"seq_num\":%d,\"timestamp\":\"2026-07-19T12:00:00Z\",\"envelope\":{\"from\":\"alice\",\"message\":{\"text\":%q}}}\r\n\r\n", seq+1, seq, text)
	}
	refuse := strconv.Itoa
	for _, tt := range []struct {
		name    string
		answers []string // a status, or the bytes of a stream; the last one again and again
		status  int      // of the command
		asks    int      // for how many answers it asks
		out     string   // that is printed, without times
		errOut  string   // part of what is said
	}{
		{"bad cursor", []string{refuse(400)}, exitRefused, 1, "", "400"},
		{"no credential", []string{refuse(401)}, exitRefused, 1, "", "401"},
		{"forbidden", []string{refuse(403)}, exitRefused, 1, "", "403"},
		{"not there", []string{refuse(404)}, exitRefused, 1, "", "404"},
		{"gone", []string{event(0, "a"), refuse(410)}, exitRefused, 2, "0 alice a\n", "410"},
		{"header too long", []string{refuse(431)}, exitRefused, 1, "", "431"},
		{"rate limited, then gone", []string{refuse(429), refuse(410)}, exitRefused, 2, "", "429 Too Many Requests; trying again."},
		{"a proxy's 502, then gone", []string{refuse(502), refuse(410)}, exitRefused, 2, "", "502 Bad Gateway; trying again."},
		{"an unfinished event", []string{event(42, "a") + "id: 44\nevent: envelope\ndata: {}", event(43, "b"), refuse(410)}, exitRefused, 3, "42 alice a\n43 alice b\n", ""},
		{"events again", []string{event(0, "a") + event(1, "b"), event(0, "a") + event(1, "b") + event(2, "c"), refuse(410)}, exitRefused, 3, "0 alice a\n1 alice b\n2 alice c\n", ""},
		{"half a megabyte, then a little", []string{event(0, strings.Repeat("x", 512<<10)) + event(1, "b"), refuse(410)}, exitRefused, 2, "0 alice " + strings.Repeat("x", 512<<10) + "\n1 alice b\n", ""},
		{"an event of a later version", []string{"event: news\ndata: {}\n\n" + event(0, "a"), refuse(410)}, exitRefused, 2, "0 alice a\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, asked, out, errOut := against(t, tt.answers, "inbox", "bob", "--follow", "--verbose")
			if status != tt.status || len(asked) != tt.asks {
				t.Errorf("exit status %d after %d requests; want %d after %d\n%s", status, len(asked), tt.status, tt.asks, errOut)
			}
			if got := shape(out); got != tt.out {
				t.Errorf("printed %.200q; want %.200q", got, tt.out)
			}
			if !strings.Contains(errOut, tt.errOut) || strings.Contains(errOut, "secret-token") {
				t.Errorf("said\n%s\nwant %q in it, and no token", errOut, tt.errOut)
			}
		})
	}
}

// The same of the monitor: it resumes by the cursor in the query, and nothing
// makes it ask again for what is refused for good, a cursor that something on the
// way finds too long among it.
func TestMonitorFakeServers(t *testing.T) {
	event := func(inbox string, seq int, cursor, text string) string {
		return fmt.Sprintf("event: envelope\ndata: {\"inbox\":%q,\"cursor\":%q,\"seq_num\":%d,\"timestamp\":\"2026-07-19T12:00:00Z\",\"envelope\":{\"from\":\"alice\",\"message\":{\"text\":%q}}}\nid: %s\n\n", inbox, cursor, seq, text, cursor)
	}
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct {
		name    string
		answers []string
		status  int
		asked   []string // cursors
		out     []string // parts of what is printed, in order
		errOut  string
	}{
		{"bad cursor", []string{"400"}, exitRefused, []string{long}, nil, "400"},
		{"no credential", []string{"401"}, exitRefused, []string{long}, nil, "401"},
		{"not the admin token", []string{"403"}, exitRefused, []string{long}, nil, "403"},
		{"no monitor", []string{"404"}, exitRefused, []string{long}, nil, "404"},
		{"expired", []string{event("bob", 0, "A", "a"), "410"}, exitRefused, []string{long, "A"}, []string{"a"}, "410"},
		{"a URL too long", []string{"414"}, exitRefused, []string{long}, nil, "The cursor is longer than what the server, or something before it, takes."},
		{"a header too long", []string{event("bob", 0, long+"y", "a"), "431"}, exitRefused, []string{long, long + "y"}, []string{"a"}, "The cursor is longer than"},
		{"away, then gone", []string{"502", "429", "410"}, exitRefused, []string{long, long, long}, nil, "monitor: "},
		{"an unfinished event", []string{event("bob", 0, "A", "a") + "id: B\nevent: envelope\ndata: {}", event("carol", 0, "B", "b"), "410"}, exitRefused, []string{long, "A", "B"}, []string{"alice → bob", "alice → carol"}, ""},
		{
			"half a megabyte, then a little",
			[]string{event("bob", 0, "A", strings.Repeat("x", 512<<10)) + event("bob", 1, "B", "little"), "410"},
			exitRefused,
			[]string{long, "B"},
			[]string{strings.Repeat("x", 512<<10), "little"},
			"",
		},
		{
			"what is no delivery",
			[]string{"event: gap\ndata: {\"inbox\":\"bob\",\"from\":1,\"to\":3,\"code\":\"history_trimmed\"}\n\nevent: unavailable\ndata: {\"inbox\":\"carol\",\"status\":503,\"code\":\"unavailable\",\"detail\":\"away\"}\n\n", "410"},
			exitRefused,
			[]string{long, long},
			[]string{"gap: 2 records of bob can't be read any more", "unavailable: carol can't be read for now: away [503 unavailable]"},
			"",
		},
		{"a problem in the stream", []string{"event: problem\ndata: {\"status\":410,\"code\":\"cursor_expired\",\"detail\":\"too old\"}\n\n"}, exitRefused, []string{long}, nil, "too old [410 cursor_expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, asked, out, errOut := against(t, tt.answers, "monitor", "--follow", "--cursor", long)
			if diff := cmp.Diff(tt.asked, asked); diff != "" || status != tt.status {
				t.Errorf("exit status %d; want %d; asked for (-want +got):\n%.500s\n%.500s", status, tt.status, diff, errOut)
			}
			rest := out
			for _, part := range tt.out {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Errorf("printed %.200q; want %.50q in it", rest, part)
				}
				rest = after
			}
			if !strings.Contains(errOut, tt.errOut) || strings.Contains(errOut, "secret-token") || tt.out == nil && out != "" {
				t.Errorf("printed %.100q and said\n%.500s\nwant %q in it, and no token", out, errOut, tt.errOut)
			}
		})
	}
}

// against runs a command against a server with these answers: a status, or the
// bytes of a stream; the last one again and again. It returns the cursors that the
// server was asked for.
func against(t *testing.T, answers []string, command ...string) (status int, cursors []string, out, errOut string) {
	t.Helper()
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ans := answers[min(len(cursors), len(answers)-1)]
		cursors = append(cursors, r.URL.Query().Get("cursor"))
		mu.Unlock()
		if code, err := strconv.Atoi(ans); err == nil {
			http.Error(w, "no", code)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ans)
	}))
	defer srv.Close()
	var outb, errb bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &outb, errOut: &errb, invoked: "agent-chat", getenv: func(name string) string {
		return map[string]string{"AGENT_CHAT_URL": srv.URL, "AGENT_CHAT_TOKEN": "secret-token-0123456789", "AGENT_CHAT_ADMIN_TOKEN": "secret-token-auditor"}[name]
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	status = a.run(ctx, command)
	mu.Lock()
	defer mu.Unlock()
	return status, slices.Clone(cursors), outb.String(), errb.String()
}

// shape returns lines of deliveries without their times and columns.
func shape(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		f := strings.Fields(line) // position, date, time, sender, text
		if len(f) != 5 {
			return "not a delivery: " + line
		}
		fmt.Fprintln(&b, f[0], f[3], f[4])
	}
	return b.String()
}

// What stands in front of the functions answers in its own words: that too many
// run is no reason to doubt the URL, and a refusal is none of the credential.
func TestAnswersOfTheFront(t *testing.T) {
	for _, tt := range []struct {
		status, exit int
		body, advice string
	}{
		{http.StatusTooManyRequests, exitUnavailable, `{"Message":"Rate Exceeded."}`, "Nothing was done: as many calls are in progress as the server takes. Try again in a moment."},
		{http.StatusForbidden, exitRefused, `{"Message":"Forbidden"}`, "That was no answer of agent-chat; is AGENT_CHAT_URL right?"},
	} {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, tt.body, tt.status) }))
			defer srv.Close()
			var errOut bytes.Buffer
			a := &app{out: io.Discard, errOut: &errOut, getenv: func(name string) string {
				return map[string]string{"AGENT_CHAT_URL": srv.URL, "AGENT_CHAT_TOKEN": "secret-token"}[name]
			}}
			if status := a.run(t.Context(), []string{"whoami"}); status != tt.exit || !strings.HasSuffix(errOut.String(), "  "+tt.advice+"\n") {
				t.Errorf("exit status %d, said\n%swant %d, and at the end %q", status, errOut.String(), tt.exit, tt.advice)
			}
		})
	}
}
