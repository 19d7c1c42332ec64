package work

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

// returns knows what a pool has given back to the fronts of queues. Each call puts its jobs before all that stand
// there, and what ends first in a stop is given back first: so a call names the older jobs that came before it, and
// Redis lets them stand in front again.
type returns struct {
	sending chan struct{} // has room for who gives something back: the next call must find what this one has put there

	mu      sync.Mutex
	life    time.Duration     // for which it is remembered that a job was given back
	byQueue map[string][]turn // oldest first
}

// turn is a job's place among those of its queue that a pool has fetched.
type turn struct {
	id      string
	worker  *worker
	fetched time.Time // by Redis' clock
	number  int64     // of the fetch
	order   int64     // among all that its worker has fetched
	given   time.Time // when it was given back
}

// returnsLife is for how long, beside the time that handlers have in a stop, it is remembered that a job was given
// back.
const returnsLife = time.Minute

func (r *run) turn() turn {
	number, _, _ := strings.Cut(r.claim.Element, ":")
	n, _ := strconv.ParseInt(number, 10, 64) // a claim's element always begins with a number
	return turn{id: r.job.ID, worker: r.worker, fetched: r.fetched, number: n, order: r.order}
}

// compare tells which was fetched earlier. Those of one worker it knows; of others it goes by Redis' clock, and within
// a millisecond by which fetch was sent first.
func (t turn) compare(other turn) int {
	if t.worker == other.worker {
		return cmp.Compare(t.order, other.order)
	}
	return cmp.Or(t.fetched.Compare(other.fetched), cmp.Compare(t.number, other.number),
		cmp.Compare(t.order, other.order))
}

// inTurn waits until nobody else of the pool gives anything back, and returns what ends that.
func (r *returns) inTurn(ctx context.Context) (end func(), err error) {
	select {
	case r.sending <- struct{}{}:
		return func() { <-r.sending }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// note notes what is given back to a queue now, oldest first, and returns the older jobs that were given back to it
// before.
func (r *returns) note(queue string, turns []turn) (older []rdb.Older) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, again := time.Now(), make(map[string]bool, len(turns))
	for _, t := range turns {
		again[t.id] = true
	}
	known := slices.DeleteFunc(r.byQueue[queue], func(t turn) bool { return again[t.id] || now.Sub(t.given) > r.life })
	before := 0
	for _, t := range known {
		for before < len(turns) && turns[before].compare(t) < 0 {
			before++
		}
		if before == len(turns) {
			break
		}
		older = append(older, rdb.Older{ID: t.id, Before: before + 1})
	}
	for _, t := range turns {
		t.given = now
		known = append(known, t)
	}
	slices.SortStableFunc(known, turn.compare)
	if r.byQueue == nil {
		r.byQueue = map[string][]turn{}
	}
	r.byQueue[queue] = known
	return older[max(0, len(older)-rdb.MaxBatch):]
}

// returnLost gives back what Redis lists with a worker that leaves, and that one does not know of: a fetch under way
// brought it, or one whose reply was lost. It is newer than all else.
func (w *worker) returnLost(ctx context.Context, c *claimant, queue string) error {
	end, err := w.pool.returns.inTurn(ctx)
	if err != nil {
		return err
	}
	defer end()
	for {
		lists, err := c.rdb.InProcess(ctx, []string{queue}, rdb.MaxBatch)
		if err != nil {
			return err
		}
		elements := lists[0].Elements
		if len(elements) == 0 {
			return lists[0].Err
		}
		turns := make([]turn, len(elements))
		for i, element := range elements {
			_, id, _ := strings.Cut(element, ":")
			turns[i] = turn{id: id, worker: w, fetched: w.clock.now(), number: math.MaxInt64, order: math.MaxInt64}
		}
		released := rdb.Released{Queue: queue, Elements: elements, Older: w.pool.returns.note(queue, turns)}
		settled, err := c.rdb.Settle(ctx, []rdb.Call{c.rdb.Release(released)})
		if err == nil {
			err = settled[0].Err
		}
		if err != nil {
			return err
		}
	}
}
