package wire_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"
	pb "github.com/s2-streamstore/s2-sdk-go/generated"
	"google.golang.org/protobuf/proto"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/stream"
)

func TestFrames(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 3<<20)
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  []byte
		err   error
	}{
		{"plain", []byte{0, 0, 3, 0, 'h', 'i'}, []byte("hi"), nil},
		{"empty body", []byte{0, 0, 1, 0}, []byte{}, nil},
		{"zstd", coded(0x20, zstdOf(t, []byte("hi"))), []byte("hi"), nil},
		{"gzip", coded(0x40, gzipOf(t, []byte("hi"))), []byte("hi"), nil},
		{"end between frames", nil, nil, io.EOF},
		{"length 0", []byte{0, 0, 0, 0}, nil, wire.ErrFrame},
		{"length over the limit", []byte{0x20, 0, 1, 0}, nil, wire.ErrFrame},
		{"terminal from a client", []byte{0, 0, 3, 0x80, 1, 0xf7}, nil, wire.ErrFrame},
		{"unknown coding", []byte{0, 0, 2, 0x60, 1}, nil, wire.ErrFrame},
		{"end in the head", []byte{0, 0}, nil, wire.ErrFrame},
		{"end in the body", []byte{0, 0, 9, 0, 1}, nil, wire.ErrFrame},
		{"not zstd", coded(0x20, []byte("hi")), nil, wire.ErrFrame},
		{"not gzip", coded(0x40, []byte("hi")), nil, wire.ErrFrame},
		{"zstd bomb", coded(0x20, zstdOf(t, long)), nil, wire.ErrFrame},
		{"gzip bomb", coded(0x40, gzipOf(t, long)), nil, wire.ErrFrame},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := wire.NextFrame(bufio.NewReader(bytes.NewReader(tc.bytes)))
			if !errors.Is(err, tc.err) {
				t.Fatalf("NextFrame: err = %v; want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("NextFrame (-want +got):\n%s", diff)
			}
		})
	}
}

// The longest frame is sent and read; one byte more is neither.
func TestFrameLimit(t *testing.T) {
	body := bytes.Repeat([]byte("x"), wire.MaxFrame-1)
	f, ok := wire.Frame(body)
	if !ok {
		t.Fatalf("a frame of %d bytes can't be sent; want it sent", wire.MaxFrame)
	}
	if got, err := wire.NextFrame(bufio.NewReader(bytes.NewReader(f))); err != nil || !bytes.Equal(got, body) {
		t.Errorf("NextFrame of the longest frame: %d bytes, err = %v; want %d bytes", len(got), err, len(body))
	}
	if _, ok := wire.Frame(append(body, 'x')); ok {
		t.Errorf("a frame of %d bytes was built; want it refused", wire.MaxFrame+1)
	}
}

func TestTerminalFrame(t *testing.T) {
	got := wire.TerminalFrame(503, "unavailable", "bye")
	body := `{"code":"unavailable","message":"bye"}`
	want := append([]byte{0, 0, byte(3 + len(body)), 0x80, 0x01, 0xf7}, body...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("terminal frame (-want +got):\n%s", diff)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 3, 0, 'h', 'i', 0, 0, 1, 0})
	f.Add(coded(0x20, zstdOf(f, []byte("hi"))))
	f.Add(coded(0x40, gzipOf(f, []byte("hi"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			body, err := wire.NextFrame(r)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, wire.ErrFrame) {
					t.Errorf("NextFrame: err = %v; want io.EOF or ErrFrame", err)
				}
				return
			}
			if len(body) >= wire.MaxFrame {
				t.Errorf("NextFrame: a body of %d bytes; want less than %d", len(body), wire.MaxFrame)
			}
		}
	})
}

