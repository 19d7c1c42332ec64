package pools_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// mixed is a pool whose jobs succeed ("good"), fail and are tried again ("bad"), and die of an error ("worse").
func (k *kit) mixed() *work.WorkerPool {
	return work.NewWorkerPool(nil, 2, k.Options()).
		Job("good", pooltest.Nothing).
		JobWithOptions("bad", work.JobOptions{Backoff: pooltest.Hourly}, func() error { return errors.New("bad") }).
		Job("worse", func() error { return work.Bury(errors.New("worse")) })
}

// ranMixed are the counts of a pool that is mixed, after one job of each name and one more that is good.
var ranMixed = []inspect.NameCounts{
	{Name: "good", AttemptCounts: inspect.AttemptCounts{Done: 2}},
	{Name: "bad", AttemptCounts: inspect.AttemptCounts{Failed: 1}},
	{Name: "worse", AttemptCounts: inspect.AttemptCounts{Failed: 1, Dead: 1}},
}

func (k *kit) runMixed() {
	for _, name := range []string{"good", "bad", "worse", "good"} {
		k.Enqueue(name)
	}
	k.Until("all have run", func() bool { // the queue is asked first: what has left it is claimed, until it has ended
		return k.Number("LLEN", "queue:good") == 0 && k.Number("HLEN", "claimed") == 0 &&
			k.Number("ZCARD", "retry") == 1 && k.Number("ZCARD", "morgue") == 1
	})
}

// listed is the only worker that is listed as stopped, and was the worker of that id.
func (k *kit) listed(id string) inspect.StoppedWorker {
	k.T.Helper()
	list, err := k.Inspector().StoppedWorkers(k.Ctx(), 0)
	require.NoError(k.T, err)
	require.Len(k.T, list, 1)
	w := list[0]
	assert.Equal(k.T, id, w.ID)
	assert.Equal(k.T, os.Getpid(), w.PID)
	assert.NotEmpty(k.T, w.Host+w.Go)
	assert.WithinDuration(k.T, time.Now(), w.Ended, time.Hour)
	assert.False(k.T, w.Ended.Before(w.Started.Add(-time.Minute)))
	return w
}

func TestAWorkerThatStopsStaysListed(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		why  string
		stop func(k *kit, pool *work.WorkerPool, id string) error
	}{
		"its program stops it": {inspect.WorkerStopped, func(k *kit, pool *work.WorkerPool, _ string) error {
			return k.Stop(pool)
		}},
		"the answer is lost": {inspect.WorkerStopped, func(k *kit, pool *work.WorkerPool, _ string) error {
			assert.ErrorContains(k.T, k.Stop(pool), "could not be removed", "as far as it knows")
			return nil
		}},
		"an operator stops it": {inspect.WorkerStoppedByOrder, func(k *kit, pool *work.WorkerPool, id string) error {
			stopping := pooltest.UntilStopping(pool)
			require.NoError(k.T, k.Inspector().StopWorker(k.Ctx(), id))
			<-stopping
			return k.Stop(pool)
		}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := k.mixed()
				if name == "the answer is lost" {
					k.LoseReplies(pool, "forget", func(int) bool { return true })
				}
				require.NoError(t, pool.Start(k.Ctx()))
				id := pooltest.WorkerID(pool)
				k.runMixed()
				require.NoError(t, row.stop(k, pool, id))
				w := k.listed(id)
				assert.Equal(t, row.why, w.Why)
				assert.Equal(t, inspect.AttemptCounts{Done: 2, Failed: 2, Dead: 1}, w.Ran)
				assert.Equal(t, ranMixed, w.Names)
				assert.Zero(t, w.Held)
			})
		})
	}
}

// What a worker ran that was killed is known from its heartbeats, and what it held from those that took it back.
func TestAWorkerThatDiesStaysListed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		victim := k.mixed().Job("held", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		k.Start(victim)
		id := pooltest.WorkerID(victim)
		k.runMixed()
		held := pooltest.IdsOf([]work.Receipt{k.Enqueue("held"), k.Enqueue("held")})
		k.Until("it holds them", func() bool { return k.Number("HLEN", "claimed") == 2 })
		want := `{"done":2,"failed":2,"dead":1,"names":[{"name":"good","done":2},` +
			`{"name":"bad","failed":1},{"name":"worse","failed":1,"dead":1}]}`
		k.Until("its heartbeat has told", func() bool { return k.Text("HGET", "worker:"+id+":info", "ran") == want })
		k.Crash(victim)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", pooltest.Nothing))
		k.Until("it is taken apart", func() bool { return k.Number("ZCARD", "stopped") == 1 })
		w := k.listed(id)
		assert.Equal(t, inspect.WorkerDied, w.Why)
		assert.Equal(t, ranMixed, w.Names)
		assert.Equal(t, 2, w.Held)
		assert.ElementsMatch(t, []inspect.HeldJob{{ID: held[0], Name: "held"}, {ID: held[1], Name: "held"}}, w.HeldJobs)
	})
}

// TestAFencedWorkerIsListedUnderTheIDThatItHad, and what it runs under the next one is told of that.
func TestAFencedWorkerIsListedUnderTheIDThatItHad(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.mixed()
		k.Start(pool)
		former := pooltest.WorkerID(pool)
		k.runMixed()
		k.Until("its heartbeat has told", func() bool { return k.Text("HGET", "worker:"+former+":info", "ran") != "" })
		require.Equal(t, 1, k.Number("SREM", "workers", former)) // as a reaper does that is wrong
		require.Equal(t, 1, k.Number("SADD", "dead", former))
		next := pooltest.Await[event.WorkerFenced](t, k.Spy, nil).Next
		k.Until("the former one is taken apart", func() bool { return k.Number("SCARD", "dead") == 0 })
		list := func() []inspect.StoppedWorker {
			workers, err := k.Inspector().StoppedWorkers(k.Ctx(), 10)
			require.NoError(t, err)
			return workers
		}
		k.Until("it is known to live", func() bool { return list()[0].Why == inspect.WorkerFenced })
		assert.Positive(t, k.listed(former).Ran.Done)
		k.Enqueue("good")
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, k.Stop(pool))
		both := list()
		require.Len(t, both, 2)
		assert.Equal(t, []string{next, inspect.WorkerStopped}, []string{both[0].ID, both[0].Why})
		want := []inspect.NameCounts{{Name: "good", AttemptCounts: inspect.AttemptCounts{Done: 1}}}
		assert.Equal(t, want, both[0].Names)
	})
}
