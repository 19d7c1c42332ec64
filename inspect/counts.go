package inspect

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Counts is how many jobs are where.
type Counts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"` // claimed by workers
	Scheduled int `json:"scheduled"`
	Retrying  int `json:"retrying"`
	Stalled   int `json:"stalled"`
	Dead      int `json:"dead"`

	Queues  int       `json:"queues"`  // jobs of a name that need labels have one of their own
	Workers int       `json:"workers"` // with a heartbeat; a pool has one or more in each partition
	AsOf    time.Time `json:"as_of"`   // Redis' clock
}

// Counts counts all jobs of the namespace. Each number is right by itself; a job that goes from one place to another
// meanwhile may be counted in both, or in neither. What it costs grows with how many workers there are and queues that
// have jobs, and not with how many jobs. A key of a queue that is broken counts as empty, see [Inspector.Queues].
func (i *Inspector) Counts(ctx context.Context) (Counts, error) {
	of := i.served(ctx)
	if of.err != nil || of.single() {
		return readAll(ctx, of, (*view).counts, nil)
	}
	type told struct {
		Counts
		names map[string]time.Time
	}
	all, err := readAll(ctx, of, func(v *view, ctx context.Context) (t told, err error) {
		if t.Counts, err = v.counts(ctx); err == nil {
			t.names, err = v.store.QueueNames(ctx)
		}
		return t, err
	}, func(sum *told, one told) {
		sum.add(one.Counts)
		maps.Copy(sum.names, one.names) // a queue may have jobs in several
	})
	all.Queues = len(all.names)
	return all.Counts, err
}

// add adds what is in another partition. A pool has a worker in each.
func (c *Counts) add(one Counts) {
	c.Queued += one.Queued
	c.Running += one.Running
	c.Scheduled += one.Scheduled
	c.Retrying += one.Retrying
	c.Stalled += one.Stalled
	c.Dead += one.Dead
	c.Workers += one.Workers
	c.AsOf = later(c.AsOf, one.AsOf)
}

func (v *view) counts(ctx context.Context) (Counts, error) {
	census, err := v.store.JobCounts(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("the jobs cannot be counted: %w", err)
	}
	workers, err := v.store.Registered(ctx)
	var alive map[string]bool
	if err == nil {
		alive, err = v.store.Alive(ctx, workers)
	}
	if err != nil {
		return Counts{}, fmt.Errorf("the workers cannot be counted: %w", err)
	}
	maps.DeleteFunc(alive, func(_ string, beats bool) bool { return !beats })
	return Counts{
		Queued: census.Queued, Running: census.Claimed, Scheduled: census.Scheduled, Retrying: census.Retry,
		Stalled: census.Stalled,
		Dead:    census.Morgue, Queues: census.Queues, Workers: len(alive), AsOf: census.Time,
	}, nil
}
