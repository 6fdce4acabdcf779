package coordinator

import (
	"context"
	"errors"
	"iter"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// An Agent is who a coordinator works for.
type Agent interface {
	// Present shows a batch to the agent, and returns without waiting for what it
	// says. An error ends the coordinator.
	Present(ctx context.Context, p Presentation) error

	// Acts yields what the agent says and does, in order, until it is gone or ctx
	// ends. An error is of one that can't be understood: it is told, and nothing
	// comes of it.
	Acts(ctx context.Context) iter.Seq2[Act, error]

	// Tell says what came of an act, once that is certain.
	Tell(e Event)
}

// A Presentation is a batch as an agent gets it.
type Presentation struct {
	Event   string      `json:"event"` // batch
	ChatID  ident.Chat  `json:"chatId"`
	AgentID ident.Agent `json:"agentId"`
	api.ChatBatch
}

// An Act is what an agent says, in one line: it acknowledges the batch that it was
// presented, perhaps with a reply, or sends a message that acknowledges nothing.
type Act struct {
	Ack   ident.Batch   `json:"ack,omitempty"`
	Reply *string       `json:"reply,omitempty"`
	Send  *string       `json:"send,omitempty"`
	ID    ident.Message `json:"id,omitempty"` // of the message; "": a new one

	// Ended is set, and nothing else but Err, when an agent that is started for each batch has ended.
	Ended bool  `json:"-"`
	Err   error `json:"-"` // why it did not end well
}

func (a Act) check() error {
	switch {
	case a.Send != nil && (a.Ack != "" || a.Reply != nil):
		return errors.New(`"send" stands alone: it acknowledges nothing`)
	case a.Reply != nil && a.Ack == "":
		return errors.New(`"reply" needs "ack": the batch that it answers`)
	case a.Send == nil && a.Ack == "":
		return errors.New(`one of "ack" and "send" is needed`)
	case a.ID != "" && a.Send == nil && a.Reply == nil:
		return errors.New(`"id" is of a message, and there is none`)
	}
	return nil
}

// An Event says what came of an act.
type Event struct {
	Event        string          `json:"event"` // acknowledged, sent, refused
	BatchID      ident.Batch     `json:"batchId,omitempty"`
	OperationID  ident.Operation `json:"operationId,omitempty"`
	Position     *api.Position   `json:"position,omitempty"`     // where it stands
	NextPosition *api.Position   `json:"nextPosition,omitempty"` // behind it
	Redactions   []api.Redaction `json:"redactions,omitempty"`
	Code         api.Code        `json:"code,omitempty"`   // of a refusal, if it is the server's
	Detail       string          `json:"detail,omitempty"` // of a refusal
}

func refusal(batch ident.Batch, err error) Event {
	e := Event{Event: "refused", BatchID: batch, Detail: err.Error()}
	if p, ok := errors.AsType[*client.Error](err); ok && p.Problem.Code != "" {
		e.Code, e.Detail = p.Problem.Code, p.Problem.Detail
	}
	return e
}
