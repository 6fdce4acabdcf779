package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/s2local/engine"
)

// The end of the server ends every open session with 503, after what was
// accepted is acknowledged, and Serve returns soon.
func TestDrain(t *testing.T) {
	h := newHost(t)
	h.appendText(t, "s", "one")
	reader := h.readSession(t.Context(), "s", "seq_num=0")
	if got := reader.batch(); len(got.GetRecords()) != 1 {
		t.Fatalf("batch = %v; want one record", got)
	}
	writer := h.appendSession("s")
	for range 100 {
		writer.send(input("more"))
	}
	writer.ack()
	events := h.request(t.Context(), http.MethodGet, "/v1/streams/s/records?seq_num=0", nil)
	events.Header.Set("Accept", "text/event-stream")
	stream := h.do(events)
	waiting := h.request(t.Context(), http.MethodGet, "/v1/streams/s/records?wait=60", nil)
	sent := make(chan struct{})
	waiting = waiting.WithContext(httptrace.WithClientTrace(waiting.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
	}))
	unary := make(chan string, 1)
	go func() {
		resp, err := new(http.Transport).RoundTrip(waiting)
		if err != nil {
			unary <- err.Error()
			return
		}
		unary <- resp.Status
		_ = resp.Body.Close() // not read
	}()
	<-sent
	idle := h.do(h.request(t.Context(), http.MethodGet, "/health", nil)) // a connection that does nothing
	defer func() { _ = idle.Body.Close() }()

	start := time.Now()
	h.stop()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the server ended after %v; want 5 s at most", took)
	}
	acked := uint64(1)
	for {
		f, err := writer.next()
		if err != nil {
			t.Fatalf("append session: %v after %d acks; want a terminal frame", err, acked)
		}
		if f.Terminal {
			if f.Status != http.StatusServiceUnavailable || !strings.Contains(string(f.Body), `"code":"server_draining"`) {
				t.Errorf("append session ended with %d %s; want 503 server_draining", f.Status, f.Body)
			}
			break
		}
		acked++
	}
	writer.clean()
	tail, err := h.engine.Tail(t.Context(), basin, "s")
	if err != nil || tail.Seq != 1+acked {
		t.Errorf("the tail is %d, err = %v, after %d acks; want %d: server_draining says that nothing else was written", tail.Seq, err, acked, 1+acked)
	}
	for {
		f, err := reader.next()
		if err != nil {
			t.Fatalf("read session: %v; want a terminal frame", err)
		}
		if f.Terminal {
			if f.Status != http.StatusServiceUnavailable {
				t.Errorf("read session ended with %d %s; want 503", f.Status, f.Body)
			}
			break
		}
	}
	reader.clean()
	body, err := io.ReadAll(stream.Body)
	if err != nil || !strings.HasSuffix(string(body), "event: error\ndata: {\"code\":\"server_draining\",\"message\":\"the server is shutting down\"}\n\n") {
		t.Errorf("events ended with %q, err = %v; want an error event, as readers take a clean end for the stream's", body, err)
	}
	if got := <-unary; got != "503 Service Unavailable" {
		t.Errorf("a read that waited: %s; want 503", got)
	}
}

