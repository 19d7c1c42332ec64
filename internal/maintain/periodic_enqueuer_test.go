package maintain_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/maintaintest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/schedule"
)

// Four workers go through ten thousand ticks: of five schedules, at once, with clocks that are wrong, some restarting
// all the time. Each tick has its one job.
func TestTenThousandTicksAreEnqueuedOnceEach(t *testing.T) {
	t.Parallel()
	wanted := 10_000
	if redistest.RaceDetector { // the Lua of the embedded Redis is slow then
		wanted = 1_000
	}
	c := maintaintest.New(t)
	schedules := []*schedule.Schedule{
		c.Add(schedule.Wanted{Spec: "@every 1s", ID: "second"}),
		c.Add(schedule.Wanted{Spec: "*/5 * * * * *", ID: "five"}),
		c.Add(schedule.Wanted{Spec: "* * * * *", ID: "minute", Jitter: 30 * time.Second}),
		c.Add(schedule.Wanted{Spec: "CRON_TZ=America/New_York 7,37 * * * *", ID: "half"}),
		c.Add(schedule.Wanted{Spec: "@every 7s", ID: "seven", Missed: schedule.MissedSkip}),
	}
	workers := make([]*maintain.PeriodicEnqueuer, 4)
	random := rand.New(rand.NewPCG(1, 2))
	ticks := 0
	for ticks < wanted {
		before := c.Now
		c.Set(c.Now.Add(time.Duration(1+random.IntN(9_500)) * time.Millisecond))
		for _, s := range schedules {
			ticks += s.Table.Count(s.Table.Next(before), c.Now)
		}
		var together sync.WaitGroup
		for i := range workers {
			if workers[i] == nil || random.IntN(20) == 0 {
				workers[i] = c.Enqueuer() // a new process
			}
			c.Beat(workers[i])
			if i > 0 && random.IntN(3) == 0 { // one of them is right, else nobody is there to take a tick in time
				workers[i].Saw(c.Now.Add(time.Duration(random.IntN(100)-50) * time.Hour))
			}
			together.Go(func() {
				_, err := workers[i].Round(context.Background())
				assert.NoError(t, err)
			})
		}
		together.Wait()
	}
	var want []string
	for _, s := range schedules {
		for at := s.Table.Next(maintaintest.Start); !at.After(c.Now); at = s.Table.Next(at) {
			want = append(want, s.TickJob(at, at).ID)
		}
	}
	require.GreaterOrEqual(t, len(want), wanted)
	got := c.IDs()
	slices.Sort(want)
	slices.Sort(got)
	assert.True(t, slices.Equal(want, got), "%d wanted, %d there", len(want), len(got))
	assert.Equal(t, len(want), c.Number("LLEN", "queue:export")+c.Number("ZCARD", "scheduled"), "each in one place")
	assert.Equal(t, len(want), len(maintaintest.Told[event.PeriodicEnqueued](c)), "each told once")
	assert.Zero(t, len(maintaintest.Told[event.PeriodicMissed](c)))
}

// refuse has Redis refuse every call.
func refuse(message string) func(context.Context, maintaintest.Send, []redisconn.Call) ([]redisconn.Reply, error) {
	return func(_ context.Context, _ maintaintest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
		replies := make([]redisconn.Reply, len(calls))
		for i := range replies {
			replies[i].Err = &redisconn.ServerError{Message: message}
		}
		return replies, nil
	}
}

var errCut = errors.New("the connection was cut")

// A worker is interrupted before Redis has taken the tick, or after it. Then it goes on itself, or is dead and another
// one goes on.
func TestATickThatWasInterrupted(t *testing.T) {
	t.Parallel()
	before := func(context.Context, maintaintest.Send, []redisconn.Call) ([]redisconn.Reply, error) {
		return nil, errCut
	}
	after := func(ctx context.Context, pass maintaintest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
		if _, err := pass(ctx, calls...); err != nil {
			return nil, err
		}
		return nil, errCut
	}
	for name, row := range map[string]struct {
		interrupt func(ctx context.Context, pass maintaintest.Send, calls []redisconn.Call) ([]redisconn.Reply, error)
		dies      bool
		told      int // PeriodicEnqueued of that tick
	}{
		"the tick never arrived":                  {before, false, 1},
		"the answer was lost":                     {after, false, 1},
		"the process died before":                 {before, true, 1},
		"the process died after, and told nobody": {after, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := maintaintest.New(t)
			s := c.Add(schedule.Wanted{Spec: "@every 1m"})
			cut := &maintaintest.Interrupted{Driver: c.Store.Driver()}
			first := c.EnqueuerOn(cut)
			require.NoError(t, c.Round(first))
			c.Set(maintaintest.Start.Add(time.Minute))
			cut.Next = row.interrupt
			require.ErrorIs(t, c.Round(first), errCut)
			next := first
			if row.dies {
				next = c.Enqueuer()
			}
			require.NoError(t, c.Round(next))
			assert.Equal(t, []string{s.TickJob(c.Now, c.Now).ID}, c.IDs())
			assert.Equal(t, 1, c.Number("LLEN", "queue:export"))
			assert.Equal(t, row.told, len(maintaintest.Told[event.PeriodicEnqueued](c)))
			c.Set(c.Now.Add(time.Minute))
			require.NoError(t, c.Round(next))
			assert.Len(t, c.IDs(), 2, "and on it goes")
		})
	}
}

