package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// drainInterval is how often Drain looks in the long run. It begins with less: short jobs are over soon.
const drainInterval = 50 * time.Millisecond

// Drain waits until nothing is due, waits or runs in the queues that this pool serves, here or in another worker. Jobs
// that are scheduled for later, and retries that are not due yet, do not count. It is meant for tests and for programs
// that do a fixed amount of work. When ctx ends before, the error names the queues that have jobs, and what keeps these
// from running. Before Start it returns ErrNotStarted, once the pool has stopped ErrStopped.
func (p *WorkerPool) Drain(ctx context.Context) error {
	p.mu.Lock()
	started := p.state != poolNew && p.state != poolStarting && p.served != nil
	p.mu.Unlock()
	if !started && !p.hasStopped() {
		return ErrNotStarted
	}
	for interval := time.Millisecond; ; interval = min(2*interval, drainInterval) {
		busy, err := p.looksBusy(ctx)
		switch {
		case p.hasStopped(), errors.Is(err, rdb.ErrClosed) && p.stateNow() == poolStopping: // its connections end a little before it
			return ErrStopped
		case ctx.Err() != nil:
			return fmt.Errorf("jobs may be left%s: %w", p.whatIsLeft(), excerpt.Error(context.Cause(ctx)))
		case err != nil:
			return fmt.Errorf("cannot tell whether jobs are left: %w", err)
		case !busy:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("jobs are left%s: %w", p.whatIsLeft(), excerpt.Error(context.Cause(ctx)))
		case <-p.stopped:
			return fmt.Errorf("jobs are left: %w", ErrStopped)
		case <-time.After(interval):
		}
	}
}

// leftTime is how long a Drain whose time is over asks what is left; mostLeft is how many queues it names.
const (
	leftTime = time.Second
	mostLeft = 5
)

// whatIsLeft names the served queues that have jobs, and why these do not run; nothing where that cannot be learned.
func (p *WorkerPool) whatIsLeft() string {
	ctx, cancel := context.WithTimeout(context.Background(), leftTime)
	defer cancel()
	queues, err := (&Inspector{store: p.store}).Queues(ctx)
	if err != nil {
		return ""
	}
	due := p.dueQueues(ctx)
	left := []string{}
	more := 0
	for i := range queues {
		q := &queues[i]
		if !p.serves(q.Name) || q.Waiting+q.Running == 0 && q.Problem == "" && !due[q.Name] {
			continue
		}
		if len(left) == mostLeft {
			more++
			continue
		}
		text := fmt.Sprintf("queue %s has %d waiting and %d running", quoted(q.Name), q.Waiting, q.Running)
		if due[q.Name] {
			text += ", and more that is due"
		}
		left = append(left, text+p.hindrance(q))
	}
	if more > 0 {
		left = append(left, fmt.Sprintf("and %d queues more", more))
	}
	if len(left) == 0 {
		return ""
	}
	return " (" + strings.Join(left, "; ") + ")"
}

// serves tells whether jobs of this name begin here now.
func (p *WorkerPool) serves(name string) bool {
	registration := p.registered[name]
	return registration != nil && !registration.away.Load()
}

// dueQueues are the queues whose jobs are due on a shelf, as far as the first page of it tells.
func (p *WorkerPool) dueQueues(ctx context.Context) map[string]bool {
	queues := map[string]bool{}
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		due, err := p.store.Due(ctx, shelf, rdb.DueCall{})
		if err != nil {
			continue // what is known is told
		}
		for _, waiting := range due.Page {
			queues[waiting.Queue] = true
		}
	}
	return queues
}

// hindrance is why jobs of a queue wait; empty where nothing is in their way but those before them.
func (p *WorkerPool) hindrance(q *QueueInfo) string {
	own := p.registered[q.Name].quota
	switch {
	case q.Problem != "":
		return ": " + q.Problem
	case q.Waiting == 0:
		return ""
	case q.Paused:
		return ": it is paused"
	case q.Workers == 0:
		return ": no worker serves it"
	case q.Limit != nil && q.Limit.Limit.Concurrent > 0 && q.Running >= q.Limit.Limit.Concurrent:
		return fmt.Sprintf(": its limit is %d at once", q.Limit.Limit.Concurrent)
	case own != nil && !own.hasRoom():
		return fmt.Sprintf(": this pool runs at most %d at once", own.most)
	case q.Limit != nil && q.Limit.Limit.Rate > 0:
		return fmt.Sprintf(": its limit is %d in %s", q.Limit.Limit.Rate, q.Limit.Limit.Per)
	}
	return ""
}

func (p *WorkerPool) hasStopped() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

// looksBusy tells whether jobs are left. It asks in the direction in which jobs move, so none can slip past it: a job
// that was due is found in its queue, one that waited is found in process. One that was given back during the first
// look went the other way: the second look finds it.
func (p *WorkerPool) looksBusy(ctx context.Context) (bool, error) {
	if p.hasStopped() {
		return false, nil
	}
	for range 2 {
		if busy, err := p.hasWork(ctx); busy || err != nil {
			return busy, err
		}
	}
	return false, nil
}

func (p *WorkerPool) hasWork(ctx context.Context) (bool, error) {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		if due, err := p.hasDue(ctx, shelf); due || err != nil {
			return due, err
		}
	}
	served, _ := p.roster.now()
	n, err := p.store.Load(ctx, served)
	return n > 0, err
}

// hasDue tells whether a job of a served queue is due on a shelf, past those of all others.
func (p *WorkerPool) hasDue(ctx context.Context, shelf rdb.Shelf) (bool, error) {
	for skip := 0; ; {
		due, err := p.store.Due(ctx, shelf, rdb.DueCall{Skip: skip})
		if err != nil || len(due.Page) == 0 {
			return false, err
		}
		for _, waiting := range due.Page {
			if p.serves(waiting.Queue) {
				return true, nil
			}
		}
		skip += len(due.Page)
	}
}
