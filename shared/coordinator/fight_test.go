package coordinator_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

var (
	seed  = flag.Uint64("fight.seed", 0, "fight this seed, with its history")
	seeds = flag.Int("fight.seeds", 1000, "how many seeds to fight")
	first = flag.Uint64("fight.first", 1, "the first of them")
)

// Two coordinators of one agent fight for its direction, over the real handlers
// on a store and a network that fail: they are stopped and go on, are killed,
// lose replies, and now and then a stream is made again behind their backs.
// Whatever the seed: no position is written twice, no batch is acknowledged that
// was not presented, no message is presented after replacement, and none is left out.
func TestFight(t *testing.T) {
	if *seed != 0 {
		w := fight(t, *seed, nil)
		t.Log("\n" + strings.Join(w.lines, "\n"))
		if len(w.wrong) > 0 {
			t.Fatal(w)
		}
		return
	}
	n := *seeds
	if testing.Short() {
		n /= 10
	}
	did := make([]map[string]int, n)
	t.Run("seeds", func(t *testing.T) {
		for i := range n {
			t.Run(fmt.Sprint(*first+uint64(i)), func(t *testing.T) {
				t.Parallel()
				w := fight(t, *first+uint64(i), nil)
				if len(w.wrong) > 0 {
					t.Fatal(w)
				}
				did[i] = w.did
			})
		}
	})
	all := map[string]int{}
	for _, one := range did {
		for what, n := range one {
			all[what] += n
		}
	}
	t.Log(all)
	// A fight in which nothing happens proves nothing.
	for _, what := range []string{"presented", "acknowledged", "replied", "sent", "refused", "replaced", "uncertain", "stopped", "killed", "stream made again", "reply lost", "decided"} {
		if n >= 100 && all[what] < n/20 {
			t.Errorf("%d times %s in %d fights; the test wants more", all[what], what, n)
		}
	}
}

// What breaks a promise is found. A store that does not look at owners breaks none:
// a claim moves the tail, and positions alone keep the one before out.
func TestFightFindsFaults(t *testing.T) {
	for _, flaw := range []struct {
		name  string
		store func(stream.Store) stream.Store
		want  string // in what is wrong
	}{
		{"positions are not looked at", func(s stream.Store) stream.Store { return careless{s, func(b *stream.Batch) { b.At = nil }} }, ""},
		{"an append is doubled", func(s stream.Store) stream.Store { return doubling{s} }, "is written 2 times"},
		{"a record is left out", func(s stream.Store) stream.Store { return leaky{s} }, "left out"},
	} {
		t.Run(flaw.name, func(t *testing.T) {
			t.Parallel()
			const most = 60
			for s := uint64(1); s <= most; s++ {
				if w := fight(t, s, flaw.store); len(w.wrong) > 0 && strings.Contains(w.String(), flaw.want) {
					t.Logf("found with seed %d: %s", s, w.wrong[0])
					return
				}
			}
			t.Errorf("not found by %d seeds", most)
		})
	}
}

// fight lives through what the seed says.
func fight(t *testing.T, seed uint64, flaw func(stream.Store) stream.Store) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		truth, end := localstream.Memory()
		defer end()
		w = newWorld(t, seed, truth, flaw)
		w.settle()
		w.storm()
		if w.made == nil {
			w.finish("alice")
			w.finish("bob")
		}
		w.serving.Wait()
		wait(t.Context(), 10*time.Second) // what a server does behind its answers has an end
		for _, a := range []ident.Agent{"alice", "bob"} {
			w.checkDirection(a)
			w.checkPresentations(a)
		}
		w.checkTranscript()
	})
	return w
}

// A life is one run of a coordinator, from its claim to its end.
type life struct {
	w      *world
	name   string
	agent  ident.Agent
	rng    *rand.Rand
	cancel context.CancelFunc
	owner  ident.Owner
	player *player
	deaf   string // answers to what ends so are lost

	dead   bool          // the rest is guarded by w.mu
	frozen chan struct{} // closed when it goes on; nil: it is not stopped
	asked  int
}

