package waiting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

// completionWait is how long Redis is asked to wait for an entry at a time.
const completionWait = 5 * time.Second

// Queue reads one completion queue. All methods may be called concurrently.
type Queue struct {
	waiters *Waiters
	name    string
	lane    string
	taking  chan struct{} // has room for whoever takes: a lane has one call under way at a time
	number  int64         // of the next call; guarded by taking
}

// Queue returns a reader of a completion queue, which ends with the waiters. The lane is random, and of nobody else: in
// it calls are numbered, so that one that is made again takes no second entry.
func (w *Waiters) Queue(name, lane string) *Queue {
	return &Queue{waiters: w, name: name, lane: lane, taking: make(chan struct{}, 1), number: 1}
}

// Next waits until a job has ended, and takes its entry. When ctx ends the error is its cause, with what was wrong with
// Redis until then. A Redis that is away is waited for.
func (q *Queue) Next(ctx context.Context) (rdb.Collected, error) {
	life := q.waiters.life
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	var trouble error
	var failures backoff.Failures
	for {
		taken, err := q.take(within)
		if err == nil && taken.ID != "" {
			return taken, nil
		}
		if err == nil {
			err = q.wait(within)
		}
		switch {
		case life.Err() != nil:
			return rdb.Collected{}, q.failed(excerpt.Error(context.Cause(life)))
		case within.Err() != nil:
			return rdb.Collected{}, q.failed(retry.JoinCause(context.Cause(within), trouble))
		case err == nil:
			failures, trouble = 0, nil
			continue
		case !retry.Classify(err).Again && !redisconn.ConcernsServer(err):
			return rdb.Collected{}, q.failed(err)
		}
		trouble = err
		failures.Pause(within)
	}
}

func (q *Queue) failed(err error) error {
	return fmt.Errorf("completion queue %s: %w", excerpt.Brief(q.name), err)
}

// take takes one entry if there is one. A call that was not answered is made again with the same number, if need be by
// the next caller: so its entry is not lost.
func (q *Queue) take(ctx context.Context) (rdb.Collected, error) {
	select {
	case q.taking <- struct{}{}:
	case <-ctx.Done():
		return rdb.Collected{}, ctx.Err()
	}
	defer func() { <-q.taking }()
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	taken, err := q.waiters.store.Collect(ctx, q.name, q.lane, q.number)
	var strange *redisconn.UnexpectedReplyError
	if err == nil && taken.ID != "" || errors.As(err, &strange) { // what cannot be read is told once
		q.number++
	}
	return taken, err
}

// wait returns when there may be an entry. A Redis that is full refuses to wait; it is asked about as often.
func (q *Queue) wait(ctx context.Context) error {
	conn, err := q.waiters.store.Driver().Dial(ctx)
	if err != nil {
		return err
	}
	err = q.waiters.store.WaitForCompletion(ctx, conn, q.name, completionWait)
	return excerpt.Join(err, conn.Close())
}