// The answer is lost, and the job has run and gone before the tick is sent again.
func TestATickWhoseJobHasEndedIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1m"})
	cut := &maintaintest.Interrupted{Driver: c.Store.Driver()}
	e := c.EnqueuerOn(cut)
	c.Set(maintaintest.Start.Add(time.Minute))
	cut.Next = func(ctx context.Context, pass maintaintest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
		_, err := pass(ctx, calls...)
		require.NoError(t, err)
		c.Do("UNLINK", "jobs")
		c.Do("UNLINK", "queue:export")
		return nil, errCut
	}
	require.ErrorIs(t, c.Round(e), errCut)
	require.NoError(t, c.Round(e))
	assert.Empty(t, c.IDs())
}

func TestATickIsLeftOutWhileTheLastJobLives(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	s := c.Add(schedule.Wanted{Spec: "@every 1m", Overlap: schedule.OverlapSkip})
	e := c.Enqueuer()
	for minute := 1; minute <= 4; minute++ {
		c.Set(maintaintest.Start.Add(time.Duration(minute) * time.Minute))
		if minute == 4 {
			c.Do("UNLINK", "jobs") // it has ended
		}
		require.NoError(t, c.Round(e))
	}
	first := s.TickJob(maintaintest.Start.Add(time.Minute), c.Now).ID
	assert.Equal(t, []string{s.TickJob(c.Now, c.Now).ID}, c.IDs())
	assert.Equal(t, 2, len(maintaintest.Told[event.PeriodicEnqueued](c)))
	assert.Equal(t, 2, len(maintaintest.Told[event.PeriodicSkipped](c)))
	skipped := maintaintest.Told[event.PeriodicSkipped](c)[0]
	assert.Equal(t, event.PeriodicSkipped{Schedule: "export", Name: "export",
		Tick: maintaintest.Start.Add(2 * time.Minute), Job: first}, skipped)
}

func TestMissedTicksAreMadeUpForAndTold(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		missed int
		jobs   int
	}{"once": {schedule.MissedOnce, 1}, "skip": {schedule.MissedSkip, 0}, "all": {100, 60}, "some": {7, 7}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := maintaintest.New(t)
			c.Add(schedule.Wanted{Spec: "* * * * *", Missed: row.missed})
			c.Set(maintaintest.Start.Add(time.Hour + 30*time.Second))
			require.NoError(t, c.Round(c.Enqueuer()))
			require.NoError(t, c.Round(c.Enqueuer()), "another worker finds nothing to do")
			assert.Len(t, c.IDs(), row.jobs)
			assert.Equal(t, 1, len(maintaintest.Told[event.PeriodicMissed](c)))
			assert.Equal(t, event.PeriodicMissed{
				Schedule: "export", Name: "export", Ticks: 60,
				Since: maintaintest.Start.Add(time.Minute), Until: maintaintest.Start.Add(time.Hour),
			}, maintaintest.Told[event.PeriodicMissed](c)[0])
		})
	}
}

func TestJitterGoesToScheduled(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	s := c.Add(schedule.Wanted{Spec: "@every 1h", Jitter: 59 * time.Minute})
	e := c.Enqueuer()
	for hour := 1; hour <= 20; hour++ {
		c.Set(maintaintest.Start.Add(time.Duration(hour) * time.Hour))
		require.NoError(t, c.Round(e))
		job := s.TickJob(c.Now, c.Now)
		if job.Due.After(c.Now) {
			assert.True(t, job.Due.Equal(due(c, job.ID)))
		}
	}
	assert.Equal(t, 20, c.Number("ZCARD", "scheduled")+c.Number("LLEN", "queue:export"))
	assert.Greater(t, c.Number("ZCARD", "scheduled"), 15)
}

