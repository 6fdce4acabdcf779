package main

import (
	"sync"
	"sync/atomic"
)

// atOnce does 0 to n-1, each once, by 64 workers, of which each is made by a call
// of worker. It returns one of the errors; a worker ends with its first.
func atOnce(n int, worker func() (do func(int) error, err error)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range cap(errs) {
		do, err := worker()
		if err != nil {
			return err
		}
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
