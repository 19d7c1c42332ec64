package work

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func (k *kit) texts(command, key string, args ...any) []string {
	k.t.Helper()
	list, err := redis.Strings(k.do(command, key, args...), nil)
	require.NoError(k.t, err)
	return list
}

// Four workers go through ten thousand ticks: of five schedules, at once, with clocks that are wrong, some restarting
// all the time. Each tick has its one job.
func TestTenThousandTicksAreEnqueuedOnceEach(t *testing.T) {
	t.Parallel()
	wanted := 10_000
	if redistest.RaceDetector { // the Lua of the embedded Redis is slow then
		wanted = 1_000
	}
	c := newClockwork(t)
	schedules := []*schedule{
		c.add("@every 1s", PeriodicOptions{ID: "second"}),
		c.add("*/5 * * * * *", PeriodicOptions{ID: "five"}),
		c.add("* * * * *", PeriodicOptions{ID: "minute", Jitter: 30 * time.Second}),
		c.add("CRON_TZ=America/New_York 7,37 * * * *", PeriodicOptions{ID: "half"}),
		c.add("@every 7s", PeriodicOptions{ID: "seven", Missed: MissedSkip}),
	}
	workers := make([]*periodicEnqueuer, 4)
	random := rand.New(rand.NewPCG(1, 2))
	ticks := 0
	for ticks < wanted {
		before := c.now
		c.set(c.now.Add(time.Duration(1+random.IntN(9_500)) * time.Millisecond))
		for _, s := range schedules {
			ticks += s.table.count(s.table.next(before), c.now)
		}
		var together sync.WaitGroup
		for i := range workers {
			if workers[i] == nil || random.IntN(20) == 0 {
				workers[i] = c.enqueuer() // a new process
			}
			c.beat(workers[i])
			if i > 0 && random.IntN(3) == 0 { // one of them is right, else nobody is there to take a tick in time
				workers[i].saw(c.now.Add(time.Duration(random.IntN(100)-50) * time.Hour))
			}
			together.Go(func() {
				_, err := workers[i].round(context.Background())
				assert.NoError(t, err)
			})
		}
		together.Wait()
	}
	var want []string
	for _, s := range schedules {
		for at := s.table.next(clockworkStart); !at.After(c.now); at = s.table.next(at) {
			want = append(want, s.tickJob(at, at).ID)
		}
	}
	require.GreaterOrEqual(t, len(want), wanted)
	got := c.ids()
	slices.Sort(want)
	slices.Sort(got)
	assert.True(t, slices.Equal(want, got), "%d wanted, %d there", len(want), len(got))
	assert.Equal(t, len(want), c.number("LLEN", "queue:export")+c.number("ZCARD", "scheduled"), "each in one place")
	assert.Equal(t, len(want), count[event.PeriodicEnqueued](c.spy), "each told once")
	assert.Zero(t, count[event.PeriodicMissed](c.spy))
}

// interrupted is a driver under which a worker dies, or loses the answer, at its next tick.
type interrupted struct {
	rdb.Driver
	next func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error)
}

func (d *interrupted) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	if d.next != nil && nameOf(calls[0]) == "tick" {
		next := d.next
		d.next = nil
		return next(ctx, d.Driver.Pipeline, calls)
	}
	return d.Driver.Pipeline(ctx, calls...)
}

// refuse has Redis refuse every call.
func refuse(message string) func(context.Context, send, []rdb.Call) ([]rdb.Reply, error) {
	return func(_ context.Context, _ send, calls []rdb.Call) ([]rdb.Reply, error) {
		replies := make([]rdb.Reply, len(calls))
		for i := range replies {
			replies[i].Err = &rdb.ServerError{Message: message}
		}
		return replies, nil
	}
}

var errCut = errors.New("the connection was cut")

