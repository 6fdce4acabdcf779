package simulation

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agentchat/functions"
	"agentchat/shared/env"
	"agentchat/shared/stream/faultstream"
)

const (
	apiToken   = "the-fleet-of-the-simulation"
	adminToken = "the-auditor-of-the-simulation"
)

// A process serves all families over its own way to the store.
type process struct {
	w       *world
	name    string
	env     *env.Env
	handler http.Handler
	store   *faultstream.Store
	drain   chan struct{}
	dead    atomic.Bool
	busy    atomic.Int64 // requests under way but streams

	mu    sync.Mutex
	conns map[*conn]bool
}

// start puts a new process in the place of number n.
func (w *world) start(n int) {
	p := &process{w: w, name: fmt.Sprintf("p%d.%d", n, len(w.ever)+1), drain: make(chan struct{}), conns: map[*conn]bool{}}
	p.store = faultstream.New(w.t, w.flawed, faultstream.Options{Choose: p.choose})
	rng := source(w.o.Seed, p.name)
	var key [32]byte
	for i := range key {
		key[i] = byte(rng.Uint32())
	}
	e, err := env.New(env.Options{
		Store: p.store,
		Config: env.Config{
			APITokens: []string{apiToken}, AdminTokens: []string{adminToken},
			StreamMaxAge: time.Duration(rng.IntN(3)) * 40 * time.Second,
		},
		Rand: &lockedRand{r: rand.NewChaCha8(key)}, Log: slog.New(slog.NewTextHandler(journal{p}, &slog.HandlerOptions{Level: slog.LevelError})), Draining: p.drain, Late: rng.IntN(2) == 0,
	})
	if err != nil {
		panic("simulation: " + err.Error()) // its options are constants
	}
	p.env, p.handler = e, functions.Handler(e)
	if w.o.Handler != nil {
		p.handler = w.o.Handler(p.handler)
	}
	w.ever = append(w.ever, p)
	w.sync(func() { w.procs[n] = p })
}

// process returns the process that is number n now.
func (w *world) process(n int) (p *process) {
	w.sync(func() { p = w.procs[n] })
	return p
}

// choose parks a call until the scheduler lets it go on.
func (p *process) choose(c faultstream.Call) faultstream.Fault {
	switch {
	case p.dead.Load():
		return faultstream.Fault{Kind: faultstream.Refused} // nothing of it reaches anybody any more
	case p.w.calm.Load():
		return faultstream.Fault{}
	}
	k := &parked{p: p, call: c, gate: make(chan faultstream.Fault, 1)}
	p.w.sync(func() { p.w.parked = append(p.w.parked, k) })
	return <-k.gate
}

// die ends a process in the midst of all that it does: what is on its way to the
// store arrives, or does not, or does later; its answers reach nobody. What it
// does in its last throes, it does not know.
func (p *process) die(rng *rand.Rand) {
	p.dead.Store(true)
	for _, k := range p.w.standing() {
		if k.p == p {
			p.w.release(k, gone(rng, k.call.Op))
		}
	}
	p.cut()
	p.store.Restart()
}

// cut breaks every connection.
func (p *process) cut() {
	p.mu.Lock()
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	slices.SortFunc(conns, func(a, b *conn) int { return a.n - b.n })
	for _, c := range conns {
		c.breakOff()
	}
}

// lockedRand may be read by many.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func (l *lockedRand) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

// A journal notes what a process logs of its own faults.
type journal struct{ p *process }

func (j journal) Write(b []byte) (int, error) {
	j.p.w.note(j.p.name, "logs %s", bytes.TrimSpace(b))
	return len(b), nil
}
