package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/route"
)

// A call is one request as a server saw it.
type call struct {
	method, target, auth, agent, contentType, body string
}

// A script answers one request after the other with its steps, the last one again
// and again, and keeps the calls.
type script struct {
	steps []func(w http.ResponseWriter)

	mu    sync.Mutex
	calls []call
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.calls)
	s.calls = append(s.calls, call{
		r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("User-Agent"), r.Header.Get("Content-Type"), string(b),
	})
	s.mu.Unlock()
	s.steps[min(n, len(s.steps)-1)](w)
}

// The steps.

func says(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func problem(status int, code api.Code, more string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"about:blank","title":"t","status":%d,"detail":"d","code":%q%s,"request_id":"r1"}`, status, code, more)
	}
}

func later(seconds string, then func(http.ResponseWriter)) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", seconds)
		then(w)
	}
}

func dropped(http.ResponseWriter) { panic(http.ErrAbortHandler) }

const stored = `{"envelope":{"schema":"agent-chat/envelope.v1","id":"m1"},"seq_num":42,"next_cursor":43,"timestamp":"2026-07-19T12:00:00.000Z"}`

// Every operation of the table has a method, which calls it as the table says.
func TestEveryOperation(t *testing.T) {
	text := "hi"
	called := map[string]bool{}
	c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
		for _, rt := range route.Table {
			mux := http.NewServeMux()
			mux.HandleFunc(rt.Method+" /base"+rt.Path, func(w http.ResponseWriter, r *http.Request) {
				called[rt.Op] = true
				if rt.Resp == nil {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				_ = json.NewEncoder(w).Encode(rt.Resp)
			})
			if _, pattern := mux.Handler(r); pattern != "" && r.Method == rt.Method {
				mux.ServeHTTP(w, r)
				return
			}
		}
		t.Errorf("%s %s is no operation", r.Method, r.URL)
	}, client.Options{})
	ctx := t.Context()
	one := 1
	carol := api.ContactPath{Agent: "alice", Contact: "carol"}
	errs := []error{c.DeleteAgent(ctx, "alice"), c.RevokeKey(ctx, "alice", "k1"), c.RemoveContact(ctx, carol)}
	for _, f := range []func() error{
		func() error { _, err := c.Register(ctx, api.RegisterRequest{Agent: "alice"}); return err },
		func() error { _, err := c.Agent(ctx, "alice"); return err },
		func() error { _, err := c.ListAgents(ctx, api.ListAgentsRequest{Limit: &one}); return err },
		func() error { _, err := c.MintKey(ctx, "alice"); return err },
		func() error { _, err := c.Keys(ctx, "alice"); return err },
		func() error { _, err := c.WhoAmI(ctx); return err },
		func() error {
			_, err := c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text})
			return err
		},
		func() error {
			_, err := c.Message(ctx, api.GetMessageRequest{Agent: "alice", Message: "m1"})
			return err
		},
		func() error { _, err := c.Inbox(ctx, api.InboxRequest{Agent: "alice", Limit: &one}); return err },
		func() error {
			_, err := c.PutContact(ctx, api.PutContactRequest{Agent: "alice", Contact: "carol"})
			return err
		},
		func() error { _, err := c.Contact(ctx, carol); return err },
		func() error { _, err := c.ListContacts(ctx, api.ListContactsRequest{Agent: "alice"}); return err },
		func() error {
			_, err := c.ListContactHistory(ctx, api.ContactHistoryRequest{Agent: "alice", Contact: "carol"})
			return err
		},
		func() error {
			_, err := c.ShareContact(ctx, api.ShareContactRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, ContactID: "carol"})
			return err
		},
		func() error {
			_, err := c.AcceptContact(ctx, api.AcceptContactRequest{Agent: "bob", Message: "m1"})
			return err
		},
		func() error {
			_, err := c.SendReceipt(ctx, api.SendReceiptRequest{Heading: api.Heading{Agent: "bob", To: "alice"}, MessageID: "m1", Status: api.ReceiptRead})
			return err
		},
		func() error { _, err := c.Monitor(ctx, api.MonitorRequest{Limit: &one}); return err },
		func() error {
			_, err := c.CreateChat(ctx, api.CreateChatRequest{AgentID: "alice", PeerID: "bob"})
			return err
		},
		func() error { _, err := c.Chats(ctx, api.ListChatsRequest{AgentID: "alice"}); return err },
		func() error { _, err := c.Chat(ctx, api.ChatRequest{Chat: "c", AgentID: "alice"}); return err },
		func() error {
			_, err := c.ClaimDirection(ctx, api.ClaimRequest{Chat: "c", AgentID: "alice"})
			return err
		},
		func() error {
			_, err := c.SendToChat(ctx, api.ChatMessageRequest{Chat: "c", AgentID: "alice"})
			return err
		},
		func() error {
			_, err := c.AcknowledgeBatch(ctx, api.ChatReceiptRequest{Chat: "c", AgentID: "alice"})
			return err
		},
		func() error { _, err := c.Batch(ctx, api.BatchRequest{Chat: "c", AgentID: "alice"}); return err },
		func() error {
			_, err := c.Operation(ctx, api.OperationRequest{Chat: "c", Operation: "op", AgentID: "alice"})
			return err
		},
		func() error { _, err := c.Permissions(ctx, api.ChatRequest{Chat: "c", AgentID: "alice"}); return err },
		func() error {
			_, err := c.SetPermissions(ctx, api.PermissionsRequest{Chat: "c", AgentID: "alice"})
			return err
		},
		func() error {
			_, err := c.Transcript(ctx, api.TranscriptRequest{Chat: "c", AgentID: "alice"})
			return err
		},
		func() error { _, err := c.PublicKeys(ctx); return err },
		func() error { _, err := c.Health(ctx); return err },
		func() error { _, err := c.Ready(ctx); return err },
		func() error { _, err := c.Limits(ctx); return err },
		func() error { _, err := c.OpenAPI(ctx); return err },
	} {
		errs = append(errs, f())
	}
	// Zero values of identifiers are no identifiers: only that they were asked for matters here.
	for _, err := range errs {
		if e, ok := errors.AsType[*client.Error](err); ok {
			t.Errorf("call: %v", e)
		}
	}
	for _, rt := range route.Table {
		if !called[rt.Op] {
			t.Errorf("no method calls %s", rt.Op)
		}
	}
}

// A call carries the token in its one header, the body as it is, and no more.
func TestWire(t *testing.T) {
	s := &script{steps: []func(http.ResponseWriter){says(201, stored)}}
	c, _ := start(t, s.ServeHTTP, client.Options{Token: "token-0123456789abcdef", UserAgent: "test/1"})
	empty, cursor := "", uint64(7)
	got, err := c.Send(t.Context(), api.SendRequest{
		Heading: api.Heading{Agent: "alice", To: "bob", ID: "m1", TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Text:    &empty,
		Data:    json.RawMessage(`{"n":1.0,"b":"<&>","a":[9007199254740993]}`),
	})
	if err != nil || got.SeqNum != 42 || got.NextCursor != 43 || got.Replayed || string(got.Envelope) != `{"schema":"agent-chat/envelope.v1","id":"m1"}` {
		t.Errorf("send: %+v, %v", got, err)
	}
	if _, err := c.Send(t.Context(), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Data: json.RawMessage(`null`)}); err != nil {
		t.Error(err)
	}
	s.steps = []func(http.ResponseWriter){says(200, `{"deliveries":[],"next_cursor":7,"tail":7,"later":"member"}`)}
	if _, err := c.Inbox(t.Context(), api.InboxRequest{Agent: "bob", Cursor: &cursor, ConversationID: "a b&c=ü"}); err != nil {
		t.Error(err)
	}
	want := []call{
		{
			"POST", "/base/v1/agents/alice/messages", "Bearer token-0123456789abcdef", "test/1", "application/json",
			`{"to":"bob","id":"m1","text":"","data":{"n":1.0,"b":"<&>","a":[9007199254740993]}}`,
		},
		{"POST", "/base/v1/agents/alice/messages", "Bearer token-0123456789abcdef", "test/1", "application/json", `{"to":"bob","data":null}`},
		{"GET", "/base/v1/agents/bob/inbox?conversation_id=a+b%26c%3D%C3%BC&cursor=7", "Bearer token-0123456789abcdef", "test/1", "", ""},
	}
	if diff := cmp.Diff(want, s.calls, cmp.AllowUnexported(call{})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// SendRepeats: with an id an attempt of unknown outcome is made again with the
// same id; without one only what was certainly not stored is.
func TestSendRepeats(t *testing.T) {
	unknown := problem(503, api.OutcomeUnknown, `,"outcome":"unknown","retry":"same id only","message_id":"msg_1"`)
	ok := says(201, stored)
	for _, tt := range []struct {
		name    string
		id      string
		steps   []func(http.ResponseWriter)
		ids     string // that arrived, in order
		status  int    // of the error; 0: none of the server's
		fails   bool
		unknown bool
		min     time.Duration
	}{
		{"stored at once", "m1", []func(http.ResponseWriter){ok}, "m1", 0, false, false, 0},
		{"reply lost", "m1", []func(http.ResponseWriter){dropped, ok}, "m1 m1", 0, false, false, 0},
		{"reply lost, no id", "", []func(http.ResponseWriter){dropped, ok}, "-", 0, true, true, 0},
		{"reply lost for good", "m1", []func(http.ResponseWriter){dropped}, "m1 m1 m1 m1", 0, true, true, 0},
		{"unknown", "m1", []func(http.ResponseWriter){unknown, ok}, "m1 m1", 0, false, false, 0},
		{"unknown, no id but the server's", "", []func(http.ResponseWriter){unknown, ok}, "- msg_1", 0, false, false, 0},
		{"unknown for good", "m1", []func(http.ResponseWriter){unknown}, "m1 m1 m1 m1", 503, true, true, 0},
		{"unavailable, no id", "", []func(http.ResponseWriter){later("1", problem(503, api.Unavailable, "")), ok}, "- -", 0, false, false, time.Second},
		{"rate limited, no id", "", []func(http.ResponseWriter){later("3", problem(429, api.RateLimited, "")), ok}, "- -", 0, false, false, 3 * time.Second},
		{"rate limited for an hour", "m1", []func(http.ResponseWriter){later("3600", problem(429, api.RateLimited, "")), ok}, "m1", 429, true, false, 0},
		{"a proxy's 502, no id", "", []func(http.ResponseWriter){says(502, `<html>`), ok}, "-", 502, true, true, 0},
		{"a proxy's 502", "m1", []func(http.ResponseWriter){says(502, `<html>`), ok}, "m1 m1", 0, false, false, 0},
		{"reply lost, then unavailable for good", "m1", []func(http.ResponseWriter){dropped, problem(503, api.Unavailable, "")}, "m1 m1 m1 m1", 503, true, true, 0},
		{"unknown, no id but the server's, then a proxy's 429", "", []func(http.ResponseWriter){unknown, says(429, `{}`)}, "- msg_1 msg_1 msg_1", 429, true, true, 0},
		{"reply lost, then our own fault", "m1", []func(http.ResponseWriter){dropped, problem(500, api.Internal, "")}, "m1 m1", 500, true, true, 0},
		{"reply lost, then the key revoked", "m1", []func(http.ResponseWriter){dropped, problem(401, api.UnknownCredential, "")}, "m1 m1", 401, true, true, 0},
		{"reply lost, then an answer of something else", "m1", []func(http.ResponseWriter){dropped, says(404, `<html>`)}, "m1 m1", 404, true, true, 0},
		{"reply lost, then decided", "m1", []func(http.ResponseWriter){dropped, problem(409, api.IDReused, "")}, "m1 m1", 409, true, false, 0},
		{"unavailable, then the key revoked", "m1", []func(http.ResponseWriter){problem(503, api.Unavailable, ""), problem(401, api.UnknownCredential, "")}, "m1 m1", 401, true, false, 0},
		{"too large", "m1", []func(http.ResponseWriter){problem(413, api.RecordTooLarge, ""), ok}, "m1", 413, true, false, 0},
		{"id reused", "m1", []func(http.ResponseWriter){problem(409, api.IDReused, ""), ok}, "m1", 409, true, false, 0},
		{"our own fault", "m1", []func(http.ResponseWriter){problem(500, api.Internal, ""), ok}, "m1", 500, true, false, 0},
		{"an answer that is none", "m1", []func(http.ResponseWriter){says(200, `<html>`), ok}, "m1", 0, true, true, 0},
		{"no content", "m1", []func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, ok}, "m1", 0, true, true, 0},
		{"a redirect", "m1", []func(http.ResponseWriter){func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, ok}, "m1", 307, true, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: tt.steps}
				c, _ := start(t, s.ServeHTTP, client.Options{})
				began, text := time.Now(), "hi"
				req := api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text}
				if tt.id != "" {
					if err := req.ID.UnmarshalText([]byte(tt.id)); err != nil {
						t.Fatal(err)
					}
				}
				got, err := c.Send(t.Context(), req)
				var ids []string
				for _, c := range s.calls {
					var body struct{ ID string }
					if err := json.Unmarshal([]byte(c.body), &body); err != nil {
						t.Fatal(err)
					}
					ids = append(ids, "-")
					if body.ID != "" {
						ids[len(ids)-1] = body.ID
					}
				}
				if ids := strings.Join(ids, " "); ids != tt.ids {
					t.Errorf("ids that arrived: %s; want %s", ids, tt.ids)
				}
				if (err != nil) != tt.fails || errors.Is(err, client.ErrUnknown) != tt.unknown {
					t.Errorf("send: %v, %v; want an error: %t, unknown: %t", got, err, tt.fails, tt.unknown)
				}
				if e, _ := errors.AsType[*client.Error](err); e != nil && e.Status != tt.status || e == nil && tt.status != 0 {
					t.Errorf("send: %v; want status %d", err, tt.status)
				}
				if took := time.Since(began); took < tt.min || took > tt.min+30*time.Second {
					t.Errorf("send took %v; want %v and not much more", took, tt.min)
				}
			})
		})
	}
}

// A server that is not there: nothing was sent, so a repeat is harmless, and the
// outcome is known.
func TestSendUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := start(t, func(http.ResponseWriter, *http.Request) {}, client.Options{})
		n.down = true
		text := "hi"
		_, err := c.Send(t.Context(), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text})
		e, ok := errors.AsType[*client.ConnError](err)
		if !ok || e.Sent || errors.Is(err, client.ErrUnknown) || n.refused != 4 {
			t.Errorf("send: %v after %d tries; want a ConnError that was not sent, after 4", err, n.refused)
		}
	})
}

// A server that goes away with a request: that it is not there for the repeats
// says nothing of what it did before.
func TestSendThenUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n *pipeNet
		c, n := start(t, func(http.ResponseWriter, *http.Request) {
			n.mu.Lock()
			n.down = true
			n.mu.Unlock()
			panic(http.ErrAbortHandler)
		}, client.Options{})
		text := "hi"
		_, err := c.Send(t.Context(), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", ID: "m1"}, Text: &text})
		e, ok := errors.AsType[*client.ConnError](err)
		if !ok || e.Sent || !errors.Is(err, client.ErrUnknown) || n.refused != 3 {
			t.Errorf("send: %v after %d tries that were refused; want a ConnError that was not sent, of unknown outcome, after 3", err, n.refused)
		}
	})
}

// A server that takes a request and never answers is given up, and the caller's
// end is obeyed while it is waited for.
func TestSilentServer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		within time.Duration
		min    time.Duration
	}{{"given up", time.Hour, 15 * time.Second}, {"the caller gives up", time.Second, time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := start(t, func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				}, client.Options{})
				ctx, cancel := context.WithTimeout(t.Context(), tt.within)
				defer cancel()
				began, text := time.Now(), "hi"
				_, err := c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text})
				if took := time.Since(began); !errors.Is(err, client.ErrUnknown) || took != tt.min {
					t.Errorf("send: %v after %v; want ErrUnknown after %v", err, took, tt.min)
				}
			})
		})
	}
}

// A long poll is waited for as long as it was asked for.
func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(20 * time.Second)
			_, _ = io.WriteString(w, `{"deliveries":[],"next_cursor":0,"tail":0}`)
		}, client.Options{Tries: 1})
		wait := 20
		if _, err := c.Inbox(t.Context(), api.InboxRequest{Agent: "bob", Wait: &wait}); err != nil {
			t.Error(err)
		}
	})
}

// A deletion whose reply was lost, and that finds nothing the second time, has
// succeeded; one that finds nothing at first has not.
func TestDeleteAgain(t *testing.T) {
	gone := problem(404, api.AgentNotRegistered, "")
	for _, tt := range []struct {
		name  string
		steps []func(http.ResponseWriter)
		fails bool
	}{
		{"reply lost, then gone", []func(http.ResponseWriter){dropped, gone}, false},
		{"gone at first", []func(http.ResponseWriter){gone}, true},
		{"unavailable, then gone", []func(http.ResponseWriter){problem(503, api.Unavailable, ""), gone}, true},
		{"reply lost, then forbidden", []func(http.ResponseWriter){dropped, problem(403, api.Forbidden, "")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: tt.steps}
				c, _ := start(t, s.ServeHTTP, client.Options{})
				if err := c.DeleteAgent(t.Context(), "alice"); (err != nil) != tt.fails {
					t.Errorf("delete: %v; want an error: %t", err, tt.fails)
				}
			})
		})
	}
}

// Pages are followed to the tail, and one that does not move ends it.
func TestReplay(t *testing.T) {
	pages := map[string]string{
		"":  `{"deliveries":[{"seq_num":0,"timestamp":"2026-07-19T12:00:00Z"},{"seq_num":1,"timestamp":"2026-07-19T12:00:00Z"}],"next_cursor":2,"tail":5}`,
		"2": `{"deliveries":[],"next_cursor":4,"tail":5}`,
		"4": `{"deliveries":[{"seq_num":4,"timestamp":"2026-07-19T12:00:00Z"}],"next_cursor":5,"tail":5}`,
		"9": `{"deliveries":[],"next_cursor":9,"tail":12}`,
	}
	asked := 0
	c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("cursor")])
	}, client.Options{})
	var got []uint64
	for d, err := range c.Replay(t.Context(), api.InboxRequest{Agent: "bob"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.SeqNum)
	}
	if diff := cmp.Diff([]uint64{0, 1, 4}, got); diff != "" || asked != 3 {
		t.Errorf("replay after %d calls (-want +got):\n%s", asked, diff)
	}
	nine := uint64(9)
	for d, err := range c.Replay(t.Context(), api.InboxRequest{Agent: "bob", Cursor: &nine}) {
		t.Errorf("replay from 9: %v, %v; want nothing", d, err)
	}
	if asked != 4 {
		t.Errorf("%d calls; a page that does not move must not be asked for again", asked)
	}
}

// What asks for a page never asks to follow, though the request could.
func TestPagesDoNotFollow(t *testing.T) {
	c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("follow") || r.Header.Get("Last-Event-ID") != "" {
			t.Errorf("%s, Last-Event-ID %q", r.URL, r.Header.Get("Last-Event-ID"))
		}
		_, _ = io.WriteString(w, "{}")
	}, client.Options{})
	follow, seen := true, uint64(7)
	if _, err := c.Inbox(t.Context(), api.InboxRequest{Agent: "bob", Follow: &follow, LastEventID: &seen}); err != nil {
		t.Error(err)
	}
	if _, err := c.Monitor(t.Context(), api.MonitorRequest{Follow: &follow, LastEventID: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := c.Transcript(t.Context(), api.TranscriptRequest{Chat: "c", AgentID: "bob", Follow: &follow, LastEventID: "x"}); err != nil {
		t.Error(err)
	}
}

// A token appears in no error, no trace and no other place than its header, and
// what can't be one is refused by New.
func TestSecrets(t *testing.T) {
	const token = "very-secret-token-0123456789"
	var traces bytes.Buffer
	s := &script{steps: []func(http.ResponseWriter){problem(401, api.UnknownCredential, "")}}
	c, n := start(t, s.ServeHTTP, client.Options{Token: token, Tries: 1, Trace: func(tr client.Trace) { fmt.Fprintf(&traces, "%+v %v\n", tr, tr.Err) }})
	_, err := c.WhoAmI(t.Context())
	fmt.Fprintln(&traces, err)
	n.mu.Lock()
	n.down = true
	n.mu.Unlock()
	c.Close()
	_, err = c.WhoAmI(t.Context())
	fmt.Fprintln(&traces, err)
	if traces.Len() < 100 || strings.Contains(traces.String(), token) {
		t.Errorf("traces and errors:\n%s", traces.String())
	}
	for _, o := range []client.Options{
		{URL: "http://alice:very-secret@chat.example"},
		{URL: "http://alice:very-secret@chat.example\x7f"},
		{URL: "chat.example"},
		{URL: "ftp://chat.example"},
		{URL: "http://"},
		{URL: ""},
		{URL: "http://chat.example?token=very-secret"},
		{URL: "http://chat.example#x"},
		{URL: "http://chat.example", Token: "very-secret\n"},
		{URL: "http://chat.example", Token: "very secret"},
		{URL: "http://chat.example", Token: "very-secret-\u00e9"},
	} {
		_, err := client.New(o)
		if err == nil || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("new with %q, %q: %v; want an error without the secret", o.URL, o.Token, err)
		}
	}
}

// Ids of our own making are valid, and not of the form that servers make.
func TestNewID(t *testing.T) {
	id := client.NewID(rand.Reader)
	if err := id.UnmarshalText([]byte(id)); err != nil || len(id) != 36 {
		t.Errorf("NewID() = %q: %v", id, err)
	}
	if _, ours := id.Time(); ours || client.NewID(rand.Reader) == id {
		t.Errorf("NewID() = %q, of the server's form or not unique", id)
	}
}

// Register tells new from known, and Agents goes through all pages.
func TestAgents(t *testing.T) {
	s := &script{steps: []func(http.ResponseWriter){
		says(201, `{"agent":"alice","created_at":"2026-07-19T12:00:00Z","updated_at":"2026-07-19T12:00:00Z"}`),
		says(200, `{"agent":"alice","created_at":"2026-07-19T12:00:00Z","updated_at":"2026-07-19T12:00:00Z"}`),
		says(200, `{"agents":[{"agent":"alice","created_at":"2026-07-19T12:00:00Z","updated_at":"2026-07-19T12:00:00Z"}],"next_cursor":"alice"}`),
		says(200, `{"agents":[],"next_cursor":"b"}`),
		says(200, `{"agents":[{"agent":"c","created_at":"2026-07-19T12:00:00Z","updated_at":"2026-07-19T12:00:00Z"}],"next_cursor":null}`),
	}}
	c, _ := start(t, s.ServeHTTP, client.Options{})
	for _, want := range []bool{true, false} {
		got, err := c.Register(t.Context(), api.RegisterRequest{Agent: "alice"})
		if err != nil || got.Created != want {
			t.Errorf("register: %+v, %v; want created = %t", got, err, want)
		}
	}
	var ids, targets []string
	for a, err := range c.Agents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(a.Agent))
	}
	for _, c := range s.calls[2:] {
		targets = append(targets, c.target)
	}
	want := []string{"/base/v1/agents", "/base/v1/agents?cursor=alice", "/base/v1/agents?cursor=b"}
	if !slices.Equal(ids, []string{"alice", "c"}) || !slices.Equal(targets, want) {
		t.Errorf("agents: %v by %v", ids, targets)
	}
}