// Redis' clock is set forward and back, as at a failover. No tick is enqueued twice.
func TestTheClockOfRedisIsSet(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1m"})
	e := c.Enqueuer()
	at := func(d time.Duration, jobs int) {
		t.Helper()
		c.Set(maintaintest.Start.Add(d))
		require.NoError(t, c.Round(e))
		assert.Len(t, c.IDs(), jobs)
	}
	at(time.Minute, 1)
	at(-time.Hour, 1)
	at(-time.Hour+time.Minute, 1)
	at(time.Minute, 1)
	at(2*time.Minute, 2)
	at(10*time.Hour, 3)
	at(3*time.Minute, 3)
}

func TestOneBadScheduleDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1m"})
	c.Do("HSET", "schedules", "no json", "{", "no spec", `{"spec":"?","name":"a","args":[]}`, "no queue",
		`{"spec":"@every 1m","name":"broken","args":[]}`)
	for _, id := range []string{"no json", "no spec", "no queue"} {
		c.Do("HSET", "ticks", id, fmt.Sprint(maintaintest.Start.UnixMilli(), " "))
	}
	c.Do("SET", "queue:broken", "no list")
	e := c.Enqueuer()
	c.Set(maintaintest.Start.Add(time.Minute))
	for range 3 {
		require.ErrorContains(t, c.Round(e), "BADKEY")
	}
	assert.Len(t, c.IDs(), 1)
	assert.Equal(t, 2, len(maintaintest.Told[event.PeriodicBroken](c)), "each is told once")

	c.Do("UNLINK", "queue:broken")
	afterItsRest(c, e)
	assert.Len(t, c.IDs(), 2)
}

func TestOnlyTheHolderOfTheLeaseAsksForSchedules(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1m"})
	e := c.Enqueuer()
	c.Set(maintaintest.Start.Add(time.Minute))
	e.Told(rdb.Pulse{Time: c.Now, Leased: false, Revision: "x"})
	_, err := e.Round(t.Context())
	require.NoError(t, err)
	assert.Empty(t, c.IDs())
}

// While nothing is due, no question is sent, however often the enqueuer wakes up.
func TestNothingIsAskedWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1h"})
	asked := &maintaintest.Interrupted{Driver: c.Store.Driver()}
	e := c.EnqueuerOn(asked)
	require.NoError(t, c.Round(e))
	before := asked.Sent
	for range 100 {
		require.NoError(t, c.Round(e))
	}
	assert.Equal(t, before, asked.Sent)
	rest, err := e.Round(t.Context())
	require.NoError(t, err)
	assert.Equal(t, maintain.PeriodicRest, rest, "at most")
	c.Set(maintaintest.Start.Add(time.Hour))
	require.NoError(t, c.Round(e))
	assert.Len(t, c.IDs(), 1)
}

// A worker that is wrong about the clock of Redis is told by the answer, and does the right thing at once.
func TestAWrongIdeaOfTheClockIsCorrectedByTheAnswer(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	s := c.Add(schedule.Wanted{Spec: "0 12 * * *", Missed: schedule.MissedSkip})
	e := c.Enqueuer()
	c.Set(maintaintest.Start.Add(24 * time.Hour))
	c.Beat(e)
	e.Saw(c.Now.Add(50 * time.Hour)) // by which two ticks had come, and been missed
	_, err := e.Round(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{s.TickJob(c.Now, c.Now).ID}, c.IDs())
	assert.Zero(t, len(maintaintest.Told[event.PeriodicMissed](c)))
}

func TestATickAtFullMemoryComesLater(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	s := c.Add(schedule.Wanted{Spec: "@every 1m"})
	full := &maintaintest.Interrupted{Driver: c.Store.Driver()}
	e := c.EnqueuerOn(full)
	c.Set(maintaintest.Start.Add(time.Minute))
	full.Next = refuse("OOM command not allowed when used memory > 'maxmemory'.")
	require.ErrorContains(t, c.Round(e), "OOM")
	assert.Empty(t, c.IDs())
	c.Set(c.Now.Add(time.Second))
	afterItsRest(c, e)
	assert.Equal(t, []string{s.TickJob(maintaintest.Start.Add(time.Minute), c.Now).ID}, c.IDs())
}

// afterItsRest has an enqueuer go on until what Redis had refused is taken.
func afterItsRest(c *maintaintest.Clockwork, e *maintain.PeriodicEnqueuer) {
	c.T.Helper()
	require.Eventually(c.T, func() bool { return c.Round(e) == nil }, 10*time.Second, 20*time.Millisecond)
}

// due is when a scheduled job is due.
func due(c *maintaintest.Clockwork, id string) time.Time {
	c.T.Helper()
	score, err := redis.Float64(c.Do("ZSCORE", "scheduled", id), nil)
	require.NoError(c.T, err)
	return time.UnixMilli(int64(score)) // the fraction is for the order
}
