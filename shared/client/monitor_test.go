package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// A monitor's event: of an inbox at a position, with a cursor of its own.
func monitored(inbox string, seq uint64, cursor string) string {
	return fmt.Sprintf("event: envelope\ndata: {\"inbox\":%q,\"cursor\":%q,\"seq_num\":%d,\"timestamp\":\"2026-07-19T12:00:00.000Z\",\"envelope\":{}}\nid: %s\n\n", inbox, cursor, seq, cursor)
}

// watch runs a FollowMonitor against answers inside a bubble until n events came
// or it ended by itself. It returns the events, what was asked for ("cursor
// C", or "none"), and the error.
func watch(t *testing.T, answers []answer, req api.MonitorRequest, n int) (events, asked []string, err error) {
	t.Helper()
	c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
		ans := answers[min(len(asked), len(answers)-1)]
		q := "none"
		if r.URL.Query().Has("cursor") {
			q = "cursor " + r.URL.Query().Get("cursor")
		}
		if id := r.Header.Get("Last-Event-ID"); id != "" {
			q += ", last id " + id
		}
		asked = append(asked, q)
		if r.URL.Path != "/base/v1/monitor" || r.URL.Query().Get("follow") != "true" || r.URL.Query().Has("limit") {
			http.Error(w, "not a follow of the monitor", http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if ans.status != 0 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(ans.status)
		}
		for _, chunk := range ans.chunks {
			_, _ = io.WriteString(w, chunk)
		}
		_ = http.NewResponseController(w).Flush()
		switch ans.end {
		case cut:
			panic(http.ErrAbortHandler)
		case hold:
			<-r.Context().Done()
		case clean:
		}
	}, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for e, err := range c.FollowMonitor(ctx, req, nil) {
		if err != nil {
			return events, asked, err
		}
		switch {
		case e.Delivery != nil:
			events = append(events, fmt.Sprintf("%s %d %s", e.Delivery.Inbox, e.Delivery.SeqNum, e.Delivery.Cursor))
		case e.Gap != nil:
			events = append(events, fmt.Sprintf("gap %s %d-%d %s", e.Gap.Inbox, e.Gap.From, e.Gap.To, e.Gap.Code))
		case e.Unavailable != nil:
			events = append(events, fmt.Sprintf("unavailable %s %d %s", e.Unavailable.Inbox, e.Unavailable.Status, e.Unavailable.Code))
		}
		if len(events) == n {
			break
		}
	}
	return events, asked, nil
}

