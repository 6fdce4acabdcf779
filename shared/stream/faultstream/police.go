package faultstream

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"slices"

	"agentchat/shared/stream"
)

// A loan is what the caller got, or gave away, and must not write to.
type loan struct {
	what    string
	name    stream.Name
	entries []stream.Entry
	sum     [32]byte
}

// maxLoans bounds what is checked, so that long tests don't keep all they read.
const maxLoans = 256

func (s *Store) lend(what string, name stream.Name, entries []stream.Entry) {
	if len(entries) == 0 {
		return
	}
	l := loan{what, name, entries, sumEntries(entries)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lent) == maxLoans {
		s.check(s.lent[0])
		s.lent = slices.Delete(s.lent, 0, 1)
	}
	s.lent = append(s.lent, l)
}

func (s *Store) check(l loan) {
	if sumEntries(l.entries) != l.sum {
		s.t.Errorf("faultstream: %s %s from %d was written to afterwards", l.what, l.name, l.entries[0].Seq)
	}
}

// police checks, when the test ends, what can only be seen then.
func (s *Store) police() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lent {
		s.check(l)
	}
}

func (s *Store) watchLimits(name stream.Name, in stream.Batch) {
	if err := in.Validate(); err != nil && !s.o.Lenient {
		s.t.Errorf("faultstream: append to %s: %v", name, err)
	}
}

// watchRepeat fails the test if in may be in the stream already, and may get in
// a second time: no position, and no token that was changed in between.
func (s *Store) watchRepeat(name stream.Name, in stream.Batch) {
	if !s.o.NoBlindRepeat {
		return
	}
	s.mu.Lock()
	before, again := s.unknown[key(name, in)]
	s.mu.Unlock()
	if again && in.At == nil && (in.Token == nil || before.Token != nil && *before.Token == *in.Token) {
		s.t.Errorf("faultstream: an append to %s with an unknown outcome was repeated blindly", name)
	}
}

func (s *Store) noteOutcome(name stream.Name, in stream.Batch, err error) {
	fence := slices.ContainsFunc(in.Records, func(r stream.Record) bool { return r.Command() == stream.FenceCommand })
	if !s.o.NoBlindRepeat || fence || in.At != nil || !errors.Is(err, stream.ErrUnknown) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown[key(name, in)] = in
}

// given notes that the records of in are the store's from now on.
func (s *Store) given(name stream.Name, in stream.Batch) {
	entries := make([]stream.Entry, len(in.Records))
	for i, r := range in.Records {
		entries[i].Record = r
	}
	s.lend("what was appended to", name, entries)
}

func clone(in stream.Batch) stream.Batch {
	out := stream.Batch{Records: make([]stream.Record, len(in.Records))}
	for i, r := range in.Records {
		out.Records[i] = stream.Record{Headers: slices.Clone(r.Headers), Body: slices.Clone(r.Body)}
	}
	if in.At != nil {
		at := *in.At
		out.At = &at
	}
	if in.Token != nil {
		token := *in.Token
		out.Token = &token
	}
	return out
}

func key(name stream.Name, in stream.Batch) [32]byte {
	h := sha256.New()
	put(h, name.Basin().Suffix(), name.String())
	putRecords(h, in.Records)
	return [32]byte(h.Sum(nil))
}

func sumBatch(in stream.Batch) [32]byte {
	h := sha256.New()
	putRecords(h, in.Records)
	if in.At != nil {
		put(h, "at", string(binary.BigEndian.AppendUint64(nil, *in.At)))
	}
	if in.Token != nil {
		put(h, "token", *in.Token)
	}
	return [32]byte(h.Sum(nil))
}

func sumEntries(entries []stream.Entry) [32]byte {
	h := sha256.New()
	for _, e := range entries {
		put(h, string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, e.Seq), uint64(e.Timestamp))))
		putRecords(h, []stream.Record{e.Record})
	}
	return [32]byte(h.Sum(nil))
}

func putRecords(h hash.Hash, records []stream.Record) {
	for _, r := range records {
		put(h, "record", string(r.Body))
		for _, f := range r.Headers {
			put(h, f.Name, f.Value)
		}
	}
}

// put adds each field with its length before it, so that no two lists of fields agree.
func put(h hash.Hash, fields ...string) {
	for _, f := range fields {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		h.Write([]byte(f))
	}
}
