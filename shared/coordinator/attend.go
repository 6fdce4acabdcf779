package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// Options of Attend. Zero values have defaults.
type Options struct {
	Limit    int                // messages of a batch; 0: the server's default
	PerBatch bool               // the agent is started for each batch, and says with an Act when it has ended
	AckOnEnd bool               // that it ended well acknowledges the batch
	OnState  func(client.State) // what becomes of the connection that is followed
	Rand     io.Reader          // of message ids; nil: crypto/rand.Reader
}

// Attend presents what the peer writes to the agent and does what the agent says,
// until ctx ends, the agent is gone (nil), or it may not go on: *Replaced,
// *Uncertain, or the error that would come again. One batch is presented at a
// time, after it was seen that the direction is still owned; one that was not
// acknowledged is presented again. An append that is under way is seen to its end.
func (d *Direction) Attend(ctx context.Context, agent Agent, o Options) error {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	// From here on nothing of either direction is missed, and what was there before is in the first batch.
	one := 1
	page, err := d.client.Transcript(ctx, api.TranscriptRequest{Chat: d.review.Chat, AgentID: d.review.Agent, Limit: &one})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	c := &coordinator{
		d: d, agent: agent, o: o,
		news: make(chan struct{}, 1), acts: make(chan said), again: time.NewTimer(0), waits: backoff.NewExponentialBackOff(),
	}
	c.waits.InitialInterval, c.waits.Multiplier, c.waits.MaxInterval = time.Second, 2, time.Minute
	running.Go(func() { cancel(c.follow(ctx, page.LiveCursor)) })
	running.Go(func() { c.listen(ctx) })
	return c.run(ctx)
}

// A said is an act, or why what was said is none.
type said struct {
	act Act
	err error
}

// A coordinator is one Attend.
type coordinator struct {
	d     *Direction
	agent Agent
	o     Options

	news  chan struct{} // something stands in a direction that did not before
	acts  chan said     // closed when the agent is gone
	again *time.Timer   // when to look without news
	waits *backoff.ExponentialBackOff

	presented *api.ChatBatch // not acknowledged yet; nil: none
	busy      bool           // the agent was started, and has not ended
	waiting   bool           // for again: news is no reason to look
}

// follow tells of news until the chat can't be followed, or the direction is
// another's, and returns why.
func (c *coordinator) follow(ctx context.Context, from api.ChatCursor) error {
	req := api.TranscriptRequest{Chat: c.d.review.Chat, AgentID: c.d.review.Agent, Cursor: from, Include: "fences"}
	for e, err := range c.d.client.FollowChat(ctx, req, c.o.OnState) {
		if err != nil {
			return err
		}
		if by := fenceOf(e.Record); by != "" && e.StreamID == c.d.review.StreamID && by != c.d.owner {
			return &Replaced{By: by}
		}
		select {
		case c.news <- struct{}{}:
		default: // there is news already
		}
	}
	return errors.New("the chat is not followed any more")
}

// fenceOf returns whose fence a record is; "" for any other record.
func fenceOf(record []byte) ident.Owner {
	var r struct {
		Fence signed.Fence `json:"fence"`
	}
	if json.Unmarshal(record, &r) != nil {
		return ""
	}
	return r.Fence.Owner
}

