package work

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// settledRun is a run whose outcome was acknowledged.
func settledRun(reg *registration, name string, d decision, took time.Duration) *run {
	r := &run{registration: reg, decision: d, elapsed: took}
	r.given = Job{ID: "id of " + name, Name: name, RunAt: time.Now().Add(-time.Second - time.Millisecond)}
	r.job = &r.given
	r.begun.Store(time.Now().UnixNano())
	return r
}

func TestALedgerCountsWhatHasSettled(t *testing.T) {
	t.Parallel()
	unbegun := settledRun(nil, "a", decision{verb: verbBury}, 0)
	unbegun.begun.Store(0)
	taken := settledRun(nil, "a", decision{verb: verbDone}, 0)
	taken.lostClaim = true
	undated := settledRun(nil, "a", decision{verb: verbDone}, time.Second)
	undated.job.RunAt = time.Time{}
	settled := func(d decision) *run { return settledRun(nil, "a", d, time.Second) }
	rows := []struct {
		name        string
		run         *run
		want        [3]int64
		run1, wait1 int64
	}{
		{"done", settled(decision{verb: verbDone}), [3]int64{1, 0, 0}, 1, 1},
		{"to be tried again", settled(decision{verb: verbRetry}), [3]int64{0, 1, 0}, 1, 1},
		{"to the morgue", settled(decision{verb: verbBury}), [3]int64{0, 0, 1}, 1, 1},
		{"dead without a morgue", settled(decision{verb: verbDiscard, death: errors.New("x")}), [3]int64{0, 0, 1}, 1,
			1},
		{"discarded", settled(decision{verb: verbDiscard}), [3]int64{}, 0, 0},
		{"put off", settled(decision{verb: verbSnooze}), [3]int64{}, 0, 0},
		{"given back", settled(decision{verb: verbRelease}), [3]int64{}, 0, 0},
		{"cancelled", settled(decision{verb: verbCancel}), [3]int64{}, 0, 0},
		{"expired", settled(decision{verb: verbExpire}), [3]int64{}, 0, 0},
		{"to the morgue before it began", unbegun, [3]int64{0, 0, 1}, 0, 0},
		{"somebody else's", taken, [3]int64{}, 0, 0},
		{"nobody knows since when", undated, [3]int64{1, 0, 0}, 1, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(&redisClock{}, false)
			row.run.registration = &registration{}
			l.book([]*run{row.run})
			var got HistoryPoint
			counted, _ := l.take(true)
			for _, sums := range counted {
				assert.Equal(t, "a", sums.Name)
				got.add(sums.Counts)
			}
			assert.Equal(t, row.want, [3]int64{got.Done, got.Failed, got.Dead})
			assert.Equal(t, row.run1, got.Run.Count())
			assert.Equal(t, row.wait1, got.Waited.Count())
			assert.Equal(t, len(counted) > 0, row.want != [3]int64{}, "nothing is told of what is not counted")
			if row.run1 == 1 {
				assert.Equal(t, time.Second, got.Run.Sum)
			}
			if row.wait1 == 1 {
				assert.GreaterOrEqual(t, got.Waited.Sum, time.Second)
			}
		})
	}
}

// TestWaitingIsMeasuredByTheClockOfRedis: that of this machine may be hours wrong.
func TestWaitingIsMeasuredByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	clock := &redisClock{}
	now := clock.ours()
	clock.saw(now.Add(5*time.Hour), now, now)
	l := newLedger(clock, false)
	r := settledRun(&registration{}, "a", decision{verb: verbDone}, 0)
	r.job.RunAt = time.Now().Add(5*time.Hour - time.Minute)
	l.book([]*run{r})
	counted, _ := l.take(true)
	require.Len(t, counted, 1)
	var got HistoryPoint
	got.add(counted[0].Counts)
	assert.Equal(t, int64(1), got.Waited.Counts[16], "a minute: %s", counted[0].Counts)
}

