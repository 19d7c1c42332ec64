package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// janitor keeps what is in Redis from growing without bound, and finds claims that nobody holds. The worker with the
// lease does it.
type janitor struct {
	worker *worker
	health health
	leased func() bool
	cursor string // of the walk over the claims
}

const (
	janitorInterval = 5 * time.Second
	settledClaim    = 10 * time.Second // a claim of a living worker is not looked into before that age
)

func (j *janitor) run(ctx context.Context) {
	j.cursor = "0"
	for {
		pause(ctx, janitorInterval)
		if ctx.Err() != nil {
			return
		}
		if !j.leased() {
			continue
		}
		err := j.clean(ctx)
		if ctx.Err() == nil {
			j.health.report(err)
		}
	}
}

func (j *janitor) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := j.sweepOutcomes(ctx); err != nil {
		return err
	}
	if err := j.trimMorgue(ctx); err != nil {
		return err
	}
	if err := j.worker.store.RetireLanes(ctx, 24*time.Hour); err != nil {
		return err
	}
	return j.returnOrphans(ctx)
}

func (j *janitor) sweepOutcomes(ctx context.Context) error {
	for {
		n, err := j.worker.store.Sweep(ctx)
		if err != nil || n < rdb.MaxBatch {
			return err
		}
	}
}

func (j *janitor) trimMorgue(ctx context.Context) error {
	options := j.worker.pool.options
	for {
		removed, err := j.worker.store.Inter(ctx, options.MorgueLimit, options.MorgueRetention)
		if err != nil {
			return err
		}
		for _, job := range removed {
			j.worker.events.emit(JobTrimmed{ID: job.ID, Name: job.Queue})
		}
		if len(removed) < rdb.MaxBatch {
			return nil
		}
	}
}

// returnOrphans walks a part of the claims and gives back those whose worker is unknown or lacks their element.
func (j *janitor) returnOrphans(ctx context.Context) error {
	store := j.worker.store
	registered, dead, err := store.Workers(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, id := range append(registered, dead...) {
		known[id] = true
	}
	next, page, err := store.Holdings(ctx, j.cursor)
	if err != nil {
		return err
	}
	returned := map[string]int{}
	now := j.worker.clock.now()
	for _, holding := range page {
		if known[holding.Worker] && now.Sub(holding.Since) < settledClaim {
			continue
		}
		orphan, err := store.Orphan(ctx, holding)
		if err != nil {
			return err
		}
		if orphan {
			returned[holding.Worker]++
		}
	}
	for id, jobs := range returned {
		j.worker.events.emit(JobsReturned{Worker: id, Jobs: jobs})
	}
	j.cursor = next
	return nil
}
