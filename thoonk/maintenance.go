package thoonk

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Patience says when a claim is too old.
type Patience struct {
	MaxAge     time.Duration // of a claim, by Redis' clock; must be at least 1 ms, and longer than any job takes
	MaxCancels int           // a job that was cancelled so often is stalled; 0: never, negative: at its first lapse
}

// Maintained says what maintenance did.
type Maintained struct {
	Cancelled []string // jobs that wait again
	Stalled   []string
	Adopted   []string // jobs that stood nowhere: their worker died while it took them out
	Expired   int      // results whose time was over, and whose ids were removed off
}

// Maintain takes claims away that are too old: their jobs wait again, or are stalled. Any program may call it at any
// time, and several at once: a job comes back once. A job of another program that runs without a time of its claim gets
// the present one, and comes back one MaxAge later; so does one that stands nowhere, in no list and no claim, as
// released programs leave it that die while they take it out. In a feed of more than 10,000 jobs such ones are looked
// for when there are more items than places.
//
// Call it now and then, each MaxAge for instance: without it a job whose worker died stays claimed.
func (j *JobFeed[T, R]) Maintain(ctx context.Context, p Patience) (done Maintained, err error) {
	if p.MaxAge < time.Millisecond {
		return done, &FeedError{Feed: j.Name(),
			Err: fmt.Errorf("MaxAge %s is too short: use more than a job takes, at least 1ms", p.MaxAge)}
	}
	age := thoonkdb.Age{Max: p.MaxAge, Times: p.MaxCancels}
	switch {
	case p.MaxCancels == 0:
		age.Times = -1
	case p.MaxCancels < 0:
		age.Times = 0
	}
	err = j.change(ctx, func(ctx context.Context, known string, _ Config) error {
		waiting, stalled, err := j.db.ReclaimOverdue(ctx, known, age)
		done.Cancelled, done.Stalled = append(done.Cancelled, waiting...), append(done.Stalled, stalled...)
		return err
	})
	if err != nil {
		return done, err
	}
	err = j.change(ctx, func(ctx context.Context, known string, _ Config) error {
		adopted, err := j.db.Adopt(ctx, known)
		done.Adopted = append(done.Adopted, adopted...)
		return err
	})
	if err != nil {
		return done, err
	}
	err = j.read(ctx, func(ctx context.Context) error {
		if done.Expired, err = j.db.RemoveExpired(ctx); err != nil {
			return err
		}
		return j.db.ForgetPutTimes(ctx)
	})
	return done, err
}
