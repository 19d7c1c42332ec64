package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/redisclock"
)

func TestACounterCountsAttempts(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	due := begun.Add(-time.Second - time.Millisecond)
	rows := []struct {
		name        string
		attempt     history.Attempt
		want        [3]int64
		run, waited int64
	}{
		{"done", history.Attempt{Result: history.Done, Begun: begun, Due: due}, [3]int64{1, 0, 0}, 1, 1},
		{"to be tried again", history.Attempt{Result: history.Failed, Begun: begun, Due: due, Gap: time.Minute},
			[3]int64{0, 1, 0}, 1, 1},
		{"dead", history.Attempt{Result: history.Dead, Begun: begun, Due: due}, [3]int64{0, 0, 1}, 1, 1},
		{"dead before it began", history.Attempt{Result: history.Dead, Due: due}, [3]int64{0, 0, 1}, 0, 0},
		{"nobody knows since when", history.Attempt{Result: history.Done, Begun: begun}, [3]int64{1, 0, 0}, 1, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(&redisclock.Clock{})
			row.attempt.Name, row.attempt.Took = "a", time.Second
			k.Count([]history.Attempt{row.attempt})
			sums := k.flushed(t).Sums
			require.Len(t, sums, 1)
			assert.Equal(t, "a", sums[0].Name)
			got := history.Parse(sums[0].Counts)
			assert.Equal(t, row.want, [3]int64{got.Done, got.Failed, got.Dead})
			assert.Equal(t, row.attempt.Gap, got.Gap)
			assert.Equal(t, row.run, total(got.Run))
			assert.Equal(t, row.waited, total(got.Waited))
			assert.Equal(t, time.Duration(row.run)*time.Second, got.Run.Sum)
			assert.Equal(t, time.Duration(row.waited)*(time.Second+time.Millisecond),
				got.Waited.Sum.Round(time.Millisecond))
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		k := newKit(&redisclock.Clock{})
		k.Count(nil)
		assert.Empty(t, k.Calls(true), "nothing is told where nothing is counted")
	})
}

func total(d history.Durations) (n int64) {
	for _, count := range d.Counts {
		n += count
	}
	return n
}

// TestWaitingIsMeasuredByTheClockOfRedis: that of this machine may be hours wrong.
func TestWaitingIsMeasuredByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	clock := &redisclock.Clock{}
	now := clock.Local()
	clock.Learn(now.Add(5*time.Hour), now, now)
	k := newKit(clock)
	attempt := done("a", 0)
	attempt.Due = time.Now().Add(5*time.Hour - time.Minute)
	k.Count([]history.Attempt{attempt})
	sums := k.flushed(t).Sums
	require.Len(t, sums, 1)
	assert.Equal(t, int64(1), history.Parse(sums[0].Counts).Waited.Counts[16], "a minute: %s", sums[0].Counts)
}

// TestAThousandNamesAreToldInParts, those that wait for the longest time first; nothing is lost.
func TestAThousandNamesAreToldInParts(t *testing.T) {
	t.Parallel()
	k := newKit(&redisclock.Clock{})
	var attempts []history.Attempt
	for n := range 1000 {
		attempts = append(attempts, done(fmt.Sprint("name ", n), time.Duration(n)*time.Millisecond))
	}
	k.Count(attempts)
	told := map[string]int64{}
	var order []string
	more := int64(0)
	for calls := k.Calls(true); len(calls) > 0; calls = k.Calls(true) {
		assert.Less(t, callBytes(calls[0]), 64<<10)
		counts := 0
		for _, sums := range tallyOf(calls[0]).Sums {
			told[sums.Name] += history.Parse(sums.Counts).Done
			order = append(order, sums.Name)
			counts += strings.Count(sums.Counts, ":")
		}
		assert.Less(t, counts, history.MaxFinalCounts+5)
		if len(told) < len(attempts) {
			k.Count(attempts[:1]) // what comes while a call is under way is told behind all others
			more++
		}
		k.answer(took)
		require.NoError(t, k.trouble)
	}
	assert.Positive(t, more)
	assert.Equal(t, 1+more, told["name 0"])
	delete(told, "name 0")
	require.Len(t, order, 1001)
	for n, name := range order[:1000] {
		require.Equal(t, fmt.Sprint("name ", n), name)
	}
	for name, done := range told {
		assert.EqualValues(t, 1, done, name)
	}
}

// TestErrorsOfAllKindsAreBounded: what has no room is counted together, and no count is lost.
func TestErrorsOfAllKindsAreBounded(t *testing.T) {
	t.Parallel()
	k, n := newKit(&redisclock.Clock{}), 1000
	for i := range n {
		word := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8",
			"i", "9", "j").
			Replace(fmt.Sprint(i))
		k.Count([]history.Attempt{{Name: "a", ID: fmt.Sprint(i), Result: history.Failed,
			Error: word + strings.Repeat("x", 2000)}})
	}
	groups := map[string]bool{}
	var counted, together int64
	for call := 0; ; call++ {
		calls := k.Calls(true)
		if len(calls) == 0 {
			break
		}
		told := tallyOf(calls[0]).Errors
		assert.LessOrEqual(t, len(told), history.MaxErrors)
		assert.Less(t, callBytes(calls[0]), 64<<10)
		refused := ""
		for i, e := range told {
			groups[e.Digest] = true
			assert.LessOrEqual(t, len(e.Message), history.MaxGroupMessage)
			assert.Equal(t, e.Message == history.OtherErrors, e.Must)
			switch {
			case call == 0 && !e.Must:
				refused += fmt.Sprint(" ", i+1) // Redis has no room for any
			case e.Must:
				together += e.Count
				fallthrough
			default:
				counted += e.Count
			}
		}
		k.answer(took + refused)
		require.NoError(t, k.trouble)
	}
	assert.LessOrEqual(t, len(groups), history.MaxUntoldGroups+1)
	assert.EqualValues(t, n, counted)
	assert.GreaterOrEqual(t, together, int64(n-history.MaxUntoldGroups))
}

// BenchmarkCounter is what history costs per job: no memory.
func BenchmarkCounter(b *testing.B) {
	for _, batch := range []int{1, 20, 200} {
		for _, names := range []int{1, 10} {
			b.Run(fmt.Sprintf("batch %d, names %d", batch, names), func(b *testing.B) {
				counter := history.NewCounter(&redisclock.Clock{})
				attempts := make([]history.Attempt, batch)
				for i := range attempts {
					attempts[i] = done(fmt.Sprint("name", i%names), time.Duration(i)*time.Millisecond)
				}
				counter.Count(attempts)
				b.ReportAllocs()
				for range b.N / batch {
					counter.Count(attempts)
				}
			})
		}
	}
}

// TestACounterNeedsNoMemoryPerJob once a name is known.
func TestACounterNeedsNoMemoryPerJob(t *testing.T) {
	counter := history.NewCounter(&redisclock.Clock{})
	attempts := []history.Attempt{done("a", time.Second), done("b", 0)}
	counter.Count(attempts)
	assert.Zero(t, testing.AllocsPerRun(100, func() { counter.Count(attempts) }))
}
