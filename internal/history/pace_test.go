package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redistest"
)

// pacedKit is that of a worker with a clock of its own, all of whose names run all the time.
type pacedKit struct {
	*kit
	now      time.Time
	attempts []history.Attempt
	told     map[string]int
	done     map[string]int64
}

func newPacedKit(names int) *pacedKit {
	p := &pacedKit{now: time.Unix(1_800_000_000, 0), told: map[string]int{}, done: map[string]int64{}}
	p.kit = newKit(&redisclock.Clock{Wall: func() time.Time { return p.now }})
	for n := range names {
		p.attempts = append(p.attempts, done(fmt.Sprint("name ", n), time.Millisecond))
	}
	return p
}

// second is one in which each name has run, and a heartbeat. It returns the names that were told.
func (p *pacedKit) second(t *testing.T, last bool) (names []string) {
	p.Count(p.attempts)
	p.now = p.now.Add(time.Second)
	return p.tellOnce(t, last)
}

func (p *pacedKit) tellOnce(t *testing.T, last bool) (names []string) {
	calls := p.Calls(last)
	if len(calls) == 0 {
		return nil
	}
	for _, sums := range tallyOf(calls[0]).Sums {
		p.told[sums.Name]++
		p.done[sums.Name] += history.Parse(sums.Counts).Done
		names = append(names, sums.Name)
	}
	p.answer(fmt.Sprint(p.now.UnixMilli()))
	require.NoError(t, p.trouble)
	return names
}

// TestHistoryCostsTheSameHoweverManyNamesThereAre: few names are told each second, and of many no more in a second. All
// are told in their turn, and nothing is lost.
func TestHistoryCostsTheSameHoweverManyNamesThereAre(t *testing.T) {
	t.Parallel()
	for _, names := range []int{1, 10, 11, 100, 1_000, redistest.Volume(10_000, 2_000)} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			t.Parallel()
			p := newPacedKit(names)
			seconds := int(2 * history.Period(names))
			for range seconds {
				p.second(t, false)
			}
			told := 0
			for _, n := range p.told {
				told += n
			}
			assert.LessOrEqual(t, told, history.NamesPerSecond*seconds, "in %d seconds", seconds)
			assert.GreaterOrEqual(t, told, min(names, history.NamesPerSecond)*seconds/3,
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
	rows, workers := map[string]bool{}, []*pacedKit{newPacedKit(1_000), newPacedKit(1_000),
		newPacedKit(1_000)}
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
	assert.LessOrEqual(t, len(rows), 61*history.NamesPerSecond)
	assert.GreaterOrEqual(t, len(rows), 60*history.NamesPerSecond/3)
}

// TestAClockThatIsSetMakesNoNameWaitLong.
func TestAClockThatIsSetMakesNoNameWaitLong(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		p := newPacedKit(100)
		p.second(t, false)
		p.now = p.now.Add(by)
		for range history.Period(100) + 4 {
			p.second(t, false)
		}
		assert.Len(t, p.told, 100, by)
	}
}
