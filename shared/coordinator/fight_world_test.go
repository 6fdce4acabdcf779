package coordinator_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/functions"
	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

const (
	apiToken = "the-fleet-of-the-fight"
	quantum  = 997 * time.Millisecond // how long nothing happens when everybody waits
	steps    = 900                    // of a storm
)

// A world is one fight.
type world struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand // of the scheduler
	truth   stream.Store
	procs   [2]*process
	keys    *signed.Set
	chat    ident.Chat
	begun   time.Time
	serving sync.WaitGroup // requests
	calm    atomic.Bool    // no faults any more, and everything passes at once
	step    int

	made *remade // the stream that was made again; nil: none

	mu        sync.Mutex
	parked    []*parked
	lines     []string
	wrong     []string
	did       map[string]int
	lives     []*life
	presented []presented
	told      []told
	decided   []decision
	quota     map[ident.Agent]int // messages that are still to be sent
	acks      map[ident.Batch]bool
	authors   map[ident.Operation]*life
}

type decision struct {
	life *life
	of   *coordinator.Uncertain
	got  *api.OperationResponse
}

// A process serves all families over its own way to the store.
type process struct {
	handler http.Handler
	store   *faultstream.Store
}

func newWorld(t *testing.T, seed uint64, truth stream.Store, flaw func(stream.Store) stream.Store) *world {
	w := &world{
		t: t, seed: seed, rng: source(seed, "scheduler"), truth: truth, begun: time.Now(), did: map[string]int{},
		quota: map[ident.Agent]int{"alice": 3, "bob": 10}, acks: map[ident.Batch]bool{}, authors: map[ident.Operation]*life{},
	}
	var err error
	if w.keys, err = signed.NewSet(time.Now()); err != nil {
		t.Fatal(err)
	}
	flawed := truth
	if flaw != nil {
		flawed = flaw(truth)
	}
	for i := range w.procs {
		p := &process{}
		p.store = faultstream.New(t, flawed, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault { return w.choose(i, c) }})
		e, err := env.New(env.Options{Store: p.store, Config: env.Config{APITokens: []string{apiToken}, SigningKeys: w.keys}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		p.handler = functions.Handler(e)
		w.procs[i] = p
	}
	return w
}

// source returns the randomness of one part of the fight.
func source(seed uint64, part string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(part) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

func (w *world) sync(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) note(who, format string, args ...any) {
	l := fmt.Sprintf("%9.3fs %-10s %s", time.Since(w.begun).Seconds(), who, fmt.Sprintf(format, args...))
	w.sync(func() { w.lines = append(w.lines, l) })
}

func (w *world) count(what string) { w.sync(func() { w.did[what]++ }) }

func (w *world) fail(format string, args ...any) {
	w.sync(func() { w.wrong = append(w.wrong, fmt.Sprintf(format, args...)) })
}

// String returns what is wrong, and how to see it again.
func (w *world) String() string {
	return fmt.Sprintf("seed %d: %s\nagain: make fight SEED=%d", w.seed, strings.Join(w.wrong, "\n"), w.seed)
}

// end writes down how a life ended. Of the stream that was made again it says so.
func (w *world) end(l *life, err error) {
	w.note(l.name, "ends: %v", err)
	killed := false
	if w.sync(func() { killed = l.dead }); killed {
		return
	}
	replaced, isReplaced := errors.AsType[*coordinator.Replaced](err)
	u, uncertain := errors.AsType[*coordinator.Uncertain](err)
	e, answered := errors.AsType[*client.Error](err)
	_, unanswered := errors.AsType[*client.ConnError](err)
	switch {
	case isReplaced:
		w.count("replaced")
		if replaced.By == l.owner {
			w.fail("%s was replaced by itself", l.name)
		}
	case uncertain:
		w.count("uncertain")
		w.note(l.name, "does not know of %s at %d", u.Operation, u.Position)
	case err == nil, errors.Is(err, context.Canceled), unanswered:
	case answered && !e.Permanent(), answered && e.Problem.Code == api.ClaimStale:
	case answered && w.made != nil && slices.Contains([]api.Code{api.StreamMissing, api.GenerationChanged}, e.Problem.Code):
		w.count(string(e.Problem.Code))
	default:
		w.fail("%s ended with %v", l.name, err)
	}
}

// settle makes the chat, while all goes well.
func (w *world) settle() {
	w.calm.Store(true)
	c := w.life(w.t.Context(), "operator", "").client()
	for _, a := range []ident.Agent{"alice", "bob"} {
		if _, err := c.Register(w.t.Context(), api.RegisterRequest{Agent: a}); err != nil {
			w.t.Fatal(err)
		}
	}
	chat, err := c.CreateChat(w.t.Context(), api.CreateChatRequest{AgentID: "alice", PeerID: "bob"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.chat = chat.ID
	w.calm.Store(false)
}

// storm lets two coordinators of alice fight, and one of bob talk to them.
func (w *world) storm() {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var busy atomic.Int64
	for name, agent := range map[string]ident.Agent{"a1": "alice", "a2": "alice", "b": "bob"} {
		busy.Add(1)
		go func() { // ends with ctx
			defer busy.Add(-1)
			w.seat(ctx, name, agent)
		}()
	}
	remake := -1
	if w.rng.IntN(4) == 0 {
		remake = w.rng.IntN(steps)
	}
	for w.step = range steps {
		synctest.Wait()
		if w.step == remake {
			w.remake()
		}
		w.move()
	}
	w.calm.Store(true)
	w.thaw()
	w.releaseAll()
	if w.made != nil { // everybody has time to notice, and nobody may go on
		wait(ctx, 2*time.Minute)
	}
	cancel()
	for range 300 {
		synctest.Wait()
		if busy.Load() == 0 {
			break
		}
		w.releaseAll()
		wait(w.t.Context(), time.Second)
	}
	if n := busy.Load(); n > 0 {
		w.fail("%d coordinators never end", n)
	}
	for _, p := range w.procs {
		p.store.LandAll()
	}
}

// A fate is what a parked thing is told.
type fate int

const (
	pass fate = iota
	lost      // the request, or the answer, is
	gone      // who asked is no more
)

// parked is what stands until the scheduler lets it go on.
type parked struct {
	who, what string
	n         int
	life      *life // nil: a call of the store
	call      faultstream.Call
	proc      int
	gate      chan fate
	fault     faultstream.Fault
}

// park stops a life before it does something.
func (w *world) park(l *life, what string) fate {
	k := &parked{who: l.name, what: what, life: l, gate: make(chan fate, 1)}
	dead := false
	w.sync(func() {
		l.asked++
		k.n = l.asked
		if dead = l.dead; !dead && !w.calm.Load() {
			w.parked = append(w.parked, k)
		}
	})
	switch {
	case dead:
		return gone
	case w.calm.Load():
		return pass
	}
	return <-k.gate
}

// choose parks a call of the store.
func (w *world) choose(proc int, c faultstream.Call) faultstream.Fault {
	if w.calm.Load() {
		return faultstream.Fault{}
	}
	k := &parked{who: fmt.Sprint("p", proc), what: c.Op.String() + " " + c.Name.String(), n: c.N, call: c, proc: proc, gate: make(chan fate, 1)}
	w.sync(func() { w.parked = append(w.parked, k) })
	<-k.gate
	return k.fault
}

// standing returns what may go on, in an order that is the seed's.
func (w *world) standing() []*parked {
	var ks []*parked
	w.sync(func() {
		for _, k := range w.parked {
			if k.life == nil || k.life.frozen == nil {
				ks = append(ks, k)
			}
		}
	})
	slices.SortStableFunc(ks, func(a, b *parked) int {
		return cmp.Or(strings.Compare(a.who, b.who), strings.Compare(a.what, b.what), cmp.Compare(a.n, b.n))
	})
	return ks
}

func (w *world) release(k *parked, f fate) {
	w.sync(func() { w.parked = slices.DeleteFunc(w.parked, func(o *parked) bool { return o == k }) })
	k.gate <- f
}

func (w *world) releaseAll() {
	for {
		synctest.Wait()
		ks := w.standing()
		if len(ks) == 0 {
			return
		}
		for _, k := range ks {
			w.release(k, pass)
		}
	}
}

// move lets one thing happen.
func (w *world) move() {
	ks := w.standing()
	switch r := w.rng.Float64(); {
	case r < 0.015:
		w.disturb()
	case r < 0.035:
		w.thaw()
	case r < 0.05:
		p := w.procs[w.rng.IntN(len(w.procs))]
		if late := p.store.Pending(); len(late) > 0 {
			p.store.Land(late[w.rng.IntN(len(late))].N)
		}
	case len(ks) == 0 || r < 0.08:
		d := quantum
		if w.rng.IntN(6) == 0 {
			d *= 7
		}
		<-time.After(d)
	default:
		k := ks[w.rng.IntN(len(ks))]
		f := pass
		switch {
		case k.life == nil:
			k.fault = w.fault(k.call.Op)
		case k.what != "acts" && w.rng.IntN(40) == 0:
			f = lost
			if strings.HasPrefix(k.what, "hears") {
				w.count("reply lost")
			}
			w.note(k.who, "%s, and it is lost", k.what)
		}
		w.release(k, f)
	}
}

func (w *world) fault(op faultstream.Op) faultstream.Fault {
	if w.rng.IntN(30) > 0 {
		return faultstream.Fault{}
	}
	kinds := op.Kinds()[1:]
	return faultstream.Fault{Kind: kinds[w.rng.IntN(len(kinds))], After: w.rng.IntN(9) - 1, Delay: time.Duration(w.rng.IntN(5)) * quantum}
}

// disturb stops a coordinator, or kills it.
func (w *world) disturb() {
	var alive []*life
	w.sync(func() {
		for _, l := range w.lives {
			if l.cancel != nil && !l.dead && l.frozen == nil && l.player.w != nil {
				alive = append(alive, l)
			}
		}
	})
	alive = alive[max(0, len(alive)-4):] // those before have most likely ended
	if len(alive) == 0 {
		return
	}
	l := alive[w.rng.IntN(len(alive))]
	if w.rng.IntN(3) > 0 {
		w.count("stopped")
		w.note(l.name, "is stopped")
		w.sync(func() { l.frozen = make(chan struct{}) })
		return
	}
	w.count("killed")
	w.note(l.name, "is killed")
	var its []*parked
	w.sync(func() {
		l.dead = true
		for _, k := range w.parked {
			if k.life == l {
				its = append(its, k)
			}
		}
	})
	for _, k := range its {
		w.release(k, gone)
	}
	l.cancel()
}

// thaw lets those who were stopped go on.
func (w *world) thaw() {
	w.sync(func() {
		for _, l := range w.lives {
			if l.frozen != nil {
				close(l.frozen)
				l.frozen = nil
				w.lines = append(w.lines, l.name+" goes on")
			}
		}
	})
}
