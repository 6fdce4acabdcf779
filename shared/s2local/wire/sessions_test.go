package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/s2local/engine"
)

// The first refusal ends an append session: what was accepted before it is
// acknowledged first, and nothing that was sent after it is written, though it
// carries no condition of its own.
func TestFirstRefusalPoisonsSession(t *testing.T) {
	h := newHost(t)
	for round := range 20 {
		name := fmt.Sprintf("s%d", round)
		p := h.appendSession(name)
		wrong := uint64(7)
		refused := input("refused")
		refused.MatchSeqNum = &wrong
		p.pipeline(
			input("before"), input("before"), input("before"),
			refused,
			input("after"), input("after"), input("after"),
		)
		for i := range uint64(3) {
			if ack := p.ack(); ack.GetStart().GetSeqNum() != i || ack.GetEnd().GetSeqNum() != i+1 || ack.GetTail().GetSeqNum() < i+1 {
				t.Fatalf("ack %d = %v; want it from %d", i, ack, i)
			}
		}
		p.terminal(http.StatusPreconditionFailed, `{"seq_num_mismatch":3}`)
		h.wantBodies(t, name, "before", "before", "before")
	}
}

func TestAppendSessionEnds(t *testing.T) {
	h := newHost(t)
	for _, tc := range []struct {
		name   string
		last   []byte // what is sent behind a good frame; nil: nothing, and the client closes its side
		status int    // of the terminal frame; 0: the end is clean
		want   string
	}{
		{"client closes its side", nil, 0, ""},
		{"a terminal frame from the client", []byte{0, 0, 3, 0x80, 0, 200}, 400, `"code":"bad_frame"`},
		{"length 0", []byte{0, 0, 0, 0}, 400, `"code":"bad_frame"`},
		{"over the limit", []byte{0xff, 0xff, 0xff, 0}, 400, `"code":"bad_frame"`},
		{"no protobuf", []byte{0, 0, 2, 0, 0xff}, 400, `"code":"bad_proto"`},
		{"no records", []byte{0, 0, 1, 0}, 422, `"code":"invalid"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := strings.ReplaceAll(tc.name, " ", "-")
			p := h.appendSession(name)
			p.send(input("good"))
			if tc.last == nil {
				if err := p.in.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				p.sendBytes(tc.last)
			}
			p.ack()
			if tc.status == 0 {
				p.clean()
			} else {
				p.terminal(tc.status, tc.want)
			}
			h.wantBodies(t, name, "good")
		})
	}
}

// What can be told before a session begins is told by the status.
func TestSessionThatCannotBegin(t *testing.T) {
	h := newHost(t)
	if _, _, err := h.engine.CreateBasin(t.Context(), "other-basin", engine.BasinConfig{}, ""); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r := h.request(t.Context(), method, "/v1/streams/none/records", http.NoBody)
		r.Header.Set("S2-Basin", "other-basin")
		r.Header.Set("Content-Type", "s2s/proto")
		if status, body, _ := h.call(r); status != http.StatusNotFound || !strings.Contains(body, "stream_not_found") {
			t.Errorf("%s session: %d %s; want 404 stream_not_found", method, status, body)
		}
	}
}

// A reader of a stream that is deleted and made again is told, and never reads
// the other's records.
func TestReadSessionOfDeletedStream(t *testing.T) {
	h := newHost(t)
	h.appendText(t, "s", "old")
	p := h.readSession(t.Context(), "s", "seq_num=0")
	if got := p.batch(); len(got.GetRecords()) != 1 {
		t.Fatalf("batch = %v; want one record", got)
	}
	if err := h.engine.DeleteStream(t.Context(), basin, "s"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		h.appendText(t, "s", "new")
	}
	p.terminal(http.StatusConflict, `"code":"stream_deletion_pending"`)
}

// Many SDK clients append to a few streams in sessions while others follow them:
// every record is there once, each writer's in its order, and every follower sees
// exactly what the stream holds.
func TestConcurrentSDKSessions(t *testing.T) {
	const streams, writers, records = 3, 4, 100
	h := newHost(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	seen := make([][]string, 2*streams)
	for i := range streams {
		name := s2.StreamName(fmt.Sprintf("stream/%d", i))
		if _, err := h.sdk(nil).Streams.Create(ctx, s2.CreateStreamArgs{Stream: name}); err != nil {
			t.Fatal(err)
		}
		for f := range 2 {
			wg.Go(func() { seen[2*i+f] = follow(ctx, t, h.sdk(nil).Stream(name), 0, writers*records) })
		}
		for w := range writers {
			wg.Go(func() { appendAll(ctx, t, h.sdk(nil).Stream(name), fmt.Sprintf("w%d", w), records) })
		}
	}
	wg.Wait()
	for i := range streams {
		if diff := cmp.Diff(seen[2*i], seen[2*i+1]); diff != "" {
			t.Errorf("two followers of stream %d differ:\n%s", i, diff)
		}
		for w := range writers {
			prefix := fmt.Sprintf("w%d ", w)
			own := slices.DeleteFunc(slices.Clone(seen[2*i]), func(s string) bool { return !strings.HasPrefix(s, prefix) })
			if diff := cmp.Diff(bodies(prefix, records), own); diff != "" {
				t.Errorf("records of writer %d in stream %d (-sent +seen):\n%s", w, i, diff)
			}
		}
	}
}

// appendAll appends n records by one session, each in its own batch.
func appendAll(ctx context.Context, t *testing.T, to *s2.StreamClient, prefix string, n int) {
	session, err := to.AppendSession(ctx, nil)
	if err != nil {
		t.Errorf("append session: %v", err)
		return
	}
	var tickets []*s2.BatchSubmitTicket
	for _, b := range bodies(prefix+" ", n) {
		f, err := session.Submit(&s2.AppendInput{Records: []s2.AppendRecord{{Body: []byte(b)}}})
		if err != nil {
			t.Errorf("submit: %v", err)
			return
		}
		ticket, err := f.Wait(ctx) // the SDK keeps no order without
		if err != nil {
			t.Errorf("submit: %v", err)
			return
		}
		tickets = append(tickets, ticket)
	}
	for _, ticket := range tickets {
		if _, err := ticket.Ack(ctx); err != nil {
			t.Errorf("ack: %v", err)
			return
		}
	}
	if err := session.Close(); err != nil {
		t.Errorf("close the session: %v", err)
	}
}

// follow returns the bodies of n records from seq on.
func follow(ctx context.Context, t *testing.T, of *s2.StreamClient, seq uint64, n int) []string {
	session, err := of.ReadSession(ctx, &s2.ReadOptions{SeqNum: &seq})
	if err != nil {
		t.Errorf("read session: %v", err)
		return nil
	}
	defer func() { _ = session.Close() }() // its end is of no interest
	var got []string
	for len(got) < n && session.Next() {
		r := session.Record()
		if want := seq + uint64(len(got)); r.SeqNum != want {
			t.Errorf("read position %d; want %d", r.SeqNum, want)
		}
		got = append(got, string(r.Body))
	}
	if len(got) < n {
		t.Errorf("a follower got %d records of %d; err = %v", len(got), n, session.Err())
	}
	return got
}

func bodies(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%04d", prefix, i))
	}
	return all
}

// wantBodies checks what a stream holds.
func (h *host) wantBodies(t *testing.T, name string, want ...string) {
	t.Helper()
	b, err := h.engine.Read(t.Context(), basin, name, engine.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range b.Entries {
		got = append(got, string(e.Body))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream %s (-want +got):\n%s", name, diff)
	}
}

// Events have the names, the ids and the shapes that readers of S2's know, and a
// reader resumes by its last id with the bounds that it began with.
func TestEvents(t *testing.T) {
	h := newHost(t)
	for _, b := range bodies("", 5) {
		h.appendText(t, "s", b)
	}
	read := func(query, lastID string) string {
		r := h.request(t.Context(), http.MethodGet, "/v1/streams/s/records?"+query, nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("S2-Format", "base64")
		if lastID != "" {
			r.Header.Set("Last-Event-ID", lastID)
		}
		status, body, header := h.call(r)
		if status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("events: %d %s %s; want 200 text/event-stream", status, header.Get("Content-Type"), body)
		}
		return body
	}
	for _, tc := range []struct {
		name, query, lastID string
		first, last         int // records in the answer
		id                  string
	}{
		{"from the start", "seq_num=0&count=2", "", 0, 1, "1,2,24"},
		{"resumed", "seq_num=0&count=4", "1,2,24", 2, 3, "3,4,48"},
		{"resumed by bytes", "seq_num=0&bytes=36", "0,1,12", 1, 2, "2,3,36"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := read(tc.query, tc.lastID)
			if !strings.HasPrefix(got, "event: batch\nid: "+tc.id+"\ndata: {\"records\":[{\"seq_num\":"+fmt.Sprint(tc.first)+",") ||
				!strings.HasSuffix(got, "}\n\ndata: [DONE]\n\n") || strings.Count(got, `"seq_num"`) != tc.last-tc.first+1 {
				t.Errorf("events = %q; want a batch of %d to %d with id %s, and the end", got, tc.first, tc.last, tc.id)
			}
		})
	}
	if got := read("seq_num=0&count=4", "3,4,48"); got != "data: [DONE]\n\n" {
		t.Errorf("events after the last = %q; want the end", got)
	}
}

// A client that goes away ends its sessions on the server's side: the engine can
// be closed, and no goroutine stays.
func TestClientHangsUp(t *testing.T) {
	h := newHost(t)
	h.appendText(t, "s", "one")
	ctx, cancel := context.WithCancel(t.Context())
	reader := h.readSession(ctx, "s", "seq_num=0")
	if got := reader.batch(); len(got.GetRecords()) != 1 {
		t.Fatalf("batch = %v; want one record", got)
	}
	writer := h.appendSession("s")
	writer.send(input("two"))
	writer.ack()
	cancel()
	_ = writer.in.CloseWithError(io.ErrUnexpectedEOF) // as a client whose body broke off
	for {
		if _, err := reader.next(); err != nil {
			break
		}
	}
	h.stop() // within its bound, or the test's deadline tells
	h.wantBodies(t, "s", "one", "two")
}
