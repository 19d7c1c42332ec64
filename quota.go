package work

import (
	"encoding/json"
	"sync/atomic"
)

// quota is how many jobs of one name a pool runs at once: see JobOptions.MaxRunning. What a fetch may bring is reserved
// before it is sent, so that several workers of a pool together ask for no more than there is room.
type quota struct {
	most  int64
	taken atomic.Int64 // reserved, or given to processors and not returned
	short atomic.Bool  // a fetcher was refused
}

func newQuota(most int) *quota {
	if most == 0 {
		return nil
	}
	return &quota{most: int64(most)}
}

// reserve takes up to so many, and returns how many it got. After 0 the fetcher hears of it when there is room again.
func (q *quota) reserve(wanted int) int {
	for {
		taken := q.taken.Load()
		n := min(int64(wanted), q.most-taken)
		if n < 1 {
			q.short.Store(true)
			if q.taken.Load() < q.most { // it was given back before anybody could see that it is wanted
				continue
			}
			return 0
		}
		if q.taken.CompareAndSwap(taken, taken+n) {
			return int(n)
		}
	}
}

func (q *quota) hasRoom() bool { return q.taken.Load() < q.most }

// wanted tells whether there is room. If there is none, the fetcher hears of it when there is.
func (q *quota) wanted() bool {
	if q.hasRoom() {
		return true
	}
	q.short.Store(true)
	return q.hasRoom() // it was given back before anybody could see that it is wanted
}

// giveBack returns true when somebody waits for what it gives back.
func (q *quota) giveBack(n int) bool {
	q.taken.Add(int64(-n))
	return n > 0 && q.short.Load() && q.short.CompareAndSwap(true, false)
}

// leave notes that a run does not count any more, and calls the fetchers that wait for that.
func (r *run) leave() {
	if q := r.registration.quota; q != nil && q.giveBack(1) {
		r.worker.pool.nudge()
	}
}

// nudge has all fetchers of the pool look up from what they wait for.
func (p *WorkerPool) nudge() {
	for _, w := range p.current() {
		w.nudged.give()
	}
}

// current are the workers of the pool as of now.
func (p *WorkerPool) current() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// maxQuotas is of how many names others are told what quota they have in a pool.
const maxQuotas = 500

// quotas is what others are told of them, who want to know why a job does not run; empty where there are none.
func (p *WorkerPool) quotas() string {
	most := map[string]int64{}
	for name, registration := range p.registered {
		if registration.quota != nil && len(most) < maxQuotas {
			most[name] = registration.quota.most
		}
	}
	if len(most) == 0 {
		return ""
	}
	text, err := json.Marshal(most)
	if err != nil {
		//lint:ignore nopanic texts and numbers can always be written
		panic(err)
	}
	return string(text)
}
