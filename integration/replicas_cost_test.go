package integration

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
)

// behind is how far the replica is behind its primary while it is measured what waiting for it costs.
const behind = 100 * time.Millisecond

// Callers that wait for a replica share its confirmations: one question is about all calls that were answered until
// then. Each would wait for a question of its own otherwise. A caller beside them that waits for none is not held up.
func TestCallsThatWaitForReplicasAreConfirmedTogether(t *testing.T) {
	t.Parallel()
	const many, each = 200, 5
	c := newReplicaCost(t)
	plain := c.enqueuer()
	enq := plain.With(work.WaitReplicas(1, time.Minute))
	var callers, other sync.WaitGroup
	var over atomic.Bool
	beside := 0
	other.Go(func() {
		for ; !over.Load(); beside++ {
			_, err := plain.Enqueue(t.Context(), "none")
			assert.NoError(t, err)
		}
	})
	began, before := time.Now(), c.questions()
	for range many {
		callers.Go(func() {
			for range each {
				_, err := enq.Enqueue(t.Context(), "none") // it is an error if no replica has it
				assert.NoError(t, err)
			}
		})
	}
	callers.Wait()
	took, asked := time.Since(began), c.questions()-before
	over.Store(true)
	other.Wait()
	t.Logf("%d calls in %v with %d questions, and %d calls of one who does not wait", many*each, took, asked, beside)
	assert.Greater(t, beside, int(10*took/behind), "one who does not wait gets more than a call per lag")
	assert.GreaterOrEqual(t, took, each*behind, "a call that was answered sooner has not waited for the replica")
	assert.Less(t, took, many*each*behind/10)
	assert.Positive(t, asked)
	assert.GreaterOrEqual(t, many*each, 10*asked, "calls of one question, on the average")
}

// TestWhatWaitReplicasCosts measures all that docs/scale.md says of it, and writes the figures into the file that
// WORK_REPLICAS_FIGURES names. It lasts minutes, so WORK_REPLICAS_LONG=1 switches it on.
func TestWhatWaitReplicasCosts(t *testing.T) {
	if os.Getenv("WORK_REPLICAS_LONG") != "1" {
		t.Skip("it lasts minutes: make replicas")
	}
	const rounds = 3
	c := newReplicaCost(t)
	rows := []*costRow{
		{what: "enqueues, 1 caller", measure: c.enqueues, size: 1},
		{what: "enqueues, 16 callers", measure: c.enqueues, size: 16},
		{what: "enqueues, 100 callers", measure: c.enqueues, size: 100},
		{what: "enqueues, 1,000 callers", measure: c.enqueues, size: 1000},
		{what: "enqueues of 16 callers that do not wait, beside 16 that do", measure: c.beside, size: 16},
		{what: "outcomes, a pool of 20 processors", measure: c.outcomes, size: 20},
		{what: "outcomes, a pool of 200 processors", measure: c.outcomes, size: 200},
	}
	for range rounds {
		for _, row := range rows {
			row.without = append(row.without, row.measure(t, row.size, false))
			row.with = append(row.with, row.measure(t, row.size, true))
			last := len(row.with) - 1
			t.Logf("%s: %d without, %d with", row.what, row.without[last], row.with[last])
		}
	}
	figures := fmt.Sprintf("Measured %s by `make replicas` on %d cores, %s/%s; medians of %d rounds, in brackets the\n"+
		"least and the most.\n\n| per second | without | with |\n|---|--:|--:|\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, rounds)
	for _, row := range rows {
		figures += fmt.Sprintf("| %s | %s | %s |\n", row.what, row.without, row.with)
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_REPLICAS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "replicas", figures)
	}
}

// costRow is one thing that is measured with and without replicas.
type costRow struct {
	what          string
	size          int
	measure       func(t *testing.T, size int, wait bool) int
	without, with rates
}

// rates are how many there were in a second, of each round.
type rates []int

func (r rates) String() string {
	sorted := slices.Sorted(slices.Values(r))
	return fmt.Sprintf("%s (%s to %s)", redistest.Grouped(sorted[len(sorted)/2]), redistest.Grouped(sorted[0]),
		redistest.Grouped(sorted[len(sorted)-1]))
}

// replicaCost is servers on which it is measured what replicas cost.
type replicaCost struct {
	t    *testing.T
	pair *topology.Pair
	dsn  string // past the proxy, which would cost time as well
}

func newReplicaCost(t *testing.T) *replicaCost {
	c := &replicaCost{t: t, pair: topology.StartPair(t)}
	c.dsn = "redis://" + c.pair.Primary.Direct()
	c.pair.Lag(behind)
	return c
}

