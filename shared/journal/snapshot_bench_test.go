package journal_test

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

const benchEvents, benchKeys = 100_000, 10_000

// An address book, in shelves, of which Apply copies one.
type book [256]map[string]string

var seed = maphash.MakeSeed()

func (b *book) put(key, card string, shared bool) *book {
	next := *b
	shelf := &next[maphash.String(seed, key)%uint64(len(b))]
	if shared {
		*shelf = maps.Clone(*shelf)
	}
	if *shelf == nil {
		*shelf = map[string]string{}
	}
	(*shelf)[key] = card
	return &next
}

func bookFold(snapshots bool) *journal.Fold[*book] {
	f := &journal.Fold[*book]{
		New: func() *book { return new(book) },
		Apply: func(b *book, e stream.Entry) (*book, error) {
			key, card, _ := bytes.Cut(e.Body, []byte{' '})
			return b.put(string(key), string(card), true), nil
		},
	}
	if snapshots {
		f.Format = "book"
		f.Snapshot = func(b *book) ([]byte, error) { return json.Marshal(b) }
		f.Restore = func(data []byte) (*book, error) { b := new(book); return b, json.Unmarshal(data, b) }
	}
	return f
}

// BenchmarkSnapshot reads 10,000 cards of 200 bytes, made by 100,000 events:
// with and without snapshots, by a process that has read nothing before, and by
// one that has.
func BenchmarkSnapshot(b *testing.B) {
	s := faultstream.New(b, memory(b), faultstream.Options{})
	writer, f := journal.New(s, journal.Options{Late: true}), bookFold(true)
	write := func(i int) stream.Record {
		return stream.Record{Body: fmt.Appendf(nil, "contact-%d %d %s", i*7919%benchKeys, i, strings.Repeat("x", 200))}
	}
	for i := 0; i < benchEvents; i += 100 {
		_, err := journal.Update(b.Context(), writer, bob, f, func(*book) (recs []stream.Record, _ error) {
			for k := range 100 {
				recs = append(recs, write(i+k))
			}
			return recs, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	writer.Wait()
	for _, snapshots := range []bool{true, false} {
		f := bookFold(snapshots)
		b.Run(fmt.Sprintf("snapshots=%v/cold", snapshots), func(b *testing.B) {
			before := len(s.Calls())
			for b.Loop() {
				if _, err := journal.Read(b.Context(), journal.New(s, journal.Options{}), bob, f, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(s.Calls())-before)/float64(b.N), "calls/op")
		})
		b.Run(fmt.Sprintf("snapshots=%v/warm", snapshots), func(b *testing.B) {
			j := journal.New(s, journal.Options{Every: -1})
			if _, err := journal.Read(b.Context(), j, bob, f, 0); err != nil {
				b.Fatal(err)
			}
			before := len(s.Calls())
			for b.Loop() {
				if _, err := journal.Read(b.Context(), j, bob, f, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(s.Calls())-before)/float64(b.N), "calls/op")
		})
	}
	entries, err := entriesOf(b.Context(), s, bob)
	if err != nil {
		b.Fatal(err)
	}
	snaps, size := 0, [2]int{}
	for _, e := range entries {
		kind, _ := ownKind(e)
		if kind == "snapshot.end" {
			snaps++
		}
		if kind == "" {
			size[0] += e.Metered()
		} else {
			size[1] += e.Metered()
		}
	}
	b.Logf("%d records, %d snapshots, %d bytes of events, %d of snapshots", len(entries), snaps, size[0], size[1])
}
