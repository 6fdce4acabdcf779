package stream_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentchat/shared/stream"
)

func body(n int) stream.Record { return stream.Record{Body: make([]byte, n)} }

func TestMetered(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record stream.Record
		want   int
	}{
		{"empty", stream.Record{}, 8},
		{"body", body(100), 108},
		{"empty header", stream.Record{Headers: []stream.Header{{}}}, 8 + 2},
		{"headers", stream.Record{Headers: []stream.Header{{Name: "ab", Value: "cde"}, {Name: "f", Value: "é"}}, Body: []byte("xyz")}, 8 + 2 + 5 + 2 + 3 + 3},
		{"fence", stream.Fence("token"), 8 + 2 + 5 + 5},
		{"trim", stream.Trim(7), 8 + 2 + 4 + 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.record.Metered(); got != tt.want {
				t.Errorf("Metered: %d; want %d", got, tt.want)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record stream.Record
		want   stream.Command
	}{
		{"fence", stream.Fence("token"), stream.FenceCommand},
		{"fence removed", stream.Fence(""), stream.FenceCommand},
		{"trim", stream.Trim(0), stream.TrimCommand},
		{"no headers", stream.Record{Body: []byte("fence")}, stream.None},
		{"named header", stream.Record{Headers: []stream.Header{{Name: "fence", Value: "fence"}}}, stream.None},
		{"unknown", stream.Record{Headers: []stream.Header{{Value: "Fence"}}}, stream.None},
		{"two headers", stream.Record{Headers: []stream.Header{{Value: "fence"}, {Name: "a"}}}, stream.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.record.Command(); got != tt.want {
				t.Errorf("Command: %d; want %d", got, tt.want)
			}
		})
	}
}

func TestTrimBody(t *testing.T) {
	want := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if got := stream.Trim(0x0102030405060708).Body; !slices.Equal(got, want) {
		t.Errorf("Trim: body % x; want % x", got, want)
	}
}

func TestHeader(t *testing.T) {
	r := stream.Record{Headers: []stream.Header{{Name: "a", Value: "1"}, {Name: "A", Value: "2"}, {Name: "a", Value: "3"}, {Name: "b"}}}
	for _, tt := range []struct {
		name, want string
		ok         bool
	}{{"a", "1", true}, {"A", "2", true}, {"b", "", true}, {"c", "", false}, {"", "", false}} {
		if got, ok := r.Header(tt.name); got != tt.want || ok != tt.ok {
			t.Errorf("Header(%q): %q, %v; want %q, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// TestValidate holds each limit of S2 at its last value and one over.
func TestValidate(t *testing.T) {
	command := func(name string, body string) []stream.Record {
		return []stream.Record{{Headers: []stream.Header{{Value: name}}, Body: []byte(body)}}
	}
	for _, tt := range []struct {
		name  string
		batch stream.Batch
		ok    bool
	}{
		{"no records", stream.Batch{}, false},
		{"an empty record", stream.Batch{Records: []stream.Record{{}}}, true},
		{"1000 records", stream.Batch{Records: slices.Repeat([]stream.Record{{}}, 1000)}, true},
		{"1001 records", stream.Batch{Records: slices.Repeat([]stream.Record{{}}, 1001)}, false},
		{"a record of 1 MiB", stream.Batch{Records: []stream.Record{body(1<<20 - 8)}}, true},
		{"a record of one more", stream.Batch{Records: []stream.Record{body(1<<20 - 7)}}, false},
		{"a header that makes it one more", stream.Batch{Records: []stream.Record{{Headers: []stream.Header{{Name: "n"}}, Body: make([]byte, 1<<20-8-2)}}}, false},
		{"two records of 1 MiB together", stream.Batch{Records: []stream.Record{body(1<<19 - 8), body(1<<19 - 8)}}, true},
		{"two records of one more", stream.Batch{Records: []stream.Record{body(1<<19 - 8), body(1<<19 - 7)}}, false},
		{"empty token", stream.Batch{Records: []stream.Record{{}}, Token: new("")}, true},
		{"token of 36 bytes", stream.Batch{Records: []stream.Record{{}}, Token: new(strings.Repeat("t", 36))}, true},
		{"token of 37 bytes", stream.Batch{Records: []stream.Record{{}}, Token: new(strings.Repeat("t", 37))}, false},
		{"a condition and a token", stream.Batch{Records: []stream.Record{{}}, At: new(uint64(0)), Token: new("t")}, true},
		{"fence of 36 bytes", stream.Batch{Records: []stream.Record{stream.Fence(strings.Repeat("é", 18))}}, true},
		{"fence of 37 bytes", stream.Batch{Records: []stream.Record{stream.Fence(strings.Repeat("t", 37))}}, false},
		{"fence that is not UTF-8", stream.Batch{Records: []stream.Record{stream.Fence("\xff")}}, false},
		{"fence removed", stream.Batch{Records: []stream.Record{stream.Fence("")}}, true},
		{"trim", stream.Batch{Records: []stream.Record{stream.Trim(1<<64 - 1)}}, true},
		{"trim of 7 bytes", stream.Batch{Records: command("trim", "1234567")}, false},
		{"trim of 9 bytes", stream.Batch{Records: command("trim", "123456789")}, false},
		{"unknown command", stream.Batch{Records: command("Fence", "")}, false},
		{"command without a name", stream.Batch{Records: command("", "")}, false},
		{"nameless among headers", stream.Batch{Records: []stream.Record{{Headers: []stream.Header{{Name: "a"}, {Value: "fence"}}}}}, false},
		{"the last record is bad", stream.Batch{Records: append(slices.Repeat([]stream.Record{{}}, 3), stream.Fence("\xff"))}, false},
		{"command among records", stream.Batch{Records: []stream.Record{body(1), stream.Fence("t"), body(1)}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.batch.Validate(); (err == nil) != tt.ok || err != nil && !errors.Is(err, stream.ErrInvalid) {
				t.Errorf("Validate: %v; want ok %v, an error in the tree of ErrInvalid", err, tt.ok)
			}
		})
	}
}

// TestMeteredAdds: a batch is over the limit exactly when the sizes of its
// records add up to more, whatever the records are.
func TestMeteredAdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SliceOfN(rapid.IntRange(0, 1<<18), 1, 8).Draw(t, "bodies")
		headers := rapid.IntRange(0, 3).Draw(t, "headers")
		var b stream.Batch
		total := 0
		for _, n := range size {
			r := body(n)
			for range headers {
				r.Headers = append(r.Headers, stream.Header{Name: "name", Value: "value"})
			}
			b.Records = append(b.Records, r)
			total += 8 + headers*(2+4+5) + n
		}
		if err := b.Validate(); (err == nil) != (total <= stream.MaxBatchBytes) {
			t.Fatalf("Validate of %d bytes: %v", total, err)
		}
	})
}
