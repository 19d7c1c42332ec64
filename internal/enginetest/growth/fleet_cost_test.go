package growth_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/subscription"
)

// TestAFleetCostsRedisInProportion measures what idle workers cost Redis: a few pools, which get the lease and the
// deputy's place, and workers that this test speaks the protocol for, with the same scripts at the same times, each
// command in a round trip of its own. It lasts minutes, so WORK_FLEET_LONG=1 switches it on.
// TestWhatAWorkerSendsDoesNotGrowWithTheFleet and its neighbours are its short form.
func TestAFleetCostsRedisInProportion(t *testing.T) {
	t.Run("long", func(t *testing.T) {
		if os.Getenv("WORK_FLEET_LONG") != "1" {
			t.Skip("it lasts minutes: make fleet-long")
		}
		figures := "| idle workers | Redis' CPU, cores | of one worker, µs per second | heartbeats and waits that " +
			"were sent per second |\n|--:|--:|--:|--:|\n"
		var each []float64
		for _, workers := range []int{1_000, 2_000, 10_000} {
			cost := costOfCrowd(t, workers, false)
			each = append(each, cost.cores/float64(workers)*1e6)
			figures += fmt.Sprintf("| %s | %.3f | %.0f | %.0f and %.0f |\n",
				redistest.Grouped(workers), cost.cores, each[len(each)-1], cost.beats, cost.waits)
			assert.Less(t, cost.cores, 0.5)
		}
		assert.Less(t, each[len(each)-1], 2*each[0], "one of ten thousand costs no more than one of a thousand")
		before := costOfCrowd(t, 1_000, true)
		assert.Greater(t, before.cores*1e6/1_000, 2*each[0])
		figures += fmt.Sprintf("| 1,000, each of which asks for all | %.3f | %.0f | %.0f and %.0f |\n", before.cores,
			before.cores*1e3, before.beats, before.waits)
		t.Log("\n" + figures)
		if file := os.Getenv("WORK_FLEET_FIGURES"); file != "" {
			redistest.WriteFigures(t, file, "fleet", figures)
		}
	})
}

// crowdCost is what a crowd sends in a second, and what Redis spends on it.
type crowdCost struct{ cores, beats, waits float64 }

func costOfCrowd(t *testing.T, workers int, asBefore bool) (cost crowdCost) {
	t.Run(strconv.Itoa(workers), func(t *testing.T) {
		cost = newCrowdOfWorkers(t, workers, asBefore).measure(12 * maintain.JanitorInterval) // each of its chores once
	})
	return cost
}

// What each worker of a crowd serves, and how long its heartbeats last: as long as they may, since this test may come
// late with them on a busy machine.
const (
	crowdNames = 100
	crowdOf    = 100_000
	crowdPools = 4
	crowdLife  = liveness.MaxLife
)

// crowdOfWorkers are idle workers of one Redis.
type crowdOfWorkers struct {
	t       *testing.T
	k       *kit
	store   *rdb.Store
	ctx     context.Context
	workers int
	all     atomic.Pointer[[]any] // the heartbeats of all, if each of them asks for them
	info    map[string]string     // what each tells of itself
	epoch   string
	life    sync.WaitGroup
	beats   atomic.Int64
	waits   atomic.Int64
}

func newCrowdOfWorkers(t *testing.T, workers int, asBefore bool) *crowdOfWorkers {
	server := redistest.Dedicated(t, "--maxclients", "15000", "--save", "")
	k := newKit(t, server.Server())
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowdOfWorkers{t: t, k: k, ctx: ctx, workers: workers}
	driver, err := redisconn.Open(k.Server.DSNWith("read_timeout=60s&dial_timeout=60s"))
	require.NoError(t, err)
	c.store = rdb.NewStore(driver, k.Namespace)
	t.Cleanup(func() { cancel(); c.life.Wait(); _ = driver.Close() })
	began := time.Now()
	for range crowdPools {
		pool := work.NewWorkerPool(nil, 1, k.Options())
		for _, name := range someNames() {
			pool.Job(name, func() error { return nil })
		}
		k.Start(pool)
		c.info = map[string]string{}
		told := k.Strings("HGETALL", "worker:"+pooltest.WorkerID(pool)+":info")
		for pair := range slices.Chunk(told, 2) {
			c.info[pair[0]] = pair[1]
		}
	}
	c.info["life"] = strconv.FormatInt(crowdLife.Milliseconds(), 10)
	c.epoch = k.Text("GET", "epoch")
	const lanes = 50
	var joining sync.WaitGroup
	for lane := range lanes {
		joining.Go(func() {
			var mine []*rdb.Worker
			for range (workers - crowdPools) / lanes {
				mine = append(mine, c.join())
			}
			c.life.Go(func() { c.beat(mine, time.Duration(lane)*liveness.Interval/lanes) })
		})
	}
	joining.Wait()
	if asBefore {
		var all []any
		for _, id := range k.Strings("SMEMBERS", "workers") {
			all = append(all, "{"+k.Namespace+"}:worker:"+id)
		}
		c.all.Store(&all)
	}
	t.Logf("%d workers registered within %s", workers, time.Since(began))
	// whoever got a place looks at all for so long
	c.settle(time.Until(began.Add(enginetest.DoubtFor + 2*enginetest.LookInterval)))
	c.settle(2 * liveness.Interval)
	return c
}

