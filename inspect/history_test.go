package inspect_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// sum adds the points of a name up.
func sum(points []inspect.HistoryPoint) (total inspect.HistoryPoint) {
	for _, p := range points {
		total.Done, total.Failed, total.Dead = total.Done+p.Done, total.Failed+p.Failed, total.Dead+p.Dead
		total.Run.Merge(p.Run)
		total.Waited.Merge(p.Waited)
		total.Gap += p.Gap
	}
	return total
}

// TestHistoryCountsEachAttemptOnce runs jobs that end in each way, and stops: what is left is told then.
func TestHistoryCountsEachAttemptOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		fates := map[string]error{
			"done": nil, "retry": errors.New("no"), "bury": work.Bury(errors.New("never")),
			"discard": work.Discard(nil),
			"snooze":  work.Snooze(time.Hour),
		}
		pool := work.NewWorkerPool(nil, 5, k.Options())
		for name, fate := range fates {
			pool.JobWithOptions(name, work.JobOptions{Backoff: func(*work.Job,
				error) time.Duration {
				return time.Hour
			}},
				func() error { return fate })
		}
		pool.JobWithOptions("skip", work.JobOptions{SkipMorgue: true, Retries: -1},
			func() error { return errors.New("lost") })
		require.NoError(t, pool.Start(k.Ctx()))
		for name := range fates {
			for range 3 {
				k.Enqueue(name)
			}
		}
		k.Enqueue("skip")
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))

		for _, by := range []time.Duration{time.Minute, 24 * time.Hour} {
			history, err := k.inspector().History(k.Ctx(), inspect.HistoryOptions{By: by})
			require.NoError(t, err)
			for name, want := range map[string][3]int64{"done": {3, 0, 0}, "retry": {0, 3, 0}, "bury": {0, 3, 3},
				"skip": {0, 1, 1}} {
				total := sum(history[name])
				assert.Equal(t, want, [3]int64{total.Done, total.Failed, total.Dead}, "%s by %s", name, by)
				assert.Equal(t, want[0]+want[1], total.Run.Count(), name)
				assert.Equal(t, want[0]+want[1], total.Waited.Count(), name)
				assert.Equal(t, time.Duration(want[1]-want[2])*time.Hour, total.Gap, name)
			}
			assert.Len(t, history, 4, "what was discarded or put off is not counted")
			all, err := k.inspector().History(k.Ctx(), inspect.HistoryOptions{By: by, Together: true})
			require.NoError(t, err)
			total := sum(all[""])
			assert.Equal(t, [3]int64{3, 7, 4}, [3]int64{total.Done, total.Failed, total.Dead}, "all together by %s", by)
			assert.EqualValues(t, 10, total.Run.Count())
			assert.Len(t, all, 1)
			some, err := k.inspector().
				History(k.Ctx(), inspect.HistoryOptions{By: by, Together: true, Names: []string{"done", "bury"}})
			require.NoError(t, err)
			assert.EqualValues(t, 3, sum(some[""]).Done)
			assert.EqualValues(t, 3, sum(some[""]).Dead)
			assert.EqualValues(t, 3, sum(some[""]).Failed)
		}
	})
}

// TestErrorsOfOneKindAreOneGroup: numbers in a message differ from job to job.
func TestErrorsOfOneKindAreOneGroup(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			Job("find", func(user int) error {
				err := fmt.Errorf("user %d not found", user)
				if user == 13 {
					return work.Bury(err) // what should become of the job is no part of the error
				}
				return err
			}).
			Job("bury", func() error { return work.Bury(errors.New(`no "x"`)) })
		require.NoError(t, pool.Start(k.Ctx()))
		ids := []string{k.Enqueue("find", 12).ID, k.Enqueue("find", 13).ID}
		buried := k.Enqueue("bury").ID
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))

		i := k.inspector()
		groups, err := i.Errors(k.Ctx(), "")
		require.NoError(t, err)
		require.Len(t, groups, 2)
		assert.Equal(t, inspect.ErrorGroup{
			Digest: history.Digest("find", "user # not found"), Name: "find", Message: "user # not found", Count: 2,
			Sample: groups[0].Sample,
			First:  groups[0].First, Last: groups[0].Last,
		}, groups[0], "the most frequent first")
		assert.Contains(t, ids, groups[0].Sample)
		assert.Equal(t, `no "…"`, groups[1].Message)
		assert.Equal(t, buried, groups[1].Sample)

		require.NoError(t, i.ClearErrors(k.Ctx(), "find"))
		groups, err = i.Errors(k.Ctx(), "")
		require.NoError(t, err)
		require.Len(t, groups, 1)
		assert.Equal(t, "bury", groups[0].Name)
		require.NoError(t, i.ClearErrors(k.Ctx(), ""))
		groups, err = i.Errors(k.Ctx(), "")
		require.NoError(t, err)
		assert.Empty(t, groups)
	})
}

