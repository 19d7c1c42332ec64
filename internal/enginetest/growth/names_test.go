package growth_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/deadworker"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// trips counts round trips, but for those that a pool makes all the time, whatever its names: they would count the time
// that a test takes. (Heartbeats and the wait for a token have connections of their own.)
type trips struct {
	redisconn.Driver
	made atomic.Int64
	mine atomic.Int64 // those of whoever has marked its ctx, without what the pool does beside it

	mu      sync.Mutex
	scripts int // ids that one call named at the most
}

// markOfTrips marks a ctx.
type markOfTrips struct{}

func (d *trips) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if ctx.Value(markOfTrips{}) != nil {
		d.mine.Add(1)
	}
	switch pooltest.NameOf(calls[0]) {
	case "fetch", "move_due", "tick", "MGET", "SMEMBERS":
	default:
		d.made.Add(1)
	}
	d.mu.Lock()
	for _, call := range calls {
		if call.Script != nil {
			d.scripts = max(d.scripts, len(call.Keys), len(call.Args))
		}
	}
	d.mu.Unlock()
	return d.Driver.Pipeline(ctx, calls...)
}

// manyNames is a namespace in which a pool serves so many names.
type manyNames struct {
	*kit
	names []string
	pool  *work.WorkerPool
	trips *trips
	store *rdb.Store
}

func newManyNames(t *testing.T, s redistest.Server, n int, opts work.JobOptions) *manyNames {
	m := &manyNames{kit: newKit(t, s), names: make([]string, n)}
	options := m.Options()
	options.Observers = nil
	driver, err := options.Connection.Driver()
	require.NoError(t, err)
	m.trips = &trips{Driver: driver}
	m.store, options.Connection = rdb.NewStore(m.trips, m.Namespace), pooltest.Connection{Of: m.trips}
	m.pool = work.NewWorkerPool(nil, 2, options)
	for i := range m.names {
		m.names[i] = fmt.Sprintf("job-%05d", i)
		m.pool.JobWithOptions(m.names[i], opts, func() error { return nil })
	}
	pooltest.Times(m.pool).Tidy = time.Hour // the janitor and others would count
	pooltest.Times(m.pool).ScaleLook = time.Hour
	return m
}

// counted is how many round trips it took.
func (m *manyNames) counted(do func()) int64 {
	before := m.trips.made.Load()
	do()
	return m.trips.made.Load() - before
}

// deed is something that is done about all names of a pool.
type deed struct {
	name string
	do   func(m *manyNames) error
}

// deeds are in the order in which they are done. All but the first and the last are done while the pool runs.
func deeds() []deed {
	dead := func(m *manyNames) *rdb.Worker {
		corpse := m.store.Worker(ids.Worker())
		_, _, err := corpse.Register(m.Ctx(), rdb.Registration{Life: time.Millisecond, Epoch: "x", Queues: m.names})
		require.NoError(m.T, err)
		m.Bury(corpse.ID)
		return corpse
	}
	inspect := func(m *manyNames) enginetest.ByHand { return m.HandsOn(m.store.Driver()) }
	read := func(what string) deed {
		return deed{"inspect " + what, func(m *manyNames) error { return inspect(m).ReadAll(m.Ctx(), what, m.names) }}
	}
	keeper := &limit.Keeper{RecountEvery: 1}
	return []deed{
		{"start", func(m *manyNames) error { return m.pool.Start(m.Ctx()) }},
		{"register again", func(m *manyNames) error { return pooltest.Parts(m.pool).Register(m.Ctx()) }},
		{"declare limits again", func(m *manyNames) error { return pooltest.Parts(m.pool).DeclareLimits(m.Ctx()) }},
		{"withdraw all", func(m *manyNames) error { return m.pool.Withdraw(m.Ctx(), m.names...) }},
		{"serve all", func(m *manyNames) error { return m.pool.Serve(m.Ctx(), m.names...) }},
		{"pause all names", func(m *manyNames) error { return inspect(m).PauseQueue(m.Ctx(), m.names...) }},
		{"resume all names", func(m *manyNames) error { return inspect(m).ResumeQueue(m.Ctx(), m.names...) }},
		{"drain", func(m *manyNames) error { return m.pool.Drain(m.Ctx()) }},
		{"pause and wait", func(m *manyNames) error { return inspect(m).PauseAndWait(m.Ctx(), m.names...) }},
		{"call workers", func(m *manyNames) error { return m.store.Wake(m.Ctx(), m.names) }},
		{"drop broken tokens", func(m *manyNames) error {
			_,
				err := m.store.DropBrokenTokens(m.Ctx(), m.names)
			return err
		}},
		{"take a dead worker apart", func(m *manyNames) error {
			c := &deadworker.Dead{Worker: m.store.Worker(dead(m).ID)}
			deadworker.PutBack(m.Ctx(), []*deadworker.Dead{c}, deadworker.Given{})
			return c.Err
		}},
		{"keep rules", func(m *manyNames) error { return keeper.Keep(m.Ctx(), m.store) }},
		{"renew queues", func(m *manyNames) error {
			j := maintain.NewJanitor(maintain.Env{Store: m.store}, maintain.JanitorOptions{})
			return j.AgreeIndexes(m.Ctx())
		}},
		read("queues"),
		read("limits"),
		read("workers"),
		read("history"),
		{"doctor", func(m *manyNames) error { _, err := inspect(m).Findings(m.Ctx(), time.Millisecond); return err }},
		{"stop", func(m *manyNames) error { return m.pool.Stop(m.Ctx()) }},
	}
}