func (c *coordinator) listen(ctx context.Context) {
	defer close(c.acts)
	for act, err := range c.agent.Acts(ctx) {
		select {
		case c.acts <- said{act, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (c *coordinator) run(ctx context.Context) error {
	for {
		news := c.news
		if c.waiting {
			news = nil
		}
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.again.C:
			c.waiting = false
			err = c.present(ctx)
		case <-news:
			err = c.present(ctx)
		case s, ok := <-c.acts:
			if !ok {
				return nil
			}
			err = c.hear(ctx, s)
		}
		if err != nil {
			if cause := context.Cause(ctx); cause != nil && !ended(err) {
				return cause
			}
			return err
		}
	}
}

// ended reports whether err is what became of the ownership, which is told
// before anything else.
func ended(err error) bool {
	_, uncertain := errors.AsType[*Uncertain](err)
	_, replaced := errors.AsType[*Replaced](err)
	return uncertain || replaced
}

// later looks again after a pause, which grows from one to the next.
func (c *coordinator) later() {
	c.waiting = true
	c.again.Reset(c.waits.NextBackOff())
}

// present presents what is to be presented, if the agent is free.
func (c *coordinator) present(ctx context.Context) error {
	if c.presented != nil || c.busy {
		return nil
	}
	b, err := c.d.Unacknowledged(ctx, c.o.Limit)
	switch {
	case err != nil && passing(err):
		c.later()
		return nil
	case err != nil || b.BatchID == nil:
		return err
	}
	c.presented, c.busy = b, c.o.PerBatch
	return c.agent.Present(ctx, Presentation{Event: "batch", ChatID: c.d.review.Chat, AgentID: c.d.review.Agent, ChatBatch: *b})
}

// hear does what the agent says.
func (c *coordinator) hear(ctx context.Context, s said) error {
	if s.act.Ended {
		return c.end(ctx, s.act.Err)
	}
	err := s.err
	if err == nil {
		err = s.act.check()
	}
	if err == nil && s.act.Ack != "" && (c.presented == nil || *c.presented.BatchID != s.act.Ack) {
		err = fmt.Errorf("batch %s is not the one that was presented and waits for its receipt", s.act.Ack)
	}
	if err != nil {
		c.agent.Tell(refusal(s.act.Ack, err))
		return nil
	}
	return c.do(ctx, s.act)
}

// end is the end of an agent that is started for each batch.
func (c *coordinator) end(ctx context.Context, err error) error {
	c.busy = false
	b := c.presented
	switch {
	case b == nil: // it was acknowledged
		return c.present(ctx)
	case err == nil && c.o.AckOnEnd:
		if err := c.do(ctx, Act{Ack: *b.BatchID}); err != nil || c.presented != b {
			return err
		}
	case err == nil:
		err = errors.New("it ended without acknowledging the batch, which will be presented again")
		fallthrough
	default:
		c.agent.Tell(refusal(*b.BatchID, err))
	}
	c.presented = nil
	c.later()
	return nil
}

// do appends what the agent said, and tells it what came of it. A refusal leaves
// everything as it was.
func (c *coordinator) do(ctx context.Context, act Act) error {
	var got *api.ChatAppendResponse
	var err error
	told := Event{Event: "sent", BatchID: act.Ack}
	id := act.ID
	if id == "" {
		id = client.NewID(c.o.Rand)
	}
	switch {
	case act.Send != nil:
		got, err = c.d.Send(ctx, id, *act.Send, nil)
	case act.Reply != nil:
		got, err = c.d.Send(ctx, id, *act.Reply, c.presented)
	default:
		told.Event = "acknowledged"
		got, err = c.d.Acknowledge(ctx, c.presented)
	}
	switch {
	case err == nil:
	case ended(err) || !passing(err) && !ofContent(err):
		return err
	default:
		c.agent.Tell(refusal(act.Ack, err))
		return nil
	}
	told.OperationID, told.Position, told.NextPosition, told.Redactions = got.OperationID, &got.Position, &got.NextPosition, got.Redactions
	c.agent.Tell(told)
	if act.Ack == "" {
		return nil
	}
	c.presented = nil
	c.waits.Reset()
	return c.present(ctx)
}

// passing reports whether nothing was done, and the same may be done a little later.
func passing(err error) bool {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return !e.Permanent()
	}
	_, unanswered := errors.AsType[*client.ConnError](err)
	return unanswered
}

// ofContent reports whether err refuses what was to be sent, and nothing else: the
// direction is as it was, and takes something else.
func ofContent(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return false
	}
	return e.Status == http.StatusRequestEntityTooLarge || slices.Contains([]api.Code{
		api.PIIRejected, api.PermissionRequired, api.PermissionDenied, api.RecipientNotFound, api.IDReused, api.Invalid, api.InvalidJSON,
	}, e.Problem.Code)
}
