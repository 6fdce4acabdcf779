package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"agentchat/shared/stream"
)

// An Input is one atomic append.
type Input struct {
	Records []stream.Record
	Times   []*uint64 // of the records, each or all of them nil: the time of arrival
	At      *uint64   // if not nil, the tail that the stream must have
	Token   *string   // if not nil, the fencing token that the stream must have; "" is none
}

// An Ack is S2's AppendAck: Start is the first record's position and its
// timestamp, End the position behind the last (with its timestamp), Tail the
// durable tail, not before End.
type Ack struct{ Start, End, Tail stream.Position }

// A Pending is an append that was submitted. Its outcome is told 5.25 s after that at
// the latest: then as ErrLate, and the append may still be made.
type Pending struct {
	key    streamKey
	basin  *basinMeta
	at     *uint64
	token  string // if fenced
	fenced bool

	entries []stream.Entry // positions and times are set by the committer
	times   []*uint64      // asked for; nil if none was
	stored  int            // the length of their stored form

	state *state
	ack   Ack
	err   error

	told atomic.Bool // who sets it closes done
	gone error       // why nobody knows the outcome, which is not to be looked at then
	done chan struct{}
}

// Append submits in and waits for its outcome. If ctx ends first, the append may
// still be made.
func (e *Engine) Append(ctx context.Context, basin, name string, in Input) (Ack, error) {
	return e.Submit(basin, name, in).Wait(ctx)
}

// Submit checks in and queues it for the next commit, behind what was submitted
// before it from the same goroutine. While more than 64 MiB are queued it waits
// for the disk, 5 s at most, then the outcome is ErrBusy. in is the caller's again
// on return, but for what its records hold.
//
// The order of the checks in a commit is: the stream is there (or its basin
// creates it on append), fencing token, position, timestamps. Each is made
// against what was accepted before, and commands take effect behind the batch.
// A refusal that depends on an append is told after that append is durable.
func (e *Engine) Submit(basin, name string, in Input) *Pending {
	p := &Pending{done: make(chan struct{})}
	if err := e.prepare(p, basin, name, in); err != nil {
		p.settle(err)
		return p
	}
	if err := e.put(p); err != nil {
		p.settle(err)
	}
	return p
}

// Wait waits for the outcome or ctx's end; it may be called again, and by several.
func (p *Pending) Wait(ctx context.Context) (Ack, error) {
	select {
	case <-p.done:
		return p.Outcome()
	case <-ctx.Done():
	}
	select { // the outcome came with the end
	case <-p.done:
		return p.Outcome()
	default:
		return Ack{}, fmt.Errorf("append: %w", ctx.Err())
	}
}

// Outcome waits for the outcome.
func (p *Pending) Outcome() (Ack, error) {
	<-p.done
	if p.gone != nil {
		return Ack{}, p.gone
	}
	return p.ack, p.err
}

// Done is closed when Wait will not wait.
func (p *Pending) Done() <-chan struct{} { return p.done }

// put queues t for the committer, which will settle it if err is nil.
func (e *Engine) put(t task) error {
	err := e.queue.put(t)
	if failed := e.err(); err != nil && failed != nil {
		return failed
	}
	return err
}

// prepare does all of an append that needs no order.
func (e *Engine) prepare(p *Pending, basin, name string, in Input) error {
	if err := e.err(); err != nil {
		return err
	}
	b, err := e.basin(basin)
	if err != nil {
		return err
	}
	if err := CheckStreamName(name); err != nil {
		return err
	}
	p.key, p.basin = streamKey{b.Number, name}, b
	if err := (stream.Batch{Records: in.Records, Token: in.Token}).Validate(); err != nil {
		return err
	}
	p.times = slices.Clone(in.Times) // what they point to is not written to
	if in.At != nil {
		p.at = new(*in.At)
	}
	if in.Token != nil {
		p.token, p.fenced = *in.Token, true
	}
	p.entries = make([]stream.Entry, len(in.Records))
	for i, r := range in.Records {
		p.entries[i].Record = r
	}
	p.stored = storedLen(p.entries)
	return nil
}

