package engine

import "slices"

// maxCached is how many bytes of the batches written last are kept in memory, so
// that those who follow at the tail read nothing from Pebble.
const maxCached = 16 << 20

// A cache is the queue in which recent batches of all streams are forgotten, the
// oldest first. Only the committer uses it; readers use state.recent.
type cache struct {
	chunks []*chunk
	from   int // the first of chunks that is still kept
	size   int
}

func (c *cache) add(chunks []*chunk) {
	for _, k := range chunks {
		c.chunks = append(c.chunks, k)
		c.size += k.size
	}
	for c.size > maxCached {
		k := c.chunks[c.from]
		c.chunks[c.from] = nil
		c.from++
		c.size -= k.size
		k.of.forget(k)
	}
	if c.from > 1024 && c.from > len(c.chunks)/2 {
		n := copy(c.chunks, c.chunks[c.from:])
		clear(c.chunks[n:])
		c.chunks, c.from = c.chunks[:n], 0
	}
}

// forget drops k, which is the oldest that st still has, if it has it. Readers
// may hold the slice, so nothing in it is overwritten.
func (st *state) forget(k *chunk) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.recent) == 0 || st.recent[0] != k {
		return
	}
	st.recent = st.recent[1:]
	if st.forgotten++; st.forgotten >= len(st.recent) {
		st.recent, st.forgotten = slices.Clone(st.recent), 0 // lets go of what was forgotten
	}
}
