package s2stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/s2-streamstore/s2-sdk-go/generated"
	"google.golang.org/protobuf/proto"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

// positions encodes a read's answer with records at the given positions.
func positions(t *testing.T, tail uint64, seqs ...uint64) string {
	t.Helper()
	b := &pb.ReadBatch{}
	for _, seq := range seqs {
		b.Records = append(b.Records, &pb.SequencedRecord{SeqNum: seq, Timestamp: 1, Body: []byte("forged")})
	}
	if tail > 0 {
		b.Tail = &pb.StreamPosition{SeqNum: tail}
	}
	data, err := proto.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// S2 starts where it can and says nothing of it; a hole it can't have.
func TestReadChecksContinuity(t *testing.T) {
	for _, c := range []struct {
		name string
		body string
		want error
	}{
		{"in place", positions(t, 5, 2, 3, 4), nil},
		{"behind", positions(t, 5, 3, 4), stream.ErrTrimmed},
		{"before", positions(t, 5, 1, 2), stream.ErrCorrupt},
		{"with a hole", positions(t, 6, 2, 3, 5), stream.ErrCorrupt},
		{"twice", positions(t, 6, 2, 2, 3), stream.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, only("GET", "/records", fault{kind: answer, status: 200, body: c.body}))
			s := unensured(t, s2stream.Options{Token: token, Endpoint: srv.url})
			page, err := s.Read(t.Context(), inbox, stream.Start{Seq: 2}, stream.Limit{})
			if !errors.Is(err, c.want) || err != nil && len(page.Entries) > 0 {
				t.Errorf("read: %d records, err = %v; want %v", len(page.Entries), err, c.want)
			}
			var trimmed *stream.TrimmedError
			if errors.As(err, &trimmed) && trimmed.First != 3 {
				t.Errorf("first = %d; want 3", trimmed.First)
			}
		})
	}
}

// A reader at the tail, which is the usual one, costs one request. The tail is
// asked for only where S2 did not tell it.
func TestReadCostsOneRequestAtTheTail(t *testing.T) {
	var untold atomic.Bool
	untold.Store(true)
	srv := serve(t, func(r *http.Request) fault {
		if r.Method == http.MethodGet && r.URL.Query().Get("seq_num") == "0" && untold.Load() {
			return fault{kind: answer, status: 200, body: positions(t, 0, 0)}
		}
		return fault{}
	})
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	create(t, s, inbox)
	if _, err := s.Append(t.Context(), inbox, batch("m", "n")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from         uint64
		reads, tails int
	}{
		{2, 1, 0},
		{0, 1, 1},
	} {
		reads, tails := len(srv.arrivals("GET records")), len(srv.arrivals("GET tail"))
		page, err := s.Read(t.Context(), inbox, stream.Start{Seq: c.from}, stream.Limit{})
		if err != nil || page.Tail != 2 {
			t.Errorf("read from %d: tail %d, %v; want 2", c.from, page.Tail, err)
		}
		if reads, tails = len(srv.arrivals("GET records"))-reads, len(srv.arrivals("GET tail"))-tails; reads != c.reads || tails != c.tails {
			t.Errorf("read from %d: %d reads and %d tails; want %d and %d", c.from, reads, tails, c.reads, c.tails)
		}
	}
}

// frame encodes one frame of a read session.
func frame(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(1+len(body)))[1:]) + "\x00" + body
}

// A session that jumps is judged by a read: where the records are there after
// all, they are delivered; where they can't be, the stream is corrupt.
func TestFollowChecksContinuityOfSessions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		session string
		kind    faultKind
		more    bool // what the session skipped is there
		want    error
	}{
		{"skips what is there", frame(positions(t, 0, 4)), answer, true, nil},
		{"skips what is not there", frame(positions(t, 0, 7)), answer, false, stream.ErrCorrupt},
		{"is silent though its heartbeats tell of more", frame(positions(t, 5)), hold, true, nil},
		{"goes back", frame(positions(t, 0, 0)), answer, false, stream.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s *s2stream.Store
			var forged atomic.Bool
			srv := serve(t, func(r *http.Request) fault {
				if r.Header.Get("Content-Type") != "s2s/proto" || forged.Swap(true) {
					return fault{}
				}
				if c.more {
					if _, err := s.Append(r.Context(), inbox, batch("2", "3", "4")); err != nil {
						t.Errorf("append: %v", err)
					}
				}
				return fault{kind: c.kind, status: 200, body: c.session}
			})
			s = open(t, s2stream.Options{Token: token, Endpoint: srv.url})
			create(t, s, inbox)
			if _, err := s.Append(t.Context(), inbox, batch("0", "1")); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // before the SDK gives up on a silent session
			defer cancel()
			next := uint64(0)
			for page, err := range s.Follow(ctx, inbox, 0, 200*time.Millisecond) {
				if err != nil || next == 5 {
					if !errors.Is(err, c.want) {
						t.Errorf("follow: err = %v; want %v", err, c.want)
					}
					return
				}
				for _, e := range page.Entries {
					if e.Seq != next || string(e.Body) == "forged" {
						t.Fatalf("position %d with %q; want %d", e.Seq, e.Body, next)
					}
					next++
				}
			}
			t.Errorf("follow ended at %d without an error", next)
		})
	}
}
