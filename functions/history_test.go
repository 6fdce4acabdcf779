package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/stream"
)

// append puts a record into bob's inbox as somebody else than this version would.
func (w *world) append(r stream.Record) {
	w.t.Helper()
	if _, err := w.store.Append(w.t.Context(), stream.Inbox("bob"), stream.Batch{Records: []stream.Record{r}}); err != nil {
		w.t.Fatal(err)
	}
}

// refusal returns how a stream that is refused is answered.
func (w *world) refusal(target string) (status int, body string) {
	w.t.Helper()
	r := w.as(apiToken, http.MethodGet, target, "", http.Header{"Accept": {"text/event-stream"}})
	return r.Code, r.Body.String()
}

// A position before what is retained is told, with the first that can be used,
// to replays and streams alike; nothing is skipped without a word. Without a
// position reading begins at the first that is retained.
func TestTrimmedHistory(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	for _, text := range []string{"zero", "one", "two"} {
		w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"`+text+`"}`)
	}
	w.append(stream.Trim(2))
	for _, target := range []string{"/v1/agents/bob/inbox?cursor=0", "/v1/agents/bob/inbox?cursor=1", "/v1/agents/bob/inbox?cursor=0&wait=1", "/v1/agents/bob/messages/m-1?at=1"} {
		p := decode[api.Problem](t, w.do(http.MethodGet, target, ""))
		if p.Code != api.HistoryTrimmed || p.First == nil || *p.First != 2 {
			t.Errorf("GET %s = %+v; want history_trimmed, first 2", target, p)
		}
	}
	if status, body := w.refusal("/v1/agents/bob/inbox?cursor=1"); status != http.StatusGone || !strings.Contains(body, `"first":2`) {
		t.Errorf("follow from 1 = %d %s; want 410, first 2", status, body)
	}
	for _, target := range []string{"/v1/agents/bob/inbox", "/v1/agents/bob/inbox?cursor=2"} {
		page := decode[api.InboxPage](t, w.do(http.MethodGet, target, ""))
		if len(page.Deliveries) != 1 || page.Deliveries[0].SeqNum != 2 || page.NextCursor != 4 || page.Tail != 4 {
			t.Errorf("GET %s = %+v; want two, and next_cursor behind the trim command", target, page)
		}
	}
}

// envelopeHeaders returns the S2 headers of an envelope from alice to bob.
func envelopeHeaders(schema, kind string) []stream.Header {
	return []stream.Header{
		{Name: "content-type", Value: "application/json"},
		{Name: "agent-chat-schema", Value: schema},
		{Name: "agent-chat-kind", Value: kind},
		{Name: "agent-chat-id", Value: "x-1"},
		{Name: "agent-chat-from", Value: "alice"},
		{Name: "agent-chat-to", Value: "bob"},
	}
}

// A record that this version can't read is delivered as what it is, and does
// not keep what follows from its reader.
func TestUnreadableRecords(t *testing.T) {
	tests := []struct {
		name   string
		record stream.Record
	}{
		{"bytes without headers", stream.Record{Body: []byte{0xff, 0x00}}},
		{"a later schema", stream.Record{Headers: envelopeHeaders("agent-chat/envelope.v2", "message"), Body: []byte(`{}`)}},
		{"an unknown kind", stream.Record{Headers: envelopeHeaders(api.EnvelopeSchema, "dance"), Body: []byte(`{}`)}},
		{"no JSON", stream.Record{Headers: envelopeHeaders(api.EnvelopeSchema, "message"), Body: []byte(`{"a":1}{`)}},
		{"no object", stream.Record{Headers: envelopeHeaders(api.EnvelopeSchema, "message"), Body: []byte(`[]`)}},
		{"no UTF-8", stream.Record{Headers: envelopeHeaders(api.EnvelopeSchema, "message"), Body: []byte("{\"a\":\"\xff\"}")}},
		{"a line break", stream.Record{Headers: envelopeHeaders(api.EnvelopeSchema, "message"), Body: []byte("{\"a\":\n\"\xff\"}")}},
		{"headers of any bytes", stream.Record{Headers: []stream.Header{{Name: "\xff\n", Value: "\r\nid: 7"}}, Body: []byte("x")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.register("alice", "bob")
			w.append(tt.record)
			if r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"after"}`); r.Code != http.StatusCreated {
				t.Fatalf("send = %d %s", r.Code, r.Body)
			}
			r := w.do(http.MethodGet, "/v1/agents/bob/inbox", "")
			page := decode[api.InboxPage](t, r)
			if r.Code != http.StatusOK || len(page.Deliveries) != 2 || page.NextCursor != 2 {
				t.Fatalf("inbox = %d %s", r.Code, r.Body)
			}
			d := page.Deliveries[0]
			if !d.Unreadable || d.Envelope != nil || !bytes.Equal(d.BodyBase64, tt.record.Body) || len(d.Headers) != len(tt.record.Headers) {
				t.Errorf("delivery = %s; want it as it is", r.Body)
			}
			if page.Deliveries[1].Unreadable {
				t.Errorf("what follows = %+v", page.Deliveries[1])
			}
			w.streamsAlike(r.Body.Bytes())
		})
	}
}

