package streamtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentchat/shared/stream"
)

func refuseCases() []testCase {
	return []testCase{
		{name: "LimitsHoldExactly", run: limitsHoldExactly},
		{name: "EndedContextIsToldByEveryMethod", run: endedContextIsToldByEveryMethod},
	}
}

func limitsHoldExactly(p *probe) {
	name := p.create()
	long := strings.Repeat("t", stream.MaxTokenBytes)
	header := stream.Record{Headers: []stream.Header{{Name: "name", Value: "value"}}}
	header.Body = sized(stream.MaxBatchBytes - header.Metered() + 8).Body
	command := func(value, body string) stream.Record {
		return stream.Record{Headers: []stream.Header{{Value: value}}, Body: []byte(body)}
	}
	for _, c := range []struct {
		name    string
		records []stream.Record
		token   *string
		ok      bool
	}{
		{"1000 records", numbered(0, 1000), nil, true},
		{"1001 records", numbered(0, 1001), nil, false},
		{"no record", nil, nil, false},
		{"a record of 1 MiB", []stream.Record{sized(1 << 20)}, nil, true},
		{"a record of 1 MiB and 1", []stream.Record{sized(1<<20 + 1)}, nil, false},
		{"1 MiB with a header", []stream.Record{header}, nil, true},
		{"1 MiB in two", []stream.Record{sized(1<<20 - 100), sized(100)}, nil, true},
		{"1 MiB and 1 in two", []stream.Record{sized(1<<20 - 100), sized(101)}, nil, false},
		{"a fence of 37 bytes", []stream.Record{stream.Fence(long + "t")}, nil, false},
		{"a fence of no UTF-8", []stream.Record{stream.Fence("\xff")}, nil, false},
		{"a token of 37 bytes", numbered(0, 1), ptr(long + "t"), false},
		{"an unknown command", []stream.Record{command("shrink", "")}, nil, false},
		{"a nameless header of two", []stream.Record{{Headers: []stream.Header{{Name: "a", Value: "b"}, {Value: "fence"}}}}, nil, false},
		{"a trim of 7 bytes", []stream.Record{command("trim", "1234567")}, nil, false},
		{"a trim of 9 bytes", []stream.Record{command("trim", "123456789")}, nil, false},
		{"an empty trim", []stream.Record{command("trim", "")}, nil, false},
		{"a fault in the last record", append(numbered(0, 9), command("", "")), nil, false},
		{"a fence of 36 bytes", []stream.Record{stream.Fence(long)}, nil, true},
		{"a token of 36 bytes", numbered(0, 1), &long, true},
	} {
		before := p.tail(name)
		_, err := p.Append(p.Context(), name, stream.Batch{Records: c.records, Token: c.token})
		if !c.ok {
			if !errors.Is(err, stream.ErrInvalid) {
				p.Errorf("%s: err = %v; want ErrInvalid", c.name, err)
			}
			p.unwritten(name, before)
			continue
		}
		if err != nil {
			p.Errorf("%s: %v", c.name, err)
			continue
		}
		entries := p.all(name, before)
		if len(entries) != len(c.records) {
			p.Errorf("%s: %d records came back; want %d", c.name, len(entries), len(c.records))
			continue
		}
		for i, e := range entries {
			if !same(e.Record, c.records[i]) {
				p.Errorf("%s: record %d came back otherwise, with %d bytes of body for %d", c.name, i, len(e.Body), len(c.records[i].Body))
			}
		}
	}
}

func endedContextIsToldByEveryMethod(p *probe) {
	name := p.create()
	ctx := p.ended()
	check := func(method string, err error) {
		if !errors.Is(err, context.Canceled) {
			p.Errorf("%s with an ended context: err = %v; want one that wraps context.Canceled", method, err)
		}
	}
	_, err := p.Append(ctx, name, stream.Batch{Records: numbered(0, 1)})
	check("Append", err)
	if !errors.Is(err, stream.ErrUnknown) && !errors.Is(err, stream.ErrUnavailable) {
		p.Errorf("Append with an ended context: err = %v; want ErrUnknown, or ErrUnavailable if nothing was sent", err)
	}
	_, err = p.Read(ctx, name, stream.Start{}, stream.Limit{})
	check("Read", err)
	_, err = p.Tail(ctx, name)
	check("Tail", err)
	_, _, err = p.List(ctx, stream.Inboxes, stream.Name{}, 0)
	check("List", err)
	check("Create", p.Create(ctx, stream.Inbox("bob"), stream.Config{}))
	check("Delete", p.Delete(ctx, name))
	check("Ensure", p.Ensure(ctx))
	check("Check", p.Check(ctx))
	for _, err = range p.Follow(ctx, name, 0, p.o.Patience) {
	}
	check("Follow", err)
	for _, err = range p.Watch(ctx, stream.Inboxes) {
	}
	check("Watch", err)
}

// accepted appends in and returns the ack.
func (p *probe) accepted(name stream.Name, in stream.Batch) stream.Ack {
	p.Helper()
	ack, err := p.Append(p.Context(), name, in)
	if err != nil {
		p.Fatalf("append to %s %s: %v", name, conditions(in), err)
	}
	return ack
}

// refused checks that in is refused for its token, which is really the given
// one, or if that is nil for its position, which is really the tail, and that nothing is written.
func (p *probe) refused(name stream.Name, in stream.Batch, tail uint64, token *string) {
	p.Helper()
	before := p.tail(name)
	_, err := p.Append(p.Context(), name, in)
	var (
		fenced *stream.FencedError
		taken  *stream.PositionError
	)
	switch {
	case token != nil && (!errors.As(err, &fenced) || fenced.Token != *token):
		p.Errorf("append to %s %s: err = %v; want fenced, the token is %q", name, conditions(in), err, *token)
	case token == nil && (!errors.As(err, &taken) || taken.Tail != tail):
		p.Errorf("append to %s %s: err = %v; want position taken, the tail is %d", name, conditions(in), err, tail)
	}
	p.unwritten(name, before)
}

func conditions(in stream.Batch) string {
	var s strings.Builder
	if in.At != nil {
		fmt.Fprintf(&s, "at %d ", *in.At)
	}
	if in.Token != nil {
		fmt.Fprintf(&s, "with token %q", *in.Token)
	}
	return s.String()
}
