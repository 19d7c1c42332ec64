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

	Queues  int       `json:"queues"`
	Workers int       `json:"workers"` // with a heartbeat
	AsOf    time.Time `json:"as_of"`   // Redis' clock
}

// Counts counts all jobs of the namespace. Each number is right by itself; a job that goes from one place to another
// meanwhile may be counted in both, or in neither. What it costs grows with how many workers there are and queues that
// have jobs, and not with how many jobs. A key of a queue that is broken counts as empty, see [Inspector.Queues].
func (i *Inspector) Counts(ctx context.Context) (Counts, error) {
	if i.unusable != nil {
		return Counts{}, i.unusable
	}
	census, err := i.store.JobCounts(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("the jobs cannot be counted: %w", err)
	}
	workers, err := i.store.Registered(ctx)
	var alive map[string]bool
	if err == nil {
		alive, err = i.store.Alive(ctx, workers)
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