// TestHistoryFillsGaps: there is a point for each minute and day, in order, also where nothing was counted.
func TestHistoryFillsGaps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		now, err := inside.Inspector(i).Store.Time(k.Ctx())
		require.NoError(t, err)
		now = now.UTC()
		for _, ago := range []time.Duration{2 * time.Minute, 5 * time.Minute, 3 * time.Hour} {
			k.Do("HSET", "stats:"+now.Add(-ago).Format("2006-01-02T15:04"), "a", "d:1 r:7 r0:1", "b", "f:2")
		}
		k.Do("HSET", "stats:"+now.AddDate(0, 0, -3).Format("2006-01-02"), "a", "d:9")

		rows := []struct {
			name   string
			opts   inspect.HistoryOptions
			step   time.Duration
			points int // give or take one, since the time goes on
			sums   map[string][2]int64
		}{
			{"the last hour", inspect.HistoryOptions{}, time.Minute, 61, map[string][2]int64{"a": {2, 0}, "b": {0, 4}}},
			{"one name", inspect.HistoryOptions{Names: []string{"a"}}, time.Minute, 61,
				map[string][2]int64{"a": {2, 0}}},
			{"a name twice", inspect.HistoryOptions{Names: []string{"a", "a"}}, time.Minute, 61,
				map[string][2]int64{"a": {2, 0}}},
			{"a name that nobody knows", inspect.HistoryOptions{Names: []string{"c"}}, time.Minute, 61,
				map[string][2]int64{"c": {0, 0}}},
			{"four hours", inspect.HistoryOptions{Since: now.Add(-4 * time.Hour)}, time.Minute, 241,
				map[string][2]int64{"a": {3, 0}, "b": {0, 6}}},
			{"before an hour", inspect.HistoryOptions{Until: now.Add(-time.Hour), Since: now.Add(-4 * time.Hour)},
				time.Minute, 181,
				map[string][2]int64{"a": {1, 0}, "b": {0, 2}}},
			{"a time to come", inspect.HistoryOptions{Until: now.Add(time.Hour), Since: now.Add(-10 * time.Minute)},
				time.Minute, 11,
				map[string][2]int64{"a": {2, 0}, "b": {0, 4}}},
			{"a week is by days", inspect.HistoryOptions{Since: now.AddDate(0, 0, -7)}, 24 * time.Hour, 8,
				map[string][2]int64{"a": {9, 0}}},
			{"more days than are kept", inspect.HistoryOptions{Since: now.AddDate(-1, 0, 0)}, 24 * time.Hour, 90,
				map[string][2]int64{"a": {9, 0}}},
			{"more minutes than are kept", inspect.HistoryOptions{Since: now.AddDate(-1, 0, 0), By: time.Minute},
				time.Minute, 1440,
				map[string][2]int64{"a": {3, 0}, "b": {0, 6}}},
			{"a time that nobody knows any more",
				inspect.HistoryOptions{Since: now.AddDate(-2, 0, 0), Until: now.AddDate(-1, 0, 0)}, 24 * time.Hour, 0,
				map[string][2]int64{}},
		}
		for _, row := range rows {
			history, err := i.History(k.Ctx(), row.opts)
			require.NoError(t, err, row.name)
			sums := map[string][2]int64{}
			for name, points := range history {
				total := sum(points)
				sums[name] = [2]int64{total.Done, total.Failed}
				assert.InDelta(t, row.points, len(points), 1, row.name)
				for n := 1; n < len(points); n++ {
					require.Equal(t, row.step, points[n].At.Sub(points[n-1].At), row.name)
				}
				assert.Equal(t, points[0].At, points[0].At.UTC().Truncate(row.step), row.name)
			}
			assert.Equal(t, row.sums, sums, row.name)
		}
	})
}

