package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/stream/interleave"
)

// A life is what processes do at once to the agent bob and his inbox.
type life struct {
	before string   // what has happened to bob: d deleted, r registered, in this order
	procs  []string // what each process does: register, delete, or send, with what it has seen before
}

// lifeModel runs a life, and then registers bob. It checks that the inbox is
// never open to what is not bob's, and that the registration works in the end.
func lifeModel(l life, through wrap) func(*testing.T, *interleave.World) error {
	return func(_ *testing.T, w *interleave.World) error {
		ctx := context.Background()
		m := onStore(w.Store)
		if _, err := m.Register(ctx, "alice", api.Profile{}); err != nil {
			return err
		}
		for _, c := range l.before {
			var err error
			if c == 'r' {
				_, err = m.Register(ctx, "bob", api.Profile{})
			} else {
				err = m.Delete(ctx, "bob")
			}
			if err != nil {
				return err
			}
		}
		h := &history{w: w}
		for i, what := range l.procs {
			name := fmt.Sprintf("%d %s", i, what)
			w.Go(name, func(s stream.Store) func() {
				m := onStore(through(s))
				if strings.HasSuffix(l.before, "r") { // warm: it believes what it sees now
					_, _ = m.Send(ctx, draft("alice", "bob", ident.Message(fmt.Sprintf("warm-%d", i)), "hello"))
				}
				return func() {
					var err error
					switch what {
					case "register":
						_, err = m.Register(ctx, "bob", api.Profile{})
					case "delete":
						err = m.Delete(ctx, "bob")
					case "send":
						err = h.send(name, m, draft("alice", "bob", ident.Message(fmt.Sprintf("id-%d", i)), "hello"))
					case "plain":
						err = h.send(name, m, draft("alice", "bob", "", "hello"))
					}
					w.Note("%s: %v", name, err)
				}
			})
		}
		w.Run()
		if err := h.check(); err != nil {
			return err
		}
		if err := checkLife(w.Store); err != nil {
			return err
		}
		// Whatever was left half done, registering finishes.
		fresh := onStore(w.Store)
		if _, err := fresh.Register(ctx, "bob", api.Profile{}); err != nil {
			return fmt.Errorf("register at last: %w", err)
		}
		if err := checkLife(w.Store); err != nil {
			return fmt.Errorf("registered at last: %w", err)
		}
		if err := h.send("at last", fresh, draft("alice", "bob", "last", "hello")); err != nil {
			return fmt.Errorf("send at last: %w", err)
		}
		p, err := fresh.Replay(ctx, mailbox.Query{Agent: "bob"})
		if err != nil || len(p.Deliveries) == 0 || idOf(p.Deliveries[len(p.Deliveries)-1].Envelope) != "last" {
			return fmt.Errorf("replay at last: %+v, %w", p, err)
		}
		return h.check()
	}
}

// checkLife returns what is wrong with bob's inbox: a message behind the fence
// that closed it, a registration whose first position is not behind the fence that
// opened it, or which is closed.
func checkLife(s stream.Store) error {
	state, err := onStore(s).Registration(context.Background(), "bob", 0)
	if err != nil {
		return err
	}
	all, err := records(s)
	if err != nil {
		return err
	}
	epoch, first := "", uint64(0)
	for _, e := range all {
		if e.Command() != stream.FenceCommand {
			if strings.HasPrefix(epoch, "closed:") {
				return fmt.Errorf("a message at %d, behind the fence that closed the inbox", e.Seq)
			}
			continue
		}
		if strings.HasPrefix(epoch, "closed:") {
			first = e.Seq + 1
		}
		epoch = string(e.Body)
	}
	if state.Phase != agent.Registered {
		return nil
	}
	if strings.HasPrefix(epoch, "closed:") {
		return errors.New("bob is registered, and his inbox is closed")
	}
	if g, _, _ := strings.Cut(epoch, "."); state.Former && g != string(state.Generation) || !state.Former && g != "" {
		return fmt.Errorf("the inbox of generation %s is open under %q", state.Generation, epoch)
	}
	if state.First != first {
		return fmt.Errorf("first is %d; the registration begins at %d", state.First, first)
	}
	return nil
}

var lives = map[string]life{
	"register twice":                {"", []string{"register", "register"}},
	"register twice again":          {"rd", []string{"register", "register"}},
	"register and delete":           {"", []string{"register", "delete"}},
	"register and delete again":     {"rd", []string{"register", "delete"}},
	"delete twice":                  {"r", []string{"delete", "delete"}},
	"delete and send":               {"r", []string{"delete", "send"}},
	"delete and send without an id": {"rdr", []string{"delete", "plain"}},
}

// What is done to an agent by two processes at once, with lost replies, late
// appends and death at any step, leaves either no registration or a whole one.
func TestLifeModel(t *testing.T) {
	o := bounds(interleave.Options{Faults: 1, Switches: 1}, interleave.Options{Faults: 2, Switches: 1})
	for name, l := range lives {
		t.Run(name, func(t *testing.T) { explore(t, o, lifeModel(l, direct)) })
	}
}

// The same with more processes, and more faults than can be enumerated.
func TestLifeModelSampled(t *testing.T) {
	for _, before := range []string{"", "r", "rd", "rdr"} {
		t.Run(before, func(t *testing.T) {
			explore(t, sampled(300), lifeModel(life{before, []string{"delete", "register", "send", "register", "plain"}}, direct))
		})
	}
}