// TestRoundTripsDoNotGrowWithNames counts what is sent, so that it is as true where a round trip takes 10 ms. What
// walks over a set, a hash or all names may read a part of a hundred names or more in each, one after the other. (All
// else has a few round trips more at the most, but the first chores of a pool, which walk, fall into any deed.) No
// script is given more names than a batch, with the five keys that a fetch has of each.
func TestRoundTripsDoNotGrowWithNames(t *testing.T) {
	t.Parallel()
	sizes := []int{10, 1_000}
	if os.Getenv("WORK_NAMES_LONG") == "1" {
		sizes = append(sizes, 10_000)
	}
	for name, opts := range map[string]work.JobOptions{"plain": {}, "limited": {Limit: work.Limit{Concurrent: 3}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				sizes := sizes
				if s.Embedded() != nil { // it is slow, and these are more than one script takes, too
					sizes = append([]int{10, 600}, sizes[2:]...)
				}
				var few map[string]int64
				for _, n := range sizes {
					made := map[string]int64{}
					m := newManyNames(t, s, n, opts)
					for _, deed := range deeds() {
						made[deed.name] = m.counted(func() {
							begun := time.Now()
							require.NoError(t, deed.do(m), "%s, %d names", deed.name, n)
							t.Logf("%6d names %-26s %s", n, deed.name, time.Since(begun).Round(time.Millisecond))
						})
					}
					assert.LessOrEqual(t, m.trips.scripts, 5*rdb.MaxBatch)
					if few == nil {
						few = made
						continue
					}
					for deed, trips := range made {
						most := few[deed] + 12 + int64(n)/50
						assert.LessOrEqual(t, trips, most, "%s: round trips for %d names; %d for %d", deed, n,
							few[deed], sizes[0])
					}
				}
			})
		})
	}
}

// longestError is what anybody has to read of an error.
const longestError = 8 << 10

// halfWay are the ways in which a pipeline of one script breaks after some of its calls.
func halfWay(script string) map[string]func(
	ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
) ([]redisconn.Reply, error) {
	type tamper = func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error)
	once := func(fault tamper) tamper {
		var met atomic.Bool
		return func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == script && len(calls) > 1 && met.CompareAndSwap(false, true) {
				return fault(ctx, pass, calls)
			}
			return pass(ctx, calls...)
		}
	}
	return map[string]tamper{
		"only the first call arrives": once(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			_, _ = pass(ctx, calls[0])
			return nil, pooltest.ErrLuck
		}),
		"the answer is lost": once(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			_, _ = pass(ctx, calls...)
			return nil, pooltest.ErrLuck
		}),
		"all but the first are refused": once(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls[0])
			for range calls[1:] {
				replies = append(replies,
					redisconn.Reply{Err: &redisconn.ServerError{Code: "LOADING", Message: "LOADING"}})
			}
			return replies, err
		}),
		"it is sent twice": once(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			_, _ = pass(ctx, calls...)
			return pass(ctx, calls...)
		}),
	}
}

