package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/sse"
	"agentchat/shared/stream"
)

// A mark is a cursor of the monitor's, and what whoever holds it has seen: of each
// inbox, all before a position.
type mark struct {
	cursor string
	at     map[ident.Agent]uint64
}

// behind returns the mark right behind a delivery.
func (m mark) behind(d api.MonitorDelivery) mark {
	at := maps.Clone(m.at)
	at[d.Inbox] = d.SeqNum + 1
	return mark{d.Cursor, at}
}

// A view is what the monitor showed at one stretch from a mark on: of each inbox
// all that stands there, once and in order.
type view struct {
	who  string
	from mark
	seen []viewed
}

type viewed struct {
	inbox ident.Agent
	seen
}

// A watcher reads the monitor for as long as the world lasts, and takes nothing twice.
type watcher struct {
	w    *world
	who  string
	rng  *rand.Rand
	http *http.Client
	stop func()

	marks []mark // that it may come back to

	// Guarded by world.mu.
	last  mark                   // where it reads on
	taken map[ident.Agent]uint64 // of each inbox, behind the last that was taken
	log   map[ident.Agent][]seen
}

// watch starts a watcher.
func (w *world) watch(n int) *watcher {
	m := &watcher{w: w, who: fmt.Sprintf("watcher%d", n), last: mark{at: map[ident.Agent]uint64{}}}
	m.taken, m.log = map[ident.Agent]uint64{}, map[ident.Agent][]seen{}
	m.rng, m.http = source(w.o.Seed, m.who), w.network(m.who)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	m.stop = func() { cancel(); <-done }
	go func() { // ends with stop
		defer close(done)
		for pause(ctx, time.Duration(m.rng.Int64N(int64(2500*time.Millisecond)))) {
			m.connect(ctx)
		}
	}()
	return m
}

// reached reports whether the watcher has seen all before these positions.
func (m *watcher) reached(tails map[ident.Agent]uint64) (all bool) {
	m.w.sync(func() {
		all = true
		for a, tail := range tails {
			all = all && m.last.at[a] >= tail
		}
	})
	return all
}

// connect reads a page, or over one connection: on, or again from somewhere before.
func (m *watcher) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(m.rng.Int64N(int64(time.Minute))))
	defer cancel()
	from := m.last
	switch again, at := m.rng.IntN(8) == 0, m.rng.Uint64(); {
	case again && len(m.marks) > 0:
		from = m.marks[at%uint64(len(m.marks))]
	default:
		m.marks = append(m.marks, from)
	}
	v := &view{who: m.who, from: from}
	if m.rng.IntN(3) == 0 {
		m.page(ctx, v)
	} else {
		m.follow(ctx, v)
	}
	m.w.note(m.who, "was shown %d", len(v.seen))
	m.w.sync(func() { m.w.views = append(m.w.views, v) })
}

// follow reads the monitor's stream.
func (m *watcher) follow(ctx context.Context, v *view) {
	s := connection{c: m.http, token: adminToken, target: "/v1/monitor?follow=true"}
	if v.from.cursor != "" {
		if m.rng.IntN(2) == 0 {
			s.lastID = v.from.cursor
		} else {
			s.target += "&cursor=" + url.QueryEscape(v.from.cursor)
		}
	}
	leave := 1 + m.rng.IntN(40)
	m.w.note(m.who, "follows from %.40s", v.from.cursor)
	now := v.from
	for e, err := range s.events(ctx) {
		if err != nil {
			m.refused(err)
			return
		}
		switch e.Name {
		case "envelope":
			now = m.event(v, now, e)
		case "gap":
			m.w.fail([]string{m.who}, "%s is told of a gap: %s", m.who, e.Data)
		}
		if len(v.seen) == leave {
			return
		}
	}
}

// event takes an event of the stream, and returns where it leads.
func (m *watcher) event(v *view, now mark, e sse.Event) mark {
	var d api.MonitorDelivery
	if err := json.Unmarshal(e.Data, &d); err != nil || e.ID != d.Cursor || d.Cursor == "" {
		m.w.fail([]string{m.who}, "%s was sent an event %q with id %q: %v", m.who, e.Data, e.ID, err)
		return now
	}
	now = now.behind(d)
	m.take(v, d, now)
	return now
}

