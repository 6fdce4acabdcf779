package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// The agents. Those that nobody ever deletes are promised more.
var (
	lasting = []ident.Agent{"ann", "bob", "cat", "dan"}
	passing = []ident.Agent{"eve", "fay"}
	agents  = slices.Concat(lasting, passing)
)

func lasts(a ident.Agent) bool { return slices.Contains(lasting, a) }

// A world is one run.
type world struct {
	t       *testing.T
	o       Options
	truth   stream.Store  // without faults and flaws
	flawed  stream.Store  // what processes have
	rng     *rand.Rand    // of the scheduler
	share   float64       // of the calls, how many a fault hits
	trouble float64       // of the steps, how many disturb a process
	agents  []ident.Agent // all of them
	begun   time.Time
	procs   []*process // those that live; changed by the scheduler only, under mu
	ever    []*process // all that ever lived

	calm atomic.Bool  // no faults any more, and calls pass at once
	step atomic.Int64 // what happens in one happens at once

	mu       sync.Mutex // also of the attempts of letters
	parked   []*parked
	lines    []line
	did      map[string]int
	wrong    []Wrong
	letters  []*letter
	spans    []*span
	views    []*view
	changes  []change
	ends     map[ident.Agent][]int64 // the steps in which somebody began to delete an agent
	readers  []*follower
	watchers []*watcher
}

func newWorld(t *testing.T, o Options, truth stream.Store) *world {
	w := &world{
		t: t, o: o, truth: truth, flawed: truth, rng: source(o.Seed, "scheduler"), begun: time.Now(),
		did: map[string]int{}, ends: map[ident.Agent][]int64{},
	}
	if o.Store != nil {
		w.flawed = o.Store(truth)
	}
	w.share = w.rng.Float64() * 0.3
	w.trouble = w.rng.Float64() * 0.01
	w.procs = make([]*process, o.Processes)
	w.agents = slices.Clone(agents)
	if w.rng.IntN(2) == 0 { // too many for a cursor of the monitor's to name them all
		for n := range 24 {
			w.agents = append(w.agents, ident.Agent(fmt.Sprintf("one-of-a-crowd-that-has-long-names-and-never-does-anything-%02d", n)))
		}
	}
	return w
}

// sync runs f alone.
func (w *world) sync(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// settle starts the processes and registers the agents, while all goes well.
func (w *world) settle() {
	w.calm.Store(true)
	for n := range w.procs {
		w.start(n)
	}
	u := w.user(-1)
	for _, a := range w.agents {
		if _, err := u.api.Register(w.t.Context(), api.RegisterRequest{Agent: a}); err != nil {
			w.fail([]string{string(a)}, "register %s, while all went well: %v", a, err)
		}
	}
	for _, a := range w.agents[len(agents):] {
		u.write(w.t.Context(), agents[0], a, "")
	}
	w.calm.Store(false)
}

// storm lets everybody do what they do until the users are done.
func (w *world) storm() {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var busy atomic.Int64
	for n := range w.o.Users {
		busy.Add(1)
		u := w.user(n)
		go func() { // ends with its operations
			defer busy.Add(-1)
			u.live(ctx)
		}()
	}
	for _, a := range agents {
		w.readers = append(w.readers, w.follow(a))
	}
	for n := range 2 {
		w.watchers = append(w.watchers, w.watch(n))
	}
	w.run(func() bool { return busy.Load() == 0 })
	w.note("all", "the storm is over")
}

// heal lets what is late arrive, resolves what is unknown by repeating it, and
// lets the readers come to the end.
func (w *world) heal() {
	w.releaseAll()
	for _, p := range w.ever {
		p.store.LandAll()
	}
	w.await("everybody who still waits", w.idle)
	u := w.user(-2)
	u.resolve()
	for _, a := range passing { // what is half done is finished by doing it again
		if _, err := u.api.Register(w.t.Context(), api.RegisterRequest{Agent: a}); err != nil {
			w.fail([]string{string(a)}, "register %s, after the storm: %v", a, err)
		}
	}
	u.lookAtAll(w.t.Context())
	tails := w.tails()
	for _, f := range w.readers {
		w.await(fmt.Sprintf("the follower of %s, to come to %d", f.agent, tails[f.agent]), func() bool { return f.reached() >= tails[f.agent] })
		f.stop()
	}
	for _, m := range w.watchers {
		w.await(m.who+", to come to the end", func() bool { return m.reached(tails) })
		m.stop()
	}
	w.await("who was sent away", w.idle)
	for _, p := range w.ever {
		p.env.Mail.Wait()
		p.env.Journal.Wait()
	}
}

// await lets time pass until done, for five minutes at most.
func (w *world) await(whom string, done func() bool) {
	for range 300 {
		synctest.Wait()
		w.step.Add(1)
		if done() {
			return
		}
		<-time.After(time.Second)
	}
	w.fail([]string{"!"}, "still waiting for %s", whom)
}

// idle reports whether no process, dead ones included, has a request under way but streams.
func (w *world) idle() bool {
	return !slices.ContainsFunc(w.ever, func(p *process) bool { return p.busy.Load() > 0 })
}

// tails returns for each inbox the position behind its last delivery.
func (w *world) tails() map[ident.Agent]uint64 {
	tails := map[ident.Agent]uint64{}
	for _, a := range w.agents {
		for _, e := range w.inbox(a) {
			if e.Command() == stream.None {
				tails[a] = e.Seq + 1
			}
		}
	}
	return tails
}

// inbox returns what stands in an inbox, commands included.
func (w *world) inbox(a ident.Agent) []stream.Entry { return w.entries(stream.Inbox(a)) }

// entries returns a whole stream.
func (w *world) entries(name stream.Name) (all []stream.Entry) {
	for at := uint64(0); ; {
		page, err := w.truth.Read(context.Background(), name, stream.Start{Seq: at}, stream.Limit{})
		if err != nil {
			w.fail(nil, "read %s: %v", name, err)
			return all
		}
		all = append(all, page.Entries...)
		if at = page.Next(at); at >= page.Tail {
			return all
		}
	}
}

// client returns a client that tries once and comes through any process.
func (w *world) client(who string) *client.Client {
	c, err := client.New(client.Options{URL: "http://fleet", Token: apiToken, Tries: 1, HTTP: w.network(who)})
	if err != nil {
		panic("simulation: " + err.Error()) // its options are constants
	}
	return c
}

// pause lets time pass for who calls it; it reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
