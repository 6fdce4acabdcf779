package journal

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A large keeps the cells of folds whose states may be large: the ones used last,
// as many as their bytes allow. A cell that was dropped is folded anew when it is asked for.
type large struct {
	cells *lru.Cache[key, any]
	most  int // bytes

	mu    sync.Mutex
	sizes map[any]int // of the cells that are kept
	used  int         // their sum
}

func (l *large) open(o Options) {
	cells, err := lru.NewWithEvict(o.Folds, func(_ key, c any) { l.drop(c) })
	if err != nil {
		panic("journal: " + err.Error()) // only for a size that is not positive
	}
	l.cells, l.most, l.sizes = cells, o.Memory, map[any]int{}
}

// count notes the size of a cell, if it is kept, and drops those used longest ago
// until the rest is not too large.
func (l *large) count(k key, c any, bytes int) {
	for over := l.note(k, c, bytes); over; {
		if _, _, ok := l.cells.RemoveOldest(); !ok {
			return
		}
		l.mu.Lock()
		over = l.used > l.most
		l.mu.Unlock()
	}
}

// note reports whether what is kept is too large now. Whoever takes a cell away
// calls drop after that, so one that is there under the lock will be subtracted.
func (l *large) note(k key, c any, bytes int) (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept, ok := l.cells.Peek(k); ok && kept == c {
		l.used += bytes - l.sizes[c]
		l.sizes[c] = bytes
	}
	return l.used > l.most
}

func (l *large) drop(c any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= l.sizes[c]
	delete(l.sizes, c)
}
