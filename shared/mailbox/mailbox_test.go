package mailbox_test

import (
	"encoding/json"
	"errors"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// A world is a store, and processes that work on it.
type world struct {
	t     testing.TB
	store stream.Store
}

func newWorld(t testing.TB) *world {
	store, end := localstream.Memory()
	t.Cleanup(end)
	return &world{t, store}
}

// process returns a mailbox that has seen nothing yet, on the world's store.
func (w *world) process() *mailbox.Mailbox { return onStore(w.store) }

// sole returns the mailbox of a process that is alone on the store.
func (w *world) sole() *mailbox.Mailbox {
	return mailbox.New(w.store, journal.New(w.store, journal.Options{}), mailbox.Options{Sole: true})
}

func onStore(s stream.Store) *mailbox.Mailbox {
	return mailbox.New(s, journal.New(s, journal.Options{}), mailbox.Options{})
}

func register(t testing.TB, m *mailbox.Mailbox, ids ...ident.Agent) {
	t.Helper()
	for _, id := range ids {
		if _, err := m.Register(t.Context(), id, api.Profile{}); err != nil {
			t.Fatalf("register %s: %v", id, err)
		}
	}
}

func text(s string) *api.Content { return &api.Content{Text: &s} }

func draft(from, to ident.Agent, id ident.Message, s string) mailbox.Draft {
	return mailbox.Draft{Op: "messages.send", Kind: api.KindMessage, From: from, To: to, ID: id, Message: text(s)}
}

func send(t testing.TB, m *mailbox.Mailbox, d mailbox.Draft) *api.SendResponse {
	t.Helper()
	r, err := m.Send(t.Context(), d)
	if err != nil {
		t.Fatalf("send from %s to %s: %v", d.From, d.To, err)
	}
	return r
}

func replay(t testing.TB, m *mailbox.Mailbox, q mailbox.Query) *api.InboxPage {
	t.Helper()
	p, err := m.Replay(t.Context(), q)
	if err != nil {
		t.Fatalf("replay of %s: %v", q.Agent, err)
	}
	return p
}

func envelope(t testing.TB, raw json.RawMessage) api.Envelope {
	t.Helper()
	var e api.Envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatalf("envelope %q: %v", raw, err)
	}
	return e
}

// texts returns what the deliveries of a page say.
func texts(t testing.TB, p *api.InboxPage) []string {
	t.Helper()
	out := []string{}
	for _, d := range p.Deliveries {
		out = append(out, *envelope(t, d.Envelope).Message.Text)
	}
	return out
}

func wantCode(t testing.TB, what string, err error, want api.Code) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != want {
		t.Fatalf("%s: err = %v; want code %s", what, err, want)
	}
	return e
}

func ptr[T any](v T) *T { return &v }
