// Package leftover reads which jobs are left in the queues of a pool, and says why they wait. Drain, the idle watch and
// NextDue of the root ask it. It changes nothing in Redis.
package leftover

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
)

// maxQueues is how many queues a description names.
const maxQueues = 5

// Pool is what only the pool knows of the queues that it serves.
type Pool struct {
	Queues  []string
	Unbound func(name string) bool                   // the limit of the name does not hold over all partitions yet
	Full    func(queue string) (most int, full bool) // the pool runs as many jobs of the queue as it may
}

// queue is one that the pool serves, over all partitions.
type queue struct {
	name             string
	waiting, running int
	workers          int // that serve it
	paused           bool
	limit            rdb.Limit
	problem          error // with its key
}

// Describe names the queues that have jobs, and why these do not run. It is empty where none has, or Redis does not
// answer.
func (p Pool) Describe(ctx context.Context, stores map[int]*rdb.Store) string {
	queues, err := p.read(ctx, stores)
	if err != nil {
		return ""
	}
	due := dueQueues(ctx, stores)
	var left []string
	more := 0
	for _, q := range queues {
		if q.waiting+q.running == 0 && q.problem == nil && !due[q.name] {
			continue
		}
		if len(left) == maxQueues {
			more++
			continue
		}
		text := fmt.Sprintf("queue %s has %d waiting and %d running", excerpt.Brief(needs.Text(q.name)), q.waiting,
			q.running)
		if due[q.name] {
			text += ", and more that is due"
		}
		left = append(left, text+p.reason(q))
	}
	if more > 0 {
		left = append(left, fmt.Sprintf("and %d queues more", more))
	}
	if len(left) == 0 {
		return ""
	}
	return " (" + strings.Join(left, "; ") + ")"
}

// reason is why jobs of a queue wait; empty where only the jobs before them are in their way.
func (p Pool) reason(q *queue) string {
	most, full := p.Full(q.name)
	switch {
	case q.problem != nil:
		return ": " + q.problem.Error()
	case q.waiting == 0:
		return ""
	case q.paused:
		return ": it is paused"
	case p.Unbound(needs.Name(q.name)):
		return ": its limit does not hold over all partitions yet"
	case q.workers == 0:
		return ": no worker serves it"
	case q.limit.Concurrent > 0 && q.running >= q.limit.Concurrent:
		return fmt.Sprintf(": its limit is %d at once", q.limit.Concurrent)
	case full:
		return fmt.Sprintf(": this pool runs at most %d at once", most)
	case q.limit.Jobs > 0:
		return fmt.Sprintf(": its limit is %d in %s", q.limit.Jobs, q.limit.Per)
	}
	return ""
}

// dueQueues are the queues that have due jobs on the first page of a shelf.
func dueQueues(ctx context.Context, stores map[int]*rdb.Store) map[string]bool {
	queues := map[string]bool{}
	for _, store := range stores {
		for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
			due, err := store.Due(ctx, shelf, rdb.DueCall{})
			if err != nil {
				continue // the other shelf may answer
			}
			for _, waiting := range due.Page {
				queues[waiting.Queue] = true
			}
		}
	}
	return queues
}

func (p Pool) read(ctx context.Context, stores map[int]*rdb.Store) ([]*queue, error) {
	all := make([]*queue, len(p.Queues))
	for i, name := range p.Queues {
		all[i] = &queue{name: name}
	}
	for _, store := range stores {
		if err := add(ctx, store, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add adds what one partition has of the queues.
func add(ctx context.Context, store *rdb.Store, queues []*queue) error {
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	heads, err := store.QueueHeads(ctx, names)
	if err != nil {
		return err
	}
	running, err := store.ClaimsByQueue(ctx)
	if err != nil {
		return err
	}
	workers, err := store.Serving(ctx)
	if err != nil {
		return err
	}
	rules, err := store.Rules(ctx)
	if err != nil {
		return err
	}
	for i, q := range queues {
		rule, _ := rdb.ParseRule(rules[needs.Name(q.name)]) // a rule of a newer version is no known reason
		q.waiting, q.running = q.waiting+heads[i].Length, q.running+running[q.name]
		q.workers = max(q.workers, workers[q.name])
		q.paused = q.paused || rule.Paused || rules[rdb.Everything] != ""
		if rule.Limit != (rdb.Limit{}) {
			q.limit = rule.Limit // it stands in the partition that has the jobs of the name
		}
		if heads[i].Err != nil {
			q.problem = heads[i].Err
		}
	}
	return nil
}

// Shelf are the jobs of a shelf that are due within Ahead from now, in queues that the pool serves.
type Shelf struct {
	Shelf  rdb.Shelf
	Ahead  time.Duration
	Serves func(queue string) bool
}

// FirstDue is when the first of these jobs is due. It reads past the jobs of all other queues.
func FirstDue(ctx context.Context, store *rdb.Store, jobs Shelf) (at time.Time, found bool, err error) {
	for skip := 0; ; {
		due, err := store.Due(ctx, jobs.Shelf, rdb.DueCall{Skip: skip, Ahead: jobs.Ahead})
		if err != nil || len(due.Page) == 0 {
			return time.Time{}, false, err
		}
		for _, waiting := range due.Page {
			if jobs.Serves(waiting.Queue) {
				return waiting.Due, true, nil
			}
		}
		skip += len(due.Page)
	}
}
