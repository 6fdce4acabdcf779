package chatlog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/chatlog"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// testKeys are those of every process of a world: made once, as making them takes longer than a run.
var testKeys = sync.OnceValue(func() *signed.Set {
	keys, err := signed.NewSet(time.Unix(0, 0))
	if err != nil {
		panic(err) // no randomness
	}
	return keys
})

// process returns a log that has seen nothing yet, on a store.
func process(s stream.Store) *chatlog.Log { return configured(s, chatlog.Options{}) }

func configured(s stream.Store, o chatlog.Options) *chatlog.Log {
	o.Keys = testKeys()
	j := journal.New(s, journal.Options{})
	return chatlog.New(s, j, mailbox.New(s, j, mailbox.Options{}), o)
}

// A world is a store with alice, bob and carol, and a chat of alice and bob.
type world struct {
	store      stream.Store
	log        *chatlog.Log
	chat       ident.Chat
	generation map[ident.Agent]ident.Generation // of each direction
}

var alice, bob = chatlog.Actor{Agent: "alice"}, chatlog.Actor{Agent: "bob"}

func registered(s stream.Store) error {
	m := mailbox.New(s, journal.New(s, journal.Options{}), mailbox.Options{})
	for _, id := range []ident.Agent{"alice", "bob", "carol"} {
		if _, err := m.Register(context.Background(), id, api.Profile{}); err != nil {
			return err
		}
	}
	return nil
}

// deleted ends an agent's registration, in a process of its own.
func deleted(s stream.Store, id ident.Agent) error {
	return mailbox.New(s, journal.New(s, journal.Options{}), mailbox.Options{}).Delete(context.Background(), id)
}

func setUp(s stream.Store) (*world, error) {
	if err := registered(s); err != nil {
		return nil, err
	}
	w := &world{store: s, log: process(s)}
	c, err := w.log.Create(context.Background(), alice, "bob")
	if err != nil {
		return nil, err
	}
	w.chat, w.generation = c.ID, map[ident.Agent]ident.Generation{"alice": c.StreamA.Generation, "bob": c.StreamB.Generation}
	return w, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, end := localstream.Memory()
	t.Cleanup(end)
	w, err := setUp(s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// claim makes an actor the owner of its direction, which nobody owns.
func (w *world) claim(by chatlog.Actor) (*api.ClaimResponse, error) {
	return w.log.Claim(context.Background(), w.chat, by, chatlog.Review{ClaimID: "set-up"})
}

func (w *world) mustClaim(t *testing.T, by chatlog.Actor) *api.ClaimResponse {
	t.Helper()
	c, err := w.claim(by)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func message(token ident.OwnerToken, at uint64, id ident.Message, content string) chatlog.Draft {
	return chatlog.Draft{Token: token, Position: at, MessageID: id, Content: &content}
}

// records returns all of a direction.
func (w *world) records(of ident.Agent) ([]stream.Entry, error) {
	var all []stream.Entry
	for {
		p, err := w.store.Read(context.Background(), stream.Direction(w.chat, of), stream.Start{Seq: uint64(len(all))}, stream.Limit{})
		if err != nil {
			return nil, err
		}
		if all = append(all, p.Entries...); uint64(len(all)) >= p.Tail {
			return all, nil
		}
	}
}

// stands returns where an operation begins in a direction, and how many records
// it has; an error if it stands twice, or in part.
func stands(all []stream.Entry, op ident.Operation, records int) (at uint64, ok bool, err error) {
	n := 0
	for _, e := range all {
		h, ours := chat.HeaderOf(e)
		if !ours || h.Operation != op {
			continue
		}
		if h.Index == 0 {
			if ok {
				return 0, false, fmt.Errorf("%s stands at %d and at %d", op, at, e.Seq)
			}
			at, ok = e.Seq, true
		}
		n++
	}
	if ok && n != records {
		return 0, false, fmt.Errorf("%s stands with %d records; want %d", op, n, records)
	}
	return at, ok, nil
}

func codeOf(err error) api.Code {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	if err != nil {
		return api.Internal
	}
	return ""
}

func wantCode(t *testing.T, what string, err error, want api.Code) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != want {
		t.Errorf("%s: %v; want %s", what, err, want)
		return api.Errorf(want, "")
	}
	return e
}
