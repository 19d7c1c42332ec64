package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/destroy"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/span"
)

// DestroyOptions says how a queue is destroyed. The zero value is fine.
type DestroyOptions struct {
	DryRun   bool                  // only count what there is
	Progress func(DestroyedCounts) // called after each step, by the goroutine that destroys, with what is gone so far
}

// DestroyedCounts are how many jobs of a queue there are, or have gone with it.
type DestroyedCounts struct {
	Waiting   int `json:"waiting"`
	Running   int `json:"running"` // were cancelled
	Scheduled int `json:"scheduled"`
	Retrying  int `json:"retrying"`
	Stalled   int `json:"stalled"`
	Dead      int `json:"dead"`
	Ended     int `json:"ended"` // that were kept, those among them that have ended so just now
}

// Sum is how many that are.
func (c DestroyedCounts) Sum() int { return destroy.Counts(c).Sum() }

// DestroyReport is what has become of a queue that was to be destroyed.
type DestroyReport struct {
	DestroyedCounts
	// it is in no list of queues any more. It is false after a dry run, and where jobs were enqueued meanwhile: these
	// are in a queue of that name which has begun anew
	Forgotten bool `json:"forgotten"`
}

// DestroyQueue removes a queue with all that there is of it: jobs that wait, are scheduled, to be retried, stalled or
// dead, what is kept of those that have ended, its history and groups of errors, its pause, its limit, and its place in
// the lists. It cannot be undone; a DryRun counts what would go.
//
// First the queue is paused, so that nothing of it begins any more. Jobs that run are cancelled, since to spare them
// would leave a queue that is half there: DestroyQueue waits until their handlers have returned, or ctx ends. Whoever
// waits for a job learns that it was deleted or cancelled, and completion queues too. What is enqueued meanwhile goes
// as well, or stays in a queue that begins anew: see [DestroyReport]. What schedules enqueue comes again: remove them
// first. Workers that are there go on serving the name and keep the limit that their code declares, and list it
// again within minutes; so does one that is cut off, and one that comes back after it was taken for dead. Locks for a
// time stay until that is over.
//
// It goes in steps of at most 500 jobs, so that a queue of millions holds nobody up, and keeps no note of how far it
// is: after an error, or when the program has died, the queue has less in it and is paused; call it again. Two calls at
// a time do no harm. Of scheduled, retrying, stalled and dead jobs those of all names are looked at.
//
// A name of which nothing is known is no error. Partitions are gone through one after the other.
func (i *Inspector) DestroyQueue(ctx context.Context, name string, opts DestroyOptions) (DestroyReport, error) {
	if i.unusable != nil {
		return DestroyReport{}, i.unusable
	}
	if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
		return DestroyReport{}, err
	}
	of := i.everywhere(ctx)
	if err := i.ownQueue(ctx, name); err != nil {
		return DestroyReport{}, fmt.Errorf("queue %s was not destroyed: %w", excerpt.Brief(name), err)
	}
	if opts.DryRun {
		return gather(ctx, of, func(v *view, ctx context.Context) (DestroyReport, error) {
			counts, err := destroy.Count(ctx, v.store, name)
			if err != nil {
				err = fmt.Errorf("what is in queue %s cannot be counted: %w", excerpt.Brief(name), err)
			}
			return DestroyReport{DestroyedCounts: DestroyedCounts(counts)}, err
		}, (*DestroyReport).add)
	}
	all := DestroyReport{Forgotten: true}
	err := inTurn(ctx, of, func(v *view) error {
		one, err := v.destroy(ctx, name, all.DestroyedCounts, opts)
		all.add(one)
		return err
	})
	all.Forgotten = all.Forgotten && err == nil
	return all, err
}

func (r *DestroyReport) add(one DestroyReport) {
	r.DestroyedCounts.add(one.DestroyedCounts)
	r.Forgotten = r.Forgotten && one.Forgotten
}

func (c *DestroyedCounts) add(one DestroyedCounts) {
	c.Waiting += one.Waiting
	c.Running += one.Running
	c.Scheduled += one.Scheduled
	c.Retrying += one.Retrying
	c.Stalled += one.Stalled
	c.Dead += one.Dead
	c.Ended += one.Ended
}

// destroy removes what is in one partition. So much has gone before.
func (v *view) destroy(ctx context.Context, name string, before DestroyedCounts, opts DestroyOptions) (DestroyReport,
	error) {
	q := destroy.Queue{Store: v.store, Name: name, Wait: true}
	if opts.Progress != nil {
		q.Progress = func(c destroy.Counts) {
			sum := before
			sum.add(DestroyedCounts(c))
			opts.Progress(sum)
		}
	}
	counts, forgotten, err := q.Run(ctx)
	if err != nil {
		err = fmt.Errorf("queue %s was not destroyed to its end, and is paused: %w", excerpt.Brief(name), err)
	}
	return DestroyReport{DestroyedCounts(counts), forgotten}, err
}

// DestroyQueueAt has a queue destroyed at a time, in whole milliseconds, by whichever worker of the namespace does the
// maintenance then: within seconds, or as soon as there is a worker. What is in the queue by then goes, as by
// [Inspector.DestroyQueue]. Until it has begun, [Inspector.KeepQueue] calls it off; another call sets another date. One
// that has passed is at once. [QueueInfo.DestroyAt] tells of it. The error of a queue of which nothing is known is
// [ErrNoQueue].
//
// Workers of an earlier version know nothing of such dates: where only these run, nothing happens.
func (i *Inspector) DestroyQueueAt(ctx context.Context, name string, at time.Time) error {
	if at.UnixMilli() <= 0 || time.Until(at) > span.Longest {
		return &work.InvalidError{What: "the time of the destruction", Value: at.Format(time.RFC3339),
			Remedy: "use one after 1970 and at most 100 years ahead"}
	}
	if _, err := i.Queue(ctx, name); err != nil {
		return err
	}
	return each(ctx, i.served(ctx), func(v *view, ctx context.Context) error {
		if err := v.store.Doom(ctx, name, at); err != nil {
			return fmt.Errorf("queue %s has no date: %w", excerpt.Brief(name), err)
		}
		return nil
	})
}

// KeepQueue calls off what [Inspector.DestroyQueueAt] has ordered, and tells whether there was anything. One that has
// begun ends within about 10 s: what is gone by then is gone, and the queue stays paused, see [Inspector.ResumeQueue].
// It has begun where [QueueInfo.Paused] is set and nobody else has paused the queue or all queues.
func (i *Inspector) KeepQueue(ctx context.Context, name string) (bool, error) {
	if i.unusable != nil {
		return false, i.unusable
	}
	if err := inside.AsInvalid(invalid.JobName(name)); err != nil {
		return false, err
	}
	return gather(ctx, i.served(ctx), func(v *view, ctx context.Context) (bool, error) {
		had, err := v.store.Spare(ctx, name)
		if err != nil {
			return false, fmt.Errorf("the date of queue %s was not removed: %w", excerpt.Brief(name), err)
		}
		return had, nil
	}, func(any *bool, one bool) { *any = *any || one })
}

// doomed fills in when queues are to be destroyed.
func (v *view) doomed(ctx context.Context, infos []QueueInfo) error {
	dates, err := v.store.Doomed(ctx, rdb.AnyDate)
	for n := range infos {
		infos[n].DestroyAt = dates[infos[n].Name]
	}
	return err
}
