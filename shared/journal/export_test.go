package journal

// Crumble makes j write snapshots in chunks of so many bytes, each in an append
// of its own: what takes megabytes otherwise is seen with a few names.
func (j *Journal) Crumble(chunk int) { j.sizes = sizes{chunk: chunk} }

// Used returns how many bytes of states whose size is counted are kept; -1 if
// that is not what the journal believes.
func (j *Journal) Used() int {
	j.large.mu.Lock()
	defer j.large.mu.Unlock()
	sum := 0
	for c, n := range j.large.sizes {
		for _, k := range j.large.cells.Keys() {
			if kept, ok := j.large.cells.Peek(k); ok && kept == c {
				sum += n
			}
		}
	}
	if sum != j.large.used {
		return -1
	}
	return sum
}
