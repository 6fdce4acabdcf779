package chatlog

import (
	"context"
	"errors"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/deadline"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// A Review is what who claims a direction has seen of it.
type Review struct {
	Owner   ident.Owner // "": nobody
	Tail    *uint64     // nil: whatever it is; with no owner only
	ClaimID ident.Claim // "": a new one is made
}

// Claim makes the actor the owner of its own direction, if owner and tail are
// still as reviewed: with a fence at the reviewed tail, under the reviewed owner, so
// that who owned it before is refused by the store from there on. The same claim
// with the same id may be repeated, and has the same answer.
//
// ClaimStale says that either has moved, with both as they are. IDReused says that
// another claim among the latest records has the id. OutcomeUnknown names the id to
// repeat the claim with.
func (l *Log) Claim(ctx context.Context, id ident.Chat, by Actor, rev Review) (*api.ClaimResponse, error) {
	r, err := l.enter(ctx, id, by, true)
	if err != nil {
		return nil, err
	}
	tail, err := l.look(ctx, r.own)
	if err != nil {
		return nil, err
	}
	keys, err := l.secrets(forOwners)
	if err != nil {
		return nil, err
	}
	if rev.ClaimID == "" {
		rev.ClaimID = ident.NewClaim(l.o.Rand)
	}
	c := &claim{l: l, room: r, rev: rev, tail: tail}
	if rev.Tail != nil {
		c.tail = *rev.Tail
	}
	for _, k := range keys {
		token := signed.NewOwnerToken(k.Key, id, by.Agent, string(rev.ClaimID))
		c.mine = append(c.mine, ownership{token, signed.OwnerOf(id, by.Agent, token)})
	}
	return c.run(ctx)
}

// A claim is one call of Claim.
type claim struct {
	l    *Log
	room *room
	rev  Review
	tail uint64      // where the fence is to stand
	mine []ownership // under each key of the server, the present one first
}

type ownership struct {
	token ident.OwnerToken
	owner ident.Owner
}

func (c *claim) run(ctx context.Context) (*api.ClaimResponse, error) {
	ctx, cancel := deadline.Outlive(ctx, budget, grace)
	defer cancel()
	batch, tail, err := c.batch(ctx)
	if err != nil {
		return nil, err
	}
	if tail < c.tail {
		return c.stale(ctx, nil)
	}
	own, unknown := c.room.own, false
	var pauses journal.Pauses
	for {
		// The batch is the same each time, and stands at one position: any attempt of
		// it may land, and one does at most.
		_, err := c.l.journal.AppendAt(ctx, own.name, batch)
		fenced, isFenced := errors.AsType[*stream.FencedError](err)
		switch {
		case err == nil:
			return c.answer(c.mine[0], c.tail+uint64(len(batch.Records))), nil
		case isFenced:
			return c.fenced(ctx, ident.Owner(fenced.Token), err)
		case errors.Is(err, stream.ErrPosition):
			return c.stale(ctx, err)
		case errors.Is(err, stream.ErrUnknown):
			unknown = true
		case !errors.Is(err, stream.ErrUnavailable):
			return nil, own.refusal(err)
		}
		if pauses.Wait(ctx) == nil {
			continue
		}
		if !unknown {
			return nil, own.refusal(err)
		}
		e := api.Errorf(api.OutcomeUnknown, "the claim may have been made, or may still be; repeat it with this claim_id")
		e.Claim = c.rev.ClaimID
		return nil, e.Because(err)
	}
}

// batch returns the fence and the record that tells of it, and the tail, as far
// as it matters.
func (c *claim) batch(ctx context.Context) (_ stream.Batch, tail uint64, err error) {
	own, me := c.room.own, c.mine[0]
	known, err := c.l.glance(ctx, own, c.tail, api.ChatRepeats)
	if err != nil || known.tail < c.tail {
		return stream.Batch{}, known.tail, err
	}
	op := signed.ClaimOperation(own.chat, own.side.Agent, me.owner)
	if at, ok := known.at(op); ok && at < c.tail && c.rev.Owner != "" {
		// Made again it would bring back the token of an owner that was replaced, and be the same operation twice.
		return stream.Batch{}, 0, api.Errorf(api.IDReused, "a claim under this id stands at %d; another one takes another id", at-1)
	}
	r := signed.Record{
		ChatID: own.chat, AuthorAgentID: own.side.Agent, AuthoredWith: c.room.by.author(),
		OperationID: op,
		Fence: &signed.Fence{
			Owner: me.owner, PreviousOwner: c.rev.Owner, ReviewedTail: api.Position(c.tail), Generation: own.side.Stream,
		},
	}
	rec, err := r.Encode()
	if err != nil {
		return stream.Batch{}, 0, err
	}
	rec = chat.Notes{Generation: own.side.Stream, Acknowledged: known.acknowledged}.With(rec)
	return stream.Batch{
		Records: []stream.Record{stream.Fence(string(me.owner)), rec},
		At:      &c.tail, Token: new(string(c.rev.Owner)),
	}, known.tail, nil
}

// fenced answers a claim that the store refused because of the present owner:
// that may be this very claim, whose answer was lost.
func (c *claim) fenced(ctx context.Context, present ident.Owner, cause error) (*api.ClaimResponse, error) {
	own := c.room.own
	tail, err := c.l.look(ctx, own)
	if err != nil {
		return nil, err
	}
	for _, me := range c.mine {
		if me.owner != present {
			continue
		}
		at, ok, err := c.stands(ctx, me, tail)
		if err != nil {
			return nil, err
		}
		if ok {
			return c.answer(me, at+1), nil
		}
	}
	return nil, c.refuse(present, tail, cause)
}

// stands returns where the record of the claim that made me the owner stands:
// behind the reviewed tail, or if there was none, among the latest records.
func (c *claim) stands(ctx context.Context, me ownership, tail uint64) (at uint64, ok bool, err error) {
	own := c.room.own
	op := signed.ClaimOperation(own.chat, own.side.Agent, me.owner)
	if c.rev.Tail == nil {
		known, err := c.l.glance(ctx, own, tail, api.ChatRepeats)
		at, ok = known.at(op)
		return at, ok, err
	}
	if *c.rev.Tail >= tail {
		return 0, false, nil
	}
	items, _, err := c.l.operation(ctx, own, op, *c.rev.Tail+1)
	return *c.rev.Tail + 1, len(items) > 0, err
}

// stale refuses a claim whose reviewed tail is not the tail.
func (c *claim) stale(ctx context.Context, cause error) (*api.ClaimResponse, error) {
	tail, err := c.l.look(ctx, c.room.own)
	if err != nil {
		return nil, err
	}
	present, err := c.l.owner(ctx, c.room.own)
	if err != nil {
		return nil, err
	}
	return nil, c.refuse(present, tail, cause)
}

func (c *claim) refuse(present ident.Owner, tail uint64, cause error) error {
	e := api.Errorf(api.ClaimStale, "the direction is not as it was reviewed: see who owns it, and where it ends")
	e.Owner, e.Tail = ownerOf(string(present)), tailAt(tail)
	return e.Because(cause)
}

func (c *claim) answer(o ownership, tail uint64) *api.ClaimResponse {
	return &api.ClaimResponse{
		Token: o.token, Owner: o.owner, Tail: api.Position(tail), Generation: c.room.own.side.Stream, ClaimID: c.rev.ClaimID,
	}
}
