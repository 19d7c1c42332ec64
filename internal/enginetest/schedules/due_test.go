package schedules_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// sooner makes all that is scheduled due at once, in the order in which it stands.
func (k *kit) sooner(by time.Duration) {
	k.T.Helper()
	scores, err := redis.StringMap(k.Do("ZRANGE", "scheduled", 0, -1, "WITHSCORES"), nil)
	require.NoError(k.T, err)
	args := []any{"XX"}
	for id, score := range scores {
		due, err := strconv.ParseFloat(score, 64)
		require.NoError(k.T, err)
		args = append(args, strconv.FormatFloat(due-float64(by.Milliseconds()), 'f', -1, 64), id)
	}
	k.Do("ZADD", "scheduled", args...)
}

func TestJobsDueAtTheSameTimeRunInTheOrderOfTheirEnqueue(t *testing.T) {
	t.Parallel()
	ids := map[string]func(i int) []work.EnqueueOption{
		"ids of the enqueuer": func(int) []work.EnqueueOption { return nil },
		"ids that go down": func(i int) []work.EnqueueOption {
			return []work.EnqueueOption{work.ID(fmt.Sprintf("id-%04d", 9999-i))}
		},
		"both in turn": func(i int) []work.EnqueueOption {
			if i%3 > 0 {
				return nil
			}
			return []work.EnqueueOption{work.ID(strconv.Itoa(i * 7919 % 10007))}
		},
	}
	calls := map[string]struct{ jobs, size int }{
		"one by one":               {30, 1},
		"more than a page of them": {1100, 1100},
		"in calls of several":      {90, 9},
	}
	for how, optionsOf := range ids {
		for size, c := range calls {
			t.Run(how+", "+size, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					at := time.Now().Add(time.Hour).Truncate(time.Second)
					var entries []work.Entry
					for i := range c.jobs {
						entries = append(entries,
							work.Entry{Name: "later", Args: []any{i}, At: at, Options: optionsOf(i)})
					}
					for part := range slices.Chunk(entries, c.size) {
						_, err := k.Enq.EnqueueMany(k.Ctx(), part)
						require.NoError(t, err)
					}
					require.Equal(t, c.jobs, k.Number("ZCOUNT", "scheduled", at.UnixMilli(),
						fmt.Sprint("(", at.UnixMilli()+1)))
					k.sooner(2 * time.Hour)
					ran := make(chan int, c.jobs)
					pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
						Job("later", func(n int) error { ran <- n; return nil }))
					var order []int
					for range c.jobs {
						order = append(order, pooltest.Receive(t, ran))
					}
					require.NoError(t, pool.Drain(k.Ctx()))
					assert.True(t, slices.IsSorted(order), "%v", order[:30])
				})
			})
		}
	}
}

// Many jobs become due within one second, while others run: a pool moves them with rests, and one without, in one run.
// The short form looks whether all are moved, oldest first; that there are rests is shown by
// TestWhatIsDueLeavesHalfOfRedisToOthers. The long form, which WORK_DUE_LONG=1 switches on (WORK_DUE_JOBS is how many),
// has half a million, and looks what they leave to others.
func TestWhatIsDueAtOnceLeavesLiveJobsTheirShare(t *testing.T) {
	redistest.SkipUnderRace(t, "it measures Redis, and other tests move what is due")
	t.Run("redis", func(t *testing.T) {
		jobs, window, long := 20_000, 300*time.Millisecond, os.Getenv("WORK_DUE_LONG") == "1"
		if long {
			jobs, window = 500_000, 3*time.Second
			if n, err := strconv.Atoi(os.Getenv("WORK_DUE_JOBS")); err == nil {
				jobs = n
			}
		}
		figures := "| rests | when | live jobs per second | median wait | p99 | all moved after " +
			"|\n|---|---|--:|--:|--:|--:|\n"
		share, took := map[bool]float64{}, map[bool]time.Duration{}
		for _, rests := range []bool{false, true} {
			f := newDueFlood(t, jobs, rests)
			before := f.during(func() { backoff.Pause(t.Context(), window) })
			while := f.during(f.fallDue)
			after := f.during(func() { backoff.Pause(t.Context(), window) })
			f.end()
			f.oldestFirst()
			share[rests], took[rests] = 2*while.rate/(before.rate+after.rate), while.took
			for _, row := range []struct {
				name string
				livePart
			}{{"before", before}, {"while", while}, {"after", after}} {
				moved := ""
				if row.name == "while" {
					moved = row.took.Round(time.Millisecond).String()
				}
				figures += fmt.Sprintf("| %t | %s | %.0f | %.1f ms | %.1f ms | %s |\n", rests, row.name, row.rate,
					row.wait(50), row.wait(99), moved)
			}
		}
		t.Logf("%s due at once\n%s", redistest.Grouped(jobs), figures)
		t.Logf("share of live jobs: %.2f with rests, %.2f without", share[true], share[false])
		if long { // a short one is over before the machine has settled
			assert.Greater(t, took[true], took[false]*13/10, "the rests are there")
			assert.Greater(t, share[true], share[false]*1.2, "who rests leaves more to the others")
			assert.Greater(t, share[true], 0.35, "about half")
		}
	})
}

// dueFlood is a pool with live jobs, and a shelf that is put in its place all at once.
type dueFlood struct {
	t    *testing.T
	k    *kit
	jobs int

	ran, sent atomic.Int64
	mu        sync.Mutex
	waits     []float64 // ms, of probes
	stop      context.CancelFunc
	producers sync.WaitGroup
}

