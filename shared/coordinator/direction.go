// Package coordinator is the one writer of an agent's own direction of a signed
// chat: it claims the direction as it was reviewed, appends under its token and
// at the expected position, and presents what the peer writes to the agent,
// batch by batch, as long as it is the owner.
//
//	review, err := coordinator.Look(ctx, c, chat, "alice")
//	d, err := review.Claim(ctx, claimID)
//	err = d.Attend(ctx, agent, coordinator.Options{})
//
// It keeps nothing but what the server acknowledged: who comes after it begins
// with what stands in the log. It never repeats an append whose outcome is unknown.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A Review is what was seen of an agent's own direction before it is claimed.
type Review struct {
	Chat       ident.Chat       `json:"chatId"`
	Agent      ident.Agent      `json:"agentId"`
	StreamID   string           `json:"streamId"`
	Generation ident.Generation `json:"generation"`
	Owner      ident.Owner      `json:"owner,omitempty"` // "": nobody
	Tail       api.Position     `json:"tail"`

	client *client.Client
	peer   ident.Generation
}

// Look reviews the direction of agent in a chat. It writes nothing.
func Look(ctx context.Context, c *client.Client, chat ident.Chat, agent ident.Agent) (*Review, error) {
	got, err := c.Chat(ctx, api.ChatRequest{Chat: chat, AgentID: agent})
	if err != nil {
		return nil, err
	}
	own, peer := got.StreamA, got.StreamB
	if got.AgentBID == agent {
		own, peer = peer, own
	}
	if own.Tail == nil {
		return nil, errors.New("the server does not say where the direction ends")
	}
	return &Review{
		Chat: chat, Agent: agent, StreamID: own.StreamID, Generation: own.Generation, Owner: own.Owner, Tail: *own.Tail,
		client: c, peer: peer.Generation,
	}, nil
}

// Claim makes whoever calls it the owner, if the direction is still as it was
// reviewed; a *client.Error of code claim_stale says that it is not. A
// claim whose outcome is unknown is repeated, which its id makes harmless.
func (r *Review) Claim(ctx context.Context, id ident.Claim) (*Direction, error) {
	req := api.ClaimRequest{Chat: r.Chat, AgentID: r.Agent, ReviewedTail: api.Some(r.Tail), ClaimID: id}
	if r.Owner != "" {
		req.ReviewedOwner = api.Some(r.Owner)
	}
	return r.claim(ctx, req)
}

// Resume returns the ownership that an earlier claim with this id gave, or makes
// the claim if nobody owns the direction. Somebody else's is claim_stale.
func (r *Review) Resume(ctx context.Context, id ident.Claim) (*Direction, error) {
	d, err := r.claim(ctx, api.ClaimRequest{Chat: r.Chat, AgentID: r.Agent, ClaimID: id})
	if err == nil && d.owner == r.Owner {
		d.next = r.Tail // behind what was written under it since
	}
	return d, err
}

func (r *Review) claim(ctx context.Context, req api.ClaimRequest) (*Direction, error) {
	got, err := r.client.ClaimDirection(ctx, req)
	if err != nil {
		return nil, err
	}
	if got.Generation != r.Generation {
		return nil, fmt.Errorf("the direction was of generation %s, and is of %s", r.Generation, got.Generation)
	}
	return &Direction{review: *r, client: r.client, token: got.Token, owner: got.Owner, next: got.Tail}, nil
}

// A Direction is an agent's own direction of a chat under one ownership. Nothing
// of it moves but by what the server acknowledged. It is not for concurrent use.
type Direction struct {
	review Review
	client *client.Client
	token  ident.OwnerToken
	owner  ident.Owner
	next   api.Position
	ended  error // *Replaced or *Uncertain: nothing may be appended any more
}

// Owner returns the public id of the ownership.
func (d *Direction) Owner() ident.Owner { return d.owner }

// Next returns the position behind what stands in the direction.
func (d *Direction) Next() api.Position { return d.next }

// Replaced is the end of an ownership: somebody else has claimed the direction.
type Replaced struct {
	By ident.Owner // "": it is not known who
}

// Error says by whom.
func (e *Replaced) Error() string {
	if e.By == "" {
		return "replaced: the direction has another owner"
	}
	return "replaced: the direction is owned by " + string(e.By)
}

// Uncertain is an append whose outcome is unknown: it may stand at Position, or
// may still come to. Nothing follows it under the same ownership.
type Uncertain struct {
	Chat      ident.Chat
	Agent     ident.Agent
	Operation ident.Operation
	Position  api.Position
	Cause     error
}

// Error names the operation.
func (e *Uncertain) Error() string {
	return fmt.Sprintf("the outcome of operation %s at %d is unknown: %v", e.Operation, e.Position, e.Cause)
}