// The SDK's sessions survive a restart of the server, and lose and repeat nothing:
// the drain tells them which appends to send again.
func TestSDKSessionsReconnect(t *testing.T) {
	const records, restarts = 300, 3
	e := openEngine(t, engine.Options{Dir: t.TempDir()})
	if _, _, err := e.CreateBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}, ""); err != nil {
		t.Fatal(err)
	}
	h := startHost(t, e, "127.0.0.1:0")
	h.appendText(t, "s", "0000")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	retry := &s2.RetryConfig{MaxAttempts: 20, MinBaseDelay: 20 * time.Millisecond, MaxBaseDelay: 100 * time.Millisecond}
	seen := make(chan []string, 1)
	reader, writer := h.sdk(retry).Stream("s"), h.sdk(retry).Stream("s")
	go func() { seen <- follow(ctx, t, reader, 0, records) }()
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		session, err := writer.AppendSession(ctx, &s2.AppendSessionOptions{RetryConfig: retry})
		if err != nil {
			t.Errorf("append session: %v", err)
			return
		}
		for i := 1; i < records; i++ {
			at := uint64(i) // an index
			// The position makes a repeat of what was written a refusal, not a second record.
			f, err := session.Submit(&s2.AppendInput{MatchSeqNum: &at, Records: []s2.AppendRecord{{Body: fmt.Appendf(nil, "%04d", i)}}})
			if err != nil {
				t.Errorf("submit: %v", err)
				return
			}
			ticket, err := f.Wait(ctx)
			if err != nil {
				t.Errorf("submit: %v", err)
				return
			}
			if i%5 != 0 { // up to five in flight
				continue
			}
			if _, err := ticket.Ack(ctx); err != nil {
				t.Errorf("ack of %d: %v", i, err)
				return
			}
		}
		if err := session.Close(); err != nil {
			t.Errorf("close the session: %v", err)
		}
	}()
	for i := range restarts {
		for { // until some more is there
			tail, err := e.Tail(ctx, basin, "s")
			if err != nil {
				t.Fatal(err)
			}
			if tail.Seq > uint64(i*records/(restarts+1)) { // small
				break
			}
			changed, err := e.Changed(basin, "s", tail.Seq)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatalf("%d records were appended in the test's time", tail.Seq)
			}
		}
		h.stop()
		h = startHost(t, e, h.addr)
	}
	<-appended
	for i, got := range <-seen {
		if want := fmt.Sprintf("%04d", i); got != want {
			t.Fatalf("record %d = %q; want %q", i, got, want)
		}
	}
}

// What was written, its fence and its configuration outlive the process that
// served them.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	serve := func(test func(b *s2.BasinClient)) {
		e, err := engine.Open(engine.Options{Dir: dir, Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		h := startHost(t, e, "127.0.0.1:0")
		defer h.stop()
		if _, _, err := e.EnsureBasin(ctx, basin, engine.BasinConfig{}); err != nil {
			t.Fatal(err)
		}
		test(h.sdk(nil))
	}
	mine := "mine"
	var tail s2.StreamPosition
	serve(func(b *s2.BasinClient) {
		mode := s2.TimestampingModeClientPrefer
		future, uncapped := uint64(1<<50), true
		if _, err := b.Streams.Create(ctx, s2.CreateStreamArgs{Stream: "s/1", Config: &s2.StreamConfig{
			RetentionPolicy: &s2.RetentionPolicy{Infinite: &s2.InfiniteRetention{}},
			Timestamping:    &s2.TimestampingConfig{Mode: &mode, Uncapped: &uncapped},
		}}); err != nil {
			t.Fatal(err)
		}
		st := b.Stream("s/1")
		ack, err := st.Append(ctx, &s2.AppendInput{Records: []s2.AppendRecord{
			s2.NewFenceCommandRecord(mine, nil), {Body: []byte("kept"), Timestamp: &future},
		}})
		if err != nil {
			t.Fatal(err)
		}
		tail = ack.Tail
	})
	serve(func(b *s2.BasinClient) {
		config, err := b.Streams.GetConfig(ctx, "s/1")
		if err != nil || config.RetentionPolicy == nil || config.RetentionPolicy.Infinite == nil {
			t.Errorf("config = %+v, err = %v; want infinite retention", config, err)
		}
		st := b.Stream("s/1")
		got, err := st.CheckTail(ctx)
		if err != nil || got.Tail != tail {
			t.Errorf("tail = %+v, err = %v; want %+v", got, err, tail)
		}
		other := "other"
		if _, err := st.Append(ctx, &s2.AppendInput{FencingToken: &other, Records: []s2.AppendRecord{{}}}); err == nil {
			t.Error("an append with another token was taken; want it fenced off")
		}
		ack, err := st.Append(ctx, &s2.AppendInput{FencingToken: &mine, Records: []s2.AppendRecord{{Body: []byte("later")}}})
		if err != nil || ack.Start.SeqNum != 2 || ack.Start.Timestamp != tail.Timestamp {
			t.Errorf("ack = %+v, err = %v; want position 2 at the time of the last record, which is in the future", ack, err)
		}
	})
}
