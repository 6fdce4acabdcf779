// Package streamtest is the suite that every stream.Store passes, backends and
// decorators alike. It checks what the comments of package stream promise, and
// nothing that they leave open.
package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/stream"
)

// Options say how to get stores and what they can be asked for.
type Options struct {
	// Open returns a store of its own for one case: both basins ensured, no
	// streams. What it needs ends with t.
	Open func(t *testing.T) stream.Store

	// Bubble runs every case in a testing/synctest bubble of its own.
	Bubble bool

	// Patience is how long anything may take that happens in the background or
	// has to come over a wire. Zero: 10 s.
	Patience time.Duration

	// NoAging leaves out the case that waits for records and streams to age.
	NoAging bool

	// ShortPages accepts pages of Read that hold less than the limits allow, which
	// the contract leaves open. Without it they must be full.
	ShortPages bool

	// Seed repeats the random calls of a run that failed. Zero: a new one.
	Seed uint64

	// Small divides the sizes of the cases that are large only to be sure, for
	// stores that are slow to write. Zero: 1.
	Small int
}

// Run runs the suite, one subtest a case.
func Run(t *testing.T, o Options) {
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	o.Small = max(o.Small, 1)
	for _, group := range [][]testCase{appendCases(), refuseCases(), readCases(), followCases(), watchCases(), manageCases(), modelCases()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				if c.aging && o.NoAging {
					t.Skip("the store can't age records in the time of a test")
				}
				run := func(t *testing.T) { c.run(&probe{T: t, Store: o.Open(t), o: o}) }
				if o.Bubble {
					synctest.Test(t, run)
				} else {
					run(t)
				}
			})
		}
	}
}

// A testCase says in its name what holds.
type testCase struct {
	name  string
	run   func(*probe)
	aging bool
}

// A probe is a store under test, with the test. Its own methods fail the test
// where the Store's return an error.
type probe struct {
	*testing.T
	stream.Store
	o Options
}

const inbox = "alice"

// create makes the inbox of alice and returns its name.
func (p *probe) create() stream.Name {
	p.Helper()
	name := stream.Inbox(inbox)
	p.createAs(name)
	return name
}

func (p *probe) createAs(name stream.Name) {
	p.Helper()
	if err := p.Create(p.Context(), name, stream.Config{}); err != nil {
		p.Fatalf("create %s: %v", name, err)
	}
}

func (p *probe) append(name stream.Name, records ...stream.Record) stream.Ack {
	p.Helper()
	ack, err := p.Append(p.Context(), name, stream.Batch{Records: records})
	if err != nil {
		p.Fatalf("append to %s: %v", name, err)
	}
	if got := ack.Next - ack.First; got != uint64(len(records)) {
		p.Fatalf("append of %d records: acknowledged [%d,%d)", len(records), ack.First, ack.Next)
	}
	return ack
}

// fill appends n small records, numbered by their positions, in full batches.
func (p *probe) fill(name stream.Name, n int) {
	p.Helper()
	tail := p.tail(name)
	for next := tail; next < tail+uint64(n); {
		size := min(stream.MaxBatchRecords, tail+uint64(n)-next)
		ack := p.append(name, numbered(next, int(size))...)
		if ack.First != next {
			p.Fatalf("append at the tail %d was written at %d", next, ack.First)
		}
		next = ack.Next
	}
}

func (p *probe) tail(name stream.Name) uint64 {
	p.Helper()
	tail, err := p.Tail(p.Context(), name)
	if err != nil {
		p.Fatalf("tail of %s: %v", name, err)
	}
	return tail.Seq
}

func (p *probe) read(name stream.Name, from uint64, limit stream.Limit) stream.Page {
	p.Helper()
	page, err := p.Read(p.Context(), name, stream.Start{Seq: from}, limit)
	if err != nil {
		p.Fatalf("read %s from %d: %v", name, from, err)
	}
	p.dense(from, page.Entries)
	return page
}

// all returns every record from position from on.
func (p *probe) all(name stream.Name, from uint64) (entries []stream.Entry) {
	p.Helper()
	for {
		page := p.read(name, from, stream.Limit{})
		if len(page.Entries) == 0 {
			return entries
		}
		entries = append(entries, page.Entries...)
		from = page.Next(from)
	}
}

// dense checks that entries stand at from and the positions behind it, and that
// time does not run backwards.
func (p *probe) dense(from uint64, entries []stream.Entry) {
	p.Helper()
	for i, e := range entries {
		if e.Seq != from+uint64(i) {
			p.Fatalf("entry %d of a page from %d has position %d", i, from, e.Seq)
		}
		if i > 0 && e.Timestamp < entries[i-1].Timestamp {
			p.Fatalf("the timestamp at %d is %d, before the %d at %d", e.Seq, e.Timestamp, entries[i-1].Timestamp, entries[i-1].Seq)
		}
	}
}

// full reports whether a page of got entries is as large as it must be where want
// are there and within the limits.
func (p *probe) full(got, want int) bool {
	return got == want || p.o.ShortPages && got > 0 && got < want
}

// unwritten checks that the stream ends where it did.
func (p *probe) unwritten(name stream.Name, tail uint64) {
	p.Helper()
	if got := p.tail(name); got != tail {
		p.Errorf("the tail of %s is %d after a refusal; want %d as before", name, got, tail)
	}
}

// eventually waits until try returns nil.
func (p *probe) eventually(what string, try func() error) {
	p.Helper()
	deadline := time.Now().Add(p.o.Patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s: still not after %v: %v", what, p.o.Patience, err)
		}
		p.pause(5 * time.Millisecond)
	}
}

func (p *probe) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.Context().Done():
	}
}

// trimmed waits until the first retained position is first: a store may take its
// time to remove what a trim names.
func (p *probe) trimmed(name stream.Name, first uint64) {
	p.Helper()
	p.eventually(fmt.Sprintf("trim of %s before %d", name, first), func() error {
		_, err := p.Read(p.Context(), name, stream.Start{}, stream.Limit{Records: 1})
		var trimmed *stream.TrimmedError
		if !errors.As(err, &trimmed) {
			return fmt.Errorf("a read from 0: err = %v; want *TrimmedError", err) //nolint:errorlint // may be nil
		}
		if trimmed.First != first {
			return fmt.Errorf("first = %d; want %d", trimmed.First, first)
		}
		return nil
	})
}

// bounded returns a context for readers that would wait for ever for what a
// store has lost.
func (p *probe) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.Context(), 6*p.o.Patience)
}

// ended returns a context that is over, for a cause of its own: what errors must
// wrap is the context's error all the same.
func (p *probe) ended() context.Context {
	ctx, cancel := context.WithCancelCause(p.Context())
	cancel(errors.New("no more interest"))
	return ctx
}

func text(s string) stream.Record { return stream.Record{Body: []byte(s)} }

// numbered returns n records whose bodies are the numbers from first on.
func numbered(first uint64, n int) []stream.Record {
	records := make([]stream.Record, n)
	for i := range records {
		records[i] = text(strconv.FormatUint(first+uint64(i), 10))
	}
	return records
}

// sized returns a record of exactly n metered bytes.
func sized(n int) stream.Record {
	return stream.Record{Body: bytes.Repeat([]byte("x"), n-stream.Record{}.Metered())}
}

func bodies(entries []stream.Entry) []string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = string(e.Body)
	}
	return texts
}

// same reports whether a and b are the same record. No body and an empty one are.
func same(a, b stream.Record) bool {
	return slices.Equal(a.Headers, b.Headers) && bytes.Equal(a.Body, b.Body)
}

func ptr[T any](v T) *T { return &v }
