package work

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// janitor keeps what is in Redis from growing without bound, and finds claims that nobody holds. The worker with the
// lease does it.
type janitor struct {
	worker *worker
	health health
	leased func() bool

	interval  time.Duration
	cursor    string            // of the walk over the claims
	cursors   map[string]string // of the walks over what is kept of jobs
	checkIns  map[string]string // of the walks over check-ins, each of one worker
	checkedIn string            // the last worker whose check-ins were looked at
	flags     string            // cursor of the walk over those that are to be cancelled
	locks     string            // cursor of the walk over the locks of unique jobs
	lanes     string            // cursor of the walk over the lanes
	waiters   string            // cursor of the walk over the notes of those who wait
	rules     ruleKeeper

	errorsTrimmed time.Time

	failed []error // of each chore, and of the walk, when it was last done
}

const (
	janitorInterval = 5 * time.Second
	settledClaim    = 10 * time.Second // a claim of a living worker is not looked into before that age
)

func (j *janitor) run(ctx context.Context) {
	j.cursor, j.cursors, j.checkIns = "0", map[string]string{}, map[string]string{}
	defer j.worker.pool.objects.collector.Close()
	chores := []func(context.Context) error{ // they take turns: trimming can wait, claims that nobody holds should not
		j.sweepOutcomes, j.trimMorgue, j.retireLanes, j.renewQueues, j.shedRecordless, j.shedCheckIns,
		j.forgetWaiters, j.tidyFlags, j.collectObjects, j.voidLocks,
		j.trimErrors,
	}
	j.failed = make([]error, len(chores)+1)
	for round := 0; ; {
		backoff.Pause(ctx, j.interval)
		if ctx.Err() != nil {
			return
		}
		if !j.leased() {
			continue
		}
		j.do(ctx, len(chores), j.everyRound)
		turn := round % len(chores)
		j.do(ctx, turn, chores[turn])
		round++
		if ctx.Err() == nil {
			j.health.report(excerpt.Join(j.failed...))
		}
	}
}

// everyRound is what should not wait for its turn: jobs that nobody holds, and queues that stand still.
func (j *janitor) everyRound(ctx context.Context) error {
	return excerpt.Join(j.returnOrphans(ctx), j.rules.keep(ctx, j.worker.store))
}

// do does one chore, and keeps what came of it until its next turn: one that fails is no news each time that another
// one has succeeded.
func (j *janitor) do(ctx context.Context, which int, chore func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	j.failed[which] = chore(ctx)
}

// voidLocks goes on with the walk over the locks of unique jobs, and removes those that hold nothing.
func (j *janitor) voidLocks(ctx context.Context) error {
	for range shedParts {
		next, _, err := j.worker.store.VoidLocks(ctx, j.locks)
		if err != nil {
			return err
		}
		if j.locks = next; next == "" {
			return nil
		}
	}
	return nil
}

// walk goes on with a walk from where the last turn has left it, at most so many parts of it: one that began anew each
// turn would never come to what is behind the first parts. A part that failed is read again.
func walk(ctx context.Context, cursor *string, parts int,
	part func(ctx context.Context, cursor string) (next string, err error)) error {
	for range parts {
		next, err := part(ctx, *cursor)
		if err != nil {
			return err
		}
		if *cursor = next; next == "0" {
			return nil
		}
	}
	return nil
}

// walkParts is how many parts of 500 one turn of the janitor reads of what grows with the number of clients.
const walkParts = 100

func (j *janitor) retireLanes(ctx context.Context) error {
	return walk(ctx, &j.lanes, walkParts, func(ctx context.Context, cursor string) (string, error) {
		return j.worker.store.RetireLanes(ctx, cursor, 24*time.Hour)
	})
}

func (j *janitor) forgetWaiters(ctx context.Context) error {
	return walk(ctx, &j.waiters, walkParts, j.worker.store.ForgetWaiters)
}

func (j *janitor) sweepOutcomes(ctx context.Context) error {
	for {
		n, err := j.worker.store.Sweep(ctx)
		if err != nil || n < rdb.MaxBatch {
			return err
		}
	}
}

// returnOrphans walks a part of the claims and gives back those whose worker is unknown or lacks their element.
func (j *janitor) returnOrphans(ctx context.Context) error {
	next, page, err := j.worker.store.Holdings(ctx, j.cursor)
	if err != nil {
		return err
	}
	j.cursor = next
	if len(page) == 0 {
		return nil
	}
	registered, dead, err := j.worker.store.Workers(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, id := range append(registered, dead...) {
		known[id] = true
	}
	returned := map[string]int{}
	now := j.worker.clock.now()
	var failed error
	for _, holding := range page {
		if known[holding.Worker] && now.Sub(holding.Since) < settledClaim {
			continue
		}
		orphan, err := j.returnOrphan(ctx, holding)
		failed = excerpt.Join(failed, err)
		if orphan {
			returned[holding.Worker]++
		}
	}
	for id, jobs := range returned {
		j.worker.events.emit(event.JobsReturned{Worker: id, Jobs: jobs})
	}
	return failed
}

// returnOrphan gives one job back if nobody holds it. The queue of a claim that cannot be read is in the job's record;
// without a record only the claim is removed, so any name will do.
func (j *janitor) returnOrphan(ctx context.Context, holding rdb.Holding) (bool, error) {
	if holding.Queue == "" {
		name, readable, err := recordedName(ctx, j.worker.store, holding.ID)
		if err != nil {
			return false, err
		}
		if !readable {
			return false, fmt.Errorf("neither the claim nor the record of job %s can be read: repair its record",
				quoted(holding.ID))
		}
		holding.Queue = cmp.Or(name, "unknown")
	}
	return j.worker.store.Orphan(ctx, holding)
}
