package s2stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
)

// Read implements stream.Store.
//
// It is one round trip where S2 tells the tail, which it does at the tail and
// for recent records, and otherwise a second one after the first: asking for both
// at once would double the requests of every reader that is up to date, to
// spare those their wait that replay history.
func (s *Store) Read(ctx context.Context, name stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	records, bytes := bound(limit.Records, stream.MaxPageRecords), bound(limit.Bytes, stream.MaxPageBytes)
	page, known, err := s.read(ctx, name, start, records, bytes)
	if err == nil && !known && len(page.Entries) == 0 && bytes < stream.MaxPageBytes {
		// S2 returns nothing where the first record is larger than what is asked for.
		page, known, err = s.read(ctx, name, start, 1, stream.MaxPageBytes)
	}
	if err != nil {
		return stream.Page{}, err
	}
	if !known {
		tail, err := s.Tail(ctx, name)
		if err != nil {
			return stream.Page{}, err
		}
		page.Tail = tail.Seq
	}
	switch {
	case start.Time != 0 || len(page.Entries) > 0 || start.Seq == page.Tail:
		return page, nil
	case start.Seq > page.Tail:
		return stream.Page{}, fmt.Errorf("read %s from %d: %w", name, start.Seq, &stream.BeyondTailError{Tail: page.Tail})
	}
	// Nothing is left before a tail that was seen after the first read. Only what a
	// second read finds, or does not find, says where the retained records begin.
	again, _, err := s.read(ctx, name, start, 1, stream.MaxPageBytes)
	if err != nil {
		return stream.Page{}, err
	}
	if len(again.Entries) > 0 { // at start.Seq: it was appended in between
		return stream.Page{Entries: again.Entries, Tail: max(page.Tail, again.Entries[0].Seq+1)}, nil
	}
	return stream.Page{}, fmt.Errorf("read %s from %d: %w", name, start.Seq, &stream.TrimmedError{First: page.Tail})
}

// read makes one request. known says whether S2 told the tail. An empty page
// whose tail is not known is that of a stream without retained records, or of a
// first record larger than bytes.
func (s *Store) read(ctx context.Context, name stream.Name, start stream.Start, records, bytes int) (page stream.Page, known bool, err error) {
	options := &s2.ReadOptions{Count: s2.Uint64(uint64(records)), Bytes: s2.Uint64(uint64(bytes))} // not negative
	if start.Time != 0 {
		options.Timestamp = s2.Uint64(uint64(start.Time))
	} else {
		options.SeqNum = s2.Uint64(start.Seq)
	}
	batch, err := call(ctx, s, reads, "read "+name.String(), func(ctx context.Context) (*s2.ReadBatch, error) {
		batch, err := s.stream(name).Read(ctx, options)
		var beyond *s2.RangeNotSatisfiableError
		if errors.As(err, &beyond) && beyond.Tail != nil {
			return &s2.ReadBatch{Tail: beyond.Tail}, nil // at the tail, or behind it
		}
		return batch, err
	})
	if err != nil {
		return stream.Page{}, false, err
	}
	page.Entries = make([]stream.Entry, len(batch.Records))
	for i, r := range batch.Records {
		page.Entries[i] = entry(r)
		if i > 0 && r.SeqNum != batch.Records[i-1].SeqNum+1 {
			return stream.Page{}, false, fmt.Errorf("read %s: %w: %d is followed by %d", name, stream.ErrCorrupt, batch.Records[i-1].SeqNum, r.SeqNum)
		}
	}
	if len(page.Entries) > 0 && start.Time == 0 && page.Entries[0].Seq != start.Seq {
		return stream.Page{}, false, misplaced(name, start.Seq, page.Entries[0].Seq)
	}
	if batch.Tail != nil {
		page.Tail = batch.Tail.SeqNum
	}
	return page, batch.Tail != nil, nil
}

// misplaced is the error of a read from one position that gave another: S2 starts
// silently at the first retained record.
func misplaced(name stream.Name, want, got uint64) error {
	if got < want {
		return fmt.Errorf("read %s from %d: %w: it began at %d", name, want, stream.ErrCorrupt, got)
	}
	return fmt.Errorf("read %s from %d: %w", name, want, &stream.TrimmedError{First: got})
}

func entry(r s2.SequencedRecord) stream.Entry {
	e := stream.Entry{Seq: r.SeqNum, Timestamp: stream.Timestamp(r.Timestamp), Record: stream.Record{Body: r.Body}}
	if len(r.Headers) > 0 {
		e.Headers = make([]stream.Header, len(r.Headers))
		for i, h := range r.Headers {
			e.Headers[i] = stream.Header{Name: string(h.Name), Value: string(h.Value)}
		}
	}
	return e
}

// bound returns n, or the maximum if it is none or more.
func bound(n, most int) int {
	if n <= 0 || n > most {
		return most
	}
	return n
}
