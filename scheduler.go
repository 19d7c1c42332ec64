package work

import (
	"context"
	"encoding/json"
	"time"

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
	stuck  map[string]bool    // ids that were reported
	look   time.Duration      // how far a page looks ahead
}

func newDueMover(name string, shelf rdb.Shelf, w *worker) *dueMover {
	return &dueMover{
		shelf: shelf, store: w.store, events: w.events, health: health{component: name, events: w.events},
		nudge: make(chan time.Duration, 1), stuck: map[string]bool{}, look: beatInterval,
	}
}

// told notes when something is due; the newest word counts.
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
		d.health.report(err)
		if err != nil {
			failures++
			next = backoffFor(failures)
		} else {
			failures = 0
		}
		page = rest
		wait.atMost(next)
	}
}

// move moves all that is due, page by page, and returns when to come back with what the last page holds.
func (d *dueMover) move(ctx context.Context, page []rdb.Waiting) (time.Duration, []rdb.Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	skip := 0
	for {
		due, err := d.store.Due(ctx, d.shelf, rdb.DueCall{Move: page, Skip: skip, Ahead: d.look})
		if err != nil {
			return 0, nil, err
		}
		skip += len(due.Stuck)
		d.reportStuck(due.Stuck)
		page = nil
		for _, waiting := range due.Page {
			readable := true
			if waiting.Queue == "" {
				waiting.Queue, readable, err = d.nameOf(ctx, waiting.ID)
				if err != nil {
					return 0, nil, err
				}
			}
			if !readable {
				skip++
				d.reportStuck([]string{waiting.ID})
				continue
			}
			page = append(page, waiting)
		}
		if len(page) == 0 {
			return time.Hour, nil, nil // until told
		}
		if in := page[0].Due.Sub(due.Time); in > 0 {
			return in, page, nil
		}
	}
}

// nameOf reads the queue of a job from its record: "" where there is no record, and false where it cannot be read. Such
// a job stays where it is, the others pass it.
func (d *dueMover) nameOf(ctx context.Context, id string) (name string, readable bool, err error) {
	encoded, err := d.store.Record(ctx, id)
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

func (d *dueMover) reportStuck(ids []string) {
	for _, id := range ids {
		if !d.stuck[id] {
			d.stuck[id] = true
			d.events.emit(KeyBroken{Key: "the queue or the record of job " + id + ", which is due"})
		}
	}
}