// A worker is interrupted before Redis has taken the tick, or after it. Then it goes on itself, or is dead and another
// one goes on.
func TestATickThatWasInterrupted(t *testing.T) {
	t.Parallel()
	before := func(context.Context, send, []rdb.Call) ([]rdb.Reply, error) { return nil, errCut }
	after := func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
		if _, err := pass(ctx, calls...); err != nil {
			return nil, err
		}
		return nil, errCut
	}
	for name, row := range map[string]struct {
		interrupt func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error)
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
			c := newClockwork(t)
			s := c.add("@every 1m", PeriodicOptions{})
			cut := &interrupted{Driver: c.store.Driver()}
			first := c.enqueuerOn(cut)
			require.NoError(t, c.round(first))
			c.set(clockworkStart.Add(time.Minute))
			cut.next = row.interrupt
			require.ErrorIs(t, c.round(first), errCut)
			next := first
			if row.dies {
				next = c.enqueuer()
			}
			require.NoError(t, c.round(next))
			assert.Equal(t, []string{s.tickJob(c.now, c.now).ID}, c.ids())
			assert.Equal(t, 1, c.number("LLEN", "queue:export"))
			assert.Equal(t, row.told, count[event.PeriodicEnqueued](c.spy))
			c.set(c.now.Add(time.Minute))
			require.NoError(t, c.round(next))
			assert.Len(t, c.ids(), 2, "and on it goes")
		})
	}
}

// The answer is lost, and the job has run and gone before the tick is sent again.
func TestATickWhoseJobHasEndedIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	c.add("@every 1m", PeriodicOptions{})
	cut := &interrupted{Driver: c.store.Driver()}
	e := c.enqueuerOn(cut)
	c.set(clockworkStart.Add(time.Minute))
	cut.next = func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
		_, err := pass(ctx, calls...)
		require.NoError(t, err)
		c.do("UNLINK", "jobs")
		c.do("UNLINK", "queue:export")
		return nil, errCut
	}
	require.ErrorIs(t, c.round(e), errCut)
	require.NoError(t, c.round(e))
	assert.Empty(t, c.ids())
}

func TestATickIsLeftOutWhileTheLastJobLives(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	s := c.add("@every 1m", PeriodicOptions{Overlap: OverlapSkip})
	e := c.enqueuer()
	for minute := 1; minute <= 4; minute++ {
		c.set(clockworkStart.Add(time.Duration(minute) * time.Minute))
		if minute == 4 {
			c.do("UNLINK", "jobs") // it has ended
		}
		require.NoError(t, c.round(e))
	}
	first := s.tickJob(clockworkStart.Add(time.Minute), c.now).ID
	assert.Equal(t, []string{s.tickJob(c.now, c.now).ID}, c.ids())
	assert.Equal(t, 2, count[event.PeriodicEnqueued](c.spy))
	assert.Equal(t, 2, count[event.PeriodicSkipped](c.spy))
	skipped := await[event.PeriodicSkipped](t, c.spy, nil)
	assert.Equal(t, event.PeriodicSkipped{Schedule: "export", Name: "export", Tick: clockworkStart.Add(2 * time.Minute),
		Job: first}, skipped)
}

func TestMissedTicksAreMadeUpForAndTold(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		missed Missed
		jobs   int
	}{"once": {MissedOnce, 1}, "skip": {MissedSkip, 0}, "all": {MissedAll(100), 60}, "some": {MissedAll(7), 7}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClockwork(t)
			c.add("* * * * *", PeriodicOptions{Missed: row.missed})
			c.set(clockworkStart.Add(time.Hour + 30*time.Second))
			require.NoError(t, c.round(c.enqueuer()))
			require.NoError(t, c.round(c.enqueuer()), "another worker finds nothing to do")
			assert.Len(t, c.ids(), row.jobs)
			assert.Equal(t, 1, count[event.PeriodicMissed](c.spy))
			assert.Equal(t, event.PeriodicMissed{
				Schedule: "export", Name: "export", Ticks: 60,
				Since: clockworkStart.Add(time.Minute), Until: clockworkStart.Add(time.Hour),
			}, await[event.PeriodicMissed](t, c.spy, nil))
		})
	}
}

