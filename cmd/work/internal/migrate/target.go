package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// lanePrefix begins the lanes of batches: those of an outbox are kept for as long as these have to be.
const lanePrefix = rdb.LastingLane + "migrate-"

// callLife is after what time a batch is not sent again: Redis may have forgotten its number.
var callLife = rdb.LaneLife(rdb.LastingLane, 0) * 2 / 3

// Target is this side: a namespace.
type Target struct {
	Directory *partition.Directory
	Inspector *inspect.Inspector
}

// Job is a job that was converted and can be stored.
type Job struct {
	*Coming
	stored rdb.NewJob
}

// prepare makes of a job of the old side what is stored here.
func (t *Target) prepare(source Source, old ledger.Job) (job Job, err error) {
	now := time.Now()
	coming, err := source.Convert(old, now)
	if err != nil {
		return job, err
	}
	stored, err := inside.Prepare(coming.entry(now), nil)
	if err != nil {
		return job, err
	}
	if coming.Lock > 0 {
		stored.Lock.Life = coming.Lock
	}
	return Job{Coming: coming, stored: stored}, nil
}

// home is the partition of a job; moving says that it has none now.
func (t *Target) home(job *Job) (partitions int, moving bool) {
	home := t.Directory.Map().Home(partition.Job{Name: job.stored.Queue, Key: job.stored.Turn.Key,
		Lock: job.stored.Lock.Digest, Given: job.stored.ID})
	return home.Partition, home.Moving
}

// sent is what became of the jobs of a batch. The others are stored.
type sent struct {
	twins map[int]string // by index: why it need not be stored
	back  []int          // could not be stored
	moved bool           // none is: another partition is their home now
	late  bool           // the lane is at a later batch
}

// send stores a batch.
func (t *Target) send(ctx context.Context, token string, b *ledger.Batch, jobs []Job) (s sent, err error) {
	if time.Since(b.Opened) > callLife {
		return s,
			fmt.Errorf("a batch of %d jobs was taken at %s, and Redis no longer knows whether it was stored: look "+
				"whether the first one, %s, has run", len(jobs), b.Opened.UTC().Format(time.RFC3339), jobs[0].ID)
	}
	stored := make([]rdb.NewJob, len(jobs))
	for i := range jobs {
		stored[i] = jobs[i].stored
	}
	call := rdb.LaneCall{Lane: lanePrefix + token, Number: b.Number, Map: t.Directory.Map().Version}
	answer, err := t.Directory.Guarded(b.Partition).EnqueueIn(ctx, call, stored)
	var route *rdb.RouteError
	var refused *redisconn.ServerError
	switch {
	case errors.As(err, &route):
		return sent{moved: true}, t.Directory.RefreshFrom(ctx, b.Partition)
	case errors.As(err, &refused) && refused.Code == "STALE":
		return sent{late: true}, nil
	case err != nil:
		return s, fmt.Errorf("jobs cannot be stored: %w", err)
	}
	s.twins = map[int]string{}
	for i, problem := range answer.Problems {
		switch problem {
		case rdb.Duplicate:
			s.twins[i] = "a job of that id lives"
		case rdb.Unique:
			s.twins[i] = "job " + answer.Owners[i] + " of its kind lives"
		default:
			s.back = append(s.back, i)
		}
	}
	return s, nil
}

// stall puts those aside that were dead. Each may have been stalled before, or resumed since, or be gone.
func (t *Target) stall(ctx context.Context, jobs []Job) error {
	for i := range jobs {
		if !jobs[i].Dead {
			continue
		}
		err := t.Inspector.Stall(ctx, jobs[i].ID)
		var state *inspect.StateError
		if err != nil && !errors.As(err, &state) && !errors.Is(err, work.ErrNotFound) {
			return fmt.Errorf("a dead job cannot be stalled: %w", err)
		}
	}
	return nil
}
