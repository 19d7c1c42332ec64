package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// pacedLedger is that of a worker with a clock of its own, all of whose names run all the time.
type pacedLedger struct {
	*ledger
	now  time.Time
	runs []*run
	told map[string]int
	done map[string]int64
}

func newPacedLedger(names int) *pacedLedger {
	p := &pacedLedger{now: time.Unix(1_800_000_000, 0), told: map[string]int{}, done: map[string]int64{}}
	p.ledger = newLedger(&redisClock{wall: func() time.Time { return p.now }}, false)
	for n := range names {
		p.runs = append(p.runs, settledRun(&registration{}, fmt.Sprint("name ", n), decision{verb: verbDone},
			time.Millisecond))
	}
	return p
}

// second is one in which each name has run, and a heartbeat. It returns the names that were told.
func (p *pacedLedger) second(t *testing.T, last bool) (names []string) {
	p.book(p.runs)
	p.now = p.now.Add(time.Second)
	return p.tellOnce(t, last)
}

func (p *pacedLedger) tellOnce(t *testing.T, last bool) (names []string) {
	if len(p.news(rdb.NewStore(nil, "ns"), last)) == 0 {
		return nil
	}
	for _, sums := range p.open.Sums {
		var point HistoryPoint
		point.add(sums.Counts)
		p.told[sums.Name]++
		p.done[sums.Name] += point.Done
		names = append(names, sums.Name)
	}
	require.NoError(t, p.answered([]rdb.Reply{{Value: fmt.Appendf(nil, "%d", p.now.UnixMilli())}}))
	return names
}

// TestHistoryCostsTheSameHoweverManyNamesThereAre: few names are told each second, and of many no more in a second. All
// are told in their turn, and nothing is lost.
func TestHistoryCostsTheSameHoweverManyNamesThereAre(t *testing.T) {
	t.Parallel()
	for _, names := range []int{1, 10, 11, 100, 1_000, 10_000} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			t.Parallel()
			p := newPacedLedger(names)
			seconds := int(2 * pacePeriod(names))
			for range seconds {
				p.second(t, false)
			}
			told := 0
			for _, n := range p.told {
				told += n
			}
			assert.LessOrEqual(t, told, namesPerSecond*seconds, "in %d seconds", seconds)
			assert.GreaterOrEqual(t, told, min(names, namesPerSecond)*seconds/3,
				"a name waits no longer than it has to")
			assert.Len(t, p.told, names, "each was told")
			booked := int64(seconds)
			for more := true; more; more = len(p.tellOnce(t, true)) > 0 {
				continue
			}
			for name, done := range p.done {
				require.Equal(t, booked, done, name)
			}
		})
	}
}

// TestWorkersTellOfANameInTheSameMinute: else a minute would have as many rows as there are names, whatever one worker
// tells.
func TestWorkersTellOfANameInTheSameMinute(t *testing.T) {
	t.Parallel()
	rows, workers := map[string]bool{}, []*pacedLedger{newPacedLedger(1_000), newPacedLedger(1_000),
		newPacedLedger(1_000)}
	for n, w := range workers {
		w.now = w.now.Add(time.Duration(n) * 300 * time.Millisecond)
	}
	for second := range 60 {
		for _, w := range workers {
			for _, name := range w.second(t, false) {
				if second > 0 { // the second before belongs to another minute
					rows[name] = true
				}
			}
		}
	}
	assert.LessOrEqual(t, len(rows), 61*namesPerSecond)
	assert.GreaterOrEqual(t, len(rows), 60*namesPerSecond/3)
}

// TestAClockThatIsSetMakesNoNameWaitLong.
func TestAClockThatIsSetMakesNoNameWaitLong(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		p := newPacedLedger(100)
		p.second(t, false)
		p.now = p.now.Add(by)
		for range pacePeriod(100) + 4 {
			p.second(t, false)
		}
		assert.Len(t, p.told, 100, by)
	}
}

// TestHistoryCanBeTurnedOff: nothing is sent and nothing is stored, and jobs run.
func TestHistoryCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := k.options()
		opts.NoHistory = true
		pool := NewWorkerPool(nil, 2, opts).Job("a", func() error { return nil }).
			JobWithOptions("b", JobOptions{Retries: -1}, func() error { return fmt.Errorf("no") })
		d := k.tamper(pool, &tampered{})
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueue("a")
		k.enqueue("b")
		require.NoError(t, pool.Drain(k.ctx()))
		d.untilSent(t, "beat", 2)
		require.NoError(t, pool.Stop(k.ctx()))
		tallies, _ := d.sent("add")
		assert.Zero(t, tallies)
		history, err := k.inspector().History(k.ctx(), HistoryOptions{})
		require.NoError(t, err)
		assert.Empty(t, history)
		assert.Zero(t, k.number("EXISTS", "errors"))
	})
}

// TestWhatHistoryCostsIsTold by an event for each call that Redis has taken, those of the stop together.
func TestWhatHistoryCostsIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 2, k.options())
		const names = 30
		for n := range names {
			pool.Job(fmt.Sprint("n", n), func() error { return nil })
		}
		require.NoError(t, pool.Start(k.ctx()))
		for n := range names {
			k.enqueue(fmt.Sprint("n", n))
		}
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		told := 0
		for _, e := range seen[event.HistoryTold](k.spy) {
			told += e.Names
			assert.NotEmpty(t, e.Worker)
			assert.Positive(t, e.Every)
		}
		assert.GreaterOrEqual(t, told, names)
	})
}
