package faultstream

import "slices"

// late is a call that reaches the store later.
type late struct {
	call Call
	left int // calls before it lands; negative: only when told
	run  func()
}

func (s *Store) postpone(c Call, after int, run func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, &late{c, after, run})
}

// due takes out what lands before the call that begins now. s.mu is held.
func (s *Store) due() (due []*late) {
	s.late = slices.DeleteFunc(s.late, func(l *late) bool {
		if l.left == 0 {
			due = append(due, l)
			return true
		}
		if l.left > 0 {
			l.left--
		}
		return false
	})
	return due
}

// Pending returns the calls that are late and did not land yet, in the order of
// the calls.
func (s *Store) Pending() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, 0, len(s.late))
	for _, l := range s.late {
		calls = append(calls, l.call)
	}
	return calls
}

// Land lets the late call with number n reach the store, and reports whether
// there was one. It has landed, or was refused by its conditions, on return.
func (s *Store) Land(n int) bool {
	s.mu.Lock()
	i := slices.IndexFunc(s.late, func(l *late) bool { return l.call.N == n })
	if i < 0 {
		s.mu.Unlock()
		return false
	}
	l := s.late[i]
	s.late = slices.Delete(s.late, i, i+1)
	s.mu.Unlock()
	l.run()
	return true
}

// LandAll lets every late call reach the store, in the order of the calls.
func (s *Store) LandAll() {
	for _, c := range s.Pending() {
		s.Land(c.N)
	}
}
