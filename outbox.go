package work

import "sync/atomic"

// outbox holds runs whose fate is decided until the settler takes them, all at once. It is a stack without a lock, so
// that processors never wait for one another.
type outbox struct {
	newest atomic.Pointer[run]
	filled chan struct{} // rung when the first run comes
}

func newOutbox() *outbox { return &outbox{filled: make(chan struct{}, 1)} }

func (o *outbox) put(r *run) {
	for {
		before := o.newest.Load()
		r.older = before
		if !o.newest.CompareAndSwap(before, r) {
			continue
		}
		if before == nil {
			select {
			case o.filled <- struct{}{}:
			default:
			}
		}
		return
	}
}

// takeAll appends all that is there, the newest first.
func (o *outbox) takeAll(runs []*run) []*run {
	for r := o.newest.Swap(nil); r != nil; {
		runs = append(runs, r)
		r, r.older = r.older, nil
	}
	return runs
}
