package work

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// line is how a worker's way to Redis is.
type line int64

const (
	lineGood      line = iota
	lineHole           // nothing arrives
	lineDeaf           // outcomes arrive, nothing else does, and no answer comes back
	jobsInTheHole = 20
)

// partition is a worker on a line that may be bad, and whom its jobs' deaths were told.
type partition struct {
	*kit
	line   atomic.Int64
	deaths atomic.Int64
	pool   *WorkerPool
	door   *door
	driver *tampered
}

// newPartition starts a worker that runs jobs: half of them end well once they may, half are buried.
func newPartition(t *testing.T, s redistest.Server) *partition {
	p := &partition{kit: newKit(t, s), door: newDoor()}
	onDeath := func(context.Context, *Job, error) { p.deaths.Add(1) }
	p.pool = NewWorkerPool(nil, jobsInTheHole, p.options()).
		JobWithOptions("a", JobOptions{OnDeath: onDeath}, func(job *Job, n int) error {
			_ = p.door.pass(job)
			if n%2 == 0 {
				return Bury(errLuck)
			}
			return nil
		})
	p.driver = p.tamper(p.pool,
		&tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			state := line(p.line.Load())
			if state == lineGood {
				return pass(ctx, calls...)
			}
			if state == lineDeaf && settles(calls) {
				_, _ = pass(ctx, calls...) // its answer is what is lost
			}
			return nil, errLuck
		}})
	p.start(p.pool)
	p.enqueueNumbers("a", 0, jobsInTheHole)
	for range jobsInTheHole {
		receive(t, p.door.began)
	}
	return p
}

// end has all jobs end while the line is like that.
func (p *partition) end(state line) {
	p.t.Helper()
	p.line.Store(int64(state))
	for range jobsInTheHole {
		p.door.leave <- ""
	}
	slots := p.pool.workers[0].slots
	p.until("all are decided", func() bool { return slots.busy.Load() == 0 })
	p.driver.untilSent(p.t, "shelve", jobsInTheHole) // all go in each send, so these are two
}

// takeOver has another worker declare the first one dead, take what it holds, and end all of that well.
func (p *partition) takeOver() *WorkerPool {
	p.t.Helper()
	other := p.start(NewWorkerPool(nil, 5, p.another(newSpy())).Job("a", func(int) error { return nil }))
	dead := p.pool.id()
	p.bury(dead)
	reaper := &deadPoolReaper{worker: other.workers[0]}
	for range 2 { // the second time since a worker that goes on under a new id names the old one as dead
		_, err := reaper.salvage(p.ctx(), dead)
		require.NoError(p.t, err)
		p.do("SADD", "dead", dead)
	}
	require.NoError(p.t, other.Drain(p.ctx()))
	return other
}

// heal mends the line, and returns what history says once all is told.
func (p *partition) heal(others ...*WorkerPool) HistoryPoint {
	p.t.Helper()
	p.line.Store(int64(lineGood))
	require.NoError(p.t, p.pool.Drain(p.ctx()))
	for _, pool := range append(others, p.pool) {
		require.NoError(p.t, p.stop(pool))
	}
	history, err := p.inspector().History(p.ctx(), HistoryOptions{Names: []string{"a"}})
	require.NoError(p.t, err)
	return sum(history["a"])
}

// What was sent into a black hole has not counted, however often it was sent.
func TestOutcomesThatRedisNeverGotAreNotToldAsIfTheyCounted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		p := newPartition(t, s)
		p.end(lineHole)
		total := p.heal(p.takeOver())
		assert.EqualValues(t, jobsInTheHole, total.Done)
		assert.Zero(t, total.Dead)
		assert.Zero(t, p.deaths.Load())
		assert.Equal(t, jobsInTheHole, count[event.ClaimGone](p.spy))
		assert.Zero(t, count[event.OutcomeUnknown](p.spy))
		p.empty("a")
	})
}

// What Redis has taken has counted, though the worker was declared dead before it heard of that.
func TestOutcomesThatRedisHasTakenCountAlsoForAWorkerThatWasDeclaredDead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		p := newPartition(t, s)
		p.end(lineDeaf)
		total := p.heal(p.takeOver())
		assert.EqualValues(t, jobsInTheHole/2, total.Done)
		assert.EqualValues(t, jobsInTheHole/2, total.Dead)
		assert.EqualValues(t, jobsInTheHole/2, p.deaths.Load())
		assert.Zero(t, count[event.ClaimGone](p.spy)+count[event.OutcomeUnknown](p.spy))
		assert.Equal(t, jobsInTheHole/2, p.number("ZCARD", "morgue"))
	})
}

// Who reaped the worker may have left no word, or too long ago.
func TestOutcomesOfWhichNobodyKnowsAreToldAsSuch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		p := newPartition(t, s)
		p.end(lineHole)
		other := p.takeOver()
		p.do("DEL", "taken:"+p.pool.id())
		total := p.heal(other)
		assert.EqualValues(t, jobsInTheHole, total.Done)
		assert.Zero(t, total.Dead)
		assert.Zero(t, p.deaths.Load())
		assert.Zero(t, count[event.ClaimGone](p.spy))
		assert.Equal(t, jobsInTheHole, count[event.OutcomeUnknown](p.spy))
	})
}

// After a failover nobody can tell of what was fetched before it: the claim may be gone since it was lost.
func TestOutcomesOfWhatAFailoverMayHaveLostAreToldAsSuch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		p := newPartition(t, s)
		p.pool.workers[0].claimant().forgotten.Store(math.MaxInt64)
		p.end(lineDeaf)
		p.heal(p.takeOver())
		assert.Zero(t, p.deaths.Load())
		assert.Equal(t, jobsInTheHole, count[event.OutcomeUnknown](p.spy))
	})
}