// take takes a delivery.
func (m *watcher) take(v *view, d api.MonitorDelivery, now mark) {
	s := seen{d.SeqNum, string(d.Envelope)}
	v.seen = append(v.seen, viewed{d.Inbox, s})
	m.w.sync(func() {
		if d.SeqNum >= m.taken[d.Inbox] {
			m.log[d.Inbox], m.taken[d.Inbox] = append(m.log[d.Inbox], s), d.SeqNum+1
		}
		if within(m.last.at, now.at) {
			m.last = now
		}
	})
}

// within reports whether no position of a is behind that of b.
func within(a, b map[ident.Agent]uint64) bool {
	for agent, at := range a {
		if at > b[agent] {
			return false
		}
	}
	return true
}

// page reads one page.
func (m *watcher) page(ctx context.Context, v *view) {
	target := fmt.Sprintf("/v1/monitor?limit=%d", 1+m.rng.IntN(30))
	if v.from.cursor != "" {
		target += "&cursor=" + url.QueryEscape(v.from.cursor)
	}
	acked := m.w.acked()
	p, err := m.get(ctx, target)
	if err != nil {
		m.refused(err)
		return
	}
	m.w.count("monitor page")
	now := v.from
	for i, d := range p.Deliveries {
		if i > 0 && order(p.Deliveries[i-1], d) >= 0 {
			m.w.fail([]string{m.who}, "%s was shown %s %d behind %s %d", m.who, d.Inbox, d.SeqNum, p.Deliveries[i-1].Inbox, p.Deliveries[i-1].SeqNum)
		}
		now = now.behind(d)
		m.take(v, d, now)
	}
	for a, g := range p.Gaps {
		m.w.fail([]string{m.who}, "%s is told of a gap in the inbox of %s: %+v", m.who, a, g)
	}
	for a, next := range acked {
		if _, away := p.Unavailable[a]; away {
			continue
		}
		if p.Tails[a] < next {
			m.w.fail([]string{m.who, string(a)}, "%s was told that the inbox of %s ends at %d, though there was an answer that told of %d", m.who, a, p.Tails[a], next)
		}
		if len(p.Deliveries) == 0 && now.at[a] < next {
			m.w.fail([]string{m.who, string(a)}, "%s was shown nothing behind %d of %s, though there was an answer that told of %d", m.who, now.at[a], a, next)
		}
	}
	now.cursor = p.NextCursor
	m.w.sync(func() {
		if within(m.last.at, now.at) {
			m.last = now
		}
	})
}

// order is that of deliveries within a page.
func order(a, b api.MonitorDelivery) int {
	return cmp.Or(a.Timestamp.Compare(b.Timestamp.Time), cmp.Compare(a.Inbox, b.Inbox), cmp.Compare(a.SeqNum, b.SeqNum))
}

func (m *watcher) get(ctx context.Context, target string) (*api.MonitorPage, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://fleet"+target, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := m.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, refusalOf(b)
	}
	p := new(api.MonitorPage)
	return p, json.Unmarshal(b, p)
}

// refused looks at why nothing came any more. Only the store may be to blame.
func (m *watcher) refused(err error) {
	m.w.note(m.who, "%v", err)
	if r, ok := err.(*refusal); ok && !r.Code.Trait().Retry { //nolint:errorlint // refusalOf makes it
		m.w.fail([]string{m.who}, "%s is answered %v", m.who, err)
	}
}

// checkView checks that a stretch of the monitor shows of each inbox all that
// stands behind the mark, once and in order.
func (w *world) checkView(v *view, inboxes map[ident.Agent][]stream.Entry) {
	at := maps.Clone(v.from.at)
	for _, s := range v.seen {
		left := between(inboxes[s.inbox], at[s.inbox], ^uint64(0))
		if diff := differ([]seen{s.seen}, left[:min(1, len(left))]); diff != "" {
			w.fail([]string{v.who, string(s.inbox)}, "%s was shown of the inbox of %s from %d: %s", v.who, s.inbox, at[s.inbox], diff)
			return
		}
		at[s.inbox] = s.seq + 1
	}
}

// checkWatcher checks what was taken from the monitor: everything that was ever
// in any inbox, once and in order.
func (w *world) checkWatcher(m *watcher, inboxes map[ident.Agent][]stream.Entry) {
	for _, a := range w.agents {
		if diff := differ(m.log[a], inboxes[a]); diff != "" {
			w.fail([]string{m.who, string(a)}, "%s took from the inbox of %s: %s", m.who, a, diff)
		}
	}
	for a := range m.log {
		if !slices.Contains(w.agents, a) {
			w.fail([]string{m.who}, "%s was shown an inbox of %s", m.who, a)
		}
	}
}