// seat runs one life after the other until the storm is over.
func (w *world) seat(ctx context.Context, name string, agent ident.Agent) {
	rng := source(w.seed, name)
	for n := 1; ctx.Err() == nil; n++ {
		l := w.life(ctx, fmt.Sprintf("%s.%d", name, n), agent)
		err := l.live(ctx)
		w.end(l, err)
		u, uncertain := errors.AsType[*coordinator.Uncertain](err)
		if uncertain && rng.IntN(2) == 0 {
			w.life(ctx, l.name+".recover", agent).decide(ctx, u)
		}
		wait(ctx, time.Duration(1+rng.IntN(6))*quantum)
	}
}

func (w *world) life(ctx context.Context, name string, agent ident.Agent) *life {
	l := &life{w: w, name: name, agent: agent, rng: source(w.seed, name)}
	l.player = &player{life: l, perBatch: l.rng.IntN(2) == 0, ackOnEnd: l.rng.IntN(3) == 0, wake: make(chan struct{}, 1)}
	w.sync(func() { w.lives = append(w.lives, l) })
	return l
}

func (l *life) client() *client.Client {
	c, err := client.New(client.Options{URL: "http://fleet", Token: apiToken, Tries: 2, HTTP: l.network()})
	if err != nil {
		panic(err) // its options are constants
	}
	return c
}

// live claims the direction and attends to it.
func (l *life) live(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.w.sync(func() { l.cancel = cancel })
	d, err := l.claim(ctx)
	if err != nil {
		return err
	}
	l.owner = d.Owner()
	l.w.note(l.name, "is the owner %s from %d on", l.owner, d.Next())
	return d.Attend(ctx, l.player, coordinator.Options{Limit: 1 + l.rng.IntN(4), PerBatch: l.player.perBatch, AckOnEnd: l.player.ackOnEnd})
}

// claim claims the direction as it is. A docile one, who comes when the storm is
// over, looks again if something of it landed in between.
func (l *life) claim(ctx context.Context) (*coordinator.Direction, error) {
	for id := "claim-" + l.name; ; id += "-again" {
		review, err := coordinator.Look(ctx, l.client(), l.w.chat, l.agent)
		if err != nil {
			return nil, err
		}
		d, err := review.Claim(ctx, ident.Claim(id))
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Problem.Code != api.ClaimStale || !l.player.docile {
			return d, err
		}
	}
}

// decide finds out what became of an operation.
func (l *life) decide(ctx context.Context, u *coordinator.Uncertain) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.w.sync(func() { l.cancel = cancel })
	got, err := coordinator.Recover(ctx, l.client(), api.OperationRequest{
		Chat: u.Chat, AgentID: u.Agent, Operation: u.Operation, ExpectedPosition: &u.Position,
	}, ident.Claim("claim-"+l.name))
	if err != nil {
		l.w.end(l, err)
		return
	}
	l.w.count("decided")
	l.w.note(l.name, "%s at %d is %s, final: %t", u.Operation, u.Position, got.Outcome, got.Final)
	l.w.sync(func() { l.w.decided = append(l.w.decided, decision{l, u, got}) })
}

// finish lets an agent that only acknowledges be presented all that is left.
func (w *world) finish(agent ident.Agent) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	l := w.life(ctx, "finish-"+string(agent), agent)
	l.player.docile = true
	done := make(chan error, 1)
	go func() { done <- l.live(ctx) }() // ends when ctx does
	for range 100 {
		wait(ctx, time.Second)
		b, err := l.client().Batch(ctx, api.BatchRequest{Chat: w.chat, AgentID: agent})
		if err == nil && b.BatchID == nil {
			cancel()
			<-done
			return
		}
	}
	w.fail("%s is not presented all that is left", agent)
	cancel()
	w.fail("%s ended with %v", l.name, <-done)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
