package maintain

import (
	"context"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// DueMover moves jobs to their queues as they become due: the scheduler does it for scheduled jobs, the retrier for
// retries. Only the worker with the lease does, so that a fleet asks once; two at a time would do no harm, since only
// what is still there is moved.
//
// It knows from the heartbeat when the next job is due, and is told when something earlier is scheduled, so it sleeps
// until then and asks nothing while nothing is due.
type DueMover struct {
	shelf  rdb.Shelf
	store  *rdb.Store
	emit   func(event.Event)
	health healthreport.Reporter
	wakeup chan time.Duration // look again in so long
	stuck  map[string]bool    // ids that were reported, at most maxReported
	ahead  time.Duration      // how far a page looks ahead
	pace   *Pace
	clock  dueClock
	size   int // of a page
}

// The size of a page is that of the least while few jobs are due at once: whoever sleeps until the next one reads a
// page each time. Where all of one is due already the next is larger.
const (
	leastPage  = 16
	pageGrowth = 4
)

// maxReported is how many jobs that cannot be moved are remembered, so that each is told once.
const maxReported = 1000

// NewDueMover is the mover of one shelf, by the name that its trouble is told with.
func NewDueMover(env Env, name string, shelf rdb.Shelf, pace *Pace) *DueMover {
	return &DueMover{
		size: leastPage,
		pace: pace, shelf: shelf, store: env.Store, emit: env.Emit, ahead: 2 * env.Heartbeat,
		health: healthreport.Reporter{Component: name, Emit: env.Emit},
		wakeup: make(chan time.Duration, 1), stuck: map[string]bool{},
	}
}

// Told notes when something is due; the earliest counts. It may be called concurrently.
func (d *DueMover) Told(in time.Duration) {
	for {
		select {
		case d.wakeup <- in:
			return
		default:
		}
		select {
		case before := <-d.wakeup:
			in = min(in, before)
		default:
		}
	}
}

// Run moves what is due until ctx ends.
func (d *DueMover) Run(ctx context.Context) {
	wait := newAlarm()
	defer wait.stop()
	var page []rdb.Waiting
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case in := <-d.wakeup:
			if in <= d.ahead { // what is further away is told again by the next heartbeats
				wait.atMost(in)
			}
			continue
		case <-wait.timer.C:
			wait.rang()
		}
		next, rest, err := d.move(ctx, page)
		if ctx.Err() != nil {
			return // a stop cut it off: no trouble
		}
		d.health.Report(err)
		if err != nil {
			next = failures.Next()
		} else {
			failures = 0
		}
		page = rest
		wait.atMost(next)
	}
}

// move moves all that is due, page by page, and returns when to come back with what the last page holds. What cannot be
// moved is passed by: the pages after it are read from behind it.
func (d *DueMover) move(ctx context.Context, page []rdb.Waiting) (time.Duration, []rdb.Waiting, error) {
	passed := map[string]bool{}
	for {
		skip := len(passed)
		due, err := d.turn(ctx, rdb.DueCall{Move: page, Skip: skip, Most: d.size, Ahead: d.ahead, Brief: true})
		if err != nil {
			return 0, nil, err
		}
		for _, id := range due.Stuck {
			d.pass(id, passed)
		}
		if due.Moved+due.Removed == 0 {
			d.passRefused(page, due, passed)
		}
		page, err = d.movable(ctx, due, passed)
		if err != nil {
			return 0, nil, err
		}
		if len(page) > 0 && page[0].Due.After(due.Time) {
			d.size = leastPage
			return d.clock.until(page[0].Due, time.Now()), page, nil
		}
		if len(page) == 0 && len(passed) == skip {
			return time.Hour, nil, nil // until told
		}
	}
}

// passRefused passes what was sent, is still there and is due: Redis will not move it, for whatever reason.
func (d *DueMover) passRefused(sent []rdb.Waiting, due rdb.Due, passed map[string]bool) {
	again := make(map[string]bool, len(sent))
	for _, waiting := range sent {
		again[waiting.ID] = true
	}
	for _, waiting := range due.Page {
		if again[waiting.ID] && !waiting.Due.After(due.Time) && !passed[waiting.ID] {
			d.pass(waiting.ID, passed)
		}
	}
}

func (d *DueMover) turn(ctx context.Context, call rdb.DueCall) (rdb.Due, error) {
	var due rdb.Due
	err := d.pace.Hold(ctx, func() (moved bool, err error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		sent := time.Now()
		if due, err = d.store.Due(ctx, d.shelf, call); err == nil {
			d.clock.learn(due.Time, sent, time.Now())
		}
		if n := len(due.Page); n == d.size && !due.Page[n-1].Due.After(due.Time) {
			d.size = min(pageGrowth*d.size, rdb.MaxBatch)
		}
		return due.Moved > 0 && len(due.Page) > 0 && !due.Page[0].Due.After(due.Time), err
	})
	return due, err
}

// movable returns what of a page can be moved now or as it becomes due, with the names of the queues.
func (d *DueMover) movable(ctx context.Context, due rdb.Due, passed map[string]bool) ([]rdb.Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page := due.Page[:0]
	for _, waiting := range due.Page {
		if passed[waiting.ID] {
			continue
		}
		readable := true
		if waiting.Queue == "" {
			var err error
			if waiting.Queue, readable, err = record.QueueOf(ctx, d.store, waiting.ID); err != nil {
				return nil, err
			}
		}
		switch {
		case readable:
			page = append(page, waiting)
		case !waiting.Due.After(due.Time):
			d.pass(waiting.ID, passed)
		}
	}
	return page, nil
}

// pass notes that a job cannot be moved, and reports it the first time.
func (d *DueMover) pass(id string, passed map[string]bool) {
	passed[id] = true
	if d.stuck[id] {
		return
	}
	if len(d.stuck) >= maxReported {
		clear(d.stuck)
	}
	d.stuck[id] = true
	d.emit(event.KeyBroken{Key: "the queue or the record of job " + id + ", which is due"})
}
