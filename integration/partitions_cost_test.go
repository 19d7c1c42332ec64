package integration

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/goredis" // the DSN of a cluster
	"github.com/265d0351/work/internal/redistest"
)

// How much is measured of each number of partitions.
const (
	costJobs    = 200_000
	costCallers = 128
	costPickups = 200
	costIdle    = 5 * time.Second
	costRest    = 2 * time.Second
	costRounds  = 3
)

// TestWhatPartitionsCost measures what each partition more costs Redis, on a server each and on one for all, and writes
// the figures into the file that WORK_PARTITIONS_FIGURES names. It lasts minutes, so WORK_PARTITIONS_LONG=1 switches it
// on. What one partition costs beside none at all is no question of this: there the commands are the same.
func TestWhatPartitionsCost(t *testing.T) {
	if os.Getenv("WORK_PARTITIONS_LONG") != "1" {
		t.Skip("it lasts minutes: make partitions")
	}
	figures := fmt.Sprintf("Measured %s by `make partitions` on %d cores, %s/%s; medians of %d rounds.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, costRounds)
	figures += "| partitions | enqueue in bulk: CPU, commands a job | 128 callers: jobs a call | " +
		"work: CPU, commands a job, jobs a fetch | bytes a job | pick-up, median | " +
		"an idle pool: requests a second, connections | servers alone: CPU a second |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|\n"
	rounds := map[partitionRow][]cost{}
	for range costRounds { // one after the other, so that what else the machine does is in all rows
		for _, row := range partitionRows {
			rounds[row] = append(rounds[row], measureCost(t, row))
		}
	}
	for _, row := range partitionRows {
		figures += row.line(rounds[row])
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_PARTITIONS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "partitions", figures)
	}
}

// partitionRow is a number of partitions, on that many servers or on one.
type partitionRow struct {
	partitions int
	own        bool
}

var partitionRows = []partitionRow{{1, false}, {2, false}, {4, false}, {16, false}, {1, true}, {2, true}, {4, true},
	{16, true}}

// cost is what was measured in one round. What servers use when nobody asks them anything, each for its clock and for
// the other nodes of its cluster, is in no CPU of a job: it grows with servers and time, and not with jobs.
type cost struct {
	rest                       time.Duration // of all servers, in a second
	bulkCPU, workCPU           time.Duration // a job
	bulkCommands, workCommands float64       // a job
	batch, fetch               float64       // jobs of a call
	pickup                     time.Duration
	idle                       float64 // requests a second
	bytes                      float64 // a job, stored and worked
	connections                float64
}

