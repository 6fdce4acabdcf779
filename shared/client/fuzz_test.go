package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
)

// An answerer answers every request with the same bytes.
type answerer struct {
	status int
	header http.Header
	body   []byte
}

func (a answerer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: a.header.Clone(), Request: r, Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

func (a answerer) client(t *testing.T) *client.Client {
	c, err := client.New(client.Options{URL: "http://chat.example", Token: "secret-token-0123456789", HTTP: &http.Client{Transport: a}, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever a stream holds, positions come out in order, each once, and it ends
// with a reason or is to be resumed behind the last of them.
func FuzzFollow(f *testing.F) {
	f.Add([]byte(event(0) + event(1) + "retry: 5\n: x\n"))
	f.Add([]byte("event: problem\ndata: {\"status\":410,\"code\":\"history_trimmed\"}\n\n"))
	f.Add([]byte("event: problem\ndata: null\n\n"))
	f.Add([]byte("id: 18446744073709551615\ndata: {\"seq_num\":18446744073709551615}\n\n" + event(3)))
	f.Add([]byte("data: []\n\ndata: {\"seq_num\":-1}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		a := answerer{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: stream}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		resumed := ""
		next := uint64(0)
		for d, err := range a.client(t).Follow(ctx, api.InboxRequest{Agent: "bob"}, func(s client.State) {
			if !s.Connected {
				resumed = s.Cursor
				if s.Pause <= 0 || s.Pause > 13*time.Minute || s.Err == nil {
					t.Errorf("to be resumed: %+v", s)
				}
				cancel()
			}
		}) {
			if err != nil {
				break
			}
			if d.SeqNum < next {
				t.Fatalf("position %d after %d", d.SeqNum, next)
			}
			next = d.SeqNum + 1
		}
		if at, err := strconv.ParseUint(resumed, 10, 64); resumed != "" && (err != nil || at < next) {
			t.Errorf("to be resumed at %s, but %d was next", resumed, next)
		}
	})
}

// Whatever a server answers, a call ends with a result or an error that tells
// whether the message may be stored, and never with the token in it.
func FuzzAnswer(f *testing.F) {
	f.Add(201, "application/json", "", []byte(stored))
	f.Add(503, "application/problem+json", "7", []byte(`{"code":"outcome_unknown","outcome":"unknown","message_id":"m"}`))
	f.Add(429, "text/html", "Sat, 01 Jan 2000 00:00:30 GMT", []byte(`<html>`))
	f.Add(204, "", "-1", []byte(nil))
	f.Add(200, "application/json", "", []byte(`{"seq_num":1e999}`))
	f.Fuzz(func(t *testing.T, status int, contentType, retryAfter string, body []byte) {
		if status < 200 || status > 599 {
			t.Skip("no status of an answer")
		}
		a := answerer{status: status, header: http.Header{"Content-Type": {contentType}, "Retry-After": {retryAfter}}, body: body}
		text := "hi"
		got, err := a.client(t).Send(t.Context(), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", ID: "m1"}, Text: &text})
		if (got == nil) == (err == nil) || err != nil && strings.Contains(err.Error(), "secret-token") {
			t.Errorf("send: %+v, %v", got, err)
		}
		if e, ok := errors.AsType[*client.Error](err); ok && (e.Status != status || e.RetryAfter < 0 || status/100 == 2) {
			t.Errorf("send: %+v", e)
		}
	})
}
