package maintain

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/destroy"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// DestroyDoomed destroys queues whose date has come, as far as it gets in the time that a chore has; the next round
// goes on, whoever does that. Jobs that run were told to end, and another queue need not wait for them. One that fails
// keeps none of the others.
func (j *Janitor) DestroyDoomed(ctx context.Context) error {
	doomed, err := j.due(ctx)
	if err != nil {
		return err
	}
	var failed error
	for name, due := range doomed {
		q := destroy.Queue{Store: j.env.Store, Name: name, Due: due}
		counts, forgotten, err := q.Run(ctx)
		switch {
		case err == nil:
			j.env.Emit(event.QueueDestroyed{Name: name, Jobs: counts.Sum(), Forgotten: forgotten})
		case ctx.Err() != nil:
			return failed
		case !errors.Is(err, destroy.ErrRuns):
			failed = excerpt.Join(failed, err)
		}
	}
	return failed
}

// due are the queues whose date has come by the clock of Redis, which is asked only where there are dates.
func (j *Janitor) due(ctx context.Context) (map[string]time.Time, error) {
	doomed, err := j.env.Store.Doomed(ctx, rdb.AnyDate)
	if err != nil || len(doomed) == 0 {
		return nil, err
	}
	now, err := j.env.Store.Time(ctx)
	maps.DeleteFunc(doomed, func(_ string, due time.Time) bool { return due.After(now) })
	return doomed, err
}
