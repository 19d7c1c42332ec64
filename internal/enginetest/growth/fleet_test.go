package growth_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/subscription"
)

// scale weighs what goes to Redis and comes back: keys, arguments, and elements of replies.
type scale struct{ weight, waitedFor atomic.Int64 }

func (s *scale) tamper(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	for _, call := range calls {
		if pooltest.NameOf(call) == "BLPOP" {
			s.waitedFor.Add(int64(len(call.Args) - 1))
		}
		s.weight.Add(int64(len(call.Keys) + len(call.Args)))
	}
	replies, err := pass(ctx, calls...)
	for _, reply := range replies {
		s.weight.Add(elementsOf(reply.Value))
	}
	return replies, err
}

func elementsOf(value any) (n int64) {
	list, is := value.([]any)
	if !is {
		return 1
	}
	for _, element := range list {
		n += elementsOf(element)
	}
	return n
}

// TestWhatAWorkerSendsDoesNotGrowWithTheFleet: were each worker to look after all others, the fleet would cost its
// square.
func TestWhatAWorkerSendsDoesNotGrowWithTheFleet(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it counts what goes to Redis, which is the same")
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		perBeat := func(others int) float64 {
			k := newKit(t, s)
			scales, drivers := make([]scale, 4), []*pooltest.Tampered{}
			for i := range scales {
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job(fmt.Sprint("n", i), func() error { return nil })
				drivers = append(drivers, k.TamperWith(pool, &pooltest.Tampered{Tamper: scales[i].tamper}))
				k.Start(pool)
			}
			neighbours(k, others)
			pooltest.UntilEachSent(t, drivers, "beat", 1)
			weight, sent := make([]int64, len(scales)), make([]int, len(scales))
			for i, d := range drivers {
				weight[i] = scales[i].weight.Load()
				sent[i], _ = d.Sent("beat")
			}
			pooltest.UntilEachSent(t, drivers, "beat", 3)
			var each []float64
			for i, d := range drivers {
				beats, _ := d.Sent("beat")
				each = append(each, float64(scales[i].weight.Load()-weight[i])/float64(beats-sent[i]))
			}
			assert.Zero(t, pooltest.Count[event.WorkerReaped](k.Spy))
			// two of them watch the others, and ask about those whose heartbeats last longer than usual
			return slices.Min(each)
		}
		few, many := perBeat(20), perBeat(240)
		t.Logf("%.0f keys, arguments and elements for each heartbeat among 20 others, %.0f among 240", few, many)
		assert.Less(t, many, 2*few)
	})
}

// neighbours registers so many other workers, which are alive for as long as the test lasts.
func neighbours(k *kit, many int) {
	driver, err := redisconn.Open(k.Server.DSN())
	require.NoError(k.T, err)
	k.T.Cleanup(func() { _ = driver.Close() })
	store := rdb.NewStore(driver, k.Namespace)
	for range many {
		_, _, err := store.Worker(ids.Random(rdb.MinWorkerID/2)).
			Register(k.Ctx(), rdb.Registration{Life: time.Minute, Queues: []string{"theirs"}})
		require.NoError(k.T, err)
	}
}

// TestAnIdleWaitDoesNotGrowWithTheNames: to begin and end a wait costs Redis as much as it has names.
func TestAnIdleWaitDoesNotGrowWithTheNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		waitedFor := func(names int) int64 {
			k := newKit(t, s)
			pool := work.NewWorkerPool(nil, 1, k.Options())
			for i := range names {
				pool.Job(fmt.Sprint("n", i), func() error { return nil })
			}
			var weighed scale
			d := k.TamperWith(pool, &pooltest.Tampered{Tamper: weighed.tamper})
			k.Start(pool)
			require.Eventually(t, func() bool { return weighed.waitedFor.Load() >= int64(names) }, pooltest.Patience,
				time.Millisecond)
			before := weighed.waitedFor.Load()
			d.UntilSent(t, "beat", 4)
			return weighed.waitedFor.Load() - before
		}
		few, many := waitedFor(10), waitedFor(400)
		assert.LessOrEqual(t, many, few+400/2, "names sent within four heartbeats, of 400 instead of %d of 10", few)
	})
}