func (r partitionRow) line(rounds []cost) string {
	where := "on one server"
	if r.own {
		where = "on a server each"
	}
	return fmt.Sprintf("| %d %s | %.1f us, %.2f | %.1f | %.1f us, %.2f, %.0f | %.0f | %s | %.1f, %.0f | %.1f ms |\n",
		r.partitions, where,
		micros(middle(rounds, func(c cost) time.Duration { return c.bulkCPU })),
		middle(rounds, func(c cost) float64 { return c.bulkCommands }),
		middle(rounds, func(c cost) float64 { return c.batch }),
		micros(middle(rounds, func(c cost) time.Duration { return c.workCPU })),
		middle(rounds, func(c cost) float64 { return c.workCommands }),
		middle(rounds, func(c cost) float64 { return c.fetch }),
		middle(rounds, func(c cost) float64 { return c.bytes }),
		middle(rounds, func(c cost) time.Duration { return c.pickup }).Round(10*time.Microsecond),
		middle(rounds, func(c cost) float64 { return c.idle }),
		middle(rounds, func(c cost) float64 { return c.connections }),
		micros(middle(rounds, func(c cost) time.Duration { return c.rest }))/1000)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func middle[V time.Duration | float64](rounds []cost, of func(cost) V) V {
	var values []V
	for _, c := range rounds {
		values = append(values, of(c))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measureCost measures one number of partitions.
func measureCost(t *testing.T, row partitionRow) (c cost) {
	t.Helper()
	t.Run(fmt.Sprintf("%d own %v", row.partitions, row.own), func(t *testing.T) {
		b := newPartitionBench(t, row)
		b.rest(&c)
		b.bulk(&c)
		b.work(&c)
		b.together(&c)
		b.work(nil)
		b.pool(&c)
	})
	return c
}

// partitionBench is a namespace that is measured.
type partitionBench struct {
	t         *testing.T
	on        divided
	namespace string
	enq       *work.Enqueuer
}

func newPartitionBench(t *testing.T, row partitionRow) *partitionBench {
	t.Helper()
	b := &partitionBench{t: t, namespace: "shop"}
	if row.own {
		b.on = onOwn(t, b.namespace, row.partitions)
	} else {
		b.on = onOne(t, b.namespace, row.partitions)
	}
	var err error
	b.enq, err = work.NewEnqueuer(b.on.dsn, work.Namespace(b.namespace), work.EnqueueTimeout(patience))
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.enq.Close() })
	_, err = b.enq.Enqueue(t.Context(), "none") // the map is known
	require.NoError(t, err)
	b.work(nil)
	return b
}

// rest measures what the servers use by themselves.
func (b *partitionBench) rest(c *cost) {
	b.t.Helper()
	before := b.on.used(b.t)
	<-time.After(costRest) // so long is measured
	c.rest = b.on.used(b.t).since(before).cpu / time.Duration(costRest/time.Second)
}

// busy is what jobs have cost beyond that, in so long a time.
func (c *cost) busy(spent used, took time.Duration) time.Duration {
	return spent.cpu - time.Duration(float64(c.rest)*took.Seconds())
}

// bulk enqueues in calls of a thousand.
func (b *partitionBench) bulk(c *cost) {
	b.t.Helper()
	entries := slices.Repeat([]work.Entry{{Name: "none"}}, 1000)
	before, began := b.on.used(b.t), time.Now()
	for range costJobs / len(entries) {
		_, err := b.enq.EnqueueMany(b.t.Context(), entries)
		require.NoError(b.t, err)
	}
	spent := b.on.used(b.t).since(before)
	c.bytes = float64(spent.bytes) / costJobs
	c.bulkCPU, c.bulkCommands = c.busy(spent, time.Since(began))/costJobs, float64(spent.commands)/costJobs
}

// together enqueues one job after the other in many callers.
func (b *partitionBench) together(c *cost) {
	b.t.Helper()
	before := b.on.used(b.t)
	var callers sync.WaitGroup
	for range costCallers {
		callers.Go(func() {
			for range costJobs / costCallers {
				if _, err := b.enq.Enqueue(b.t.Context(), "none"); !assert.NoError(b.t, err) {
					return
				}
			}
		})
	}
	callers.Wait()
	spent := b.on.used(b.t).since(before)
	c.batch = float64(costJobs/costCallers*costCallers) / float64(spent.scripts)
}

// work has a pool do all that waits.
func (b *partitionBench) work(c *cost) {
	b.t.Helper()
	waiting := b.waiting()
	s := &settled{first: make(chan struct{}), all: make(chan struct{}), jobs: int64(waiting)}
	pool := work.NewWorkerPool(nil, 200, work.WorkerOptions{Redis: b.on.dsn, Namespace: b.namespace,
		Logger: slog.New(slog.DiscardHandler), Observers: []work.Observer{work.ObserverFunc(s.observe)}}).
		Job("none", func() error { return nil })
	before, began := b.on.used(b.t), time.Now()
	require.NoError(b.t, pool.Start(b.t.Context()))
	select {
	case <-s.all:
	case <-time.After(2 * patience):
		require.FailNow(b.t, "the jobs do not end", "%d of %d have", s.count.Load(), waiting)
	}
	spent := b.on.used(b.t).since(before)
	if c != nil {
		c.workCPU = c.busy(spent, time.Since(began)) / time.Duration(waiting)
		c.workCommands = float64(spent.commands) / float64(waiting)
		c.bytes += float64(spent.bytes) / float64(waiting)
		c.fetch = 2 * float64(waiting) / float64(spent.scripts) // a fetch and a settle
	}
	b.stop(pool)
}

func (b *partitionBench) stop(pool *work.WorkerPool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	require.NoError(b.t, pool.Stop(ctx))
}

// waiting is how many jobs there are in all partitions.
func (b *partitionBench) waiting() int { return b.of("HLEN", "*:jobs") }

// of adds up what a command says of the keys that match.
func (b *partitionBench) of(command, pattern string) (sum int) {
	b.t.Helper()
	for i := range b.on.nodes {
		for _, key := range b.keys(i, pattern) {
			n, is := b.on.do(b.t, i, command, key).(int64)
			require.True(b.t, is)
			sum += int(n)
		}
	}
	return sum
}

func (b *partitionBench) keys(node int, pattern string) (keys []string) {
	b.t.Helper()
	for _, key := range b.on.do(b.t, node, "KEYS", pattern).([]any) {
		if text := string(key.([]byte)); strings.HasPrefix(text, "{"+b.namespace) {
			keys = append(keys, text)
		}
	}
	return keys
}

// pool measures how soon an idle one begins a job, and what it asks while it has none.
func (b *partitionBench) pool(c *cost) {
	b.t.Helper()
	begun := make(chan time.Time, 1)
	pool := work.NewWorkerPool(nil, 10, work.WorkerOptions{Redis: b.on.dsn, Namespace: b.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		Job("none", func() error { begun <- time.Now(); return nil })
	require.NoError(b.t, pool.Start(b.t.Context()))
	var took []time.Duration
	for range costPickups {
		at := time.Now()
		_, err := b.enq.Enqueue(b.t.Context(), "none")
		require.NoError(b.t, err)
		took = append(took, (<-begun).Sub(at))
	}
	slices.Sort(took)
	c.pickup = took[len(took)/2]
	c.connections = float64(b.connections())
	before := b.on.used(b.t)
	<-time.After(costIdle) // so long is measured
	spent := b.on.used(b.t).since(before)
	c.idle = float64(spent.scripts+spent.waits) / costIdle.Seconds()
	b.stop(pool)
}

// connections is how many clients the servers have, but for the one that asks, and for the enqueuer.
func (b *partitionBench) connections() (all int) {
	b.t.Helper()
	for i := range b.on.nodes {
		clients, err := redis.String(b.on.do(b.t, i, "CLIENT", "LIST"), nil)
		require.NoError(b.t, err)
		all += strings.Count(clients, "\n") - 1
	}
	return all
}
