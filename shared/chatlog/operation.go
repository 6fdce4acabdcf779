package chatlog

import (
	"context"
	"errors"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// Operation says what became of an operation of the actor's that was to stand at
// a position. That it is absent is final once another record stands there, or
// the direction has another owner, whose claim is such a record.
func (l *Log) Operation(ctx context.Context, id ident.Chat, by Actor, op ident.Operation, at uint64) (*api.OperationResponse, error) {
	r, err := l.enter(ctx, id, by, false)
	if err != nil {
		return nil, err
	}
	if _, err := l.look(ctx, r.own); err != nil {
		return nil, err
	}
	items, tail, err := l.operation(ctx, r.own, op, at)
	if err != nil {
		return nil, err
	}
	answer := &api.OperationResponse{OperationID: op, Outcome: api.OperationAbsent, Final: tail > at, Records: []api.ChatRecord{}, Tail: api.Position(tail)}
	for _, it := range items {
		answer.Outcome = api.OperationStored
		answer.Records = append(answer.Records, r.own.show(it))
	}
	return answer, nil
}

// operation returns the records of op that stand at a position, none if another
// one stands there or nothing does, and the tail.
func (l *Log) operation(ctx context.Context, d direction, op ident.Operation, at uint64) (items []item, tail uint64, err error) {
	page, err := l.store.Read(ctx, d.name, stream.Start{Seq: at}, stream.Limit{Records: maxOperation})
	if beyond, ok := errors.AsType[*stream.BeyondTailError](err); ok {
		return nil, beyond.Tail, nil
	}
	if err != nil {
		return nil, 0, d.refusal(err)
	}
	for len(page.Entries) < maxOperation && page.Next(at) < page.Tail { // cut by its size
		next := page.Next(at)
		more, err := l.store.Read(ctx, d.name, stream.Start{Seq: next}, stream.Limit{Records: maxOperation - len(page.Entries)})
		if err != nil {
			return nil, 0, d.refusal(err)
		}
		page.Entries, page.Tail = append(page.Entries[:len(page.Entries):len(page.Entries)], more.Entries...), more.Tail
	}
	for i, e := range page.Entries {
		it, err := d.take(e, at+uint64(i))
		if err != nil {
			return nil, 0, err
		}
		if i == 0 && it.Operation == op && it.Index > 0 && it.Index < maxOperation {
			return l.operation(ctx, d, op, at-uint64(it.Index)) // it began before
		}
		if it.Operation != op || it.Index != i {
			break
		}
		items = append(items, it)
	}
	return items, page.Tail, nil
}

// maxOperation is the most records of an operation: a message and a receipt.
const maxOperation = 2
