package functions_test

import (
	"bytes"
	"encoding/json"
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
}
