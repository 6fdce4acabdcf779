package chatlog

import (
	"context"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// Batch returns what the peer wrote since the actor's last receipt: messages, up
// to limit of them or 4 MiB, and the id to acknowledge them with. Reading it
// acknowledges nothing, and the same batch can be read again. It says besides who
// owns the actor's own direction now, which is to be looked at before each
// presentation.
func (l *Log) Batch(ctx context.Context, id ident.Chat, by Actor, limit int) (*api.ChatBatch, error) {
	r, err := l.enter(ctx, id, by, false)
	if err != nil {
		return nil, err
	}
	tails, err := l.lookBoth(ctx, [2]direction{r.own, r.peer})
	if err != nil {
		return nil, err
	}
	b := &api.ChatBatch{
		PeerStreamID: r.peer.name.String(), PeerGeneration: r.peer.side.Stream, Tail: api.Position(tails[0]), Items: []api.ChatRecord{},
	}
	err = both(ctx, func(ctx context.Context, i int) error {
		if i == 0 {
			owner, err := l.owner(ctx, r.own)
			b.Owner = *ownerOf(string(owner))
			return err
		}
		known, err := l.glance(ctx, r.own, tails[0], 1)
		b.From = api.Position(known.acknowledged)
		return err
	})
	if err != nil {
		return nil, err
	}
	p := r.presented(uint64(b.From))
	if err := l.present(ctx, r.peer, &p, tails[1], limit, b); err != nil {
		return nil, err
	}
	b.NextPosition = api.Position(p.Next)
	if len(b.Items) > 0 {
		keys, err := l.secrets(forBatches)
		if err != nil {
			return nil, err
		}
		b.BatchID = new(p.ID(keys[0]))
	}
	return b, nil
}

// present adds the peer's messages from p.From on to b, and sets p.Next behind them.
func (l *Log) present(ctx context.Context, peer direction, p *chat.Presented, tail uint64, limit int, b *api.ChatBatch) error {
	p.Next = p.From
	size, passed := 0, 0
	for it, err := range l.read(ctx, peer, p.From, tail, limit) {
		if err != nil {
			return peer.orDamaged(err)
		}
		if it.Type == signed.TypeMessage {
			size += len(it.Body) + aroundItem
			if len(b.Items) == limit || len(b.Items) > 0 && size > api.MaxPageBytes {
				b.HasMore = true
				return nil
			}
			b.Items = append(b.Items, peer.show(it))
		} else if passed++; passed > maxPassed && len(b.Items) > 0 {
			return nil
		}
		p.Next = it.Seq + 1
	}
	return nil
}
