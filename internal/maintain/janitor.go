package maintain

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/objects"
)

// Janitor keeps what is in Redis from growing without bound, and finds claims that nobody holds. Its chores take turns,
// as Run has them.
type Janitor struct {
	env    Env
	opts   JanitorOptions
	health healthreport.Reporter

	cursor    string                // of the walk over the claims
	cursors   map[string]string     // of the walks over what is kept of jobs
	checkIns  map[string]string     // of the walks over check-ins, each of one worker
	checkedIn string                // the last worker whose check-ins were looked at
	flags     string                // cursor of the walk over those that are to be cancelled
	locks     string                // cursor of the walk over the locks of unique jobs
	lanes     string                // cursor of the walk over the lanes
	waiters   string                // cursor of the walk over the notes of those who wait
	mail      string                // cursor of the walk over the mailboxes
	endings   []string              // how outcomes begin of jobs that have left details
	keys      map[rdb.KeySet]string // cursors of the walks over what is kept of keys
	limits    limit.Keeper

	errorsTrimmed time.Time

	failed []error // of each chore, and of the walk, when it was last done
}

// JanitorInterval is how often a janitor works, except in tests.
const JanitorInterval = 5 * time.Second

// JanitorOptions is what a janitor is told beside what all are given.
type JanitorOptions struct {
	Leased          func() bool // whether its worker has the lease
	Interval        time.Duration
	MorgueLimit     int
	MorgueRetention time.Duration
	Objects         *objects.Collector // is closed when Run ends
}

// NewJanitor is a janitor before its first round.
func NewJanitor(env Env, opts JanitorOptions) *Janitor {
	return &Janitor{
		env: env, opts: opts, health: healthreport.Reporter{Component: "janitor", Emit: env.Emit},
		cursor: "0", cursors: map[string]string{}, checkIns: map[string]string{}, keys: map[rdb.KeySet]string{},
	}
}

// Run does the chores until ctx ends, while its worker has the lease.
func (j *Janitor) Run(ctx context.Context) {
	j.cursor, j.cursors, j.checkIns, j.keys = "0", map[string]string{}, map[string]string{}, map[rdb.KeySet]string{}
	defer j.opts.Objects.Close()
	chores := []func(context.Context) error{ // they take turns: trimming can wait, claims that nobody holds should not
		j.removeExpiredOutcomes, j.trimMorgue, j.removeStaleLanes, j.AgreeIndexes, j.removeRecordless,
		j.RemoveJoblessCheckIns, j.forgetWaiters, j.tidyFlags, j.collectObjects, j.FreeLocks,
		j.trimErrors, j.removeFlows, j.AgreeKeys,
	}
	j.failed = make([]error, len(chores)+2)
	for round := 0; ; {
		backoff.Pause(ctx, j.opts.Interval)
		if ctx.Err() != nil {
			return
		}
		if !j.opts.Leased() {
			continue
		}
		j.do(ctx, len(chores), j.everyRound)
		j.do(ctx, len(chores)+1, j.DestroyDoomed)
		turn := round % len(chores)
		j.do(ctx, turn, chores[turn])
		round++
		if ctx.Err() == nil {
			j.health.Report(excerpt.Join(j.failed...))
		}
	}
}

// everyRound is what should not wait for its turn: jobs that nobody holds, queues that stand still, and flows of which
// the hint was lost.
func (j *Janitor) everyRound(ctx context.Context) error {
	return excerpt.Join(j.returnOrphans(ctx), j.limits.Keep(ctx, j.env.Store),
		advanceFlows(ctx, j.env.Store, j.env.Away))
}

// do does one chore, and keeps what came of it until its next turn: one that fails is no news each time that another
// one has succeeded.
func (j *Janitor) do(ctx context.Context, which int, chore func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	j.failed[which] = chore(ctx)
}

// returnOrphans walks a part of the claims and gives back those whose worker is unknown or lacks their element.
func (j *Janitor) returnOrphans(ctx context.Context) error {
	next, page, err := j.env.Store.Holdings(ctx, j.cursor)
	if err != nil {
		return err
	}
	j.cursor = next
	if len(page) == 0 {
		return nil
	}
	registered, dead, err := j.env.Store.Workers(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, id := range append(registered, dead...) {
		known[id] = true
	}
	returned := map[string]int{}
	now := j.env.Now()
	var failed error
	for _, holding := range page {
		if known[holding.Worker] && now.Sub(holding.Since) < rdb.ClaimSettled {
			continue
		}
		orphan, err := j.returnOrphan(ctx, holding)
		failed = excerpt.Join(failed, err)
		if orphan {
			returned[holding.Worker]++
		}
	}
	for id, jobs := range returned {
		j.env.Emit(event.JobsReturned{Worker: id, Jobs: jobs})
	}
	return failed
}

// returnOrphan gives one job back if nobody holds it. The queue of a claim that cannot be read is in the job's record;
// without a record only the claim is removed, so any name will do.
func (j *Janitor) returnOrphan(ctx context.Context, holding rdb.Holding) (bool, error) {
	if holding.Queue == "" {
		name, readable, err := record.QueueOf(ctx, j.env.Store, holding.ID)
		if err != nil {
			return false, err
		}
		if !readable {
			return false, fmt.Errorf("neither the claim nor the record of job %s can be read: repair its record",
				excerpt.Brief(holding.ID))
		}
		holding.Queue = cmp.Or(name, "unknown")
	}
	return j.env.Store.ReturnClaim(ctx, holding)
}
