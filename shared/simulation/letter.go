package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// A letter is something that is to stand in an inbox once: one request, however
// often it is made. Its number is its conversation, by which it is known again.
type letter struct {
	tag  string // what the history calls it, and its conversation
	step int64  // in which it was made
	kind api.Kind
	from ident.Agent
	to   ident.Agent
	own  bool // its id was chosen by its sender

	allowed []api.Code  // refusals that it may meet, besides those of any
	refusal api.Code    // what is wrong with it: it must never stand
	contact ident.Agent // whose card it shares
	post    func(context.Context, *client.Client, ident.Message) (*api.SendResponse, error)

	// Guarded by world.mu.
	id       ident.Message // empty until it is known
	denied   bool          // the last word, after the storm, was that it is refused
	attempts []attempt
}

// An attempt to post a letter.
type attempt struct {
	begun, ended int64 // steps; ended is 0 while it is under way
	result       result
	code         api.Code // of a refusal
	sent         *api.SendResponse
}

// A result is what the sender knows of an attempt.
type result int

const (
	open result = iota // unknown, or under way
	stored
	refused // certainly nothing was written
)

func (l *letter) String() string {
	return fmt.Sprintf("%s %s %s→%s id=%s", l.kind, l.tag, l.from, l.to, l.id)
}

// final reports whether the last answer was a refusal that is not for want of the
// store. After the storm that settles it. world.mu is held.
func (l *letter) final() bool {
	a := l.attempts[len(l.attempts)-1]
	return a.result == refused && a.code != "" && !a.code.Trait().Retry
}

// about are the words under which the history speaks of a letter.
func (l *letter) about() []string {
	words := []string{l.tag}
	if l.id != "" {
		words = append(words, string(l.id))
	}
	return words
}

// stored returns the first answer that told where the letter is. world.mu is held.
func (l *letter) stored() *api.SendResponse {
	for _, a := range l.attempts {
		if a.result == stored {
			return a.sent
		}
	}
	return nil
}

// refused reports whether no attempt can have written anything. world.mu is held.
func (l *letter) refused() bool {
	return !slices.ContainsFunc(l.attempts, func(a attempt) bool { return a.result != refused })
}

// newLetter adds a letter to the world.
func (u *user) newLetter(l *letter) *letter {
	u.posted++
	l.tag, l.step, l.own = fmt.Sprintf("#%s.%d", u.who, u.posted), u.w.step.Load(), l.id != ""
	u.w.sync(func() { u.w.letters = append(u.w.letters, l) })
	return l
}

// earlier returns a letter that was there before this step, and that fits.
func (u *user) earlier(fits func(*letter) bool) *letter {
	now := u.w.step.Load()
	var all []*letter
	u.w.sync(func() {
		for _, l := range u.w.letters {
			if l.step < now && fits(l) {
				all = append(all, l)
			}
		}
	})
	if len(all) == 0 {
		return nil
	}
	// In an order that does not depend on whoever of one step came first.
	slices.SortFunc(all, func(a, b *letter) int { return cmp.Or(cmp.Compare(a.step, b.step), strings.Compare(a.tag, b.tag)) })
	return all[u.rng.IntN(len(all))]
}

// post makes an attempt, and writes down what came of it.
func (u *user) post(ctx context.Context, l *letter, again string) {
	var n int
	var id ident.Message
	u.w.sync(func() {
		n, id = len(l.attempts), l.id
		l.attempts = append(l.attempts, attempt{begun: u.w.step.Load()})
	})
	u.w.note(u.who, "%s%v", again, l)
	sent, err := l.post(ctx, u.api, id)
	a := attempt{sent: sent, ended: max(1, u.w.step.Load())}
	switch {
	case err == nil:
		a.result = stored
	case errors.Is(err, client.ErrUnknown):
	default:
		a.result = refused
	}
	e, told := errors.AsType[*client.Error](err)
	if told {
		a.code = e.Problem.Code
	}
	var former *api.SendResponse
	u.w.sync(func() {
		former = l.stored()
		a.begun = l.attempts[n].begun
		l.attempts[n] = a
		switch {
		case l.id == "" && sent != nil:
			l.id = idOf(sent.Envelope)
		case l.id == "" && told:
			l.id = e.Problem.Message
		}
	})
	u.w.count(string(l.kind) + " " + map[result]string{open: "unknown", stored: "stored", refused: "refused"}[a.result])
	if err != nil {
		u.w.note(u.who, "%s: %v", l.tag, err)
		u.judge(l, a, err)
		return
	}
	u.w.note(u.who, "%s stands at %d in the inbox of %s, replayed: %t, id=%s", l.tag, sent.SeqNum, l.to, sent.Replayed, idOf(sent.Envelope))
	if former != nil && (former.SeqNum != sent.SeqNum || string(former.Envelope) != string(sent.Envelope)) && lasts(l.from) {
		u.w.fail(l.about(), "%v was told to stand at %d, and then at %d", l, former.SeqNum, sent.SeqNum)
	}
}