// livePart is what became of live jobs for some time.
type livePart struct {
	took  time.Duration
	rate  float64
	waits []float64
}

func (p livePart) wait(percent int) float64 {
	if len(p.waits) == 0 {
		return 0
	}
	slices.Sort(p.waits)
	return p.waits[len(p.waits)*percent/100]
}

func newDueFlood(t *testing.T, jobs int, rests bool) *dueFlood {
	k := newKit(t, redistest.Dedicated(t, "--save", "").Server())
	ctx, cancel := context.WithCancel(t.Context())
	f := &dueFlood{t: t, k: k, jobs: jobs, stop: cancel}
	f.fill()
	options := k.Options()
	options.Observers = nil
	live := work.NewWorkerPool(nil, 64, options).Job("live", func() error { f.ran.Add(1); return nil })
	probe := work.NewWorkerPool(nil, 4, options).Job("probe", func(sent int64) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waits = append(f.waits, float64(time.Now().UnixNano()-sent)/1e6)
		return nil
	})
	for _, pool := range []*work.WorkerPool{live, probe} {
		if !rests {
			pooltest.Times(pool).DueRest = 0
		}
		k.Start(pool)
	}
	f.producers.Go(func() { f.produce(ctx) })
	f.producers.Go(func() {
		for backoff.Pause(ctx, 2*time.Millisecond) {
			_, err := k.Enq.Enqueue(ctx, "probe", time.Now().UnixNano())
			assert.True(t, err == nil || ctx.Err() != nil, err)
		}
	})
	require.Eventually(t, func() bool { return f.ran.Load() > 20_000 }, pooltest.Patience, time.Millisecond,
		"live jobs run")
	return f
}

// fill makes a shelf aside, of jobs that nobody serves: they shall be moved, not run.
func (f *dueFlood) fill() {
	conn := f.dial()
	defer conn.Close()
	first := time.Now().UnixMilli() - 2000
	const page = 1000
	for from := 0; from < f.jobs; from += page {
		_, err := conn.Do("EVAL", `for i = ARGV[1] + 0, ARGV[1] + ARGV[2] - 1 do
  local id = string.format('%08d', i)
  redis.call('ZADD', KEYS[1], ARGV[3] + math.floor(i * 1000 / ARGV[4]), id)
  redis.call('HSET', KEYS[2], id, 'batch')
  redis.call('HSET', KEYS[3], id, '{"jid":"' .. id .. '","name":"batch","args":[],"t":1}')
end`, 3, f.key("aside"), f.key("names"), f.key("jobs"), from, min(page, f.jobs-from), first, f.jobs)
		require.NoError(f.t, err)
	}
}

func (f *dueFlood) key(name string) string { return "{" + f.k.Namespace + "}:" + name }

func (f *dueFlood) dial() redis.Conn {
	conn, err := redis.Dial("tcp", f.k.Server.Addr())
	require.NoError(f.t, err)
	return conn
}

// produce keeps some thousand live jobs waiting.
func (f *dueFlood) produce(ctx context.Context) {
	driver, err := redisconn.Open(f.k.Server.DSN())
	if !assert.NoError(f.t, err) {
		return
	}
	defer driver.Close() //lint:ignore errcheck nothing is lost
	store := rdb.NewStore(driver, f.k.Namespace)
	for call := int64(1); ctx.Err() == nil; {
		if f.sent.Load()-f.ran.Load() > 10_000 {
			backoff.Pause(ctx, time.Millisecond)
			continue
		}
		batch := make([]rdb.NewJob, rdb.MaxBatch)
		for i := range batch {
			id := ids.Job(time.Now())
			batch[i] = rdb.NewJob{Queue: "live", ID: id, Place: rdb.Back,
				Record: fmt.Appendf(nil, `{"jid":%q,"name":"live","args":[],"t":1}`, id)}
		}
		if _, err := store.Enqueue(ctx, "flood", call, batch); ctx.Err() == nil && assert.NoError(f.t, err) {
			f.sent.Add(rdb.MaxBatch)
		}
		call++
	}
}

// during measures what becomes of live jobs while something is done.
func (f *dueFlood) during(do func()) livePart {
	f.mu.Lock()
	f.waits = nil
	f.mu.Unlock()
	began, ran := time.Now(), f.ran.Load()
	do()
	took := time.Since(began)
	f.mu.Lock()
	defer f.mu.Unlock()
	return livePart{took: took, rate: float64(f.ran.Load()-ran) / took.Seconds(), waits: f.waits}
}

// fallDue has all of them due, and returns when none is left.
func (f *dueFlood) fallDue() {
	conn := f.dial()
	defer conn.Close()
	_, err := conn.Do("RENAME", f.key("aside"), f.key("scheduled"))
	require.NoError(f.t, err)
	f.k.Tell("control", "due")
	require.Eventually(f.t, func() bool {
		left, err := redis.Int(conn.Do("ZCARD", f.key("scheduled")))
		return err == nil && left == 0
	},
		10*pooltest.Patience, 5*time.Millisecond)
}

func (f *dueFlood) end() {
	f.stop()
	f.producers.Wait()
}

// oldestFirst checks that all have come to their queue in the order of their times: it is pushed at the left.
func (f *dueFlood) oldestFirst() {
	ids, err := redis.Strings(f.k.Do("LRANGE", "queue:batch", 0, -1), nil)
	require.NoError(f.t, err)
	require.Len(f.t, ids, f.jobs)
	slices.Reverse(ids)
	require.True(f.t, slices.IsSorted(ids))
}
