package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"agentchat/shared/stream"
)

// A snapshot stands in the stream that it is of:
//
//	begin(n)   of the state before position p, in so many chunks; p is not behind it
//	chunk(n)   the first of them, the second, and so on
//	end(n)
//
// n is a nonce. Before and between these may stand any other records, events and
// other snapshots included: the events from p on are applied after the chunks.
// So no part of it has to stand at a position, and a busy stream has snapshots
// too. It is complete when all of it stands in this order, and void when something
// of it stands out of order; what is not complete is ignored. Of complete ones,
// the one of the highest position is the latest, whichever ended last.
const (
	beginKind = "snapshot.begin"
	chunkKind = "snapshot.chunk"
	endKind   = "snapshot.end"

	// snapshotHeader is on each record of this package's, once its stream has a
	// complete snapshot: the position that the latest is of.
	snapshotHeader = "agent-chat-snapshot"
	chunkHeader    = "agent-chat-chunk" // which chunk it is, from 0
)

const (
	maxSnapshot = 64 << 20 // bytes
	maxOpen     = 8        // snapshots that are begun and not ended; of more, the oldest are void
	maxLag      = 10_000   // records from a position to where its snapshot begins
)

// sizes are those of what a snapshot is written in.
type sizes struct{ chunk, batch int }

// standard leaves room for headers, begin and end: a small snapshot is one batch.
var standard = sizes{chunk: stream.MaxBatchBytes - 4<<10, batch: stream.MaxBatchBytes}

// A begin is the body of the record that begins a snapshot.
type begin struct {
	Format string `json:"format"`
	Of     uint64 `json:"of"`
	Chunks int    `json:"chunks"`
	Bytes  int    `json:"bytes"`
	Digest []byte `json:"sha256"`
}

// snapshotRecords returns the snapshot of a position.
func snapshotRecords(format string, of uint64, data []byte, chunk int, nonce string, latest *uint64) ([]stream.Record, error) {
	if len(data) > maxSnapshot {
		return nil, fmt.Errorf("a snapshot of %d bytes, more than %d", len(data), maxSnapshot)
	}
	digest := sha256.Sum256(data)
	b := begin{Format: format, Of: of, Chunks: (len(data) + chunk - 1) / chunk, Bytes: len(data), Digest: digest[:]}
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	recs := []stream.Record{{Headers: []stream.Header{{Name: kindHeader, Value: beginKind}}, Body: body}}
	for part := range slices.Chunk(data, chunk) {
		recs = append(recs, stream.Record{
			Headers: []stream.Header{{Name: kindHeader, Value: chunkKind}, {Name: chunkHeader, Value: strconv.Itoa(len(recs) - 1)}},
			Body:    part,
		})
	}
	end := []stream.Record{{Headers: []stream.Header{{Name: kindHeader, Value: endKind}}}}
	return append(stamped(recs, nonce, latest), stamped(end, nonce, &of)...), nil
}

// data returns what the snapshot p holds, of which run has all records.
func (p pending) data(run []stream.Entry) ([]byte, error) {
	var data []byte
	for _, e := range run {
		if kind, n := own(e.Record); kind == chunkKind && n == p.nonce {
			data = append(data, e.Body...)
		}
	}
	if digest := sha256.Sum256(data); !bytes.Equal(digest[:], p.Digest) {
		return nil, errors.New("the chunks are not what was begun with")
	}
	return data, nil
}

// latestNamed returns the position of the snapshot that e names as the latest.
func latestNamed(e stream.Entry) (uint64, bool) {
	value, _ := e.Header(snapshotHeader)
	_, ours := e.Header(nonceHeader)
	at, err := strconv.ParseUint(value, 10, 64)
	return at, ours && err == nil && at < e.Seq
}

// own returns the kind and the nonce of a record that is no event but one of
// this package's own; "" is any other.
func own(r stream.Record) (kind, nonce string) {
	nonce, ours := r.Header(nonceHeader)
	kind, _ = r.Header(kindHeader)
	switch kind {
	case nopKind, beginKind, chunkKind, endKind:
		if ours {
			return kind, nonce
		}
	}
	return "", nonce
}

// marks are the snapshots in the records of a stream so far. They are a value:
// what a copy points to is never written to.
type marks struct {
	latest *pending  // the latest complete one
	floor  uint64    // those of a position before do not count
	open   []pending // neither complete nor void, by position
	size   int       // of the one that was begun last
	weight int       // of what stands behind its begin
	bytes  int       // of the same
}

// A pending is what stands of a snapshot.
type pending struct {
	nonce string
	begin
	chunks, bytes int
}

// weight is the share of a page that a record takes up, by its size or by being
// one of so many, in bytes.
func weight(r stream.Record) int {
	return max(r.Metered(), stream.MaxPageBytes/stream.MaxPageRecords)
}

// add returns the marks after e. Snapshots of another format than the given one
// are as if they were not there, unless it is "".
func (m marks) add(e stream.Entry, format string) marks {
	kind, n := own(e.Record)
	i := slices.IndexFunc(m.open, func(p pending) bool { return p.nonce == n })
	switch {
	case kind == beginKind && i < 0:
		p := pending{nonce: n}
		if err := json.Unmarshal(e.Body, &p.begin); err == nil && p.valid(e.Seq) && (format == "" || format == p.Format) {
			m.size, m.weight, m.bytes = p.Bytes, 0, 0
			return m.begun(p)
		}
	case kind == chunkKind && i >= 0:
		p := m.open[i]
		m.open = slices.Clone(m.open)
		if which, _ := e.Header(chunkHeader); which != strconv.Itoa(p.chunks) || p.chunks == p.Chunks || len(e.Body) > p.Bytes-p.bytes {
			m.open = slices.Delete(m.open, i, i+1)
			return m
		}
		m.open[i].chunks++
		m.open[i].bytes += len(e.Body)
		return m
	case kind == endKind && i >= 0:
		p := m.open[i]
		m.open = slices.Delete(slices.Clone(m.open), i, i+1)
		if p.chunks == p.Chunks && p.bytes == p.Bytes {
			m.latest, m.floor = &p, p.Of+1
			m.open = slices.DeleteFunc(m.open, func(o pending) bool { return o.Of < m.floor })
		}
		return m
	}
	m.weight += weight(e.Record)
	m.bytes += e.Metered()
	return m
}

// begun returns the marks with p added, if it counts.
func (m marks) begun(p pending) marks {
	if p.Of < m.floor {
		return m
	}
	i, _ := slices.BinarySearchFunc(m.open, p.Of, func(o pending, of uint64) int { return cmp.Compare(o.Of, of) })
	m.open = slices.Insert(slices.Clone(m.open), i, p)
	m.open = m.open[max(0, len(m.open)-maxOpen):]
	return m
}

// valid reports whether b may stand at a position.
func (b begin) valid(at uint64) bool {
	return b.Of <= at && at-b.Of <= maxLag && b.Chunks >= 0 && b.Bytes >= 0 && b.Bytes <= maxSnapshot
}

// name returns the position that the latest complete snapshot is of, or nil.
func (m marks) name() *uint64 {
	if m.latest == nil {
		return nil
	}
	return &m.latest.Of
}
