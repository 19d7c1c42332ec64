package subscription

import (
	"encoding/json"
	"sync/atomic"
)

// Quota is how many jobs of one queue a pool runs at once. What a fetch may bring is reserved before it is sent, so
// that several workers of a pool together ask for no more than there is room. It may be used concurrently.
type Quota struct {
	most  int64
	taken atomic.Int64 // reserved, or given to processors and not returned
	short atomic.Bool  // a fetcher was refused
}

// NewQuota makes a quota; 0 is none, and the quota nil.
func NewQuota(most int) *Quota {
	if most == 0 {
		return nil
	}
	return &Quota{most: int64(most)}
}

// Most is how many may run.
func (q *Quota) Most() int { return int(q.most) }

// Reserve takes up to so many, and returns how many it got. After 0 the fetcher hears of it when there is room again.
func (q *Quota) Reserve(wanted int) int {
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

// HasRoom tells whether there is room.
func (q *Quota) HasRoom() bool { return q.taken.Load() < q.most }

// Wanted tells whether there is room. If there is none, the fetcher hears of it when there is.
func (q *Quota) Wanted() bool {
	if q.HasRoom() {
		return true
	}
	q.short.Store(true)
	return q.HasRoom() // it was given back before anybody could see that it is wanted
}

// GiveBack returns what was reserved. It tells whether a fetcher was refused meanwhile, which is to hear of it.
func (q *Quota) GiveBack(n int) (heard bool) {
	q.taken.Add(int64(-n))
	return n > 0 && q.short.Load() && q.short.CompareAndSwap(true, false)
}

// maxQuotas is of how many names others are told what quota they have in a pool.
const maxQuotas = 500

// Describe is what others are told of the quotas of a pool, by name, who want to know why a job does not run; empty
// where there are none. It is JSON of the numbers by name.
func Describe(quotas map[string]*Quota) string {
	most := map[string]int64{}
	for name, quota := range quotas {
		if quota != nil && len(most) < maxQuotas {
			most[name] = quota.most
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
