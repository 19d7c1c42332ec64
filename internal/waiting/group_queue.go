package waiting

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

// takeTimeout is how long a partition may take to give an entry where others may have one. What comes later is not
// lost: it is the answer to the same call when that is made again.
const takeTimeout = 2 * time.Second

// GroupQueue reads one completion queue in all partitions. Entries of one partition come in their order. All methods
// may be called concurrently.
type GroupQueue struct {
	group *Group
	name  string
	lane  string

	mu     sync.Mutex
	queues []*Queue
	away   []bool // which partitions were not well when they were asked last
	turn   int    // which is asked first
}

// Queue returns a reader of a completion queue, which ends with the group. The lane is random, and of nobody else: in
// it calls are numbered, so that one that is made again takes no second entry.
func (g *Group) Queue(name, lane string) *GroupQueue {
	return &GroupQueue{group: g, name: name, lane: lane}
}

// in is the reader of one partition.
func (q *GroupQueue) in(number int) *Queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queues) <= number {
		q.queues = append(q.queues, q.group.In(len(q.queues)).Queue(q.name, q.lane))
		q.away = append(q.away, false)
	}
	return q.queues[number]
}

// Next waits until a job has ended, and takes its entry. When ctx ends the error is its cause, with what was wrong with
// Redis until then. A Redis that is away is waited for, and a partition that is away holds up no others.
func (q *GroupQueue) Next(ctx context.Context) (rdb.Collected, error) {
	life := q.group.In(0).life
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	var trouble error
	var failures backoff.Failures
	for {
		m := q.group.parts.Map()
		taken, err := q.take(within, m)
		if err == nil && taken.ID != "" {
			return taken, nil
		}
		if err == nil {
			err = q.wait(within, m)
		}
		switch {
		case life.Err() != nil:
			return rdb.Collected{}, q.in(0).failed(excerpt.Error(context.Cause(life)))
		case within.Err() != nil:
			return rdb.Collected{}, q.in(0).failed(retry.JoinCause(context.Cause(within), trouble))
		case err == nil:
			failures, trouble = 0, nil
			continue
		case !retry.Classify(err).Again && !redisconn.ConcernsServer(err):
			return rdb.Collected{}, q.in(0).failed(err)
		case q.group.parts.Discover(within):
			continue
		}
		trouble = err
		failures.Pause(within)
	}
}

// take takes an entry of the first partition that has one, in turn. It is an error where none of them could be asked,
// or one has refused for good.
func (q *GroupQueue) take(ctx context.Context, m *partition.Map) (taken rdb.Collected, err error) {
	if m.Single() {
		return q.in(0).take(ctx)
	}
	asked, answered := q.order(m), false
	for _, number := range asked {
		within, cancel := context.WithTimeout(ctx, takeTimeout)
		taken, failed := q.in(number).take(within)
		cancel()
		q.note(number, failed != nil, taken.ID != "")
		switch {
		case failed == nil && taken.ID != "":
			return taken, nil
		case failed == nil:
			answered = true
		case !retry.Classify(failed).Again && !redisconn.ConcernsServer(failed) && ctx.Err() == nil:
			return taken, &partition.Error{Partition: number, Err: failed}
		default:
			err = &partition.Error{Partition: number, Err: failed}
		}
	}
	if answered {
		err = nil
	}
	return taken, err
}

// order is in which order partitions are asked: that whose turn it is first, and those that are away not at all, unless
// all are.
func (q *GroupQueue) order(m *partition.Map) (all []int) {
	q.in(m.Len() - 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range m.Len() {
		all = append(all, (q.turn+i)%m.Len())
	}
	well := slices.DeleteFunc(slices.Clone(all), func(number int) bool { return q.away[number] })
	if len(well) > 0 {
		return well
	}
	return all
}

// note notes what a partition has answered. After an entry it is the turn of the next one.
func (q *GroupQueue) note(number int, away, taken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away[number] = away; taken {
		q.turn = number + 1
	}
}

// wait returns when there may be an entry in some partition. Those that are away are looked after meanwhile.
func (q *GroupQueue) wait(ctx context.Context, m *partition.Map) error {
	began := time.Now()
	defer func() {
		if time.Since(began) >= completionWait && ctx.Err() == nil { // nothing else would tell of new partitions
			asking, cancel := context.WithTimeout(ctx, takeTimeout)
			defer cancel()
			_ = q.group.parts.Refresh(asking)
		}
	}()
	if m.Single() {
		return q.in(0).wait(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	var waits sync.WaitGroup
	defer waits.Wait()
	defer cancel()
	filled := make(chan int, m.Len())
	for number := range m.Len() {
		waits.Go(func() {
			var failures backoff.Failures
			for q.in(number).wait(ctx) != nil {
				q.note(number, true, false)
				if !failures.Pause(ctx) {
					return
				}
			}
			filled <- number
		})
	}
	select {
	case number := <-filled:
		q.mu.Lock()
		q.away[number], q.turn = false, number
		q.mu.Unlock()
	case <-ctx.Done():
	}
	return nil
}
