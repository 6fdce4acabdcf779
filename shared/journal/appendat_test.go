package journal_test

import (
	"errors"
	"testing"

	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// What AppendAt says, and what stands in the stream then and after everything
// late has landed. The stream holds one record before each call.
func TestAppendAt(t *testing.T) {
	at := func(n uint64) *uint64 { return &n }
	token := func(s string) *string { return &s }
	two := []stream.Record{{Body: []byte("x")}, {Body: []byte("y")}}
	for _, c := range []struct {
		name   string
		batch  stream.Batch
		faults []faultstream.Fault
		twice  bool // the identical call came before
		want   error
		tail   uint64 // at last
	}{
		{"stored", stream.Batch{At: at(1)}, nil, false, nil, 3},
		{"stored under the token", stream.Batch{At: at(1), Token: token("")}, nil, false, nil, 3},
		{"the reply lost", stream.Batch{At: at(1)}, []faultstream.Fault{{Kind: faultstream.Stored}}, false, nil, 3},
		{"stored by an earlier call", stream.Batch{At: at(1)}, nil, true, nil, 3},
		{"the reply lost of an earlier call", stream.Batch{At: at(1)}, []faultstream.Fault{{Kind: faultstream.Stored}}, true, nil, 3},
		{"taken", stream.Batch{At: at(0)}, nil, false, stream.ErrPosition, 1},
		{"beyond the tail", stream.Batch{At: at(5)}, nil, false, stream.ErrPosition, 1},
		{"taken, and the reply lost", stream.Batch{At: at(0)}, []faultstream.Fault{{Kind: faultstream.Lost}}, false, stream.ErrPosition, 1},
		{"fenced", stream.Batch{At: at(1), Token: token("other")}, nil, false, stream.ErrFenced, 1},
		{"lost", stream.Batch{At: at(1)}, []faultstream.Fault{{Kind: faultstream.Lost}}, false, stream.ErrUnknown, 1},
		{"late", stream.Batch{At: at(1)}, []faultstream.Fault{{Kind: faultstream.Late, After: -1}}, false, stream.ErrUnknown, 3},
		{"refused", stream.Batch{At: at(1)}, []faultstream.Fault{{Kind: faultstream.Refused}}, false, stream.ErrUnavailable, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := memory(t)
			if err := inner.Create(t.Context(), bob, stream.Config{}); err != nil {
				t.Fatal(err)
			}
			if _, err := inner.Append(t.Context(), bob, stream.Batch{Records: []stream.Record{{Body: []byte("first")}}}); err != nil {
				t.Fatal(err)
			}
			s := faultstream.New(t, inner, faultstream.Options{Choose: faultstream.Script(faultstream.Append, c.faults...)})
			j := journal.New(s, journal.Options{})
			c.batch.Records = two
			if c.twice {
				if _, err := j.AppendAt(t.Context(), bob, c.batch); err != nil {
					t.Fatalf("the earlier call: %v", err)
				}
			}
			ack, err := j.AppendAt(t.Context(), bob, c.batch)
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || ack.First != 1 || ack.Next != 3) {
				t.Errorf("ack %+v, err = %v; want %v", ack, err, c.want)
			}
			if c.want != nil && !errors.Is(c.want, stream.ErrUnknown) && errors.Is(err, stream.ErrUnknown) {
				t.Errorf("err = %v is unknown too", err)
			}
			s.LandAll()
			if pos, err := inner.Tail(t.Context(), bob); err != nil || pos.Seq != c.tail {
				t.Errorf("the tail is %d, %v; want %d", pos.Seq, err, c.tail)
			}
		})
	}
}