func (c *replicaCost) enqueuer() *work.Enqueuer {
	enq, err := work.NewEnqueuer(c.dsn, work.EnqueueTimeout(patience))
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = enq.Close() })
	return enq
}

// questions is how often the primary was asked for its replicas.
func (c *replicaCost) questions() int {
	stats := c.pair.Primary.Info("cmdstat_wait") // calls=12,usec=...
	calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
	n, err := strconv.Atoi(cmp.Or(calls, "0"))
	require.NoError(c.t, err, stats)
	return n
}

// enqueues is how many jobs of so many callers are acknowledged in a second.
func (c *replicaCost) enqueues(t *testing.T, callers int, wait bool) int {
	return c.enqueuing(t, crowd{callers: callers, wait: wait})
}

// beside is how many jobs of so many callers that do not wait are, beside as many others.
func (c *replicaCost) beside(t *testing.T, callers int, wait bool) int {
	return c.enqueuing(t, crowd{callers: callers, others: callers, othersWait: wait})
}

// crowd are callers, each of which enqueues one job after the other.
type crowd struct {
	callers, others  int
	wait, othersWait bool // for a replica
}

// enqueuing is how many jobs of the callers are acknowledged in a second.
func (c *replicaCost) enqueuing(t *testing.T, of crowd) int {
	const long = 3 * time.Second
	defer c.pair.Empty()
	enq, err := work.NewEnqueuer(c.dsn, work.EnqueueTimeout(patience))
	require.NoError(t, err)
	defer func() { assert.NoError(t, enq.Close()) }()
	_, err = enq.Enqueue(t.Context(), "none") // the connections are there
	require.NoError(t, err)
	var inTime, rest, others atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(long)
	start := func(callers int, wait bool, early *atomic.Int64) {
		mine := enq
		if wait {
			mine = enq.With(work.WaitReplicas(1, 5*time.Second))
		}
		for range callers {
			all.Go(func() {
				for time.Now().Before(end) {
					if _, err := mine.Enqueue(t.Context(), "none"); !assert.NoError(t, err) {
						return
					}
					if time.Now().Before(end) {
						early.Add(1)
					} else {
						rest.Add(1)
					}
				}
			})
		}
	}
	start(of.callers, of.wait, &inTime)
	start(of.others, of.othersWait, &others)
	all.Wait()
	require.Equal(t, 1+int(inTime.Load()+rest.Load()+others.Load()), c.stored(), "what was acknowledged is there")
	return int(float64(inTime.Load()) / long.Seconds())
}

// outcomes is how many jobs that do nothing end in a second, of a queue that was filled before, once the first have.
func (c *replicaCost) outcomes(t *testing.T, processors int, wait bool) int {
	const jobs, long = 100_000, 3 * time.Second
	defer c.pair.Empty()
	c.fill(t, jobs)
	s := &settled{first: make(chan struct{}), all: make(chan struct{}), jobs: jobs}
	options := work.WorkerOptions{Redis: c.dsn, Logger: slog.New(slog.DiscardHandler),
		Observers: []work.Observer{work.ObserverFunc(s.observe)}}
	if wait {
		options.WaitReplicas, options.WaitTimeout = 1, 5*time.Second
	}
	pool := work.NewWorkerPool(nil, processors, options).Job("none", func() error { return nil })
	require.NoError(t, pool.Start(t.Context()))
	<-s.first
	before, began := s.count.Load(), time.Now()
	select {
	case <-s.all:
	case <-time.After(long): // so long is measured
	}
	ended, took := s.count.Load()-before, time.Since(began)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, pool.Stop(ctx))
	return int(float64(ended) / took.Seconds())
}

// fill enqueues jobs of which the replica has the last one in the end.
func (c *replicaCost) fill(t *testing.T, jobs int) {
	enq, err := work.NewEnqueuer(c.dsn, work.EnqueueTimeout(patience))
	require.NoError(t, err)
	defer func() { assert.NoError(t, enq.Close()) }()
	entries := slices.Repeat([]work.Entry{{Name: "none"}}, 1000)
	for range jobs/len(entries) - 1 {
		_, err = enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
	}
	_, err = enq.With(work.WaitReplicas(1, time.Minute)).EnqueueMany(t.Context(), entries)
	require.NoError(t, err)
	require.Equal(t, jobs, c.stored())
}

// stored is how many jobs the primary has.
func (c *replicaCost) stored() int {
	jobs, err := redis.Int(c.pair.Primary.Do("HLEN", "{work}:jobs"))
	require.NoError(c.t, err)
	return jobs
}
