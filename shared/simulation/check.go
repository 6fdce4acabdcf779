package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// A life is the part of an inbox that belongs to one registration.
type life struct {
	first, end uint64 // end is that of the closing fence, or the tail
	closed     bool
}

// check holds what everybody was told against what stands.
func (w *world) check() {
	inboxes := map[ident.Agent][]stream.Entry{}
	lives := map[ident.Agent][]life{}
	for _, a := range w.agents {
		entries := w.inbox(a)
		lives[a] = w.lives(a, entries)
		inboxes[a] = slices.DeleteFunc(entries, func(e stream.Entry) bool { return e.Command() != stream.None })
	}
	w.checkLetters(inboxes)
	for _, sp := range w.spans {
		w.checkSpan(sp, inboxes[sp.agent], lives[sp.agent])
	}
	for _, f := range w.readers {
		w.checkFollower(f, inboxes[f.agent], lives[f.agent])
	}
	w.checkContacts()
	w.checkOrigins(inboxes)
	for _, v := range w.views {
		w.checkView(v, inboxes)
	}
	for _, m := range w.watchers {
		w.checkWatcher(m, inboxes)
	}
}

// lives returns the registrations' parts of an inbox. Between a closing fence and
// the next that opens it nothing may stand.
func (w *world) lives(a ident.Agent, entries []stream.Entry) []life {
	all := []life{{}}
	for i, e := range entries {
		if e.Seq != uint64(i) {
			w.fail([]string{string(a)}, "position %d of the inbox of %s holds record %d", i, a, e.Seq)
		}
		l := &all[len(all)-1]
		switch {
		case e.Command() == stream.FenceCommand && strings.HasPrefix(string(e.Body), "closed:"):
			l.closed = true
		case e.Command() == stream.FenceCommand && l.closed:
			all = append(all, life{first: e.Seq + 1, end: e.Seq + 1})
			continue
		case l.closed:
			w.fail([]string{string(a), conversation(e)}, "record %d stands in the inbox of %s after it was closed", e.Seq, a)
		}
		if !l.closed {
			l.end = e.Seq + 1
		}
	}
	return all
}

// checkLetters checks that what was acknowledged stands where it was said to, once;
// that what was refused does not; and that nobody's mail stands there but theirs.
func (w *world) checkLetters(inboxes map[ident.Agent][]stream.Entry) {
	type place struct {
		agent ident.Agent
		e     stream.Entry
	}
	stands := map[string][]place{}
	ids := map[[2]string][]string{}
	for _, a := range w.agents {
		for _, e := range inboxes[a] {
			tag := conversation(e)
			stands[tag] = append(stands[tag], place{a, e})
			from, _ := e.Header("agent-chat-from")
			id, _ := e.Header("agent-chat-id")
			ids[[2]string{from, id}] = append(ids[[2]string{from, id}], tag)
		}
	}
	for _, l := range w.letters {
		places := stands[l.tag]
		delete(stands, l.tag)
		if most := w.registrations(l); len(places) > most {
			w.fail(l.about(), "%v stands %d times; want %d at most", l, len(places), most)
		}
		if (l.refused() || l.refusal != "" || l.denied) && len(places) > 0 {
			w.fail(l.about(), "%v was refused, and stands at %d in the inbox of %s", l, places[0].e.Seq, places[0].agent)
		}
		for _, a := range l.attempts {
			if a.result == stored && !slices.ContainsFunc(places, func(p place) bool {
				return p.agent == l.to && p.e.Seq == a.sent.SeqNum && string(p.e.Body) == string(a.sent.Envelope)
			}) {
				w.fail(l.about(), "%v was told to stand at %d in the inbox of %s, and does not", l, a.sent.SeqNum, l.to)
			}
		}
	}
	for tag, places := range stands {
		w.fail([]string{tag}, "%q stands at %d in the inbox of %s, and nobody sent it", tag, places[0].e.Seq, places[0].agent)
	}
	for k, tags := range ids {
		if len(tags) > 1 && lasts(ident.Agent(k[0])) {
			w.fail(append(tags, k[1]), "%s of %s stands %d times: %q", k[1], k[0], len(tags), tags)
		}
	}
}

