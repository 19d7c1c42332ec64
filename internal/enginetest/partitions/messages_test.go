package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// asking is a pool with a job that does a step, waits for a message and does another one. It tells what was done.
func (d *divided) asking() (pool *work.WorkerPool, told chan string) {
	told = make(chan string, 100)
	return work.NewWorkerPool(nil, 3, d.Options()).Job("load", func(ctx context.Context, job *work.Job, _ int) error {
		_, err := work.Step(ctx, "begin", func(context.Context) (int, error) {
			told <- job.ID + " begins"
			return 1, nil
		})
		if err != nil {
			return err
		}
		message, err := work.Receive[string](ctx, "go")
		if err != nil {
			return err
		}
		told <- job.ID + " " + message
		return nil
	}), told
}

// waits returns when a job waits, and what it has told.
func (d *divided) waits(id string, told chan string) {
	d.T.Helper()
	require.Equal(d.T, id+" begins", pooltest.Receive(d.T, told))
	e := pooltest.Await(d.T, d.Spy, pooltest.OfJob[event.JobSnoozed](id))
	require.ErrorIs(d.T, e.Err, work.ErrWaiting)
}

// looking is an enqueuer, and what tells that it has looked once whether a partition has a job.
func (d *divided) looking() (enq *work.Enqueuer, looked chan struct{}) {
	d.T.Helper()
	looked = make(chan struct{}, 1)
	enq, err := work.NewEnqueuer("", work.Namespace(d.Namespace), work.WithConnection(d.Interfering(
		func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "HEXISTS" {
				select {
				case looked <- struct{}{}:
				default:
				}
			}
			return replies, err
		})))
	require.NoError(d.T, err)
	d.T.Cleanup(func() { _ = enq.Close() })
	return enq, looked
}

// noSteps looks whether nothing is left of steps and mailboxes in any partition.
func (d *divided) noSteps(ids ...string) {
	d.T.Helper()
	for i := range d.m.Len() {
		for _, id := range ids {
			for _, key := range []string{"steps:", "mail:"} {
				left, err := redisconn.Do(d.Ctx(), d.store(i).Driver(), redisconn.Call{Command: "EXISTS",
					Args: []any{d.store(i).FullName(key + id)}})
				require.NoError(d.T, err)
				assert.Equal(d.T, int64(0), left, "%s%s in partition %d", key, id, i)
			}
		}
	}
}

// TestMessagesFindJobsInEachPartition, sent from outside, or by the handler of a job in another one.
func TestMessagesFindJobsInEachPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		pool, told := d.asking()
		pool.Job("tell", func(ctx context.Context, to []string) (err error) {
			for _, id := range to {
				err = errors.Join(err, work.Send(ctx, work.EnqueuerFromContext(ctx), id, "go", "by a job"))
			}
			return err
		})
		d.Start(pool)
		var ids []string
		for i := range 3 {
			d.fill(i, "load", 1)
			ids = append(ids, fmt.Sprintf("job-%d", d.given))
			d.waits(ids[i], told)
		}
		require.NoError(t, work.Send(d.Ctx(), d.Enq, ids[2], "go", "from outside"))
		assert.Equal(t, ids[2]+" from outside", pooltest.Receive(t, told))
		d.Enqueue("tell", ids[:2])
		assert.ElementsMatch(t, []string{ids[0] + " by a job", ids[1] + " by a job"},
			[]string{pooltest.Receive(t, told), pooltest.Receive(t, told)})
		d.Drained(pool)
		assert.Empty(t, told, "no step was done twice")
		d.noSteps(ids...)
		require.ErrorIs(t, work.Send(d.Ctx(), d.Enq, ids[0], "go", "late"), work.ErrNotFound)
	})
}

// TestAMessageFollowsAJobToItsPartition: one that came before the move goes along, and one that is sent meanwhile waits
// until it has arrived. What the job has done is known there.
func TestAMessageFollowsAJobToItsPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		for _, when := range []string{"before", "meanwhile", "after"} {
			d := newDivided(t, s, 3)
			pool, told := d.asking()
			d.Start(pool)
			d.fill(1, "load", 1)
			id := fmt.Sprintf("job-%d", d.given)
			d.waits(id, told)
			if when == "before" {
				require.NoError(t, work.Send(d.Ctx(), d.Enq, id, "other", "is not asked for"))
			}
			arrives := d.moves(1, 2, "load", id)
			sent := make(chan error, 1)
			if when == "meanwhile" {
				enq, looked := d.looking()
				go func() { sent <- work.Send(d.Ctx(), enq, id, "go", when) }()
				pooltest.Receive(t, looked)
			}
			arrives()
			if when != "meanwhile" {
				sent <- work.Send(d.Ctx(), d.Enq, id, "go", when)
			}
			require.NoError(t, pooltest.Receive(t, sent), when)
			assert.Equal(t, id+" "+when, pooltest.Receive(t, told))
			d.Drained(pool)
			assert.Empty(t, told, "no step was done twice")
			d.noSteps(id)
		}
	})
}