// TestAWorkerThatIsKnownWithSomeOfItsNamesGoesOn: a worker whose names did not all come to Redis serves what is
// registered, and the rest once they have; jobs of the first and of the last name run, and a stop leaves nothing.
func TestAWorkerThatIsKnownWithSomeOfItsNamesGoesOn(t *testing.T) {
	t.Parallel()
	const names = rdb.MaxBatch + 7
	name := func(n int) string { return fmt.Sprintf("n%04d", n) }
	type step struct {
		script string
		// what makes the script come while the pool runs; nil: it comes with the start
		before func(k *kit, pool *work.WorkerPool)
	}
	for _, step := range redistest.Some([]step{
		{"register", nil},
		{"rule", nil},
		{"register", func(k *kit, pool *work.WorkerPool) { k.Do("SREM", "workers", pooltest.WorkerID(pool)) }},
		{"register", func(k *kit, _ *work.WorkerPool) { k.Unlink("epoch", "workers") }},
		{"serve", func(k *kit, pool *work.WorkerPool) {
			var all []string
			for n := range names {
				all = append(all, name(n))
			}
			_ = pool.Withdraw(k.Ctx(), all...)
			require.NoError(k.T, pool.Serve(k.Ctx(), all...))
		}},
	}) {
		for how := range halfWay("") {
			when := "at the start"
			if step.before != nil {
				when = "later"
			}
			t.Run(fmt.Sprintf("%s %s, %s", step.script, when, how), func(t *testing.T) {
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					ran := make(chan string, names)
					pool := work.NewWorkerPool(nil, 4, k.Options())
					pooltest.Times(pool).Undo = pooltest.Patience // a busy machine needs more than usual
					for n := range names {
						opts := work.JobOptions{}
						if step.script == "rule" {
							opts.Limit = work.Limit{Concurrent: 2}
						}
						pool.JobWithOptions(name(n), opts, func(_ context.Context, job *work.Job) error {
							ran <- job.Name
							return nil
						})
					}
					var broken atomic.Bool
					broken.Store(step.before == nil)
					fault := halfWay(step.script)[how]
					k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
						ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
					) ([]redisconn.Reply, error) {
						if broken.Load() {
							return fault(ctx, pass, calls)
						}
						return pass(ctx, calls...)
					}})
					if err := pool.Start(k.Ctx()); err != nil { // it may be started again
						assert.Less(t, len(err.Error()), longestError)
						assert.Zero(t, k.Number("SCARD", "workers"), "nothing is left of the first start")
						require.NoError(t, pool.Start(k.Ctx()))
					}
					if step.before != nil {
						broken.Store(true)
						step.before(k, pool)
					}
					k.Enqueue(name(0))
					k.Enqueue(name(names - 1))
					got := map[string]bool{pooltest.Receive(t, ran): true, pooltest.Receive(t, ran): true}
					assert.Equal(t, map[string]bool{name(0): true, name(names - 1): true}, got)
					k.Until("Redis lists all names",
						func() bool { return k.Number("SCARD", "worker:"+pooltest.WorkerID(pool)+":queues") == names })
					ctx, cancel := context.WithTimeout(context.Background(), pooltest.Patience)
					defer cancel()
					require.NoError(t, pool.Stop(ctx))
					assert.Zero(t, k.Number("SISMEMBER", "workers", pooltest.WorkerID(pool)))
					assert.Zero(t, k.Number("EXISTS", "worker:"+pooltest.WorkerID(pool)+":queues"))
				})
			})
		}
	}
}

// TestADeadWorkerOfThousandsOfNamesIsTakenApart in few round trips, with all that it held, in order.
func TestADeadWorkerOfThousandsOfNamesIsTakenApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const names, held, each = 2*rdb.MaxBatch + 7, 50, 3
		store := pooltest.StoreOf(k.Enq)
		victim := store.Worker(ids.Worker())
		var queues []string
		for n := range names {
			queues = append(queues, fmt.Sprintf("n%04d", n))
		}
		_, _, err := victim.Register(k.Ctx(), rdb.Registration{Life: time.Minute, Epoch: "x", Queues: queues})
		require.NoError(t, err)
		number, want := int64(0), map[string][]string{}
		for _, queue := range queues[names-held:] {
			for range each {
				want[queue] = append(want[queue], k.Enqueue(queue).ID)
			}
			number++
			fetched, err := victim.Fetch(k.Ctx(), number, each, false, []rdb.Share{{Queue: queue, Jobs: each}})
			require.NoError(t, err)
			require.Len(t, fetched.Jobs, each)
		}
		k.Bury(victim.ID)
		counting := &trips{Driver: store.Driver()}
		dead := &deadworker.Dead{Worker: rdb.NewStore(counting, k.Namespace).Worker(victim.ID)}
		deadworker.PutBack(k.Ctx(), []*deadworker.Dead{dead}, deadworker.Given{})
		require.NoError(t, dead.Err)
		assert.Equal(t, held*each, dead.Jobs)
		gone, err := dead.Forget(k.Ctx())
		require.NoError(t, err)
		assert.True(t, gone)
		assert.LessOrEqual(t, counting.made.Load(), int64(10))
		assert.Zero(t, k.Number("SCARD", "dead"))
		assert.Zero(t, k.Number("EXISTS", "worker:"+victim.ID+":queues"))
		for queue, ids := range want {
			assert.Equal(t, ids, k.InLine(queue))
		}
	})
}

// TestAPoolOfTenThousandNamesStartsAndStopsSoon prints how long it takes, on a real Redis, plain and with a limit for
// each name.
func TestAPoolOfTenThousandNamesStartsAndStopsSoon(t *testing.T) {
	if os.Getenv("WORK_NAMES_LONG") != "1" {
		t.Skip("make names-long")
	}
	server := redistest.Dedicated(t)
	for _, limit := range []work.Limit{{}, {Concurrent: 3}} {
		for _, n := range []int{10, 1_000, 10_000} {
			pool := work.NewWorkerPool(nil, 2,
				work.WorkerOptions{Redis: server.DSN(), Namespace: fmt.Sprint("n", n, limit.Concurrent),
					Logger: pooltest.Silent()})
			for i := range n {
				pool.JobWithOptions(fmt.Sprintf("job-%05d", i), work.JobOptions{Limit: limit},
					func() error { return nil })
			}
			begun := time.Now()
			err := pool.Start(t.Context())
			started := time.Since(begun)
			message := "it started"
			if err != nil {
				message = fmt.Sprintf("an error of %d bytes", len(err.Error()))
			}
			begun = time.Now()
			assert.NoError(t, pool.Stop(context.Background()))
			t.Logf("%6d names, limit %d: start %8s, stop %8s: %s", n, limit.Concurrent, started.Round(time.Millisecond),
				time.Since(begun).Round(time.Millisecond), message)
		}
	}
}