func (p *Pending) weight() int { return p.stored + 256 }

// settle ends the append: with err, or with what stage decided.
func (p *Pending) settle(err error) {
	if err != nil {
		p.err = err
	}
	if p.err == nil {
		p.ack.Tail = p.ack.End
		if st := p.state; st != nil && st.durable.next > p.ack.End.Seq { // in the committer, whose it is to write
			p.ack.Tail = st.durable.tail()
		}
	} else {
		p.ack = Ack{}
	}
	p.state, p.entries = nil, nil
	if p.told.CompareAndSwap(false, true) {
		close(p.done)
	}
}

func (p *Pending) giveUp(err error) {
	if p.told.CompareAndSwap(false, true) {
		p.gone = err
		close(p.done)
	}
}

func (p *Pending) stage(g *group) {
	st, err := g.target(p)
	if err != nil {
		p.err = err
		return
	}
	h := &st.staged
	if p.fenced && p.token != h.fence {
		p.err = &stream.FencedError{Token: h.fence}
		return
	}
	if p.at != nil && *p.at != h.next {
		p.err = &stream.PositionError{Tail: h.next}
		return
	}
	if p.err = p.sequence(st, uint64(g.now)); p.err != nil {
		return
	}
	g.touch(st)
	if h.empty() {
		h.oldest = max(h.arrival, g.now)
	}
	h.arrival = max(h.arrival, g.now)
	first, last := &p.entries[0], &p.entries[len(p.entries)-1]
	h.next, h.time = last.Seq+1, uint64(last.Timestamp)
	g.keyBuf = batchKey(g.keyBuf, st.key.basin, st.id, last.Seq)
	at := g.batch.SetDeferred(len(g.keyBuf), p.stored)
	copy(at.Key, g.keyBuf)
	encode(at.Value, p.entries, h.arrival)
	g.check(at.Finish())
	for i := range p.entries {
		h.command(&p.entries[i])
	}
	st.chunks = append(st.chunks, &chunk{of: st, entries: p.entries, size: p.stored + 64*len(p.entries)})
	p.state = st
	p.ack.Start = stream.Position{Seq: first.Seq, Timestamp: first.Timestamp}
	p.ack.End = stream.Position{Seq: h.next, Timestamp: last.Timestamp}
}

// target returns the stream that p appends to, made if its basin says so.
func (g *group) target(p *Pending) (*state, error) {
	st, err := g.find(p.key)
	if err != nil || st != nil {
		return st, err
	}
	b := g.basinOf(p.key)
	if b == nil {
		return nil, fmt.Errorf("%w: %s", ErrBasinNotFound, p.basin.name)
	}
	if !b.Config.CreateOnAppend {
		return nil, fmt.Errorf("%w: %s", ErrStreamNotFound, p.key.name)
	}
	return g.create(b, p.key.name, StreamConfig{}, "")
}

// sequence gives the entries their positions and times, or returns an error and
// leaves st as it is.
func (p *Pending) sequence(st *state, now uint64) error {
	config, last := &st.life.Config, st.staged.time
	for i := range p.entries {
		at := now
		switch {
		case *config.TimestampMode == Arrival:
		case p.times != nil && p.times[i] != nil:
			at = *p.times[i]
			if !*config.Uncapped {
				at = min(at, now)
			}
		case *config.TimestampMode == ClientRequire:
			return invalid("record %d: no timestamp, and its stream requires one", i)
		}
		last = max(last, at)
		p.entries[i].Seq = st.staged.next + uint64(i)
		p.entries[i].Timestamp = stream.Timestamp(last)
	}
	return nil
}

// command does what e says if it is a command.
func (h *head) command(e *stream.Entry) {
	switch e.Command() {
	case stream.None:
	case stream.FenceCommand:
		h.fence = string(e.Body)
	case stream.TrimCommand:
		h.first = max(h.first, min(binary.BigEndian.Uint64(e.Body), e.Seq+1))
	}
}
