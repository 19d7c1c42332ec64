package peer

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// eachOf calls do for each job from so many goroutines, and returns their first errors.
func eachOf(jobs []Job, callers int, do func(Job) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, callers)
	for caller := range callers {
		group.Go(func() {
			for errs[caller] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return
				}
				errs[caller] = do(jobs[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// serverPool is the size of a connection pool for so many processors: go-redis' default, ten per core, or one each.
func serverPool(concurrency int) int { return max(10*runtime.GOMAXPROCS(0), concurrency) }
