package wire

import (
	pb "github.com/s2-streamstore/s2-sdk-go/generated"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// inputOfProto parses an append. What it returns does not share memory with b.
func inputOfProto(b []byte) (engine.Input, error) {
	var m pb.AppendInput
	if err := proto.Unmarshal(b, &m); err != nil {
		return engine.Input{}, faultf(badProto, "not an AppendInput: %v", err)
	}
	in := engine.Input{At: m.MatchSeqNum, Token: m.FencingToken, Records: make([]stream.Record, len(m.GetRecords())), Times: make([]*uint64, len(m.GetRecords()))}
	for i, r := range m.GetRecords() {
		in.Records[i].Body, in.Times[i] = r.GetBody(), r.Timestamp
		if len(r.GetHeaders()) == 0 {
			continue
		}
		headers := make([]stream.Header, len(r.GetHeaders()))
		for j, h := range r.GetHeaders() {
			headers[j] = stream.Header{Name: string(h.GetName()), Value: string(h.GetValue())}
		}
		in.Records[i].Headers = headers
	}
	return in, nil
}

// ackProto appends the AppendAck of a to dst.
func ackProto(dst []byte, a engine.Ack) []byte {
	for i, p := range []stream.Position{a.Start, a.End, a.Tail} {
		dst = positionProto(dst, protowire.Number(i+1), p)
	}
	return dst
}

// batchProto appends a ReadBatch to dst. It is written by hand: a page is up to
// 1000 records, and the generated types would take several allocations for each.
func batchProto(dst []byte, entries []stream.Entry, tail *stream.Position) []byte {
	for i := range entries {
		e := &entries[i]
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(entrySize(e)))
		dst = numberProto(dst, 1, e.Seq)
		dst = numberProto(dst, 2, uint64(e.Timestamp))
		for _, h := range e.Headers {
			dst = protowire.AppendTag(dst, 3, protowire.BytesType)
			dst = protowire.AppendVarint(dst, uint64(headerSize(h)))
			dst = bytesProto(dst, 1, h.Name)
			dst = bytesProto(dst, 2, h.Value)
		}
		dst = bytesProto(dst, 4, e.Body)
	}
	if tail != nil {
		dst = positionProto(dst, 2, *tail)
	}
	return dst
}

// Fields that have their default value are left out, as in all of proto3.

func positionProto(dst []byte, field protowire.Number, p stream.Position) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(numberSize(p.Seq)+numberSize(uint64(p.Timestamp))))
	return numberProto(numberProto(dst, 1, p.Seq), 2, uint64(p.Timestamp))
}

func numberProto(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

func bytesProto[S string | []byte](dst []byte, field protowire.Number, b S) []byte {
	if len(b) == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return append(protowire.AppendVarint(dst, uint64(len(b))), b...)
}

// entrySize is the length of e's message, headerSize that of h's. A tag of ours
// is one byte.
func entrySize(e *stream.Entry) int {
	n := numberSize(e.Seq) + numberSize(uint64(e.Timestamp)) + bytesSize(len(e.Body))
	for _, h := range e.Headers {
		n += 1 + protowire.SizeBytes(headerSize(h))
	}
	return n
}

func headerSize(h stream.Header) int { return bytesSize(len(h.Name)) + bytesSize(len(h.Value)) }

func numberSize(n uint64) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(n)
}

func bytesSize(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(n)
}
