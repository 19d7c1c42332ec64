package work

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// dueMover moves jobs to their queues as they become due: the scheduler does it for scheduled jobs, the retrier for
// retries. Only the worker with the lease does, so that a fleet asks once; two at a time would do no harm, since only
// what is still there is moved.
//
// It knows from the heartbeat when the next job is due, and is told when something earlier is scheduled, so it sleeps
// until then and asks nothing while nothing is due.
type dueMover struct {
	shelf  rdb.Shelf
	store  *rdb.Store
	events *stream
	health health
	nudge  chan time.Duration // look again in so long
	stuck  map[string]bool    // ids that were reported, at most maxReported
	look   time.Duration      // how far a page looks ahead
	pace   *pace
}

// pace is what the due movers of a pool share, so that together they leave half of Redis to the others, however much is
// due: after each page they rest for as long as it took.
type pace struct {
	turns sync.Mutex // of who moves, or rests
	most  time.Duration
}

// longestRest bounds how late what is due may be where Redis is slow: a page of 500 jobs moves at least so often.
const longestRest = 50 * time.Millisecond

// hold does something, and rests afterwards if that moved a page.
func (p *pace) hold(ctx context.Context, do func() (moved bool, err error)) error {
	p.turns.Lock()
	defer p.turns.Unlock()
	began := time.Now()
	moved, err := do()
	if moved && err == nil {
		backoff.Pause(ctx, min(time.Since(began), p.most))
	}
	return err
}

// The bounds of a dueMover.
const (
	lookAhead   = 2 * beatInterval // so that one heartbeat may be late
	maxReported = 1000
)

func newDueMover(name string, shelf rdb.Shelf, w *worker, p *pace) *dueMover {
	return &dueMover{
		pace:  p,
		shelf: shelf, store: w.store, events: w.events, health: health{component: name, events: w.events},
		nudge: make(chan time.Duration, 1), stuck: map[string]bool{}, look: lookAhead,
	}
}

// told notes when something is due; the earliest counts.
func (d *dueMover) told(in time.Duration) {
	for {
		select {
		case d.nudge <- in:
			return
		default:
		}
		select {
		case before := <-d.nudge:
			in = min(in, before)
		default:
		}
	}
}

func (d *dueMover) run(ctx context.Context) {
	wait := newAlarm()
	defer wait.stop()
	var page []rdb.Waiting
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case in := <-d.nudge:
			if in <= d.look { // what is further away is told again by the next heartbeats
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
		d.health.report(err)
		if err != nil {
			failures++
			next = backoff.For(failures)
		} else {
			failures = 0
		}
		page = rest
		wait.atMost(next)
	}
}

// move moves all that is due, page by page, and returns when to come back with what the last page holds. What cannot be
// moved is passed by: the pages after it are read from behind it.
func (d *dueMover) move(ctx context.Context, page []rdb.Waiting) (time.Duration, []rdb.Waiting, error) {
	passed := map[string]bool{}
	for {
		skip := len(passed)
		due, err := d.turn(ctx, rdb.DueCall{Move: page, Skip: skip, Ahead: d.look, Brief: true})
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
			return page[0].Due.Sub(due.Time), page, nil
		}
		if len(page) == 0 && len(passed) == skip {
			return time.Hour, nil, nil // until told
		}
	}
}

// passRefused passes what was sent, is still there and is due: Redis will not move it, for whatever reason.
func (d *dueMover) passRefused(sent []rdb.Waiting, due rdb.Due, passed map[string]bool) {
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

func (d *dueMover) turn(ctx context.Context, call rdb.DueCall) (rdb.Due, error) {
	var due rdb.Due
	err := d.pace.hold(ctx, func() (moved bool, err error) {
		ctx, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		due, err = d.store.Due(ctx, d.shelf, call)
		return due.Moved > 0 && len(due.Page) > 0 && !due.Page[0].Due.After(due.Time), err
	})
	return due, err
}

// movable returns what of a page can be moved now or as it becomes due, with the names of the queues.
func (d *dueMover) movable(ctx context.Context, due rdb.Due, passed map[string]bool) ([]rdb.Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	page := due.Page[:0]
	for _, waiting := range due.Page {
		if passed[waiting.ID] {
			continue
		}
		readable := true
		if waiting.Queue == "" {
			var err error
			if waiting.Queue, readable, err = recordedName(ctx, d.store, waiting.ID); err != nil {
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

// recordedName reads the queue of a job from its record: "" where there is no record, and false where it cannot be
// read.
func recordedName(ctx context.Context, store *rdb.Store, id string) (name string, readable bool, err error) {
	encoded, err := store.Record(ctx, id)
	if err != nil || encoded == nil {
		return "", true, err
	}
	var named struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(encoded, &named) != nil || named.Name == "" {
		return "", false, nil
	}
	return named.Name, true, nil
}

// pass notes that a job cannot be moved, and reports it the first time.
func (d *dueMover) pass(id string, passed map[string]bool) {
	passed[id] = true
	if d.stuck[id] {
		return
	}
	if len(d.stuck) >= maxReported {
		clear(d.stuck)
	}
	d.stuck[id] = true
	d.events.emit(event.KeyBroken{Key: "the queue or the record of job " + id + ", which is due"})
}