// registrations returns in how many registrations of its sender a letter may have
// been posted: in each it may stand once.
func (w *world) registrations(l *letter) int {
	n := 1
	if last := len(l.attempts) - 1; last >= 0 {
		for _, ended := range w.ends[l.from] {
			if to := l.attempts[last].ended; to == 0 || ended <= to {
				n++
			}
		}
	}
	return n
}

// checkSpan checks that a stretch shows all that stands there, once and in order.
func (w *world) checkSpan(sp *span, inbox []stream.Entry, lives []life) {
	from := uint64(0)
	switch {
	case sp.from != nil:
		from = *sp.from
	default: // the beginning of the registration that it shows
		for _, l := range lives {
			if l.first <= sp.next && (len(sp.seen) == 0 || l.first <= sp.seen[0].seq) {
				from = l.first
			}
		}
	}
	if diff := differ(sp.seen, between(inbox, from, sp.next)); diff != "" {
		w.fail([]string{sp.who}, "%s was shown %s from %d to %d: %s", sp.who, sp.agent, from, sp.next, diff)
	}
}

// checkFollower checks what a reader took who resumed behind what it had: all
// that was ever there, once and in order. Of a registration that ended while it
// was away it may be told that it has ended.
func (w *world) checkFollower(f *follower, inbox []stream.Entry, lives []life) {
	want := inbox
	for _, j := range f.jumps {
		missed := between(inbox, j[0], j[1])
		again := slices.ContainsFunc(lives[1:], func(l life) bool { return l.first == j[1] })
		if len(missed) > 0 && !again {
			w.fail([]string{f.who}, "%s was sent on from %d to %d of %s, over %d records", f.who, j[0], j[1], f.agent, len(missed))
		}
	}
	if len(f.jumps) > 0 { // what it passed over is accounted for; the rest is not its own
		want = slices.DeleteFunc(slices.Clone(inbox), func(e stream.Entry) bool {
			return slices.ContainsFunc(f.jumps, func(j [2]uint64) bool { return j[0] <= e.Seq && e.Seq < j[1] }) &&
				!slices.ContainsFunc(f.log, func(s seen) bool { return s.seq == e.Seq })
		})
	}
	if diff := differ(f.log, want); diff != "" {
		w.fail([]string{f.who}, "%s took from the inbox of %s: %s", f.who, f.agent, diff)
	}
	taken := map[string]int{}
	for _, s := range f.log {
		taken[string(envelopeOf(s.envelope).ConversationID)]++
	}
	for _, l := range w.letters {
		if l.to == f.agent && lasts(l.to) && lasts(l.from) && l.stored() != nil && taken[l.tag] != 1 {
			w.fail(append(l.about(), f.who), "%v was acknowledged, and %s took it %d times", l, f.who, taken[l.tag])
		}
	}
}

// between returns the entries from and including one position to, and without, another.
func between(inbox []stream.Entry, from, to uint64) []stream.Entry {
	at := func(seq uint64) int {
		i, _ := slices.BinarySearchFunc(inbox, seq, func(e stream.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
		return i
	}
	return inbox[at(from):max(at(from), at(to))]
}

// differ returns what is wrong with got; "" if it is what stands.
func differ(got []seen, want []stream.Entry) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i == len(got):
			return fmt.Sprintf("nothing behind %d; want %d (%s)", i, want[i].Seq, conversation(want[i]))
		case i == len(want):
			return fmt.Sprintf("%d, which is not there: %s", got[i].seq, got[i].envelope)
		case got[i].seq != want[i].Seq:
			return fmt.Sprintf("%d where %d (%s) was next", got[i].seq, want[i].Seq, conversation(want[i]))
		case got[i].envelope != string(want[i].Body):
			return fmt.Sprintf("at %d: %s; want %s", got[i].seq, got[i].envelope, want[i].Body)
		}
	}
	return ""
}

// conversation returns the conversation of an envelope: the tag of its letter.
func conversation(e stream.Entry) string {
	return string(envelopeOf(string(e.Body)).ConversationID)
}