// envelopeOf returns an envelope; the zero one if it is none.
func envelopeOf(text string) (e api.Envelope) {
	_ = json.Unmarshal([]byte(text), &e)
	return e
}

func idOf(envelope json.RawMessage) ident.Message { return envelopeOf(string(envelope)).ID }

// judge says whether a refusal was one that may be given. What is sent between
// agents that nobody deletes is refused only for want of the store, or of what
// it speaks of.
func (u *user) judge(l *letter, a attempt, err error) {
	if a.code == "" && !isForeign(err) {
		return // the network's
	}
	allowed := append([]api.Code{api.Unavailable, api.Busy, api.OutcomeUnknown, l.refusal}, l.allowed...)
	if !lasts(l.from) {
		allowed = append(allowed, api.AgentNotRegistered)
	}
	if !lasts(l.to) {
		allowed = append(allowed, api.RecipientNotFound)
	}
	if l.own && u.w.rivals(l) {
		allowed = append(allowed, api.IDReused)
	}
	if !slices.Contains(allowed, a.code) {
		u.w.fail(l.about(), "%v was answered %v", l, err)
	}
}

// isForeign reports whether err is neither an answer of the server's nor a
// connection without one.
func isForeign(err error) bool {
	_, answered := errors.AsType[*client.Error](err)
	_, unanswered := errors.AsType[*client.ConnError](err)
	return !answered && !unanswered
}

// rivals reports whether another letter has, or had, the id of l.
func (w *world) rivals(l *letter) (found bool) {
	w.sync(func() {
		found = slices.ContainsFunc(w.letters, func(o *letter) bool { return o != l && o.from == l.from && o.id == l.id })
	})
	return found
}

// resolve repeats every letter whose outcome is unknown until it is known, if a
// repeat can tell: there is an id, and nobody's registration has ended.
func (u *user) resolve() {
	w := u.w
	var all []*letter
	w.sync(func() { all = slices.Clone(w.letters) })
	for _, l := range all {
		for n := 0; w.openEnded(l); n++ {
			if n == 20 {
				w.fail(l.about(), "the outcome of %v can't be found out", l)
				break
			}
			if n == 10 && l.contact != "" { // a claimed share of a contact that is gone waits for one
				u.save(w.t.Context(), entry{l.from, l.contact})
			}
			u.post(w.t.Context(), l, "at last ")
			w.sync(func() { l.denied = l.final() })
			pause(w.t.Context(), quantum)
		}
	}
}

// openEnded reports whether the outcome of a letter is unknown and can be found out.
func (w *world) openEnded(l *letter) (open bool) {
	w.sync(func() {
		open = l.stored() == nil && !l.refused() && l.id != "" && lasts(l.from) && lasts(l.to) && !l.final()
	})
	return open
}

// acked returns for each inbox the position behind all that was acknowledged
// before this step.
func (w *world) acked() map[ident.Agent]uint64 {
	next, now := map[ident.Agent]uint64{}, w.step.Load()
	w.sync(func() {
		for _, l := range w.letters {
			for _, a := range l.attempts {
				if a.result == stored && a.ended < now {
					next[l.to] = max(next[l.to], a.sent.NextCursor)
				}
			}
		}
	})
	return next
}
