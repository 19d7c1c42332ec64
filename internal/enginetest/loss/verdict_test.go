package loss_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
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
	pool   *work.WorkerPool
	door   *pooltest.Door
	driver *pooltest.Tampered
}

// newPartition starts a worker that runs jobs: half of them end well once they may, half are buried.
func newPartition(t *testing.T, s redistest.Server) *partition {
	p := &partition{kit: newKit(t, s), door: pooltest.NewDoor()}
	onDeath := func(context.Context, *work.Job, error) { p.deaths.Add(1) }
	p.pool = work.NewWorkerPool(nil, jobsInTheHole, p.Options()).
		JobWithOptions("a", work.JobOptions{OnDeath: onDeath}, func(job *work.Job, n int) error {
			_ = p.door.Pass(job)
			if n%2 == 0 {
				return work.Bury(pooltest.ErrLuck)
			}
			return nil
		})
	p.driver = p.TamperWith(p.pool,
		&pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			state := line(p.line.Load())
			if state == lineGood {
				return pass(ctx, calls...)
			}
			if state == lineDeaf && pooltest.Settles(calls) {
				_, _ = pass(ctx, calls...) // its answer is what is lost
			}
			return nil, pooltest.ErrLuck
		}})
	p.Start(p.pool)
	p.EnqueueNumbers("a", 0, jobsInTheHole)
	for range jobsInTheHole {
		pooltest.Receive(t, p.door.Began)
	}
	return p
}

// end has all jobs end while the line is like that.
func (p *partition) end(state line) {
	p.T.Helper()
	p.line.Store(int64(state))
	for range jobsInTheHole {
		p.door.Leave <- ""
	}
	slots := pooltest.Parts(p.pool).Slots
	p.Until("all are decided", func() bool { return slots.Busy() == 0 })
	p.driver.UntilSent(p.T, "shelve", jobsInTheHole) // all go in each send, so these are two
}

// takeOver has another worker declare the first one dead, take what it holds, and end all of that well.
func (p *partition) takeOver() *work.WorkerPool {
	p.T.Helper()
	other := p.Start(work.NewWorkerPool(nil, 5, p.Another(pooltest.NewSpy())).Job("a", func(int) error { return nil }))
	dead := pooltest.WorkerID(p.pool)
	p.Bury(dead)
	for range 2 { // the second time since a worker that goes on under a new id names the old one as dead
		p.Until("it is taken apart", func() bool { return p.Number("SISMEMBER", "dead", dead) == 0 })
		p.Do("SADD", "dead", dead)
	}
	require.NoError(p.T, other.Drain(p.Ctx()))
	return other
}

// heal mends the line, and returns what history says once all is told.
func (p *partition) heal(others ...*work.WorkerPool) enginetest.SeenSums {
	p.T.Helper()
	p.line.Store(int64(lineGood))
	require.NoError(p.T, p.pool.Drain(p.Ctx()))
	for _, pool := range append(others, p.pool) {
		require.NoError(p.T, p.Stop(pool))
	}
	history, err := p.ByHand().Sums(p.Ctx(), 0, "a")
	require.NoError(p.T, err)
	return history["a"]
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
		assert.Equal(t, jobsInTheHole, pooltest.Count[event.ClaimGone](p.Spy))
		assert.Zero(t, pooltest.Count[event.OutcomeUnknown](p.Spy))
		p.Empty("a")
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
		assert.Zero(t, pooltest.Count[event.ClaimGone](p.Spy)+pooltest.Count[event.OutcomeUnknown](p.Spy))
		assert.Equal(t, jobsInTheHole/2, p.Number("ZCARD", "morgue"))
	})
}

// Who reaped the worker may have left no word, or too long ago.
func TestOutcomesOfWhichNobodyKnowsAreToldAsSuch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		p := newPartition(t, s)
		p.end(lineHole)
		other := p.takeOver()
		p.Do("DEL", "taken:"+pooltest.WorkerID(p.pool))
		total := p.heal(other)
		assert.EqualValues(t, jobsInTheHole, total.Done)
		assert.Zero(t, total.Dead)
		assert.Zero(t, p.deaths.Load())
		assert.Zero(t, pooltest.Count[event.ClaimGone](p.Spy))
		assert.Equal(t, jobsInTheHole, pooltest.Count[event.OutcomeUnknown](p.Spy))
	})
}

// After a failover nobody can tell of what was fetched before it: the claim may be gone since it was lost.
func TestOutcomesOfWhatAFailoverMayHaveLostAreToldAsSuch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		p := newPartition(t, s)
		pooltest.Parts(p.pool).Forget()
		p.end(lineDeaf)
		p.heal(p.takeOver())
		assert.Zero(t, p.deaths.Load())
		assert.Equal(t, jobsInTheHole, pooltest.Count[event.OutcomeUnknown](p.Spy))
	})
}
