package client_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"agentchat/functions"
	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/stream/localstream"
)

const token = "operator-token-0123456789"

// serve starts the real server, in memory. Outside of examples its URL is where
// agent-chat dev or serve listens, and its token in AGENT_CHAT_TOKEN.
func serve() (url string, end func()) {
	store, closeStore := localstream.Memory()
	e, err := env.New(env.Options{Store: store, Config: env.Config{APITokens: []string{token}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	srv := httptest.NewServer(functions.Handler(e))
	return srv.URL, func() {
		srv.CloseClientConnections()
		srv.Close()
		closeStore()
	}
}

// text returns what a delivery says.
func text(d api.Delivery) string {
	var e api.Envelope
	if json.Unmarshal(d.Envelope, &e) != nil || e.Message == nil || e.Message.Text == nil {
		return "(no text)"
	}
	return fmt.Sprintf("%s says %q", e.From, *e.Message.Text)
}

// Two agents meet: one sends, the other follows from the beginning.
func Example() {
	url, end := serve()
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	c, err := client.New(client.Options{URL: url, Token: token})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for _, id := range []ident.Agent{"alice", "bob"} {
		if _, err := c.Register(ctx, api.RegisterRequest{Agent: id}); err != nil {
			panic(err)
		}
	}
	hello := "Please inspect this result"
	sent, err := c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", ID: client.NewID(rand.Reader)}, Text: &hello})
	if err != nil {
		panic(err)
	}
	fmt.Println("stored at", sent.SeqNum)

	for d, err := range c.Follow(ctx, api.InboxRequest{Agent: "bob"}, nil) {
		if err != nil {
			panic(err)
		}
		fmt.Println(text(d), "and the next is at", d.SeqNum+1)
		break // for ever, in a real agent
	}
	// Output:
	// stored at 0
	// alice says "Please inspect this result" and the next is at 1
}

// Three kinds of failures ask for three things: a refusal for another request, an
// unknown outcome for the same one with the same id, no answer for patience.
func ExampleClient_Send() {
	url, end := serve()
	defer end()
	c, err := client.New(client.Options{URL: url, Token: token})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	hello := "hello"
	_, err = c.Send(context.Background(), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "zed", ID: "greeting-1"}, Text: &hello})
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Permanent() {
		fmt.Println("refused:", refused.Problem.Code)
	} else if errors.Is(err, client.ErrUnknown) {
		fmt.Println("repeat it with the same id")
	} else if err != nil {
		fmt.Println("try again later")
	}
	// Output:
	// refused: agent_not_registered
}

// A follower that is cut off resumes by itself; a callback tells of it.
func ExampleClient_Follow() {
	url, end := serve()
	defer end()
	c, err := client.New(client.Options{URL: url, Token: "not-the-token-0123456789"})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	from := uint64(42) // where this reader is: the SeqNum of the last delivery that it has dealt with, and 1
	for d, err := range c.Follow(context.Background(), api.InboxRequest{Agent: "bob", Cursor: &from}, func(s client.State) {
		if !s.Connected {
			fmt.Println("cut off, trying again in", s.Pause)
		}
	}) {
		if err != nil {
			e, _ := errors.AsType[*client.Error](err)
			fmt.Println("refused for good:", e.Problem.Code)
			break
		}
		fmt.Println(text(d))
	}
	// Output:
	// refused for good: unknown_credential
}

// Against the real server, in process: every kind of call, and a replay over pages.
func TestRealServer(t *testing.T) {
	url, end := serve()
	defer end()
	ctx := t.Context()
	operator, err := client.New(client.Options{URL: url + "/", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	for i, id := range []ident.Agent{"alice", "bob", "alice"} {
		got, err := operator.Register(ctx, api.RegisterRequest{Agent: id, Profile: api.Profile{DisplayName: "x"}})
		if err != nil || got.Created != (i < 2) || got.DisplayName != "x" {
			t.Fatalf("register %s: %+v, %v", id, got, err)
		}
	}
	key, err := operator.MintKey(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	alice, err := client.New(client.Options{URL: url, Token: key.Key})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	if who, err := alice.WhoAmI(ctx); err != nil || who.Agent == nil || *who.Agent != "alice" {
		t.Errorf("whoami: %+v, %v", who, err)
	}
	const total = 25
	for i := range total {
		s := fmt.Sprint(i)
		req := api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", ID: ident.Message("m" + s)}, Text: &s}
		if got, err := alice.Send(ctx, req); err != nil || got.SeqNum != uint64(i) || got.Replayed {
			t.Fatalf("send %d: %+v, %v", i, got, err)
		}
		if got, err := alice.Send(ctx, req); err != nil || got.SeqNum != uint64(i) || !got.Replayed {
			t.Fatalf("send %d again: %+v, %v; want the first one", i, got, err)
		}
	}
	seen := uint64(0)
	for d, err := range operator.Replay(ctx, api.InboxRequest{Agent: "bob", Limit: new(4)}) {
		if err != nil || d.SeqNum != seen || text(d) != fmt.Sprintf("alice says %q", fmt.Sprint(seen)) {
			t.Fatalf("delivery %d: %s at %d, %v", seen, text(d), d.SeqNum, err)
		}
		seen++
	}
	if seen != total {
		t.Errorf("replay: %d deliveries; want %d", seen, total)
	}
	if d, err := alice.Message(ctx, api.GetMessageRequest{Agent: "alice", Message: "m7", To: "bob"}); err != nil || d.SeqNum != 7 {
		t.Errorf("message m7: %+v, %v", d, err)
	}
	if _, err := alice.Inbox(ctx, api.InboxRequest{Agent: "bob"}); err == nil || err.(*client.Error).Status != 403 { //nolint:errorlint // it is not wrapped
		t.Errorf("alice reads bob: %v; want 403", err)
	}
	if keys, err := operator.Keys(ctx, "alice"); err != nil || len(keys) != 1 || keys[0].ID != key.ID {
		t.Errorf("keys: %+v, %v", keys, err)
	}
	if err := operator.RevokeKey(ctx, "alice", key.ID); err != nil {
		t.Error(err)
	}
	if err := operator.DeleteAgent(ctx, "alice"); err != nil {
		t.Error(err)
	}
	if limits, err := operator.Limits(ctx); err != nil || limits.TextBytes != api.MaxTextBytes {
		t.Errorf("limits: %+v, %v", limits, err)
	}
	if doc, err := operator.OpenAPI(ctx); err != nil || len(doc) < 1000 {
		t.Errorf("openapi: %d bytes, %v", len(doc), err)
	}
	if _, err := operator.Ready(ctx); err != nil {
		t.Error(err)
	}
}
