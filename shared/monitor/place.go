package monitor

import (
	"context"

	"agentchat/shared/api"
	"agentchat/shared/cursor"
)

// The longest cursors: one that holds all positions, and one that names a
// checkpoint because that would be longer.
const (
	maxWhole = 2 << 10
	maxShort = 200
)

// A place is how far a reader has come, and how that is said.
type place struct {
	at    cursor.Vector // everything
	size  int           // of at's entries in a cursor
	chain *chain        // nil: at was never stored
	over  cursor.Vector // what has moved since the end of chain
	text  string        // the cursor of this place; "": to be made
}

// parse returns the place that a cursor says; "" is the beginning. parameter is
// where the cursor came from.
func (m *Monitor) parse(ctx context.Context, text, parameter string) (*place, error) {
	if text == "" {
		return &place{at: cursor.Vector{}, over: cursor.Vector{}}, nil
	}
	c, err := cursor.Parse(text)
	if err != nil {
		return nil, api.InvalidParameter(parameter, "%s", err)
	}
	p := &place{at: c.Moved, over: cursor.Vector{}, text: text}
	if c.Base != nil {
		if p.chain, p.at, err = m.resolve(ctx, *c.Base); err != nil {
			return nil, err
		}
		for agent, to := range c.Moved {
			p.over[agent] = to
			apply(p.at, []move{{agent, to}})
		}
	}
	for agent, at := range p.at {
		p.size += cursor.Entry(agent, at)
	}
	return p, nil
}

// move changes where an inbox is read on.
func (p *place) move(mv move) {
	if at, ok := p.at[mv.agent]; ok {
		p.size -= cursor.Entry(mv.agent, at)
	}
	apply(p.at, []move{mv})
	if mv.to > 0 {
		p.size += cursor.Entry(mv.agent, mv.to)
	}
	if p.chain != nil {
		p.over[mv.agent] = mv.to
	}
	p.text = ""
}

// cursor returns the cursor of p; ok is false if it would be too long.
func (p *place) cursor() (text string, ok bool) {
	if p.text != "" {
		return p.text, true
	}
	if cursor.Size(p.size) <= maxWhole {
		p.text = cursor.Cursor{Moved: p.at}.String()
		return p.text, true
	}
	if p.chain == nil {
		return "", false
	}
	base, entries := p.chain.end(), 0
	for agent, at := range p.over {
		if entries += cursor.Entry(agent, at); cursor.SizeOver(base, entries) > maxShort {
			return "", false
		}
	}
	p.text = cursor.Cursor{Base: &base, Moved: p.over}.String()
	return p.text, true
}

// longest returns how long the cursors can be of places that a reader of w comes to
// from p: those of all positions at most as long as the one where all is read.
func (p *place) longest(w *set) int {
	size := p.size
	for agent, s := range w.sources {
		size += cursor.Entry(agent, s.tail)
		if at, ok := p.at[agent]; ok {
			size -= cursor.Entry(agent, at)
		}
	}
	switch {
	case cursor.Size(size) <= maxWhole:
		return cursor.Size(size)
	case cursor.Size(p.size) > maxWhole:
		return maxShort
	}
	return maxWhole
}

// advance makes moves, one after the other, and returns the cursor behind each
// of them: what p says while that is short enough, and from then on what a
// checkpoint says, which is durable when this returns. On an error p is somewhere
// among the moves, and of no more use.
func (m *Monitor) advance(ctx context.Context, p *place, moves []move) ([]string, error) {
	cursors := make([]string, 0, len(moves))
	for i, mv := range moves {
		at := p.at[mv.agent]
		over, moved := p.over[mv.agent]
		p.move(mv)
		if text, ok := p.cursor(); ok {
			cursors = append(cursors, text)
			continue
		}
		p.move(move{mv.agent, at}) // not yet: a checkpoint begins before it
		if delete(p.over, mv.agent); moved {
			p.over[mv.agent] = over
		}
		chain, refs, err := m.extend(ctx, p.chain, p.at, p.over, moves[i:])
		if err != nil {
			return nil, err
		}
		p.chain, p.over = chain, cursor.Vector{}
		for j, rest := range moves[i:] {
			p.move(rest)
			cursors = append(cursors, cursor.Cursor{Base: &refs[j]}.String())
		}
		clear(p.over)
		p.text = cursors[len(cursors)-1]
		return cursors, nil
	}
	return cursors, nil
}