// TestCallsInAPoolOfManyNamesCostLittle: a wait for all names after each job would cost Redis more than the jobs. A
// name that has not called for long is heard all the same.
func TestCallsInAPoolOfManyNamesCostLittle(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const names, jobs = 1_000, 40
		k := newKit(t, s)
		ran := make(chan string, 1)
		pool := work.NewWorkerPool(nil, 2, k.Options())
		for i := range names {
			pool.Job(fmt.Sprint("n", i), func(job *work.Job) error { ran <- job.Name; return nil })
		}
		var weighed scale
		k.TamperWith(pool, &pooltest.Tampered{Tamper: weighed.tamper})
		k.Start(pool)
		require.Eventually(t, func() bool { return weighed.waitedFor.Load() >= names }, pooltest.Patience,
			time.Millisecond)
		begun, before := time.Now(), weighed.waitedFor.Load()
		var waits []time.Duration
		for i := range jobs {
			enqueued := time.Now()
			k.Enqueue("n1")
			assert.Equal(t, "n1", pooltest.Receive(t, ran))
			waits = append(waits, time.Since(enqueued))
			if i%10 == 9 {
				k.Enqueue(fmt.Sprint("n", 100+i))
				assert.Equal(t, fmt.Sprint("n", 100+i), pooltest.Receive(t, ran))
			}
		}
		sent, elapsed := weighed.waitedFor.Load()-before, time.Since(begun)
		slices.Sort(waits)
		assert.Less(t, waits[jobs/2], liveness.Interval/4, "what called before is heard at once")
		perSecond := 10_000.0 // a wait for all names is sent every 100 µs of each
		assert.Less(t, float64(sent), 2*names+perSecond*elapsed.Seconds()+50*jobs, "names waited for in %s", elapsed)
	})
}

// TestIdleWorkersOfAFleetSpareHeartbeats: those that hold jobs, and those that look after the others, send all of them.
func TestIdleWorkersOfAFleetSpareHeartbeats(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const beats, fleet = 6, 30
		while := func(others int) (idle, busy, watching int) {
			k := newKit(t, s)
			neighbours(k, others)
			leave, entered := make(chan struct{}), make(chan struct{})
			join := func(opts work.WorkerOptions, name string) *pooltest.Tampered {
				pool := work.NewWorkerPool(nil, 1, opts).Job(name, func() error { close(entered); <-leave; return nil })
				pooltest.Times(pool).Fleet = fleet
				d := k.TamperWith(pool, &pooltest.Tampered{})
				k.Start(pool)
				return d
			}
			first, second := join(k.Options(), "a"), join(k.Options(), "b")
			pooltest.UntilEachSent(t, []*pooltest.Tampered{first, second}, "beat", 1) // they have their places
			idler, worker := join(k.Options(), "c"), join(k.Options(), "d")
			t.Cleanup(func() { close(leave) })
			k.Enqueue("d")
			pooltest.Receive(t, entered)
			since := func(d *pooltest.Tampered) func() int {
				before, _ := d.Sent("beat")
				return func() int { now, _ := d.Sent("beat"); return now - before }
			}
			ofIdler, ofFirst, ofWorker := since(idler), since(first), since(worker)
			worker.UntilSent(t, "beat", beats)
			return ofIdler(), ofWorker(), ofFirst()
		}
		idle, busy, watching := while(fleet)
		assert.Less(t, idle, busy-2, "of %d idle ones were sent", idle)
		assert.Greater(t, watching, busy-3)
		idle, busy, _ = while(5)
		assert.Greater(t, idle, busy-3)
	})
}

