package engine

import (
	"strings"
	"testing"

	"agentchat/shared/stream"
)

// What a disk gives back is read as what was written, or refused: never a panic,
// never a record that lies outside its batch.
func FuzzStoredBatch(f *testing.F) {
	for _, entries := range [][]stream.Entry{
		{{Record: stream.Record{Body: []byte("a")}}},
		{{}, {Record: stream.Record{Headers: []stream.Header{{Name: "from", Value: "alice"}, {Name: "id", Value: strings.Repeat("x", 300)}}}}},
	} {
		entries[len(entries)-1].Timestamp = 2
		b := make([]byte, storedLen(entries))
		encode(b, entries, 1)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		value, err := parse(b)
		if err != nil {
			return
		}
		p := page{limit: ReadOptions{Records: stream.MaxPageRecords, Bytes: 1 << 30}}
		if _, err := p.add(value, 7, 7, 7+stream.MaxBatchRecords); err != nil {
			if len(p.entries) != 0 {
				t.Fatalf("%d entries of a batch that does not parse", len(p.entries))
			}
			return
		}
		if len(p.entries) != value.count() {
			t.Fatalf("%d entries of %d", len(p.entries), value.count())
		}
		again := make([]byte, storedLen(p.entries))
		encode(again, p.entries, value.arrival())
		q := page{limit: p.limit}
		if _, err := q.add(again, 7, 7, 7+stream.MaxBatchRecords); err != nil {
			t.Fatalf("written again: %v", err)
		}
		for i, e := range q.entries {
			if was := p.entries[i]; string(e.Body) != string(was.Body) || len(e.Headers) != len(was.Headers) || e.Timestamp != was.Timestamp {
				t.Fatalf("entry %d: %+v; was %+v", i, e, was)
			}
		}
	})
}
