package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

var noon = api.Time{Time: time.Date(2026, 7, 19, 12, 0, 0, 0, time.UTC)}

// AppendJSON writes what encoding/json would, and the stored bytes as they are.
func TestAppendJSON(t *testing.T) {
	stored := json.RawMessage(`{"a":"<&>","n":1.0}`)
	tests := []struct {
		name string
		v    interface{ AppendJSON(b []byte) []byte }
		want string
	}{
		{
			"sent",
			api.SendResponse{Envelope: stored, SeqNum: 42, NextCursor: 43, Timestamp: noon, Once: api.Once{Replayed: true}},
			`{"envelope":{"a":"<&>","n":1.0},"seq_num":42,"next_cursor":43,"timestamp":"2026-07-19T12:00:00.000Z"}`,
		},
		{"empty page", api.InboxPage{}, `{"deliveries":[],"next_cursor":0,"tail":0}`},
		{
			"page",
			api.InboxPage{Deliveries: []api.Delivery{{Envelope: stored, Timestamp: noon}, {SeqNum: 1<<64 - 1, Timestamp: noon, Envelope: stored, TraceParent: "00-\"<\xff"}}, NextCursor: 2, Tail: 3},
			`{"deliveries":[{"seq_num":0,"timestamp":"2026-07-19T12:00:00.000Z","envelope":{"a":"<&>","n":1.0}},` +
				`{"seq_num":18446744073709551615,"timestamp":"2026-07-19T12:00:00.000Z","envelope":{"a":"<&>","n":1.0},"traceparent":"00-\"<\ufffd"}],"next_cursor":2,"tail":3}`,
		},
		{
			"unreadable",
			api.Delivery{Timestamp: noon, Unreadable: true, Headers: []api.RecordHeader{{Name: "a", Value: "\n\xff<"}, {}}, BodyBase64: []byte{0xfb, 0xff}},
			`{"seq_num":0,"timestamp":"2026-07-19T12:00:00.000Z","unreadable":true,"headers":[{"name":"a","value":"\n\ufffd<"},{"name":"","value":""}],"body_base64":"+/8="}`,
		},
		{"empty page of the monitor", api.MonitorPage{NextCursor: "e30"}, `{"deliveries":[],"next_cursor":"e30","tails":{}}`},
		{
			"page of the monitor",
			api.MonitorPage{
				Deliveries: []api.MonitorDelivery{
					{Inbox: "b", Cursor: "-_", Delivery: api.Delivery{Envelope: stored, Timestamp: noon}},
					{Inbox: "a", Cursor: "x", Delivery: api.Delivery{SeqNum: 1, Timestamp: noon, Unreadable: true, Headers: []api.RecordHeader{{Name: "n"}}, BodyBase64: []byte("?")}},
				},
				NextCursor: "x", Tails: map[ident.Agent]uint64{"b": 1<<64 - 1, "a": 0},
				Unavailable: map[ident.Agent]api.Unreachable{"c": api.Errorf(api.CursorBeyondTail, "beyond").Unreachable()},
				Gaps:        map[ident.Agent]api.Gap{"d": {From: 1, To: 2, Code: api.HistoryTrimmed}},
			},
			`{"deliveries":[{"inbox":"b","cursor":"-_","seq_num":0,"timestamp":"2026-07-19T12:00:00.000Z","envelope":{"a":"<&>","n":1.0}},` +
				`{"inbox":"a","cursor":"x","seq_num":1,"timestamp":"2026-07-19T12:00:00.000Z","unreadable":true,"headers":[{"name":"n","value":""}],"body_base64":"Pw=="}],` +
				`"next_cursor":"x","tails":{"a":0,"b":18446744073709551615},` +
				`"unavailable":{"c":{"type":"about:blank","title":"Cursor beyond the tail","status":416,"detail":"beyond","code":"cursor_beyond_tail"}},` +
				`"gaps":{"d":{"from":1,"to":2,"code":"history_trimmed"}}}`,
		},
		{
			"unreadable and empty",
			api.Delivery{Timestamp: noon, Unreadable: true},
			`{"seq_num":0,"timestamp":"2026-07-19T12:00:00.000Z","unreadable":true,"headers":[],"body_base64":""}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(tt.v.AppendJSON([]byte("before")))
			if diff := cmp.Diff("before"+tt.want, got); diff != "" {
				t.Errorf("AppendJSON (-want +got):\n%s", diff)
			}
			var there, back any
			encoded, err := json.Marshal(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &there); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(encoded, &back); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tt.name, "empty") {
				return // encoding/json leaves out, or nulls, what is empty
			}
			if diff := cmp.Diff(there, back); diff != "" {
				t.Errorf("AppendJSON (-), json.Marshal (+):\n%s", diff)
			}
		})
	}
}

// An answer says by its status whether it made something.
func TestStatus(t *testing.T) {
	tests := []struct {
		name   string
		v      interface{ Status() (int, http.Header) }
		status int
		header http.Header
	}{
		{"registered", api.RegisterResponse{Made: api.Made{Created: true}}, 201, nil},
		{"replaced", api.RegisterResponse{}, 200, nil},
		{"minted", api.MintKeyResponse{}, 201, nil},
		{"sent", api.SendResponse{}, 201, nil},
		{"sent before", api.SendResponse{Once: api.Once{Replayed: true}}, 200, http.Header{"Idempotent-Replayed": {"true"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, header := tt.v.Status()
			if diff := cmp.Diff(tt.header, header); status != tt.status || diff != "" {
				t.Errorf("Status() = %d, %v; want %d, %v", status, header, tt.status, tt.header)
			}
		})
	}
}

// A page of 1,000 messages of 1 KiB costs well under a millisecond.
func BenchmarkAppendPage(b *testing.B) {
	var p api.InboxPage
	for i := range uint64(1000) {
		p.Deliveries = append(p.Deliveries, api.Delivery{SeqNum: i, Timestamp: noon, Envelope: json.RawMessage(`"` + strings.Repeat("x", 1022) + `"`)})
	}
	b.ReportAllocs()
	buf := p.AppendJSON(nil)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		buf = p.AppendJSON(buf[:0])
	}
}
