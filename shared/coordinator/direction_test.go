package coordinator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/ident"
	"agentchat/shared/stream/localstream"
)

// calmly runs f in a world where all goes well, with a client whose answers to
// what deaf says are lost.
func calmly(t *testing.T, f func(t *testing.T, w *world, c *client.Client, deaf *string)) {
	synctest.Test(t, func(t *testing.T) {
		truth, end := localstream.Memory()
		defer end()
		w := newWorld(t, 1, truth, nil)
		w.settle()
		w.calm.Store(true)
		l := w.life(t.Context(), "alone", "alice")
		f(t, w, l.client(), &l.deaf)
	})
}

// own claims alice's direction.
func (w *world) own(c *client.Client, id string) *coordinator.Direction {
	w.t.Helper()
	review, err := coordinator.Look(w.t.Context(), c, w.chat, "alice")
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := review.Claim(w.t.Context(), ident.Claim(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// Who was replaced writes nothing, is told by whom, and moves nothing.
func TestReplaced(t *testing.T) {
	calmly(t, func(t *testing.T, w *world, c *client.Client, _ *string) {
		ctx := t.Context()
		before := w.own(c, "before")
		if _, err := before.Send(ctx, "m-1", "one", nil); err != nil || before.Next() != 4 {
			t.Fatalf("Send: %v, then Next = %d; want 4", err, before.Next())
		}
		after := w.own(c, "after")
		unasked := *before // has not been refused anything yet
		for what, try := range map[string]func() error{
			"Send":           func() error { _, err := before.Send(ctx, "m-2", "two", nil); return err },
			"Send again":     func() error { _, err := before.Send(ctx, "m-2", "two", nil); return err },
			"Unacknowledged": func() error { _, err := unasked.Unacknowledged(ctx, 0); return err },
		} {
			r, ok := errors.AsType[*coordinator.Replaced](try())
			if !ok || r.By != after.Owner() {
				t.Errorf("%s of who was replaced: %v; want Replaced by %s", what, r, after.Owner())
			}
		}
		if before.Next() != 4 || len(w.entries("alice")) != 6 {
			t.Errorf("Next = %d of %d records; want 4 of 6: nothing moves, and nothing is stored", before.Next(), len(w.entries("alice")))
		}
		if _, err := after.Send(ctx, "m-3", "three", nil); err != nil || after.Next() != 7 {
			t.Errorf("Send of the owner: %v, then Next = %d; want 7", err, after.Next())
		}
	})
}

// An append whose reply is lost is uncertain: it is stored once, nothing follows
// it, and it is found by its operation.
func TestUncertain(t *testing.T) {
	calmly(t, func(t *testing.T, w *world, c *client.Client, deaf *string) {
		ctx := t.Context()
		d := w.own(c, "mine")
		*deaf = "/messages"
		_, err := d.Send(ctx, "m-1", "one", nil)
		*deaf = ""
		u, ok := errors.AsType[*coordinator.Uncertain](err)
		if !ok || u.Position != 3 || d.Next() != 3 || !errors.Is(err, client.ErrUnknown) {
			t.Fatalf("Send whose reply is lost: %v, Next = %d; want Uncertain at 3", err, d.Next())
		}
		if _, again := d.Send(ctx, "m-2", "two", nil); !errors.Is(again, err) {
			t.Errorf("Send behind it: %v; want %v", again, err)
		}
		if n := len(w.entries("alice")); n != 4 {
			t.Errorf("%d records; want 4: it is stored once, and nothing is besides", n)
		}
		req := api.OperationRequest{Chat: u.Chat, AgentID: u.Agent, Operation: u.Operation, ExpectedPosition: &u.Position}
		if got, err := coordinator.Recover(ctx, c, req, "recovery"); err != nil || got.Outcome != api.OperationStored {
			t.Errorf("Recover: %v, %v; want stored", got, err)
		}
		if n := len(w.entries("alice")); n != 4 {
			t.Errorf("%d records after Recover; want 4: what is certain needs no claim", n)
		}
	})
}

// An append that never came is absent for good once its position is claimed.
func TestRecoverAbsent(t *testing.T) {
	calmly(t, func(t *testing.T, w *world, c *client.Client, _ *string) {
		d := w.own(c, "mine")
		u := api.OperationRequest{Chat: w.chat, AgentID: "alice", Operation: "op_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", ExpectedPosition: new(d.Next())}
		got, err := coordinator.Recover(t.Context(), c, u, "recovery")
		if err != nil || got.Outcome != api.OperationAbsent || !got.Final {
			t.Fatalf("Recover: %+v, %v; want absent, final", got, err)
		}
		var replaced *coordinator.Replaced
		if _, err := d.Send(t.Context(), "m-1", "one", nil); !errors.As(err, &replaced) {
			t.Errorf("Send of who owned it: %v; want Replaced", err)
		}
	})
}

// What is too large leaves the direction for something smaller.
func TestTooLarge(t *testing.T) {
	calmly(t, func(t *testing.T, w *world, c *client.Client, _ *string) {
		d := w.own(c, "mine")
		_, err := d.Send(t.Context(), "m-1", strings.Repeat("x", api.MaxChatAppend), nil)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Problem.Code != api.AppendTooLarge || d.Next() != 3 {
			t.Fatalf("Send of too much: %v, Next = %d; want append_too_large, 3", err, d.Next())
		}
		if got, err := d.Send(t.Context(), "m-1", "smaller", nil); err != nil || got.Position != 3 {
			t.Errorf("Send of less: %v, %v; want it at 3", got, err)
		}
	})
}

// A chat whose streams are not what they were is not presented.
func TestAnotherGeneration(t *testing.T) {
	calmly(t, func(t *testing.T, w *world, c *client.Client, _ *string) {
		d := w.own(c, "mine")
		w.remake()
		_, err := d.Unacknowledged(context.WithoutCancel(t.Context()), 0)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Problem.Code != api.StreamMissing && e.Problem.Code != api.GenerationChanged {
			t.Errorf("Unacknowledged: %v; want stream_missing or generation_changed", err)
		}
	})
}
