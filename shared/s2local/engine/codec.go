package engine

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"agentchat/shared/stream"
)

// A batch is stored as it is read: what is of fixed size first, then lengths, then all
// header text together (one string for a whole page), then the bodies.
//
//	version  1
//	arrival  8   ms, never less than that of the batch before
//	count    4
//	time     8 × count
//	lengths  uvarints: headers, (name, value) of each, body; for each record
//	text     names and values
//	bodies
const (
	batchVersion = 1
	fixedLen     = 1 + 8 + 4
)

var errCodec = errors.New("a stored batch does not parse")

// storedLen returns the length of the stored form of entries.
func storedLen(entries []stream.Entry) int {
	n := fixedLen + 8*len(entries)
	for i := range entries {
		r := &entries[i].Record
		n += uvarintLen(len(r.Headers)) + uvarintLen(len(r.Body)) + len(r.Body)
		for _, h := range r.Headers {
			n += uvarintLen(len(h.Name)) + uvarintLen(len(h.Value)) + len(h.Name) + len(h.Value)
		}
	}
	return n
}

// encode writes the stored form of entries into b, which has storedLen bytes.
func encode(b []byte, entries []stream.Entry, arrival int64) {
	b[0] = batchVersion
	binary.BigEndian.PutUint64(b[1:], uint64(arrival))
	binary.BigEndian.PutUint32(b[9:], uint32(len(entries)))
	b = b[:fixedLen]
	for i := range entries {
		b = binary.BigEndian.AppendUint64(b, uint64(entries[i].Timestamp))
	}
	for i := range entries {
		r := &entries[i].Record
		b = binary.AppendUvarint(b, uint64(len(r.Headers)))
		for _, h := range r.Headers {
			b = binary.AppendUvarint(b, uint64(len(h.Name)))
			b = binary.AppendUvarint(b, uint64(len(h.Value)))
		}
		b = binary.AppendUvarint(b, uint64(len(r.Body)))
	}
	for i := range entries {
		for _, h := range entries[i].Headers {
			b = append(b, h.Name...)
			b = append(b, h.Value...)
		}
	}
	for i := range entries {
		b = append(b, entries[i].Body...)
	}
}

func uvarintLen(n int) int {
	l := 1
	for ; n >= 0x80; n >>= 7 {
		l++
	}
	return l
}

// A stored is the stored form of a batch, checked to hold its fixed part.
type stored []byte

func parse(b []byte) (stored, error) {
	if len(b) < fixedLen || b[0] != batchVersion {
		return nil, errCodec
	}
	if n := stored(b).count(); n == 0 || n > stream.MaxBatchRecords || len(b) < fixedLen+8*n {
		return nil, errCodec
	}
	return b, nil
}

func (b stored) arrival() int64      { return int64(binary.BigEndian.Uint64(b[1:])) }
func (b stored) count() int          { return int(binary.BigEndian.Uint32(b[9:])) }
func (b stored) time(i int) uint64   { return binary.BigEndian.Uint64(b[fixedLen+8*i:]) }
func (b stored) lastTime() uint64    { return b.time(b.count() - 1) }
func (b stored) lengths() (i cursor) { return cursor{b: b, at: fixedLen + 8*b.count()} }

// A cursor reads uvarints until the first that is none.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) next() int {
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 || v > uint64(len(c.b)) {
		c.bad = true
		return 0
	}
	c.at += n
	return int(v)
}

// A page collects entries of stored batches. What it returns aliases the bytes
// given to add, which must not change any more.
type page struct {
	limit   ReadOptions
	expect  int // so many entries may come
	likely  int // so many of them have room, unless they are very small
	entries []stream.Entry
	count   int
	size    int
	headers []stream.Header // spare room, cut off piece by piece
	text    strings.Builder // of the headers so far; strings of it stay valid as it grows
}

// add takes the entries of b, whose first has position first, from position
// from up to, and without, end. It reports whether the page has room for more.
func (p *page) add(b stored, first, from, end uint64) (more bool, err error) {
	index := b.lengths()
	textAt, bodyAt, err := layout(b)
	if err != nil {
		return false, err
	}
	p.text.Write(b[textAt:bodyAt])
	text := p.text.String()
	text = text[len(text)-(bodyAt-textAt):]
	for i := range b.count() {
		headers, size := p.cut(index.next()), 8
		for j := range headers {
			n, v := index.next(), index.next()
			headers[j] = stream.Header{Name: text[:n], Value: text[n : n+v]}
			text = text[n+v:]
			size += 2 + n + v
		}
		n := index.next()
		body := b[bodyAt : bodyAt+n : bodyAt+n]
		bodyAt += n
		size += n
		seq := first + uint64(i)
		if seq < from {
			continue
		}
		if seq >= end || !p.fits(size) {
			return false, nil
		}
		p.entries = append(p.entries, stream.Entry{
			Seq: seq, Timestamp: stream.Timestamp(b.time(i)),
			Record: stream.Record{Headers: headers, Body: body},
		})
	}
	return true, nil
}

// layout returns where b's header text and its bodies begin, if b holds
// all that its lengths say.
func layout(b stored) (textAt, bodyAt int, err error) {
	c := b.lengths()
	text, body := 0, 0
	for range b.count() {
		for range c.next() {
			text += c.next() + c.next()
			if c.bad {
				return 0, 0, errCodec
			}
		}
		body += c.next()
	}
	if c.bad || text > len(b) || body > len(b) || c.at+text+body != len(b) {
		return 0, 0, errCodec
	}
	return c.at, c.at + text, nil
}

// cut returns n headers to be filled.
func (p *page) cut(n int) []stream.Header {
	if n == 0 {
		return nil
	}
	if len(p.headers) < n {
		p.headers = make([]stream.Header, max(n, min(256, n*p.likely)))
	}
	h := p.headers[:n:n]
	p.headers = p.headers[n:]
	return h
}

// fits reports whether a record of a size is still within the limit, and counts
// it if so.
func (p *page) fits(size int) bool {
	if p.count >= p.limit.Records || p.size+size > p.limit.Bytes && p.count > 0 {
		return false
	}
	p.count++
	p.size += size
	return true
}

// mayTake reports whether it is worth it to copy b for add: a large record that
// the page has no room for is not.
func (p *page) mayTake(b stored) bool {
	if p.count == 0 || b.count() > 1 || len(b) < 4<<10 {
		return true
	}
	textAt, _, err := layout(b)
	return err != nil || p.size+len(b)-textAt <= p.limit.Bytes // it counts for more than its text and body
}

// take is add for entries that are in memory already.
func (p *page) take(entries []stream.Entry, from, end uint64) (more bool) {
	skip := 0
	if first := entries[0].Seq; from > first {
		skip = int(min(from-first, uint64(len(entries))))
	}
	n := skip
	for n < len(entries) && entries[n].Seq < end && p.fits(entries[n].Metered()) {
		n++
	}
	if p.entries == nil {
		p.entries = entries[skip:n:n] // shared with the cache: nobody writes to it
	} else {
		if len(p.entries) == cap(p.entries) {
			p.entries = slices.Grow(p.entries, min(p.expect-len(p.entries), n-skip+8*len(p.entries)))
		}
		p.entries = append(p.entries, entries[skip:n]...)
	}
	return n == len(entries)
}
