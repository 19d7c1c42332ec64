package rdb_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// costSite is a Redis of its own that tells how long each of its commands took.
type costSite struct {
	store *rdb.Store
	calls int64
}

// spent is how long the thread of Redis that runs commands was on a processor for a call: whatever else the machine
// does meanwhile does not count.
func (c *costSite) spent(t *testing.T, call func(n int64)) time.Duration {
	t.Helper()
	c.calls++
	before := c.used(t)
	call(c.calls)
	return c.used(t) - before
}

// used is for how long it was on a processor so far.
func (c *costSite) used(t *testing.T) (sum time.Duration) {
	t.Helper()
	said, ok := c.do(t, "INFO", "cpu").([]byte)
	require.True(t, ok)
	for line := range strings.Lines(string(said)) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(field, "used_cpu_") && strings.HasSuffix(field, "_main_thread") {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum
}

// times is how often a call costs what another one does. They take turns: what makes one slower, such as others that
// use the same caches, makes the other slower too.
func (c *costSite) times(t *testing.T, call, than func(n int64)) float64 {
	t.Helper()
	const turns = 31
	of, against := make([]time.Duration, turns), make([]time.Duration, turns)
	for i := range turns {
		of[i], against[i] = c.spent(t, call), c.spent(t, than)
	}
	slices.Sort(of)
	slices.Sort(against)
	return float64(of[turns/4]) / float64(against[turns/4])
}

func (c *costSite) do(t *testing.T, command string, args ...any) any {
	t.Helper()
	value, err := redisconn.Do(t.Context(), c.store.Driver(), redisconn.Call{Command: command, Args: args})
	require.NoError(t, err)
	return value
}

func (c *costSite) enqueue(t *testing.T, change func(i int, job *rdb.NewJob)) func(n int64) {
	return func(n int64) {
		jobs := make([]rdb.NewJob, rdb.MaxBatch)
		for i := range jobs {
			id := fmt.Sprintf("%06d-%015d", n, i)
			jobs[i] = rdb.NewJob{Queue: "a", ID: id, Place: rdb.Back,
				Record: fmt.Appendf(nil, `{"jid":%q,"name":"a","args":[%d],"t":1}`, id, i)}
			change(i, &jobs[i])
		}
		answer, err := c.store.Enqueue(t.Context(), "lane", n, jobs)
		require.NoError(t, err)
		require.Empty(t, answer.Problems)
	}
}

// bare is what Redis does in any case for jobs that are due later: their places, their names and their records, in
// three commands.
const bare = `local scores, owners = {}, {}
for i = 1, #ARGV - 1, 2 do
  scores[i], scores[i + 1], owners[i], owners[i + 1] = ARGV[#ARGV] .. 10000 + i, ARGV[i], ARGV[i], 'a'
end
redis.call('ZADD', KEYS[1], unpack(scores))
redis.call('HSET', KEYS[2], unpack(owners))
redis.call('HSET', KEYS[3], unpack(ARGV, 1, #ARGV - 1))`

// Many jobs that are due later cost Redis about twice what plain ones do, and so does moving them when they are due: it
// asks and writes for all at once, not one by one. While a script runs, nothing else does. The bare commands that write
// jobs to a sorted set, their names and their records are 2.3 times a plain enqueue already; where more jobs stand
// between the times of a call than it has, each of its times is asked for, and that costs 2 us each.
func TestScheduledJobsCostNotMuchMoreThanPlainOnes(t *testing.T) {
	redistest.SkipUnderRace(t, "it measures Redis, and calls one after the other")
	t.Run("redis", scheduledJobsCost)
}

func scheduledJobsCost(t *testing.T) {
	process := redistest.Dedicated(t)
	driver, err := redisconn.Open(process.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	c := &costSite{store: rdb.NewStore(driver, "costs")}

	plain := c.enqueue(t, func(int, *rdb.NewJob) {})
	floor := c.times(t, func(n int64) {
		args := []any{bare, 3, "bare:scores", "bare:names", "bare:records"}
		for i := range rdb.MaxBatch {
			id := fmt.Sprintf("%06d-%015d", n, i)
			args = append(args, id, fmt.Sprintf(`{"jid":%q,"name":"a","args":[%d],"t":1}`, id, i))
		}
		c.do(t, "EVAL", append(args, 17321000+n)...)
	}, plain)
	t.Logf("plain %s, bare commands %.2f times", c.spent(t, plain), floor)
	hour := time.Hour.Milliseconds()
	begin := time.Now().UnixMilli()
	at := func(job *rdb.NewJob, when int64) { job.Place, job.When = rdb.At, when }
	for _, row := range []struct {
		name   string
		most   float64 // what was measured, and half of it more
		others int     // calls of others that are due between the same times, each at a ms of its own
		change func(n int64, i int, job *rdb.NewJob)
	}{
		{"in the same time", 3.4, 0, func(_ int64, _ int, job *rdb.NewJob) { job.Place, job.When = rdb.In, hour }},
		{"at many times", 4.2, 0, func(n int64, i int, job *rdb.NewJob) { at(job, begin+n*hour+int64(37*i)) }},
		{"in many times", 4.8, 0, func(n int64, i int, job *rdb.NewJob) {
			job.Place, job.When = rdb.In,
				n*hour+int64(37*i)
		}},
		{"of many queues", 4, 0, func(_ int64, i int, job *rdb.NewJob) {
			job.Place, job.When, job.Queue = rdb.In, hour, fmt.Sprint("q", i%10)
		}},
		{"at many times, among thousands", 8.5, 12, func(n int64, i int, job *rdb.NewJob) {
			at(job, begin+10000*hour+int64(37*i)+n%37)
		}},
		{"with chosen ids", 7.5, 0, func(_ int64, _ int, job *rdb.NewJob) { job.Chosen = true }},
	} {
		call := func(n int64) { c.enqueue(t, func(i int, job *rdb.NewJob) { row.change(n, i, job) })(n) }
		for range row.others {
			c.calls++
			call(c.calls)
		}
		ratio := c.times(t, call, plain)
		t.Logf("%s: %.2f times", row.name, ratio)
		assert.LessOrEqual(t, ratio, row.most, row.name)
	}
	ratio := c.moved(t, plain)
	t.Logf("due: %.2f times", ratio)
	assert.LessOrEqual(t, ratio, 3.3, "due")
}

// moved is how often moving a page of jobs that are due, while more are, costs what another call does.
func (c *costSite) moved(t *testing.T, than func(n int64)) float64 {
	t.Helper()
	for range 40 {
		c.calls++
		c.enqueue(t, func(_ int, job *rdb.NewJob) { job.Queue, job.Place, job.When = "due", rdb.In, 1 })(c.calls)
	}
	var page []rdb.Waiting
	call := func(int64) {
		due, err := c.store.Due(context.Background(), rdb.ShelfScheduled, rdb.DueCall{Move: page, Brief: true})
		require.NoError(t, err)
		require.Equal(t, len(page), due.Moved)
		require.True(t, slices.ContainsFunc(due.Page, func(w rdb.Waiting) bool { return w.Queue == "due" }))
		page = due.Page
	}
	call(0)
	return c.times(t, call, than)
}
