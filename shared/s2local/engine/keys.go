package engine

import "encoding/binary"

// Everything is under a key of one of these families. Basins have a number, so
// that a basin goes with three ranges; each life of a stream has a number, so
// that nothing of an earlier life is ever taken for the present one's.
//
//	v                                     the version of this layout
//	n                                     the last number given to a stream or a basin
//	b <basin name>                        basin: number, configuration
//	s <basin:4> <stream name>             life: number, configuration
//	t <basin:4> <stream name>             head: first retained, fence, and a tail that batches may have left behind
//	r <basin:4> <life:8> <last seq:8>     one batch of records
//	x <due ms:8> <basin:4> <stream name>  a life whose retention is to be looked at
//
// A batch is keyed by its last position: the batch that holds position p is the
// first one at or after p, and all batches before p are one range.
const (
	keyVersion = 'v'
	keyNumber  = 'n'
	keyBasin   = 'b'
	keyLife    = 's'
	keyHead    = 't'
	keyBatch   = 'r'
	keyDue     = 'x'
)

const batchKeyLen = 1 + 4 + 8 + 8

// A streamKey is a stream's name anywhere.
type streamKey struct {
	basin uint32
	name  string
}

func (k streamKey) in(family byte) []byte {
	b := make([]byte, 0, 5+len(k.name))
	b = append(b, family)
	b = binary.BigEndian.AppendUint32(b, k.basin)
	return append(b, k.name...)
}

func (k streamKey) due(ms int64) []byte {
	b := make([]byte, 0, 13+len(k.name))
	b = append(b, keyDue)
	b = binary.BigEndian.AppendUint64(b, uint64(ms))
	b = binary.BigEndian.AppendUint32(b, k.basin)
	return append(b, k.name...)
}

// parseDue is the reverse of streamKey.due.
func parseDue(key []byte) (k streamKey, ms int64, ok bool) {
	if len(key) < 13 || key[0] != keyDue {
		return streamKey{}, 0, false
	}
	ms = int64(binary.BigEndian.Uint64(key[1:]))
	return streamKey{basin: binary.BigEndian.Uint32(key[9:]), name: string(key[13:])}, ms, true
}

func batchKey(buf []byte, basin uint32, life, last uint64) []byte {
	buf = append(buf[:0], keyBatch)
	buf = binary.BigEndian.AppendUint32(buf, basin)
	buf = binary.BigEndian.AppendUint64(buf, life)
	return binary.BigEndian.AppendUint64(buf, last)
}

// lastOf returns the last position of the batch under key.
func lastOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[batchKeyLen-8:]) }

// after returns the first key behind all those that begin with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