// An envelope that somebody else wrote well is passed on as it is, on one line.
func TestForeignEnvelope(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	body := "{\n \"schema\": \"agent-chat/envelope.v1\",\r\n \"kind\":\"message\", \"n\": 1.0}"
	w.append(stream.Record{Body: []byte(body), Headers: envelopeHeaders(api.EnvelopeSchema, "message")})
	page := decode[api.InboxPage](t, w.do(http.MethodGet, "/v1/agents/bob/inbox", ""))
	if len(page.Deliveries) != 1 || page.Deliveries[0].Unreadable {
		t.Fatalf("page = %+v; want an envelope", page)
	}
	var want, got bytes.Buffer
	if err := json.Compact(&want, []byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&got, page.Deliveries[0].Envelope); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
	w.streamsAlike(w.do(http.MethodGet, "/v1/agents/bob/inbox", "").Body.Bytes())
}

// streamsAlike checks that bob's inbox is followed as the page replays it: each
// delivery one event of three lines, whatever bytes are in its record.
func (w *world) streamsAlike(page []byte) {
	w.t.Helper()
	var p struct {
		Deliveries []json.RawMessage `json:"deliveries"`
	}
	if err := json.Unmarshal(page, &p); err != nil {
		w.t.Fatal(err)
	}
	var want, got []string
	for i, d := range p.Deliveries {
		want = append(want, "event: envelope", "data: "+string(d), fmt.Sprintf("id: %d", i+1), "")
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	for l := range follow(ctx, w.t, w.serve(), "http://pipes/v1/agents/bob/inbox?cursor=0") {
		if !strings.HasPrefix(l.text, ":") && !strings.HasPrefix(l.text, "retry: ") {
			if got = append(got, l.text); len(got) == len(want) {
				break
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("stream (-want +got):\n%s", diff)
	}
}

// No page is larger than a host can answer with (6 MB of a Lambda function),
// whatever is in the inbox; paging on yields everything once.
func TestPagesAreBounded(t *testing.T) {
	tests := []struct {
		name   string
		count  int
		text   string         // as JSON, of messages; "": records
		record *stream.Record // as somebody else would write it
	}{
		{"texts of 500 KiB", 40, strings.Repeat("<", 500<<10), nil},
		{"texts of escapes", 12, strings.Repeat(`\u0001`, 131_000), nil},
		{"unreadable bodies", 9, "", &stream.Record{Body: bytes.Repeat([]byte{0xff}, 1<<20-8)}},
		{"unreadable headers, which escapes make longer", 12, "", &stream.Record{Headers: []stream.Header{{Name: "x", Value: strings.Repeat("\x01", 300<<10)}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.register("alice", "bob")
			for range tt.count {
				if tt.record != nil {
					w.append(*tt.record)
				} else if r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"`+tt.text+`"}`); r.Code != http.StatusCreated {
					t.Fatalf("send = %d %s", r.Code, r.Body)
				}
			}
			next := uint64(0)
			for next < uint64(tt.count) {
				r := w.do(http.MethodGet, fmt.Sprintf("/v1/agents/bob/inbox?limit=100&cursor=%d", next), "")
				if r.Code != http.StatusOK || r.Body.Len() > 6_000_000 {
					t.Fatalf("page at %d = %d, %d bytes; want less than 6,000,000", next, r.Code, r.Body.Len())
				}
				page := decode[api.InboxPage](t, r)
				for _, d := range page.Deliveries {
					if d.SeqNum != next {
						t.Fatalf("a delivery at %d; want %d", d.SeqNum, next)
					}
					next++
				}
				if page.NextCursor != next || page.Tail != uint64(tt.count) || len(page.Deliveries) == 0 {
					t.Fatalf("page up to %d: next_cursor %d, tail %d", next, page.NextCursor, page.Tail)
				}
			}
		})
	}
}
