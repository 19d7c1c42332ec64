// Package destroy removes a queue with all that there is of it: jobs in every state, what is kept of those that have
// ended, what was counted, and its place in the lists. An inspector does it at once; a janitor does it when it is due.
//
// It goes in steps of at most 500 jobs and keeps no note of how far it is: what is there says that. So whoever dies in
// its midst leaves a queue with less in it, that is paused, and whoever begins again goes on. Two may do it at the same
// time.
package destroy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// ErrRuns is returned where jobs of the queue still run, that were told to end.
var ErrRuns = errors.New("jobs of it still run: they were cancelled, and end when their handlers return")

// Counts are how many jobs there are, or were removed.
type Counts struct{ Waiting, Running, Scheduled, Retrying, Stalled, Dead, Ended int }

// Sum is how many that are.
func (c Counts) Sum() int {
	return c.Waiting + c.Running + c.Scheduled + c.Retrying + c.Stalled + c.Dead + c.Ended
}

// shelf is where the count of what stood there is.
func (c *Counts) shelf(shelf rdb.Shelf) *int {
	return map[rdb.Shelf]*int{rdb.ShelfScheduled: &c.Scheduled, rdb.ShelfRetry: &c.Retrying,
		rdb.ShelfStalled: &c.Stalled, rdb.ShelfMorgue: &c.Dead}[shelf]
}

// shelves are the places that jobs of all names share.
var shelves = []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry, rdb.ShelfStalled, rdb.ShelfMorgue}

// endings are how jobs end, in the words of outcomes.
var endings = []string{record.Succeeded, record.Cancelled, record.Discarded, record.Expired, record.Deleted}

// Queue destroys one queue.
type Queue struct {
	Store    *rdb.Store
	Name     string
	Wait     bool         // for jobs that run, as long as their handlers take; otherwise they are [ErrRuns]
	Progress func(Counts) // is told after each step what has been removed so far; may be nil
	Due      time.Time    // the date at which it was to be destroyed; zero at once

	done Counts
}

// Run destroys the queue, and returns what was removed, also with an error. It is false where jobs were enqueued in the
// meantime: these are in a queue like any other.
//
// The order matters. Nothing begins any more once the queue is paused, so that jobs only go from workers and shelves to
// the queue, which is emptied after these; and all leave what is kept of them on the shelves of the ended, which come
// last.
func (q *Queue) Run(ctx context.Context) (Counts, bool, error) {
	forgotten := false
	for _, step := range []func(context.Context) error{q.pause, q.cancelRunning, q.clearShelves, q.awaitRunning,
		q.clearQueue, q.forgetEnded, q.forgetCounts, func(ctx context.Context) (err error) {
			forgotten, err = q.forget(ctx)
			return err
		}, q.forgetDate} {
		if err := step(ctx); err != nil {
			return q.done, false, err
		}
	}
	return q.done, forgotten, nil
}

func (q *Queue) tell() {
	if q.Progress != nil {
		q.Progress(q.done)
	}
}

func (q *Queue) pause(ctx context.Context) error {
	version, err := q.Store.NextVersion(ctx, []string{q.Name}) // an older pause that comes late does not count then
	if err != nil {
		return err
	}
	return limit.Say(ctx, q.Store, []rdb.Pause{{Name: q.Name, Version: version, Paused: true}},
		func(_ string, err error) error { return err })
}

// cancelRunning tells the workers that have jobs of the queue.
func (q *Queue) cancelRunning(ctx context.Context) error {
	ids, err := running(ctx, q.Store, q.Name)
	if err != nil || len(ids) == 0 {
		return err
	}
	results, err := ending.Cancel(ctx, q.Store, ids)
	for _, result := range results {
		if result.Effect == ending.Flagged || result.Effect == ending.Ended {
			q.done.Running++
		}
	}
	q.tell()
	return err
}

