// Package requeue keeps the order of what a pool gives back to the fronts of its queues. Each call puts its jobs before
// all that stand there, and what ends first in a stop is given back first: so a call names the older jobs that came
// before it, and Redis lets them stand in front again.
//
// The settler asks it what to name in its calls; what a worker does not hold any more it requeues itself.
package requeue

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Place is where a job stands among those of its queue that a pool has fetched.
type Place struct {
	ID      string
	Worker  string    // id of the worker that fetched it
	Fetched time.Time // by Redis' clock
	Number  int64     // of the fetch
	Order   int64     // among all that its worker has fetched

	given time.Time // when it was given back
}

// unheld is the place of a claim that its worker does not hold, the n-th of those: the reply to the fetch that brought
// it was lost, or it has ended and was stored again. It stands behind what the worker holds of that fetch.
func unheld(element, worker string, fetched time.Time, n int) Place {
	number, id, _ := strings.Cut(element, ":")
	of, _ := strconv.ParseInt(number, 10, 64) // a claim's element always begins with a number
	return Place{ID: id, Worker: worker, Fetched: fetched, Number: of, Order: math.MaxInt64/2 + int64(n)}
}

// compare tells which was fetched earlier. One worker numbers its fetches; those of others go by Redis' clock, which
// tells two scripts apart, and by which fetch was sent first where that of an embedded Redis does not.
func (p Place) compare(other Place) int {
	fetched := 0
	if p.Worker != other.Worker {
		fetched = p.Fetched.Compare(other.Fetched)
	}
	return cmp.Or(fetched, cmp.Compare(p.Number, other.Number), cmp.Compare(p.Order, other.Order))
}

// memory is for how long, beside the time that handlers have in a stop, it is remembered that a job was given back.
const memory = time.Minute

// Order remembers what a pool has given back. It may be used concurrently.
type Order struct {
	life time.Duration

	mu      sync.Mutex
	byQueue map[string]*line
	hurries chan struct{} // closed once nobody waits for a turn any more
}

// line is what was given back to one queue.
type line struct {
	turn   chan struct{} // has room for who gives something back: the next call must find what this one has put there
	places []Place       // oldest first
}

// NewOrder makes that of a pool in which handlers have so long to end in a stop.
func NewOrder(shutdown time.Duration) *Order {
	return &Order{
		life: memory + max(0, shutdown), byQueue: map[string]*line{}, hurries: make(chan struct{}),
	}
}

// Begin waits until nobody else of the pool gives anything back to these queues, and returns what ends that. It is for
// one round trip: nothing else is to be waited for before that end. When ctx ends it fails.
func (o *Order) Begin(ctx context.Context, queues ...string) (end func(), err error) {
	if len(queues) == 0 {
		return func() {}, nil
	}
	queues = slices.Compact(slices.Sorted(slices.Values(queues))) // in one order, so that no two wait for each other
	turns := make([]chan struct{}, 0, len(queues))
	end = func() {
		for _, turn := range turns {
			<-turn
		}
	}
	for _, queue := range queues {
		turn := o.line(queue).turn
		select {
		case turn <- struct{}{}:
			turns = append(turns, turn)
			continue
		default:
		}
		select {
		case turn <- struct{}{}:
			turns = append(turns, turn)
		case <-o.hurries:
		case <-ctx.Done():
			end()
			return nil, context.Cause(ctx)
		}
	}
	return end, nil
}

// Hurry lets nobody wait for a turn any more: a stop has to end, and that all is given back counts for more than its
// order. It may be called once.
func (o *Order) Hurry() { close(o.hurries) }

// line is that of a queue. There are as many as the pool has served.
func (o *Order) line(queue string) *line {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byQueue[queue] == nil {
		o.byQueue[queue] = &line{turn: make(chan struct{}, 1)}
	}
	return o.byQueue[queue]
}

// refetched is within which time a job that was given back and comes again was fetched for no other reason than that: a
// fetch was under way.
const refetched = 10 * time.Second

// Restore gives those of the places back that jobs had a moment ago: what a stop gives back a fetch that was under way
// may take again, as the newest of all. It returns in which order the jobs stand then.
func (o *Order) Restore(queue string, places []Place) (order []int) {
	former, now := map[string]Place{}, time.Now()
	l := o.line(queue)
	o.mu.Lock()
	for _, p := range l.places {
		if now.Sub(p.given) < refetched {
			former[p.ID] = p
		}
	}
	o.mu.Unlock()
	order = make([]int, len(places))
	for i, p := range places {
		order[i] = i
		if before, again := former[p.ID]; again && before.compare(p) < 0 {
			places[i] = before
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return places[i].compare(places[j]) })
	return order
}

// Note notes what is given back to a queue now, oldest first, and returns the older jobs that were given back to it
// before. A call may name at most rdb.MaxOlder: see [rdb.Worker.OlderInFront].
func (o *Order) Note(queue string, places []Place) (older []rdb.Older) {
	l := o.line(queue)
	o.mu.Lock()
	defer o.mu.Unlock()
	now, again := time.Now(), make(map[string]bool, len(places))
	for _, p := range places {
		again[p.ID] = true
	}
	known := slices.DeleteFunc(l.places, func(p Place) bool { return again[p.ID] || now.Sub(p.given) > o.life })
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
	l.places = known
	return older
}