// Unwrap returns the cause.
func (e *Uncertain) Unwrap() error { return e.Cause }

// Send appends a message, and with a batch the receipt of it too, in one append.
// Of an error other than *Uncertain nothing is stored. Unless it is *Uncertain or
// *Replaced, which are all that the direction answers from then on, something
// else may be sent.
func (d *Direction) Send(ctx context.Context, id ident.Message, content string, ack *api.ChatBatch) (*api.ChatAppendResponse, error) {
	req := api.ChatMessageRequest{Chat: d.review.Chat, AgentID: d.review.Agent, Token: d.token, ExpectedPosition: new(d.next), MessageID: id, Content: &content}
	if ack != nil {
		req.Ack = new(receipt(ack))
	}
	op := signed.MessageOperation(d.review.Chat, d.review.Agent, id)
	return d.append(ctx, op, func(ctx context.Context) (*api.ChatAppendResponse, error) { return d.client.SendToChat(ctx, req) })
}

// Acknowledge appends the receipt of a batch that was presented, as Send does a message.
func (d *Direction) Acknowledge(ctx context.Context, b *api.ChatBatch) (*api.ChatAppendResponse, error) {
	req := api.ChatReceiptRequest{Chat: d.review.Chat, AgentID: d.review.Agent, Token: d.token, ExpectedPosition: new(d.next), Acknowledgement: receipt(b)}
	op := signed.ReceiptOperation(d.review.Chat, d.review.Agent, *b.BatchID)
	return d.append(ctx, op, func(ctx context.Context) (*api.ChatAppendResponse, error) { return d.client.AcknowledgeBatch(ctx, req) })
}

func receipt(b *api.ChatBatch) api.Acknowledgement {
	return api.Acknowledgement{PeerStreamID: b.PeerStreamID, PeerGeneration: b.PeerGeneration, NextPosition: &b.NextPosition, BatchID: *b.BatchID}
}

func (d *Direction) append(ctx context.Context, op ident.Operation, call func(context.Context) (*api.ChatAppendResponse, error)) (*api.ChatAppendResponse, error) {
	if d.ended != nil {
		return nil, d.ended
	}
	// An append that has begun is seen to its end: leaving it would make its outcome unknown.
	got, err := call(context.WithoutCancel(ctx))
	e, _ := errors.AsType[*client.Error](err)
	switch {
	case err == nil && got.Position == d.next:
		d.next = got.NextPosition
	case errors.Is(err, client.ErrUnknown):
		d.ended = &Uncertain{Chat: d.review.Chat, Agent: d.review.Agent, Operation: op, Position: d.next, Cause: err}
		return nil, d.ended
	case e != nil && e.Problem.Code == api.OwnerReplaced:
		d.ended = &Replaced{}
		if e.Problem.Owner != nil {
			d.ended = &Replaced{By: e.Problem.Owner.Value}
		}
		return nil, d.ended
	case e != nil && (e.Problem.Code == api.BatchUnknown || e.Problem.Code == api.PositionTaken):
		// Whoever replaced this owner may have acknowledged the batch, which is refused first;
		// or stand at the position, where an append whose answer was lost is looked for.
		if _, cause := d.Unacknowledged(ctx, 1); ended(cause) {
			return nil, cause
		}
	}
	return got, err // what was stored before stands where it stood
}

// fresh is how old the answer may be, counted from its question, by which a batch
// is presented. A process that was stopped in between asks again.
const fresh = 5 * time.Second

// Unacknowledged returns what the peer wrote since the last receipt, if at most
// fresh ago the direction was still owned, of the generation that was claimed,
// and ended where it should. Otherwise the error is *Replaced, or says which of
// them is not so. Its BatchID is nil if the peer wrote nothing.
func (d *Direction) Unacknowledged(ctx context.Context, limit int) (*api.ChatBatch, error) {
	req := api.BatchRequest{Chat: d.review.Chat, AgentID: d.review.Agent}
	if limit > 0 {
		req.Limit = &limit
	}
	for d.ended == nil {
		began := time.Now()
		b, err := d.client.Batch(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case b.Owner.Value != d.owner:
			d.ended = &Replaced{By: b.Owner.Value}
		case b.PeerGeneration != d.review.peer:
			return nil, fmt.Errorf("the peer's direction was of generation %s, and is of %s", d.review.peer, b.PeerGeneration)
		case b.Tail != d.next:
			return nil, fmt.Errorf("the direction ends at %d, and nothing that was acknowledged ends there; want %d", b.Tail, d.next)
		case time.Since(began) <= fresh:
			return b, nil
		}
	}
	return nil, d.ended
}