// running are the ids of jobs of the queue that workers have.
func running(ctx context.Context, store *rdb.Store, name string) (ids []string, err error) {
	seen := map[string]bool{}
	for cursor := "0"; ; {
		next, page, err := store.Holdings(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, holding := range page {
			if needs.Name(holding.Queue) == name && !seen[holding.ID] {
				seen[holding.ID] = true
				ids = append(ids, holding.ID)
			}
		}
		if cursor = next; cursor == "0" {
			return ids, nil
		}
	}
}

// awaitRunning waits for those that were cancelled. One that was put back because its worker has died is in the queue
// by then.
func (q *Queue) awaitRunning(ctx context.Context) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ids, err := running(ctx, q.Store, q.Name)
		if err != nil || len(ids) == 0 {
			return err
		}
		if !q.Wait {
			return ErrRuns
		}
		if backoff.Pause(ctx, pause); ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrRuns, context.Cause(ctx))
		}
	}
}

func (q *Queue) clearShelves(ctx context.Context) error {
	for _, shelf := range shelves {
		err := eachOf(ctx, q.Store, shelf, q.Name, func(page []rdb.SeenJob) error {
			removed, err := q.remove(ctx, page)
			*q.done.shelf(shelf) += removed
			q.tell()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOf visits the jobs of a queue on a shelf, page by page. Each page costs as much as there are jobs of any name on
// it.
func eachOf(ctx context.Context, store *rdb.Store, shelf rdb.Shelf, name string,
	visit func(page []rdb.SeenJob) error) error {
	for cursor := (rdb.ShelfCursor{}); ; {
		page, err := store.ShelfPage(ctx, shelf, &cursor, rdb.MaxBatch)
		if err != nil || len(page) == 0 {
			return err
		}
		if page, err = store.OfName(ctx, page, name); err != nil {
			return err
		}
		if len(page) > 0 {
			if err = visit(page); err != nil {
				return err
			}
		}
	}
}

// describedAtOnce is how many records are read at once: each may have a MiB.
const describedAtOnce = 16

// remove ends jobs of a page where they were seen, and returns how many it has ended. One that has gone on meanwhile is
// in its queue.
func (q *Queue) remove(ctx context.Context, page []rdb.SeenJob) (removed int, err error) {
	for size := describedAtOnce; len(page) > 0; {
		part := page[:min(size, len(page))]
		now, bytes, err := q.Store.Describe(ctx, part)
		if err != nil {
			return removed, err
		}
		n, err := q.removeSeen(ctx, part, now)
		if removed += n; err != nil {
			return removed, err
		}
		if page, size = page[len(part):], min(rdb.MaxBatch, 2*size); bytes > 1<<20 {
			size = max(1, size/8)
		}
	}
	return removed, nil
}

func (q *Queue) removeSeen(ctx context.Context, part []rdb.SeenJob, now int64) (removed int, err error) {
	var jobs []*rdb.SeenJob
	var orders []rdb.Order
	for i := range part {
		job := &part[i]
		if job.Queue == "" {
			job.Queue = record.QueueIn(job.Record)
		}
		if job.Name() == q.Name {
			jobs, orders = append(jobs, job), append(orders, ending.Delete(q.Store, job, now))
		}
	}
	for len(orders) > 0 {
		obeyed, err := q.Store.Execute(ctx, orders)
		if err != nil {
			return removed, err
		}
		var again []*rdb.SeenJob
		orders = nil
		for i, result := range obeyed {
			if result.Err != nil {
				return removed, fmt.Errorf("job %s: %w", jobs[i].ID, result.Err)
			}
			if result.Answer == rdb.AnswerDone {
				removed++
			}
			if order, is := q.otherwise(jobs[i], now, result.Answer); is {
				again, orders = append(again, jobs[i]), append(orders, order)
			}
		}
		jobs = again
	}
	return removed, nil
}

// otherwise is the order for a job that could not be deleted: somebody waits for it, or has cancelled it.
func (q *Queue) otherwise(job *rdb.SeenJob, now int64, answer rdb.Answer) (rdb.Order, bool) {
	if answer == rdb.AnswerCancelled {
		rests := ending.Resting{Name: q.Name, Record: job.Record, Trail: job.Trail, Now: time.UnixMilli(now)}
		return q.Store.Remove(job.JobPlace, rests.Cancelled()), true
	}
	return ending.DeleteOtherwise(q.Store, job, now, answer)
}

// clearQueue removes what waits, twice: the second time what came to the queue while it was looked at first.
func (q *Queue) clearQueue(ctx context.Context) error {
	for range 2 {
		before := q.done.Waiting
		_, err := ending.Purge(ctx, q.Store, q.Name, func(removed int) {
			q.done.Waiting = before + removed
			q.tell()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) forgetEnded(ctx context.Context) error {
	for _, state := range endings {
		of := rdb.EndedShelf{State: state, Name: q.Name}
		for left := 1; left > 0; {
			removed, more, err := q.Store.ForgetEnded(ctx, of, beginning(of))
			if err != nil {
				return err
			}
			if left = more; removed > 0 {
				q.done.Ended += removed
				q.tell()
			}
		}
	}
	return nil
}

// beginning is how the outcomes begin of jobs that have ended so.
func beginning(of rdb.EndedShelf) string {
	text, _, _ := strings.Cut(string(record.Outcome{State: of.State, Name: of.Name}.Encode()), `"ended":`)
	return text
}

// forgetCounts removes the history of the name, and its groups of errors.
func (q *Queue) forgetCounts(ctx context.Context) error {
	now, err := q.Store.Time(ctx)
	if err != nil {
		return err
	}
	if err := q.Store.ForgetHistory(ctx, q.Name, now); err != nil {
		return err
	}
	var digests []string
	err = q.Store.ErrorGroups(ctx, func(page []rdb.ErrorGroup) error {
		for _, group := range page {
			if group.Name == q.Name {
				digests = append(digests, group.Digest)
			}
		}
		return nil
	})
	if err != nil || len(digests) == 0 { // none would be all
		return err
	}
	return q.Store.ForgetErrorGroups(ctx, digests)
}

// forget removes the queue from the lists, and last what restrains it: what workers have declared stays, or what is
// enqueued next would run without their limit. A worker counts without a heartbeat too: it may only be cut off. The
// limit is marked before workers are looked for: whoever registers after that declares it anew, which removes the mark.
func (q *Queue) forget(ctx context.Context) (bool, error) {
	if err := limit.One(ctx, q.Store, q.Name, limit.Leave); err != nil {
		return false, err
	}
	ids, err := q.Store.Registered(ctx)
	if err != nil {
		return false, err
	}
	serving, err := q.Store.ServedBy(ctx, ids)
	if err != nil {
		return false, err
	}
	served := serving[q.Name] > 0
	queues, err := q.Store.QueuesOf(ctx, []string{q.Name})
	if err != nil {
		return false, err
	}
	forgotten := true
	for _, queue := range queues {
		gone, err := q.Store.ForgetQueue(ctx, queue, !served)
		if err != nil {
			return false, err
		}
		forgotten = forgotten && gone
	}
	return forgotten, limit.One(ctx, q.Store, q.Name, func(rule *rdb.Rule) { limit.Left(rule, served) })
}

// forgetDate comes last, when the queue is not paused any more: nobody would go on with a queue that has no date.
func (q *Queue) forgetDate(ctx context.Context) error { return q.Store.ForgetDate(ctx, q.Name, q.Due) }

// Count counts what Run would remove. It looks at all names of jobs that are scheduled, to be retried, stalled or dead,
// 500 at a time.
func Count(ctx context.Context, store *rdb.Store, name string) (c Counts, err error) {
	ids, err := running(ctx, store, name)
	if err != nil {
		return c, err
	}
	c.Running = len(ids)
	queues, err := store.QueuesOf(ctx, []string{name})
	for _, queue := range queues {
		n, err := store.Length(ctx, queue, "")
		if err != nil {
			return c, err
		}
		c.Waiting += n
	}
	if err != nil {
		return c, err
	}
	for _, shelf := range shelves {
		err := eachOf(ctx, store, shelf, name, func(page []rdb.SeenJob) error {
			*c.shelf(shelf) += len(page)
			return nil
		})
		if err != nil {
			return c, err
		}
	}
	kept := make([]rdb.EndedShelf, len(endings))
	for i, state := range endings {
		kept[i] = rdb.EndedShelf{State: state, Name: name}
	}
	counts, err := store.EndedCounts(ctx, kept)
	for _, n := range counts {
		c.Ended += n
	}
	return c, err
}