// What was parsed as an append is read back by the generated types as it was.
func FuzzProto(f *testing.F) {
	at, token, ts := uint64(7), "mine", uint64(1<<60)
	seed, err := proto.Marshal(&pb.AppendInput{
		MatchSeqNum: &at, FencingToken: &token,
		Records: []*pb.AppendRecord{
			{Timestamp: &ts, Headers: []*pb.Header{{Name: []byte("k"), Value: []byte("\xff")}, {}}, Body: []byte("body")},
			{},
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, uint64(3), uint64(9))
	f.Fuzz(func(t *testing.T, b []byte, seq, timestamp uint64) {
		in, err := wire.InputOfProto(b)
		if err != nil {
			return
		}
		entries := entriesOf(in, seq, timestamp)
		tail := stream.Position{Seq: seq, Timestamp: stream.Timestamp(timestamp)}
		got := new(pb.ReadBatch)
		if err := proto.Unmarshal(wire.BatchProto(nil, entries, &tail), got); err != nil {
			t.Fatalf("our ReadBatch can't be parsed: %v", err)
		}
		if got.GetTail().GetSeqNum() != seq || got.GetTail().GetTimestamp() != timestamp {
			t.Errorf("tail = %v; want %v", got.GetTail(), tail)
		}
		if diff := cmp.Diff(entries, entriesOfProto(got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("entries (-sent +parsed):\n%s", diff)
		}
	})
}

func TestAckProto(t *testing.T) {
	ack := engine.Ack{Start: stream.Position{Seq: 0, Timestamp: 300}, End: stream.Position{Seq: 2, Timestamp: 400}, Tail: stream.Position{Seq: 1 << 40}}
	got := new(pb.AppendAck)
	if err := proto.Unmarshal(wire.AckProto(nil, ack), got); err != nil {
		t.Fatal(err)
	}
	want := &pb.AppendAck{
		Start: &pb.StreamPosition{Timestamp: 300}, End: &pb.StreamPosition{SeqNum: 2, Timestamp: 400}, Tail: &pb.StreamPosition{SeqNum: 1 << 40},
	}
	if !proto.Equal(got, want) {
		t.Errorf("ack = %v; want %v", got, want)
	}
}

// What was parsed as an append is read back by encoding/json as it was, any
// bytes in base64, and UTF-8 in raw.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"records":[{"headers":[["a","b"]],"body":"c","timestamp":3},{}],"match_seq_num":4,"fencing_token":"t"}`), true)
	f.Add([]byte(`{"records":[{"headers":[["","ZmVuY2U="]],"body":"/w=="}]}`), true)
	f.Add([]byte(`{"records":[{"body":"\u0000\u2028<>&"}],"match_seq_num":null}`), false)
	f.Fuzz(func(t *testing.T, b []byte, inBase64 bool) {
		in, err := wire.InputOfJSON(b, inBase64)
		if err != nil {
			return
		}
		entries := entriesOf(in, 1, 2)
		text := wire.BatchJSON(inBase64, entries, &stream.Position{Seq: 5, Timestamp: 6})
		var got struct {
			Records []struct {
				Seq       uint64      `json:"seq_num"`
				Timestamp uint64      `json:"timestamp"`
				Headers   [][2]string `json:"headers"`
				Body      string      `json:"body"`
			} `json:"records"`
			Tail struct {
				Seq uint64 `json:"seq_num"`
			} `json:"tail"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("our ReadBatch can't be parsed: %v\n%s", err, text)
		}
		if got.Tail.Seq != 5 {
			t.Errorf("tail = %d; want 5", got.Tail.Seq)
		}
		decode := func(s string) string {
			if !inBase64 {
				return s
			}
			b, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				t.Errorf("%q is not base64: %v", s, err)
			}
			return string(b)
		}
		var parsed []stream.Entry
		for _, r := range got.Records {
			e := stream.Entry{Seq: r.Seq, Timestamp: stream.Timestamp(r.Timestamp), Record: stream.Record{Body: []byte(decode(r.Body))}}
			for _, h := range r.Headers {
				e.Headers = append(e.Headers, stream.Header{Name: decode(h[0]), Value: decode(h[1])})
			}
			parsed = append(parsed, e)
		}
		if diff := cmp.Diff(entries, parsed, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("entries (-sent +parsed):\n%s", diff)
		}
	})
}

// Bytes that are no UTF-8 are replaced in raw, never sent as they are.
func TestRawIsUTF8(t *testing.T) {
	entries := []stream.Entry{{Record: stream.Record{Body: []byte("a\xffb")}}}
	if got, want := string(wire.BatchJSON(false, entries, nil)), `{"records":[{"seq_num":0,"timestamp":0,"body":"a`+"\uFFFD"+`b"}]}`; got != want {
		t.Errorf("batch = %s; want %s", got, want)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("seq_num=1&count=2&wait=3&clamp=true")
	f.Add("limit=1001&prefix=%2F&start_after=a")
	f.Fuzz(func(t *testing.T, query string) {
		if wire.ParseRead(query) == nil && strings.Count(query, "seq_num=") > 1 && !strings.ContainsAny(query, "%;+") {
			// one of them may be part of another parameter's name or value
			for _, p := range strings.Split(query, "&") {
				if strings.Count(p, "seq_num=") > 1 || strings.Contains(p, "seq_num=") && !strings.HasPrefix(p, "seq_num=") {
					return
				}
			}
			t.Errorf("ParseRead(%q) took a parameter twice", query)
		}
		if limit, err := wire.ParseList(query); err == nil && (limit < 1 || limit > 1000) {
			t.Errorf("ParseList(%q): limit = %d; want 1 to 1000", query, limit)
		}
	})
}

func TestReadQueries(t *testing.T) {
	for _, tc := range []struct {
		name, query, want string
	}{
		{"nothing", "", ""},
		{"every bound", "seq_num=18446744073709551615&count=0&bytes=1&until=2&wait=99999999999999999999&clamp=false", "bad_query"},
		{"a wait of ages", "wait=18446744073709551615", ""},
		{"an unknown parameter", "colour=red", ""},
		{"two starts", "seq_num=1&tail_offset=1", "invalid"},
		{"a start twice", "seq_num=1&seq_num=2", "bad_query"},
		{"a sign", "seq_num=%2B1", "bad_query"},
		{"negative", "count=-1", "bad_query"},
		{"over 64 bits", "seq_num=18446744073709551616", "bad_query"},
		{"empty", "seq_num=", "bad_query"},
		{"no boolean", "clamp=1", "bad_query"},
		{"half an escape", "prefix=%2", "bad_query"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := wire.ParseRead(tc.query)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("ParseRead(%q): err = %v; want %q", tc.query, err, tc.want)
			}
		})
	}
}

func FuzzEventID(f *testing.F) {
	f.Add("1,2,3")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := wire.ParseEventID(s)
		if err != nil {
			return
		}
		if again, err := wire.ParseEventID(id); err != nil || again != id {
			t.Errorf("ParseEventID(%q) = %q, and of that %q, %v; want the same", s, id, again, err)
		}
	})
}

func entriesOf(in engine.Input, seq, timestamp uint64) []stream.Entry {
	var entries []stream.Entry
	for i, r := range in.Records {
		entries = append(entries, stream.Entry{
			Seq: seq + uint64(i), Timestamp: stream.Timestamp(timestamp), Record: r,
		})
	}
	return entries
}

func entriesOfProto(b *pb.ReadBatch) []stream.Entry {
	var entries []stream.Entry
	for _, r := range b.GetRecords() {
		e := stream.Entry{Seq: r.GetSeqNum(), Timestamp: stream.Timestamp(r.GetTimestamp()), Record: stream.Record{Body: r.GetBody()}}
		for _, h := range r.GetHeaders() {
			e.Headers = append(e.Headers, stream.Header{Name: string(h.GetName()), Value: string(h.GetValue())})
		}
		entries = append(entries, e)
	}
	return entries
}

func coded(flag byte, body []byte) []byte {
	n := len(body) + 1
	return append([]byte{byte(n >> 16), byte(n >> 8), byte(n), flag}, body...)
}

func zstdOf(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
