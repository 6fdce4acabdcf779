package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The command against servers that misbehave in ways the real one can't be made
// to: what it prints, how often it asks, and how it ends.
func TestFollowFakeServers(t *testing.T) {
	event := func(seq int, text string) string {
		return fmt.Sprintf("event: envelope\r\nid: %d\r\ndata:{\"seq_num\":%d,\"timestamp\":\"2026-07-19T12:00:00Z\",\"envelope\":{\"from\":\"alice\",\"message\":{\"text\":%q}}}\r\n\r\n", seq+1, seq, text)
	}
	refuse := func(status int) string { return fmt.Sprint(status) }
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
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				a := tt.answers[min(int(asked.Add(1)), len(tt.answers))-1]
				if len(a) == 3 {
					http.Error(w, "no", map[string]int{"400": 400, "401": 401, "403": 403, "404": 404, "410": 410, "429": 429, "431": 431, "502": 502}[a])
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, a)
			}))
			defer srv.Close()
			var out, errOut bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, errOut: &errOut, invoked: "agent-chat", getenv: func(name string) string {
				return map[string]string{"AGENT_CHAT_URL": srv.URL, "AGENT_CHAT_TOKEN": "secret-token-0123456789"}[name]
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			status := a.run(ctx, []string{"inbox", "bob", "--follow", "--verbose"})
			if status != tt.status || int(asked.Load()) != tt.asks {
				t.Errorf("exit status %d after %d requests; want %d after %d\n%s", status, asked.Load(), tt.status, tt.asks, errOut.String())
			}
			if got := shape(out.String()); got != tt.out {
				t.Errorf("printed %.200q; want %.200q", got, tt.out)
			}
			if !strings.Contains(errOut.String(), tt.errOut) || strings.Contains(errOut.String(), "secret-token") {
				t.Errorf("said\n%s\nwant %q in it, and no token", errOut.String(), tt.errOut)
			}
		})
	}
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
