package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/coordinator"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A player is the agent of a life: it answers as the seed says, and writes down
// what it was presented, what it said, and what it was told.
type player struct {
	*life
	perBatch, ackOnEnd, docile bool
	wake                       chan struct{}

	shown  *coordinator.Presentation // guarded by w.mu, as the rest
	busy   bool                      // it was started for a batch, and has not ended
	silent bool                      // until it is told what came of what it said
	said   int
}

// A presented is a batch as it was presented.
type presented struct {
	life *life
	coordinator.Presentation
	at time.Time
}

// A told is what came of an act, as the agent was told.
type told struct {
	life *life
	coordinator.Event
}

// Present implements coordinator.Agent.
func (p *player) Present(_ context.Context, b coordinator.Presentation) error {
	p.w.sync(func() {
		if p.dead {
			return // nothing reaches anybody
		}
		if p.shown != nil || p.busy {
			p.w.wrong = append(p.w.wrong, fmt.Sprintf("%s is presented %s while it is at another one", p.name, *b.BatchID))
		}
		p.shown, p.busy, p.silent = &b, p.perBatch, false
		p.w.presented = append(p.w.presented, presented{p.life, b, time.Now()})
	})
	p.w.count("presented")
	p.w.note(p.name, "is presented %d up to %d: %s", b.From, b.NextPosition, *b.BatchID)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// Acts implements coordinator.Agent.
func (p *player) Acts(ctx context.Context) iter.Seq2[coordinator.Act, error] {
	return func(yield func(coordinator.Act, error) bool) {
		for ctx.Err() == nil {
			if p.w.park(p.life, "acts") == gone {
				<-ctx.Done()
				return
			}
			act, ok := p.next()
			if !ok {
				select {
				case <-p.wake:
				case <-ctx.Done():
				}
				continue
			}
			p.w.note(p.name, "says %s", describeAct(act))
			if !yield(act, nil) {
				return
			}
		}
	}
}

// next returns what the agent says next; false: nothing, until something comes.
func (p *player) next() (act coordinator.Act, ok bool) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.said++
	id := ident.Message(fmt.Sprintf("%s-%d", p.name, p.said))
	switch r := p.rng.IntN(100); {
	case p.silent, p.docile && p.said > 200: // enough, if all is well
		return act, false
	case p.shown == nil && p.busy: // it has acknowledged, and ends
		p.busy = false
		return coordinator.Act{Ended: true}, true
	case p.shown == nil && (p.docile || p.w.quota[p.agent] == 0):
		return act, false
	case p.shown == nil || r < 5 && !p.docile && p.w.quota[p.agent] > 0:
		p.w.quota[p.agent]--
		act = coordinator.Act{Send: new("from " + string(id)), ID: id}
	case p.docile && !p.perBatch:
		act = coordinator.Act{Ack: *p.shown.BatchID}
	case p.busy && r < 20 && !p.docile:
		act = coordinator.Act{Ended: true}
		if r < 12 {
			act.Err = errors.New("it broke")
		} else if p.ackOnEnd {
			p.w.acks[*p.shown.BatchID] = true
		}
		p.shown, p.busy = nil, false
		return act, true
	case r < 25 && !p.docile:
		act = coordinator.Act{Ack: "b_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"}
	case r < 28 && !p.docile:
		act = coordinator.Act{Ack: *p.shown.BatchID, Reply: new(strings.Repeat("x", api.MaxChatAppend)), ID: id}
	case r < 65 && !p.docile:
		act = coordinator.Act{Ack: *p.shown.BatchID, Reply: new("reply " + string(id)), ID: id}
	default:
		act = coordinator.Act{Ack: *p.shown.BatchID}
	}
	p.silent = true
	if p.shown != nil && act.Ack == *p.shown.BatchID {
		p.w.acks[act.Ack] = true
	}
	if act.ID != "" {
		p.w.authors[signed.MessageOperation(p.w.chat, p.agent, act.ID)] = p.life
	}
	return act, true
}

// Tell implements coordinator.Agent.
func (p *player) Tell(e coordinator.Event) {
	p.w.note(p.name, "is told %s %s %s %s", e.Event, e.BatchID, e.OperationID, e.Detail)
	what := e.Event
	if what == "sent" && e.BatchID != "" {
		what = "replied"
	}
	p.w.count(what)
	p.w.sync(func() {
		if p.dead {
			return
		}
		p.silent = false
		p.w.told = append(p.w.told, told{p.life, e})
		if e.Event != "refused" && e.BatchID != "" && p.shown != nil {
			p.shown = nil
		}
	})
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func describeAct(a coordinator.Act) string {
	s := string(a.Ack)
	for name, text := range map[string]*string{"reply": a.Reply, "send": a.Send} {
		if text != nil {
			s += fmt.Sprintf(" %s %.30q", name, *text)
		}
	}
	if a.Ended {
		s += fmt.Sprintf("end, %v", a.Err)
	}
	return s
}
