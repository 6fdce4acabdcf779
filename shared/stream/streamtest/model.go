package streamtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"agentchat/shared/stream"
)

func modelCases() []testCase {
	return []testCase{{name: "RandomCallsMatchTheModel", run: randomCallsMatchTheModel}}
}

// A model is what a stream is by the contract, in the plainest form.
type model struct {
	records []stream.Record // by position, those that were trimmed included
	token   string
	first   uint64
}

func (m *model) tail() uint64 { return uint64(len(m.records)) }

// append returns the error that in must get, and does what it must do if there is none.
func (m *model) append(in stream.Batch) error {
	switch {
	case in.Token != nil && *in.Token != m.token:
		return &stream.FencedError{Token: m.token}
	case in.At != nil && *in.At != m.tail():
		return &stream.PositionError{Tail: m.tail()}
	}
	for _, r := range in.Records {
		switch r.Command() {
		case stream.FenceCommand:
			m.token = string(r.Body)
		case stream.TrimCommand:
			var seq uint64
			for _, b := range r.Body {
				seq = seq<<8 | uint64(b)
			}
			m.first = max(m.first, min(seq, m.tail()+1))
		case stream.None:
		}
		m.records = append(m.records, r)
	}
	return nil
}

// read returns the page, or the error, that a read must get.
func (m *model) read(from uint64, limit stream.Limit) ([]stream.Record, error) {
	switch {
	case from > m.tail():
		return nil, &stream.BeyondTailError{Tail: m.tail()}
	case from < m.first:
		return nil, &stream.TrimmedError{First: m.first}
	}
	end, size := from, 0
	for end < m.tail() && (limit.Records == 0 || end-from < uint64(limit.Records)) {
		size += m.records[end].Metered()
		if limit.Bytes > 0 && size > limit.Bytes && end > from {
			break
		}
		end++
	}
	return m.records[from:end], nil
}

func randomCallsMatchTheModel(p *probe) {
	seed := p.o.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	p.Logf("Seed: %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	name, m := p.create(), &model{}
	for step := range 800 / p.o.Small {
		switch n := r.IntN(100); {
		case n < 45:
			in := randomBatch(r, m)
			before := m.tail()
			want := m.append(in)
			ack, err := p.Append(p.Context(), name, in)
			if !alike(err, want) || err == nil && (ack.First != before || ack.Next != m.tail()) {
				p.Fatalf("step %d: append of %d %s at %d: %v, %v; want %v", step, len(in.Records), conditions(in), before, ack, err, want)
			}
			if trims := func(r stream.Record) bool { return r.Command() == stream.TrimCommand }; want == nil && m.first > 0 && slices.ContainsFunc(in.Records, trims) {
				p.trimmed(name, m.first)
			}
		case n < 90:
			from := r.Uint64N(m.tail() + 3)
			limit := stream.Limit{Records: r.IntN(8), Bytes: r.IntN(3) * r.IntN(300)}
			want, wantErr := m.read(from, limit)
			page, err := p.Read(p.Context(), name, stream.Start{Seq: from}, limit)
			if !alike(err, wantErr) || err == nil && page.Tail != m.tail() {
				p.Fatalf("step %d: read from %d with %+v: tail %d, %v; want %d, %v", step, from, limit, page.Tail, err, m.tail(), wantErr)
			}
			p.dense(from, page.Entries)
			if len(page.Entries) != len(want) && !p.full(len(page.Entries), len(want)) {
				p.Fatalf("step %d: read from %d with %+v: %d records; want %d", step, from, limit, len(page.Entries), len(want))
			}
			for i, e := range page.Entries {
				if !same(e.Record, want[i]) {
					p.Fatalf("step %d: position %d holds %q; want %q", step, e.Seq, e.Record, want[i])
				}
			}
		case n < 99:
			if got := p.tail(name); got != m.tail() {
				p.Fatalf("step %d: tail = %d; want %d", step, got, m.tail())
			}
		default:
			if err := p.Delete(p.Context(), name); err != nil {
				p.Fatalf("step %d: delete: %v", step, err)
			}
			p.eventually("creating again", func() error { return p.Create(p.Context(), name, stream.Config{}) })
			m = &model{}
		}
	}
}

// alike reports whether err is the error want, with the same value.
func alike(err, want error) bool {
	switch want := want.(type) { //nolint:errorlint // the model's own, never wrapped
	case nil:
		return err == nil
	case *stream.FencedError:
		var got *stream.FencedError
		return errors.As(err, &got) && *got == *want
	case *stream.PositionError:
		var got *stream.PositionError
		return errors.As(err, &got) && *got == *want
	case *stream.TrimmedError:
		var got *stream.TrimmedError
		return errors.As(err, &got) && *got == *want
	case *stream.BeyondTailError:
		var got *stream.BeyondTailError
		return errors.As(err, &got) && *got == *want
	}
	return false
}

func randomBatch(r *rand.Rand, m *model) (in stream.Batch) {
	for range 1 + r.IntN(5) {
		switch n := r.IntN(20); n {
		case 0:
			in.Records = append(in.Records, stream.Fence(randomToken(r)))
		case 1:
			in.Records = append(in.Records, stream.Trim(r.Uint64N(m.tail()/2+2)))
		case 2:
			in.Records = append(in.Records, stream.Trim(m.tail()+r.Uint64N(4)))
		default:
			record := text(strings.Repeat("b", r.IntN(60)))
			for h := range r.IntN(3) {
				record.Headers = append(record.Headers, stream.Header{Name: fmt.Sprint("h", h), Value: strings.Repeat("v", r.IntN(20))})
			}
			in.Records = append(in.Records, record)
		}
	}
	switch r.IntN(4) {
	case 0:
		in.At = ptr(m.tail())
	case 1:
		in.At = ptr(r.Uint64N(m.tail() + 2))
	default:
	}
	switch r.IntN(4) {
	case 0:
		in.Token = ptr(m.token)
	case 1:
		in.Token = ptr(randomToken(r))
	default:
	}
	return in
}

// randomToken returns one of a few, so that they often agree.
func randomToken(r *rand.Rand) string { return []string{"", "a", "b"}[r.IntN(3)] }
