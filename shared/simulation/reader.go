package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/sse"
)

// A span is what somebody was shown of an inbox at one stretch. Whatever stands
// between from and next is in it, once and in order.
type span struct {
	who   string
	agent ident.Agent
	from  *uint64 // nil: the beginning of the registration
	seen  []seen
	next  uint64
}

// seen is a delivery.
type seen struct {
	seq      uint64
	envelope string
}

// A connection is one of a reader's.
type connection struct {
	c      *http.Client
	target string
	token  string
	lastID string
}

// events yields the events of a stream until it ends, cleanly or with an error: a
// *api.Problem-carrying *refusal if the server refused it or ended it with one.
func (s connection) events(ctx context.Context) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://fleet"+s.target, nil)
		if err != nil {
			yield(sse.Event{}, err)
			return
		}
		r.Header = http.Header{"Authorization": {"Bearer " + s.token}, "Accept": {"text/event-stream"}}
		if s.lastID != "" {
			r.Header.Set("Last-Event-ID", s.lastID)
		}
		res, err := s.c.Do(r)
		if err != nil {
			yield(sse.Event{}, err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			b, err := io.ReadAll(res.Body)
			if err == nil {
				err = refusalOf(b)
			}
			yield(sse.Event{}, err)
			return
		}
		for e, err := range sse.Read(res.Body, 8<<20) {
			if e.Name == "problem" {
				err = refusalOf(e.Data)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// A refusal is a problem document, as an error.
type refusal struct{ api.Problem }

func (r *refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Detail) }

func refusalOf(b []byte) error {
	r := new(refusal)
	if err := json.Unmarshal(b, &r.Problem); err != nil {
		return fmt.Errorf("no problem document: %q", b)
	}
	return r
}

// A follower reads the inbox of an agent for as long as the world lasts. It is a
// consumer as any: it takes what is behind the last it took, and nothing twice.
type follower struct {
	w     *world
	who   string
	agent ident.Agent
	rng   *rand.Rand
	http  *http.Client
	stop  func()

	// Guarded by world.mu.
	cursor uint64 // behind the last that was taken
	log    []seen // what was taken
	starts []uint64
	jumps  [][2]uint64 // what the server said has ended: where it was, and where to go on
}

// follow starts a follower.
func (w *world) follow(a ident.Agent) *follower {
	f := &follower{w: w, who: "f-" + string(a), agent: a}
	f.rng, f.http = source(w.o.Seed, f.who), w.network(f.who)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	f.stop = func() { cancel(); <-done }
	go func() { // ends with stop
		defer close(done)
		for pause(ctx, time.Duration(f.rng.Int64N(int64(2500*time.Millisecond)))) {
			f.connect(ctx)
		}
	}()
	return f
}

// reached returns up to where it has read.
func (f *follower) reached() (cursor uint64) {
	f.w.sync(func() { cursor = f.cursor })
	return cursor
}

// connect reads over one connection: on, or again from somewhere before.
func (f *follower) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.rng.Int64N(int64(time.Minute))))
	defer cancel()
	from := f.reached()
	switch again, at := f.rng.IntN(8) == 0, f.rng.Uint64(); {
	case again && len(f.starts) > 0:
		from = f.starts[at%uint64(len(f.starts))]
	default:
		f.starts = append(f.starts, from)
	}
	s := connection{c: f.http, token: apiToken, target: fmt.Sprintf("/v1/agents/%s/inbox?cursor=%d", f.agent, from)}
	if f.rng.IntN(2) == 0 {
		s.target, s.lastID = fmt.Sprintf("/v1/agents/%s/inbox", f.agent), strconv.FormatUint(from, 10)
	}
	leave := 1 + f.rng.IntN(15)
	f.w.note(f.who, "follows %s from %d", f.agent, from)
	sp := &span{who: f.who, agent: f.agent, from: &from, next: from}
	for e, err := range s.events(ctx) {
		if err != nil {
			f.ended(sp.next, err)
			break
		}
		if e.Name != "envelope" {
			continue
		}
		f.take(sp, e)
		if len(sp.seen) == leave {
			break
		}
	}
	f.w.note(f.who, "was shown %s from %d to %d", f.agent, from, sp.next)
	f.w.sync(func() { f.w.spans = append(f.w.spans, sp) })
}

// take takes an event.
func (f *follower) take(sp *span, e sse.Event) {
	var d api.Delivery
	err := json.Unmarshal(e.Data, &d)
	if want := strconv.FormatUint(d.SeqNum+1, 10); err != nil || e.ID != want {
		f.w.fail([]string{f.who}, "%s was sent an event %q with id %q (%v); want id %s", f.who, e.Data, e.ID, err, want)
		return
	}
	sp.seen = append(sp.seen, seen{d.SeqNum, string(d.Envelope)})
	sp.next = d.SeqNum + 1
	f.w.sync(func() {
		if d.SeqNum >= f.cursor {
			f.log, f.cursor = append(f.log, seen{d.SeqNum, string(d.Envelope)}), d.SeqNum+1
		}
	})
}

// ended looks at why a connection ended. If a registration did, it goes on in the next.
func (f *follower) ended(from uint64, err error) {
	f.w.note(f.who, "%v", err)
	r, ok := err.(*refusal) //nolint:errorlint // events makes it
	switch {
	case !ok || r.Code.Trait().Retry:
	case r.Code == api.AgentNotRegistered && !lasts(f.agent): // it is being registered again
	case r.Code == api.GenerationChanged && !lasts(f.agent) && r.First != nil:
		f.w.sync(func() {
			f.jumps = append(f.jumps, [2]uint64{from, *r.First})
			f.cursor = max(f.cursor, *r.First)
		})
	default:
		f.w.fail([]string{f.who}, "%s follows %s from %d, and is answered %v", f.who, f.agent, from, err)
	}
}