// TestAThousandNamesAreToldInParts, those that wait for the longest time first; nothing is lost.
func TestAThousandNamesAreToldInParts(t *testing.T) {
	t.Parallel()
	l := newLedger(&redisClock{}, false)
	store := rdb.NewStore(nil, "ns")
	var runs []*run
	for n := range 1000 {
		runs = append(runs, settledRun(&registration{}, fmt.Sprint("name ", n), decision{verb: verbDone},
			time.Duration(n)*time.Millisecond))
	}
	l.book(runs)
	told := map[string]int64{}
	var order []string
	more := int64(0)
	for calls := l.news(store, true); len(calls) > 0; calls = l.news(store, true) {
		assert.Less(t, callBytes(calls[0]), 64<<10)
		counts := 0
		for _, sums := range l.open.Sums {
			var p HistoryPoint
			p.add(sums.Counts)
			told[sums.Name] += p.Done
			order = append(order, sums.Name)
			counts += strings.Count(sums.Counts, ":")
		}
		assert.Less(t, counts, maxFinalCounts+5)
		if len(told) < len(runs) {
			l.book(runs[:1]) // what comes while a call is under way is told behind all others
			more++
		}
		require.NoError(t, l.answered([]rdb.Reply{{Value: []byte("1800000000000")}}))
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

func callBytes(call rdb.Call) (bytes int) {
	for _, arg := range call.Args {
		bytes += len(fmt.Sprint(arg))
	}
	return bytes
}

// TestErrorsOfAllKindsAreBounded: what has no room is counted together, and no count is lost.
func TestErrorsOfAllKindsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLedger(&redisClock{}, false)
	store := rdb.NewStore(nil, "ns")
	reg, n := &registration{}, 1000
	for i := range n {
		word := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8",
			"i", "9", "j").
			Replace(fmt.Sprint(i))
		l.book([]*run{settledRun(reg, "a", decision{verb: verbRetry, failure: word + strings.Repeat("x", 2000)}, 0)})
	}
	assert.LessOrEqual(t, len(l.errors), maxUntoldGroups+1)
	var counted, together int64
	for call := 0; ; call++ {
		calls := l.news(store, true)
		if len(calls) == 0 {
			break
		}
		assert.LessOrEqual(t, len(l.open.Errors), maxToldErrors)
		assert.Less(t, callBytes(calls[0]), 64<<10)
		refused := ""
		for i, e := range l.open.Errors {
			assert.LessOrEqual(t, len(e.Message), maxGroupMessage)
			assert.Equal(t, e.Message == otherErrors, e.Must)
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
		require.NoError(t, l.answered([]rdb.Reply{{Value: []byte("1800000000000" + refused)}}))
	}
	assert.EqualValues(t, n, counted)
	assert.GreaterOrEqual(t, together, int64(n-maxUntoldGroups))
}

// TestACallIsSentAgainAsItWas: what was counted since waits for the next one.
func TestACallIsSentAgainAsItWas(t *testing.T) {
	t.Parallel()
	l := newLedger(&redisClock{}, false)
	store := rdb.NewStore(nil, "ns")
	reg := &registration{}
	done := func() { l.book([]*run{settledRun(reg, "a", decision{verb: verbDone}, 0)}) }
	done()
	first := l.news(store, true)
	done()
	again := l.news(store, true)
	assert.Equal(t, first[0].Args[8:], again[0].Args[8:], "the same sums")
	assert.Equal(t, first[0].Args[1], again[0].Args[1], "under the same number")

	require.Error(t, l.answered([]rdb.Reply{{Err: &rdb.ServerError{Code: "LOADING"}}}))
	then := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	require.NoError(t, l.answered([]rdb.Reply{{Value: []byte(fmt.Sprint(then.UnixMilli(), " elsewhere"))}}))
	again = l.news(store, true)
	assert.Equal(t, first[0].Args[8:], again[0].Args[8:])
	assert.Equal(t, first[0].Args[1], again[0].Args[1])
	assert.Equal(t, then.UnixMilli(), again[0].Args[2], "for the minute that it is")

	require.NoError(t, l.answered([]rdb.Reply{{Value: []byte("1800000000000")}}))
	next := l.news(store, true)
	require.Len(t, next, 1)
	assert.NotEqual(t, first[0].Args[1], next[0].Args[1])
	require.NoError(t, l.answered([]rdb.Reply{{Value: []byte("1800000000000")}}))
	assert.Empty(t, l.news(store, true), "nothing is sent when nothing was counted")
}

// BenchmarkLedger is what history costs per job: no memory.
func BenchmarkLedger(b *testing.B) {
	for _, batch := range []int{1, 20, 200} {
		for _, names := range []int{1, 10} {
			b.Run(fmt.Sprintf("batch %d, names %d", batch, names), func(b *testing.B) {
				l := newLedger(&redisClock{}, false)
				registrations := make([]registration, names)
				runs := make([]*run, batch)
				for i := range runs {
					runs[i] = settledRun(&registrations[i%names], "name", decision{verb: verbDone},
						time.Duration(i)*time.Millisecond)
				}
				l.book(runs)
				b.ReportAllocs()
				for range b.N / batch {
					l.book(runs)
				}
			})
		}
	}
}

// TestALedgerNeedsNoMemoryPerJob once a name is known.
func TestALedgerNeedsNoMemoryPerJob(t *testing.T) {
	l := newLedger(&redisClock{}, false)
	runs := []*run{settledRun(&registration{}, "a", decision{verb: verbDone}, time.Second),
		settledRun(&registration{}, "b", decision{verb: verbDone}, 0)}
	l.book(runs)
	assert.Zero(t, testing.AllocsPerRun(100, func() { l.book(runs) }))
}