func someNames() []string {
	names := make([]string, 0, crowdNames)
	for _, n := range rand.Perm(crowdOf)[:crowdNames] {
		names = append(names, "name-"+strconv.Itoa(n))
	}
	return names
}

// join registers a worker, and has it wait for tokens on a connection of its own.
func (c *crowdOfWorkers) join() *rdb.Worker {
	w, names := c.store.Worker(ids.Worker()), someNames()
	_, _, err := w.Register(c.ctx, rdb.Registration{Life: crowdLife, Epoch: c.epoch, Info: c.info, Queues: names})
	assert.NoError(c.t, err)
	conn, err := c.store.Driver().Dial(c.ctx)
	if !assert.NoError(c.t, err) {
		return w
	}
	length := subscription.Span(crowdNames)
	c.life.Go(func() {
		defer conn.Close()     //lint:ignore errcheck nothing was sent that counts
		span := rand.N(length) // the first one is cut short, so that they are spread as those of a fleet are
		for c.ctx.Err() == nil {
			if _, err := c.store.Wait(c.ctx, conn, names, span); err != nil {
				return
			}
			c.waits.Add(1)
			span = length*8/10 + rand.N(length*4/10)
		}
	})
	return w
}

// beat sends the heartbeats of some workers, evenly over each second, or each two. What is late by a second is left
// out: see measure.
func (c *crowdOfWorkers) beat(workers []*rdb.Worker, phase time.Duration) {
	conn, err := c.store.Driver().Dial(c.ctx)
	if !assert.NoError(c.t, err) {
		return
	}
	defer conn.Close() //lint:ignore errcheck nothing was sent that counts
	start := time.Now().Add(phase / time.Duration(len(workers)))
	for turn := 0; ; turn++ {
		for i, w := range workers {
			at := start.Add(time.Duration(turn)*liveness.Interval +
				time.Duration(i)*liveness.Interval/time.Duration(len(workers)))
			if late := time.Since(at); late > liveness.Interval {
				start = start.Add(late)
			}
			if !backoff.Pause(c.ctx, time.Until(at)) {
				return
			}
			if c.workers > enginetest.FleetOf && turn%2 == i%2 {
				continue // as heartbeater.maySkip
			}
			if !c.beatOnce(conn, w, turn%15 == i%15) {
				return
			}
			c.beats.Add(1)
		}
	}
}

// beatOnce is what a worker sends in a second. The two places are the pools'.
func (c *crowdOfWorkers) beatOnce(conn redisconn.Conn, w *rdb.Worker, probes bool) bool {
	pulse, err := w.Beat(c.ctx, conn, rdb.Beat{Life: crowdLife, Epoch: c.epoch, Waits: true})
	if err == nil && probes { // every subscriber probes its connection
		_, err = redisconn.Do(c.ctx, conn, redisconn.Call{Command: "PING"})
	}
	if all := c.all.Load(); err == nil && all != nil {
		_, err = redisconn.Do(c.ctx, conn, redisconn.Call{Command: "MGET", Args: *all})
	}
	return c.ctx.Err() == nil && assert.NoError(c.t, err) && assert.Equal(c.t, rdb.Registered, pulse.State)
}

// measure returns how much of a processor Redis' main thread spends. Where this test did not get to send all heartbeats
// in time, that is what it would spend on all of them.
func (c *crowdOfWorkers) measure(span time.Duration) crowdCost {
	_, err := redisconn.Do(c.ctx, c.store.Driver(), redisconn.Call{Command: "CONFIG", Args: []any{"RESETSTAT"}})
	require.NoError(c.t, err)
	before, begun, beats, waits := c.spent(), time.Now(), c.beats.Load(), c.waits.Load()
	c.settle(span)
	spent, elapsed := c.spent()-before, time.Since(begun).Seconds()
	cost := crowdCost{cores: spent.Seconds() / elapsed, beats: float64(c.beats.Load()-beats) / elapsed,
		waits: float64(c.waits.Load()-waits) / elapsed}
	c.t.Logf("%d workers, %.3f cores for %.0f heartbeats and %.0f waits per second, the commands:\n%s",
		c.workers, cost.cores, cost.beats, cost.waits, c.section("commandstats"))
	due := float64(c.workers)
	if c.workers > enginetest.FleetOf {
		due /= 2
	}
	cost.cores *= max(1, due/cost.beats)
	assert.Zero(c.t, pooltest.Count[event.WorkerReaped](c.k.Spy)+pooltest.Count[event.WorkerFenced](c.k.Spy),
		"nobody was taken for dead")
	return cost
}

func (c *crowdOfWorkers) settle(span time.Duration) {
	select {
	case <-time.After(span):
	case <-c.ctx.Done():
		require.NoError(c.t, errors.Join(c.ctx.Err()))
	}
}

// spent is what the main thread of Redis has spent so far.
func (c *crowdOfWorkers) spent() (sum time.Duration) {
	for line := range strings.Lines(c.section("cpu")) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(field, "used_cpu_") && strings.HasSuffix(field, "_main_thread") {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(c.t, err)
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum
}

func (c *crowdOfWorkers) section(name string) string {
	reply, err := c.store.Driver().Pipeline(c.ctx, redisconn.Call{Command: "INFO", Args: []any{name}})
	require.NoError(c.t, err)
	said, _ := reply[0].Value.([]byte)
	return string(said)
}
