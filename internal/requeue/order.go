// Package requeue keeps the order of what a pool gives back to the fronts of its queues. Each call puts its jobs before
// all that stand there, and what ends first in a stop is given back first: so a call names the older jobs that came
// before it, and Redis lets them stand in front again.
//
// It sends nothing itself: the settler and a stop ask it what to name in their calls.
package requeue

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Place is where a job stands among those of its queue that a pool has fetched.
type Place struct {
	ID      string
	Worker  any       // that fetched it, by identity
	Fetched time.Time // by Redis' clock
	Number  int64     // of the fetch
	Order   int64     // among all that its worker has fetched

	given time.Time // when it was given back
}

// Newest is the place of a job that its worker does not know of: a fetch under way brought it, or one whose reply was
// lost. It is newer than all else of that worker.
func Newest(id string, worker any, now time.Time) Place {
	return Place{ID: id, Worker: worker, Fetched: now, Number: math.MaxInt64, Order: math.MaxInt64}
}

// compare tells which was fetched earlier. Those of one worker it knows; of others it goes by Redis' clock, which tells
// two scripts apart, and by which fetch was sent first where that of an embedded Redis does not.
func (p Place) compare(other Place) int {
	if p.Worker == other.Worker {
		return cmp.Compare(p.Order, other.Order)
	}
	return cmp.Or(p.Fetched.Compare(other.Fetched), cmp.Compare(p.Number, other.Number),
		cmp.Compare(p.Order, other.Order))
}

// memory is for how long, beside the time that handlers have in a stop, it is remembered that a job was given back.
const memory = time.Minute

// Order remembers what a pool has given back. It may be used concurrently.
type Order struct {
	sending chan struct{} // has room for who gives something back: the next call must find what this one has put there

	mu      sync.Mutex
	life    time.Duration
	byQueue map[string][]Place // oldest first
}

// NewOrder makes that of a pool in which handlers have so long to end in a stop.
func NewOrder(shutdown time.Duration) *Order {
	return &Order{sending: make(chan struct{}, 1), life: memory + max(0, shutdown), byQueue: map[string][]Place{}}
}

// Begin waits until nobody else of the pool gives anything back, and returns what ends that.
func (o *Order) Begin(ctx context.Context) (end func(), err error) {
	select {
	case o.sending <- struct{}{}:
		return func() { <-o.sending }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Note notes what is given back to a queue now, oldest first, and returns the older jobs that were given back to it
// before. A call may name at most rdb.MaxOlder: see [rdb.Worker.OlderInFront].
func (o *Order) Note(queue string, places []Place) (older []rdb.Older) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, again := time.Now(), make(map[string]bool, len(places))
	for _, p := range places {
		again[p.ID] = true
	}
	known := slices.DeleteFunc(o.byQueue[queue], func(p Place) bool { return again[p.ID] || now.Sub(p.given) > o.life })
	before := 0
	for _, p := range known {
		for before < len(places) && places[before].compare(p) < 0 {
			before++
		}
		if before == len(places) {
			break
		}
		older = append(older, rdb.Older{ID: p.ID, Before: before + 1})
	}
	for _, p := range places {
		p.given = now
		known = append(known, p)
	}
	slices.SortStableFunc(known, Place.compare)
	o.byQueue[queue] = known
	return older
}
