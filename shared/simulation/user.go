package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// A user does one thing after the other, as the operator of the fleet.
type user struct {
	w           *world
	who         string
	rng         *rand.Rand
	api         *client.Client
	ids, posted int
}

// user returns user n; those below 0 look after things before and after the storm.
func (w *world) user(n int) *user {
	who := fmt.Sprintf("user%d", n)
	return &user{w: w, who: who, rng: source(w.o.Seed, who), api: w.client(who)}
}

// live does what the seed says.
func (u *user) live(ctx context.Context) {
	deeds := []struct {
		weight int
		do     func(context.Context)
	}{
		{30, u.send},
		{10, u.sendWithID},
		{14, u.repeat},
		{3, u.reuse},
		{8, u.replay},
		{6, u.find},
		{7, u.put},
		{3, u.removeContact},
		{4, u.look},
		{8, u.share},
		{7, u.accept},
		{9, u.receipt},
		{2, u.deregister},
		{4, u.register},
	}
	total := 0
	for _, d := range deeds {
		total += d.weight
	}
	for n := range u.w.o.Ops {
		if (n == 0 || u.rng.IntN(3) == 0) && !pause(ctx, time.Duration(u.rng.Int64N(int64(3*time.Second)))) {
			return
		}
		r := u.rng.IntN(total)
		for _, d := range deeds {
			if r -= d.weight; r < 0 {
				d.do(ctx)
				break
			}
		}
	}
}

// pick returns one of them.
func pick[T any](u *user, all ...T) T { return all[u.rng.IntN(len(all))] }

// newID returns an id that no other letter has.
func (u *user) newID() ident.Message {
	u.ids++
	return ident.Message(fmt.Sprintf("%s-%d", u.who, u.ids))
}

func (u *user) send(ctx context.Context) { u.write(ctx, pick(u, agents...), pick(u, agents...), "") }

func (u *user) sendWithID(ctx context.Context) {
	u.write(ctx, pick(u, agents...), pick(u, agents...), u.newID())
}

// write sends a message.
func (u *user) write(ctx context.Context, from, to ident.Agent, id ident.Message) {
	l := u.newLetter(&letter{kind: api.KindMessage, from: from, to: to, id: id})
	text := "letter " + l.tag
	l.post = func(ctx context.Context, c *client.Client, id ident.Message) (*api.SendResponse, error) {
		return c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: from, To: to, ID: id, ConversationID: ident.Conversation(l.tag)}, Text: &text})
	}
	u.post(ctx, l, "")
}

// repeat makes a request again, perhaps while it is still under way. It is not
// repeated in another registration of its sender, where it would be another.
func (u *user) repeat(ctx context.Context) {
	l := u.earlier(func(l *letter) bool { return l.id != "" && (lasts(l.from) || len(u.w.ends[l.from]) == 0) })
	if l != nil {
		u.post(ctx, l, "again ")
	}
}

// reuse sends something else with an id that was used.
func (u *user) reuse(ctx context.Context) {
	if l := u.earlier(func(l *letter) bool { return l.own && lasts(l.from) }); l != nil {
		u.write(ctx, l.from, pick(u, lasting...), l.id)
	}
}

// register registers an agent that is deleted now and then, or changes its profile.
func (u *user) register(ctx context.Context) {
	a := pick(u, passing...)
	u.w.note(u.who, "register %s", a)
	r, err := u.api.Register(ctx, api.RegisterRequest{Agent: a, Profile: api.Profile{DisplayName: fmt.Sprint(u.rng.IntN(3))}})
	if err != nil {
		u.told("register "+string(a), []string{string(a)}, err)
		return
	}
	u.w.count("register")
	u.w.note(u.who, "%s is registered, created: %t", a, r.Created)
}

// deregister deletes an agent.
func (u *user) deregister(ctx context.Context) {
	a := pick(u, passing...)
	u.w.sync(func() { u.w.ends[a] = append(u.w.ends[a], u.w.step.Load()) })
	u.w.note(u.who, "delete %s", a)
	if err := u.api.DeleteAgent(ctx, a); err != nil {
		u.told("delete "+string(a), []string{string(a)}, err)
		return
	}
	u.w.count("delete")
	u.w.note(u.who, "%s is deleted", a)
}

// told writes an error down, and complains if it is none that may be: of the
// network, for want of the store, or one of codes.
func (u *user) told(what string, about []string, err error, codes ...api.Code) {
	u.w.note(u.who, "%s: %v", what, err)
	codes = append(codes, api.Unavailable, api.Busy, api.OutcomeUnknown)
	e, answered := errors.AsType[*client.Error](err)
	codes = append(codes, "") // the problem document was cut off
	if answered && !slices.Contains(codes, e.Problem.Code) || isForeign(err) {
		u.w.fail(about, "%s of %s was answered %v", what, u.who, err)
	}
}

// replay reads a page of an inbox.
func (u *user) replay(ctx context.Context) {
	a, limit := pick(u, agents...), 1+u.rng.IntN(8)
	req := api.InboxRequest{Agent: a, Limit: &limit}
	acked := u.w.acked()[a] // behind what was acknowledged before
	if u.rng.IntN(4) > 0 {
		from := u.rng.Uint64N(acked + 1)
		req.Cursor = &from
	}
	page, err := u.api.Inbox(ctx, req)
	about := []string{string(a)}
	if err != nil {
		var codes []api.Code
		if !lasts(a) {
			codes = append(codes, api.GenerationChanged, api.AgentNotRegistered)
		}
		u.told("read the inbox of "+string(a), about, err, codes...)
		return
	}
	u.w.count("page")
	if page.Tail < acked {
		u.w.fail(about, "%s read the inbox of %s up to %d, though there was an answer that told of %d", u.who, a, page.Tail, acked)
	}
	s := &span{who: u.who, agent: a, from: req.Cursor, next: page.NextCursor}
	for _, d := range page.Deliveries {
		s.seen = append(s.seen, seen{d.SeqNum, string(d.Envelope)})
	}
	if page.NextCursor < page.Tail && len(page.Deliveries) > limit {
		u.w.fail(about, "%s got %d deliveries; the limit was %d", u.who, len(page.Deliveries), limit)
	}
	u.w.sync(func() { u.w.spans = append(u.w.spans, s) })
}

// find looks a letter up whose fate is known to somebody.
func (u *user) find(ctx context.Context) {
	now := u.w.step.Load()
	var sent *api.SendResponse
	l := u.earlier(func(l *letter) bool {
		return lasts(l.to) && lasts(l.from) && l.id != "" && slices.ContainsFunc(l.attempts, func(a attempt) bool { return a.result == stored && a.ended < now })
	})
	if l == nil {
		return
	}
	u.w.sync(func() { sent = l.stored() })
	req := api.GetMessageRequest{Agent: l.to, Message: l.id, From: l.from}
	if l.own && u.rng.IntN(2) == 0 {
		req = api.GetMessageRequest{Agent: l.from, Message: l.id, To: l.to}
	}
	d, err := u.api.Message(ctx, req)
	if err != nil {
		u.told("find "+l.tag, l.about(), err)
		return
	}
	u.w.count("find")
	if d.SeqNum != sent.SeqNum || string(d.Envelope) != string(sent.Envelope) {
		u.w.fail(l.about(), "%v was told to stand at %d, and found at %d", l, sent.SeqNum, d.SeqNum)
	}
}