func TestJitterGoesToScheduled(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	s := c.add("@every 1h", PeriodicOptions{Jitter: 59 * time.Minute})
	e := c.enqueuer()
	for hour := 1; hour <= 20; hour++ {
		c.set(clockworkStart.Add(time.Duration(hour) * time.Hour))
		require.NoError(t, c.round(e))
		job := s.tickJob(c.now, c.now)
		if job.Due.After(c.now) {
			assert.True(t, job.Due.Equal(c.due("scheduled", job.ID)))
		}
	}
	assert.Equal(t, 20, c.number("ZCARD", "scheduled")+c.number("LLEN", "queue:export"))
	assert.Greater(t, c.number("ZCARD", "scheduled"), 15)
}

// Redis' clock is set forward and back, as at a failover. No tick is enqueued twice.
func TestTheClockOfRedisIsSet(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	c.add("@every 1m", PeriodicOptions{})
	e := c.enqueuer()
	at := func(d time.Duration, jobs int) {
		t.Helper()
		c.set(clockworkStart.Add(d))
		require.NoError(t, c.round(e))
		assert.Len(t, c.ids(), jobs)
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
	c := newClockwork(t)
	c.add("@every 1m", PeriodicOptions{})
	c.do("HSET", "schedules", "no json", "{", "no spec", `{"spec":"?","name":"a","args":[]}`, "no queue",
		`{"spec":"@every 1m","name":"broken","args":[]}`)
	for _, id := range []string{"no json", "no spec", "no queue"} {
		c.lastTick(id, clockworkStart)
	}
	c.do("SET", "queue:broken", "no list")
	e := c.enqueuer()
	c.set(clockworkStart.Add(time.Minute))
	for range 3 {
		require.ErrorContains(t, c.round(e), "BADKEY")
	}
	assert.Len(t, c.ids(), 1)
	assert.Equal(t, 2, count[event.PeriodicBroken](c.spy), "each is told once")

	c.do("UNLINK", "queue:broken")
	for _, s := range e.known {
		s.after = time.Time{} // the rest after a refusal
	}
	require.NoError(t, c.round(e))
	assert.Len(t, c.ids(), 2)
}

func TestOnlyTheHolderOfTheLeaseAsksForSchedules(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	c.add("@every 1m", PeriodicOptions{})
	e := c.enqueuer()
	c.set(clockworkStart.Add(time.Minute))
	e.told(rdb.Pulse{Time: c.now, Leased: false, Revision: "x"})
	_, err := e.round(t.Context())
	require.NoError(t, err)
	assert.Empty(t, c.ids())
}

// While nothing is due, no question is sent, however often the enqueuer wakes up.
func TestNothingIsAskedWhileNothingIsDue(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	c.add("@every 1h", PeriodicOptions{})
	asked := &tampered{Driver: c.store.Driver(), counts: map[string]int{}}
	e := c.enqueuerOn(asked)
	require.NoError(t, c.round(e))
	_, before := asked.sent("tick")
	for range 100 {
		require.NoError(t, c.round(e))
	}
	_, after := asked.sent("tick")
	assert.Equal(t, before, after)
	rest, err := e.round(t.Context())
	require.NoError(t, err)
	assert.Equal(t, periodicRest, rest, "at most")
	c.set(clockworkStart.Add(time.Hour))
	require.NoError(t, c.round(e))
	assert.Len(t, c.ids(), 1)
}

// A worker that is wrong about the clock of Redis is told by the answer, and does the right thing at once.
func TestAWrongIdeaOfTheClockIsCorrectedByTheAnswer(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	s := c.add("0 12 * * *", PeriodicOptions{Missed: MissedSkip})
	e := c.enqueuer()
	c.set(clockworkStart.Add(24 * time.Hour))
	c.beat(e)
	e.saw(c.now.Add(50 * time.Hour)) // by which two ticks had come, and been missed
	_, err := e.round(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{s.tickJob(c.now, c.now).ID}, c.ids())
	assert.Zero(t, count[event.PeriodicMissed](c.spy))
}