// A worker whose heartbeat is left out sends it as soon as it gets a job: its jobs are missed no later than those of
// others.
func TestASparedHeartbeatIsSentOnceThereIsAJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const fleet, rounds = 30, 9
		k := newKit(t, s)
		neighbours(k, fleet)
		watchers := []*pooltest.Tampered{}
		for _, name := range []string{"a", "b"} {
			pool := work.NewWorkerPool(nil, 1, k.Options()).Job(name, pooltest.Nothing)
			watchers = append(watchers, k.TamperWith(pool, &pooltest.Tampered{}))
			k.Start(pool)
		}
		pooltest.UntilEachSent(t, watchers, "beat", 1) // they have the two places
		opts := k.Options()
		opts.HeartbeatLife = 2 * time.Second
		ran := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, opts).Job("n", func() error { <-ran; return nil })
		pooltest.Times(pool).Fleet = fleet
		k.Start(pool)
		spared := func() bool { return pooltest.Parts(pool).Spared }
		var took []time.Duration
		for range rounds {
			require.Eventually(t, spared, pooltest.Patience, time.Millisecond)
			begun := time.Now()
			k.Enqueue("n")
			require.Eventually(t, func() bool { return !spared() }, pooltest.Patience, time.Millisecond)
			took = append(took, time.Since(begun))
			ran <- struct{}{}
		}
		slices.Sort(took)
		assert.Less(t, took[rounds/2], opts.HeartbeatLife/3/2, "%v", took)
	})
}

// What waits of a name that was withdrawn is for others: its token does not come back to who gave it on, again and
// again.
func TestTokensOfAWithdrawnNameDoNotGoRoundInCircles(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const names, jobs = subscription.FewNames + 50, 30
		k := newKit(t, s)
		ran := make(chan string, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options())
		for i := range names {
			pool.Job(fmt.Sprint("n", i), func(job *work.Job) error { ran <- job.Name; return nil })
		}
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		for range 3 { // it is one of those that called lately
			k.Enqueue("n5")
			pooltest.Receive(t, ran)
		}
		require.NoError(t, pool.Withdraw(k.Ctx(), "n5"))
		k.Enqueue("n5")
		before, _ := d.Sent("wake")
		waits, _ := d.Sent("BLPOP")
		for range jobs {
			k.Enqueue("n1")
			assert.Equal(t, "n1", pooltest.Receive(t, ran))
		}
		d.UntilSent(t, "beat", 2)
		after, _ := d.Sent("wake")
		waited, _ := d.Sent("BLPOP")
		assert.Less(t, after-before, 2*jobs)
		assert.Less(t, waited-waits, 5*jobs)
	})
}

// TestRoundTripsDoNotGrowWithSchedules counts only what is done itself: the one that enqueues what is periodic reads
// all schedules again when it hears that some have changed.
func TestRoundTripsDoNotGrowWithSchedules(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		few, many := tripsOfSchedules(t, s, 10), tripsOfSchedules(t, s, 1_000)
		for deed, trips := range many {
			assert.LessOrEqual(t, trips, few[deed]+22, "%s: round trips for 1,000 schedules; %d for 10", deed,
				few[deed])
		}
	})
}

func tripsOfSchedules(t *testing.T, s redistest.Server, n int) map[string]int64 {
	m := newManyNames(t, s, n, work.JobOptions{})
	for _, name := range m.names {
		m.pool.Periodic("0 0 29 2 *", name)
	}
	ctx, made := context.WithValue(m.Ctx(), markOfTrips{}, true), map[string]int64{}
	do := func(deed string, do func(context.Context) error) {
		before := m.trips.mine.Load()
		require.NoError(t, do(ctx), deed)
		made[deed] = m.trips.mine.Load() - before
	}
	stored := func(many int, what string) { assert.EqualValues(t, many, m.Number("HLEN", "schedules"), what) }

	do("start", m.pool.Start)
	stored(n, "start")
	d := pooltest.Parts(m.pool).Declared()
	do("declare again", d.Declare)
	m.Do("UNLINK", "schedules")
	do("restore", d.Restore)
	stored(n, "restore")
	for i := range d.Schedules {
		d.Schedules[i].Definition.Spec = "0 1 29 2 *"
	}
	do("declare otherwise", d.Declare)
	before := d.Schedules[n-1].Definition
	before.Service = d.Service
	assert.Equal(t, string(before.Text()), m.Text("HGET", "schedules", d.Schedules[n-1].ID))
	m.Do("HDEL", "worker:"+pooltest.WorkerID(m.pool)+":info", "schedules")
	d.Schedules = nil
	do("withdraw", func(ctx context.Context) error {
		pending, err := d.Withdraw(ctx)
		assert.False(t, pending)
		return err
	})
	stored(0, "withdraw")
	require.NoError(t, m.pool.Stop(m.Ctx()))
	return made
}