func TestHistoryThatCannotBe(t *testing.T) {
	t.Parallel()
	now := time.Now()
	many := make([]string, 200)
	for n := range many {
		many[n] = fmt.Sprint("n", n)
	}
	rows := []struct {
		name, want string
		opts       inspect.HistoryOptions
	}{
		{"another step", "HistoryOptions.By", inspect.HistoryOptions{By: time.Hour}},
		{"an end before its beginning", "HistoryOptions.Since",
			inspect.HistoryOptions{Since: now.Add(-time.Hour), Until: now.Add(-2 * time.Hour)}},
		{"a beginning to come", "HistoryOptions.Since", inspect.HistoryOptions{Since: now.Add(time.Hour)}},
		{"too many points", "200000", inspect.HistoryOptions{Names: many, Since: now.Add(-23 * time.Hour)}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				_, err := k.inspector().History(k.Ctx(), row.opts)
				var invalid *work.InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.ErrorContains(t, err, row.want)
			})
		})
	}
}

// TestHistoryFollowsTheClockOfRedis over a minute and over midnight.
func TestHistoryFollowsTheClockOfRedis(t *testing.T) {
	t.Parallel()
	c := newKit(t, redistest.Embedded(t))
	midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)
	o := c.Options()
	d := c.Tamper(&o, &pooltest.Tampered{})
	pool := work.NewWorkerPool(nil, 2, o).Job("a", func() error { return nil })
	c.Server.Embedded().SetTime(midnight.Add(-90 * time.Second))
	c.Start(pool)
	for n, at := range []time.Time{midnight.Add(-90 * time.Second), midnight.Add(-20 * time.Second), midnight,
		midnight.Add(time.Minute)} {
		c.Server.Embedded().SetTime(at)
		for range n + 1 {
			c.Enqueue("a")
		}
		require.NoError(t, pool.Drain(c.Ctx()))
		c.Until("it is told", func() bool {
			history, err := c.inspector().History(c.Ctx(), inspect.HistoryOptions{Names: []string{"a"}})
			require.NoError(t, err)
			points := history["a"]
			return points[len(points)-1].Done == int64(n+1)
		})
	}
	sent, _ := d.Sent("add")
	assert.LessOrEqual(t, sent, 4*3, "nothing is told where nothing was counted")
	days, err := c.inspector().
		History(c.Ctx(), inspect.HistoryOptions{Names: []string{"a"}, By: 24 * time.Hour,
			Since: midnight.Add(-time.Hour)})
	require.NoError(t, err)
	require.Len(t, days["a"], 2)
	assert.Equal(t, [2]int64{1 + 2, 3 + 4}, [2]int64{days["a"][0].Done, days["a"][1].Done})
	assert.Equal(t, midnight, days["a"][1].At)
}

// TestQueuesTellWhatTheLastFullMinutesBrought: the minute under way does not count yet, and what is older no more.
func TestQueuesTellWhatTheLastFullMinutesBrought(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	k := newKit(t, s)
	pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
		JobWithOptions("n", work.JobOptions{Retries: -1}, func(fate string) error {
			if fate == "dies" {
				return pooltest.ErrLuck
			}
			return nil
		}))
	told := func(want [3]int64) {
		t.Helper()
		queue, err := k.inspector().Queue(k.Ctx(), "n")
		require.NoError(t, err)
		assert.Equal(t, want, [3]int64{queue.Done, queue.Failed, queue.Dead})
	}
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 0, 10, 0, time.UTC))
	k.Enqueue("n", "well")
	k.Enqueue("n", "well")
	k.Enqueue("n", "dies")
	require.NoError(t, pool.Drain(k.Ctx()))
	require.NoError(t, k.Stop(pool)) // it tells what it has counted
	told([3]int64{})
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 1, 0, 0, time.UTC))
	told([3]int64{2, 1, 1})
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 5, 59, 0, time.UTC))
	told([3]int64{2, 1, 1})
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 6, 0, 0, time.UTC))
	told([3]int64{})
}