// FollowMonitor resumes behind the last event that was complete, by the cursor in
// the query and nothing else; no delivery is lost and none comes twice.
func TestFollowMonitor(t *testing.T) {
	gap := "event: gap\ndata: {\"inbox\":\"bob\",\"from\":1,\"to\":7,\"code\":\"history_trimmed\"}\n\n"
	away := "event: unavailable\ndata: {\"inbox\":\"carol\",\"status\":503,\"code\":\"unavailable\"}\n\n"
	for _, tt := range []struct {
		name    string
		req     api.MonitorRequest
		answers []answer
		want    []string
		asked   []string
	}{
		{
			"one stream",
			api.MonitorRequest{},
			[]answer{{chunks: []string{monitored("bob", 0, "A"), monitored("alice", 0, "B"), monitored("bob", 1, "C")}, end: hold}},
			[]string{"bob 0 A", "alice 0 B", "bob 1 C"},
			[]string{"none"},
		},
		{
			"through a cut in an event, and a clean end",
			api.MonitorRequest{Cursor: "Z"},
			[]answer{
				{chunks: []string{monitored("bob", 0, "A"), monitored("alice", 0, "B")[:60]}, end: cut},
				{chunks: []string{monitored("alice", 0, "B")}},
				{chunks: []string{monitored("bob", 1, "C")}, end: hold},
			},
			[]string{"bob 0 A", "alice 0 B", "bob 1 C"},
			[]string{"cursor Z", "cursor A", "cursor B"},
		},
		{
			"though the server sends again what it sent",
			api.MonitorRequest{},
			[]answer{
				{chunks: []string{monitored("bob", 0, "A"), monitored("alice", 0, "B")}, end: cut},
				{chunks: []string{monitored("alice", 0, "B2"), monitored("bob", 0, "A2"), monitored("bob", 1, "C")}, end: hold},
			},
			[]string{"bob 0 A", "alice 0 B", "bob 1 C"},
			[]string{"none", "cursor B"},
		},
		{
			"gaps and what is away have no cursor",
			api.MonitorRequest{},
			[]answer{
				{chunks: []string{monitored("bob", 0, "A"), gap, away}, end: cut},
				{chunks: []string{monitored("bob", 7, "B")}, end: hold},
			},
			[]string{"bob 0 A", "gap bob 1-7 history_trimmed", "unavailable carol 503 unavailable", "bob 7 B"},
			[]string{"none", "cursor A"},
		},
		{
			"an id without an event is none",
			api.MonitorRequest{},
			[]answer{
				{chunks: []string{monitored("bob", 0, "A"), "id: X\n\n", "event: later\nid: Y\ndata: {}\n\n"}},
				{chunks: []string{monitored("bob", 1, "B")}, end: hold},
			},
			[]string{"bob 0 A", "bob 1 B"},
			[]string{"none", "cursor A"},
		},
		{
			"a cursor only in the id",
			api.MonitorRequest{},
			[]answer{{chunks: []string{"event: envelope\ndata: {\"inbox\":\"bob\",\"seq_num\":4}\nid: A\n\n"}, end: hold}},
			[]string{"bob 4 A"},
			[]string{"none"},
		},
		{
			"the last id is the cursor, if there is no other",
			api.MonitorRequest{LastEventID: "L"},
			[]answer{{chunks: []string{monitored("bob", 1, "B")}, end: hold}},
			[]string{"bob 1 B"},
			[]string{"cursor L"},
		},
		{
			"the cursor wins over the last id, as on the server",
			api.MonitorRequest{Cursor: "C", LastEventID: "L"},
			[]answer{{chunks: []string{monitored("bob", 1, "B")}, end: hold}},
			[]string{"bob 1 B"},
			[]string{"cursor C"},
		},
		{
			"after a fault that the server tells, and one that it answers",
			api.MonitorRequest{},
			[]answer{
				{chunks: []string{monitored("bob", 0, "A"), "event: problem\ndata: {\"status\":503,\"code\":\"unavailable\"}\n\n"}, end: hold},
				{status: 503, chunks: []string{`{"status":503,"code":"unavailable"}`}},
				{chunks: []string{monitored("bob", 1, "B")}, end: hold},
			},
			[]string{"bob 0 A", "bob 1 B"},
			[]string{"none", "cursor A", "cursor A"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, asked, err := watch(t, tt.answers, tt.req, len(tt.want))
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("follow: err = %v, events (-want +got):\n%s", err, diff)
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("asked for (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// FollowMonitorStops: a refusal that would come again ends it after one try, and
// so does a cursor that has grown too long for something on the way.
func TestFollowMonitorStops(t *testing.T) {
	problem := func(status int, code api.Code) answer {
		return answer{status: status, chunks: []string{fmt.Sprintf(`{"status":%d,"code":%q,"detail":"because"}`, status, code)}}
	}
	long := strings.Repeat("x", 100_000)
	for _, tt := range []struct {
		name string
		ans  answer
		want string
	}{
		{"not a cursor", problem(400, api.Invalid), "monitor.read: invalid: because"},
		{"an API token", problem(403, api.Forbidden), "monitor.read: forbidden: because"},
		{"no monitor", problem(404, "monitor_disabled"), "monitor.read: monitor_disabled: because"},
		{"expired", problem(410, "cursor_expired"), "monitor.read: cursor_expired: because"},
		{"a header too long", answer{status: 431}, "monitor.read: 431 Request Header Fields Too Large"},
		{"a URL too long", answer{status: 414}, "monitor.read: 414 Request URI Too Long"},
		{"not a request, to a front", answer{status: 400}, "monitor.read: 400 Bad Request"},
		{
			"an event without a cursor",
			answer{chunks: []string{"event: envelope\ndata: {\"inbox\":\"bob\",\"seq_num\":4}\n\n"}, end: hold},
			`an event that is no delivery: event "": no inbox, position or cursor in it`,
		},
		{
			"an event without an inbox",
			answer{chunks: []string{"event: envelope\nid: A\ndata: {\"seq_num\":4}\n\n"}, end: hold},
			`an event that is no delivery: event "A": no inbox, position or cursor in it`,
		},
		{
			"a gap that is none",
			answer{chunks: []string{"event: gap\ndata: 7\n\n"}, end: hold},
			`an event that is no delivery: event "": gap: json: `, // and words that vary
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, asked, err := watch(t, []answer{tt.ans}, api.MonitorRequest{Cursor: long}, 1)
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) || len(got) != 0 || len(asked) != 1 {
					t.Errorf("follow: %v after %d requests, %v; want %q after one", err, len(asked), got, tt.want)
				}
			})
		})
	}
}

// MonitorPages ends where the inboxes ended when it began, though more comes all
// the time, and at a page that does not move.
func TestMonitorPages(t *testing.T) {
	at := func(inbox string, seq int) string {
		return fmt.Sprintf(`{"inbox":%q,"cursor":"c","seq_num":%d,"timestamp":"2026-07-19T12:00:00Z"}`, inbox, seq)
	}
	page := func(next, tails string, ds ...string) string {
		return fmt.Sprintf(`{"deliveries":[%s],"next_cursor":%q,"tails":{%s}}`, strings.Join(ds, ","), next, tails)
	}
	pages := map[string]string{
		"":  page("A", `"bob":2,"alice":1`, at("bob", 0)),
		"A": page("B", `"bob":3,"alice":1`), // all filtered out
		"B": page("C", `"bob":3,"alice":1`, at("bob", 2), at("alice", 0)),
		"C": page("D", `"bob":4,"alice":1`, at("bob", 3), at("carol", 0)),
		"D": page("E", `"bob":5,"alice":1`, at("bob", 4)),
		"X": page("Y", `"bob":5`, at("bob", 4)),
		"Y": page("Y", `"bob":5`),
	}
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			asked = append(asked, fmt.Sprintf("%s %s", q.Get("cursor"), q["agent"]))
			_, _ = io.WriteString(w, pages[q.Get("cursor")])
		}, client.Options{})
		read := func(req api.MonitorRequest) (seqs []uint64) {
			for p, err := range c.MonitorPages(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range p.Deliveries {
					seqs = append(seqs, d.SeqNum)
				}
			}
			return seqs
		}
		if diff := cmp.Diff([]uint64{0, 2, 0, 3, 0}, read(api.MonitorRequest{Agents: []ident.Agent{"bob", "alice"}})); diff != "" {
			t.Errorf("from the beginning (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]uint64{4}, read(api.MonitorRequest{LastEventID: "X"})); diff != "" {
			t.Errorf("from X (-want +got):\n%s", diff)
		}
		want := []string{" [bob alice]", "A [bob alice]", "B [bob alice]", "C [bob alice]", "X []", "Y []"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
	})
}

// MonitorPages ends with the server's refusal.
func TestMonitorPagesRefused(t *testing.T) {
	c, _ := start(t, func(w http.ResponseWriter, _ *http.Request) { problem(404, "monitor_disabled", "")(w) }, client.Options{})
	n := 0
	for p, err := range c.MonitorPages(t.Context(), api.MonitorRequest{}) {
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 404 || p != nil {
			t.Errorf("pages: %v, %v; want a 404", p, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d results; want 1", n)
	}
}
