package functions_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/s2stream"
)

// An s2Record is a record as S2 itself tells of it, to any client of its own.
type s2Record struct {
	SeqNum    uint64      `json:"seq_num"`
	Timestamp uint64      `json:"timestamp"`
	Headers   [][2]string `json:"headers"`
	Body      string      `json:"body"`
}

// An s2Reader reads a basin of S2 past us, as S2's own tools do.
type s2Reader struct {
	t                 *testing.T
	url, basin, token string
}

// s2World is all families on a store behind S2's API, and what reads there.
func s2World(t *testing.T) (*world, *s2Reader) {
	t.Helper()
	const basin, token = "records-test", "s2-token-of-the-test"
	e, err := engine.Open(engine.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s2 := httptest.NewUnstartedServer(wire.New(e, wire.Options{Token: token}).Handler())
	s2.Config.Protocols = new(http.Protocols)
	s2.Config.Protocols.SetHTTP1(true)
	s2.Config.Protocols.SetUnencryptedHTTP2(true)
	s2.Start()
	t.Cleanup(s2.Close)
	store, err := s2stream.New(s2stream.Options{Token: token, Endpoint: s2.URL, Basin: basin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := store.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return worldOn(t, faultstream.New(t, store, faultstream.Options{})), &s2Reader{t, s2.URL, basin, token}
}

// records returns all that a stream holds.
func (s *s2Reader) records(stream string) []s2Record {
	s.t.Helper()
	var page struct {
		Records []s2Record `json:"records"`
	}
	s.get("/v1/streams/"+url.PathEscape(stream)+"/records?seq_num=0&count=1000", &page)
	return page.Records
}

// streams returns the names of all streams of the basin.
func (s *s2Reader) streams() []string {
	s.t.Helper()
	var page struct {
		Streams []struct {
			Name string `json:"name"`
		} `json:"streams"`
		More bool `json:"has_more"`
	}
	s.get("/v1/streams?limit=1000", &page)
	if page.More {
		s.t.Fatal("more than 1000 streams")
	}
	var names []string
	for _, n := range page.Streams {
		names = append(names, n.Name)
	}
	return names
}

func (s *s2Reader) get(target string, v any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+target, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("S2-Basin", s.basin)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(body, v); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s, %v", target, resp.StatusCode, body, err)
	}
}

// A record in S2 is what was acknowledged: the envelope as its body, in the bytes
// of the answer, and beside it the headers that the protocol lists, by which S2's
// own tools can search. A trace is one more.
func TestStoredRecords(t *testing.T) {
	w, s2 := s2World(t)
	w.register("alice", "bob")
	if r := w.do(http.MethodPut, "/v1/agents/alice/contacts/carol", `{"display_name":"Carol"}`); r.Code != http.StatusCreated {
		t.Fatalf("save a contact: %d %s", r.Code, r.Body)
	}
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct {
		name     string
		from, to string
		path     string
		body     string
		header   http.Header
		id       string // "": the server's
		kind     string
		more     [][2]string
	}{
		{"an id of the server's", "alice", "bob", "messages", `{"to":"bob","text":"<&>\u2028Größe","data":{"b": 1.0, "a": [null]}}`, nil, "", "message", nil},
		{"an id of the caller's", "alice", "bob", "messages", `{"to":"bob","id":"order:7.a","text":"b","metadata":{"agent-chat-from":"carol"}}`, nil, "order:7.a", "message", nil},
		{"a trace", "alice", "bob", "messages", `{"to":"bob","text":"c"}`, http.Header{"Traceparent": {trace}}, "", "message", [][2]string{{"traceparent", trace}}},
		{"a share", "alice", "bob", "contact-shares", `{"to":"bob","contact_id":"carol"}`, nil, "", "contact.share", nil},
		{"a receipt", "bob", "alice", "receipts", `{"to":"alice","message_id":"order:7.a","status":"read"}`, nil, "", "receipt", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sent := decode[api.SendResponse](t, w.as(apiToken, http.MethodPost, "/v1/agents/"+tt.from+"/"+tt.path, tt.body, tt.header))
			var envelope api.Envelope
			if err := json.Unmarshal(sent.Envelope, &envelope); err != nil {
				t.Fatal(err)
			}
			if tt.id == "" {
				tt.id = string(envelope.ID)
			}
			records := s2.records("inbox/" + tt.to)
			want := s2Record{
				SeqNum:    sent.SeqNum,
				Timestamp: uint64(sent.Timestamp.UnixMilli()),
				Headers: append([][2]string{
					{"content-type", "application/json"},
					{"agent-chat-schema", "agent-chat/envelope.v1"},
					{"agent-chat-kind", tt.kind},
					{"agent-chat-id", tt.id},
					{"agent-chat-from", tt.from},
					{"agent-chat-to", tt.to},
				}, tt.more...),
				Body: string(sent.Envelope),
			}
			if diff := cmp.Diff(want, records[len(records)-1]); diff != "" {
				t.Errorf("the record in S2 (-acknowledged +stored):\n%s", diff)
			}
		})
	}
}

// Another writer, or a network that lost an answer, can leave two records with one
// id. A reader is shown both, each at its position and with the same id, so that
// it can tell; nothing is dropped for it.
func TestRecordsOfOneID(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","id":"m-1","text":"once"}`)
	page, err := w.store.Read(t.Context(), stream.Inbox("bob"), stream.Start{}, stream.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	w.append(page.Entries[0].Record)
	if diff := cmp.Diff([]string{"once", "once"}, w.texts("bob")); diff != "" {
		t.Errorf("inbox (-want +got):\n%s", diff)
	}
	inbox := decode[api.InboxPage](t, w.do(http.MethodGet, "/v1/agents/bob/inbox", ""))
	for i, d := range inbox.Deliveries {
		var e api.Envelope
		if err := json.Unmarshal(d.Envelope, &e); err != nil || e.ID != "m-1" || d.SeqNum != uint64(i) {
			t.Errorf("delivery %d = %+v, %v; want m-1 at %d", i, e, err, i)
		}
	}
	// Looked up, and repeated, it is one message: the first.
	if d := decode[api.Delivery](t, w.do(http.MethodGet, "/v1/agents/bob/messages/m-1", "")); d.SeqNum != 0 {
		t.Errorf("look-up: at %d; want 0", d.SeqNum)
	}
	if r := decode[api.SendResponse](t, w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","id":"m-1","text":"once"}`)); r.SeqNum != 0 {
		t.Errorf("repeat: at %d; want 0", r.SeqNum)
	}
}
