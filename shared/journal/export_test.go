package journal

// Crumble makes j write snapshots in chunks of so many bytes, each in an append
// of its own: what takes megabytes otherwise is seen with a few names.
func (j *Journal) Crumble(chunk int) { j.sizes = sizes{chunk: chunk} }
