package work

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// sum adds the points of a name up.
func sum(points []HistoryPoint) (total HistoryPoint) {
	for _, p := range points {
		total.Done, total.Failed, total.Dead = total.Done+p.Done, total.Failed+p.Failed, total.Dead+p.Dead
		total.Run.Merge(p.Run)
		total.Waited.Merge(p.Waited)
	}
	return total
}

// TestHistoryCountsEachAttemptOnce runs jobs that end in each way, and stops: what is left is told then.
func TestHistoryCountsEachAttemptOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		fates := map[string]error{
			"done": nil, "retry": errors.New("no"), "bury": Bury(errors.New("never")), "discard": Discard(nil),
			"snooze": Snooze(time.Hour),
		}
		pool := NewWorkerPool(nil, 5, k.options())
		for name, fate := range fates {
			pool.Job(name, func() error { return fate })
		}
		pool.JobWithOptions("skip", JobOptions{SkipMorgue: true, Retries: -1},
			func() error { return errors.New("lost") })
		require.NoError(t, pool.Start(k.ctx()))
		for name := range fates {
			for range 3 {
				k.enqueue(name)
			}
		}
		k.enqueue("skip")
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))

		for _, by := range []time.Duration{time.Minute, 24 * time.Hour} {
			history, err := k.inspector().History(k.ctx(), HistoryOptions{By: by})
			require.NoError(t, err)
			for name, want := range map[string][3]int64{"done": {3, 0, 0}, "retry": {0, 3, 0}, "bury": {0, 0, 3},
				"skip": {0, 0, 1}} {
				total := sum(history[name])
				assert.Equal(t, want, [3]int64{total.Done, total.Failed, total.Dead}, "%s by %s", name, by)
				assert.Equal(t, want[0]+want[1]+want[2], total.Run.Count(), name)
				assert.Equal(t, want[0]+want[1]+want[2], total.Waited.Count(), name)
			}
			assert.Len(t, history, 4, "what was discarded or put off is not counted")
			all, err := k.inspector().History(k.ctx(), HistoryOptions{By: by, Together: true})
			require.NoError(t, err)
			total := sum(all[""])
			assert.Equal(t, [3]int64{3, 3, 4}, [3]int64{total.Done, total.Failed, total.Dead}, "all together by %s", by)
			assert.EqualValues(t, 10, total.Run.Count())
			assert.Len(t, all, 1)
			some, err := k.inspector().
				History(k.ctx(), HistoryOptions{By: by, Together: true, Names: []string{"done", "bury"}})
			require.NoError(t, err)
			assert.EqualValues(t, 3, sum(some[""]).Done)
			assert.EqualValues(t, 3, sum(some[""]).Dead)
			assert.Zero(t, sum(some[""]).Failed)
		}
	})
}

// TestErrorsOfOneKindAreOneGroup: numbers in a message differ from job to job.
func TestErrorsOfOneKindAreOneGroup(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).
			Job("find", func(user int) error {
				err := fmt.Errorf("user %d not found", user)
				if user == 13 {
					return Bury(err) // what should become of the job is no part of the error
				}
				return err
			}).
			Job("bury", func() error { return Bury(errors.New(`no "x"`)) })
		require.NoError(t, pool.Start(k.ctx()))
		ids := []string{k.enqueue("find", 12).ID, k.enqueue("find", 13).ID}
		buried := k.enqueue("bury").ID
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))

		i := k.inspector()
		groups, err := i.Errors(k.ctx(), "")
		require.NoError(t, err)
		require.Len(t, groups, 2)
		assert.Equal(t, ErrorGroup{
			Digest: errorDigest("find", "user # not found"), Name: "find", Message: "user # not found", Count: 2,
			Sample: groups[0].Sample,
			First:  groups[0].First, Last: groups[0].Last,
		}, groups[0], "the most frequent first")
		assert.Contains(t, ids, groups[0].Sample)
		assert.Equal(t, `no "…"`, groups[1].Message)
		assert.Equal(t, buried, groups[1].Sample)

		require.NoError(t, i.ClearErrors(k.ctx(), "find"))
		groups, err = i.Errors(k.ctx(), "")
		require.NoError(t, err)
		require.Len(t, groups, 1)
		assert.Equal(t, "bury", groups[0].Name)
		require.NoError(t, i.ClearErrors(k.ctx(), ""))
		groups, err = i.Errors(k.ctx(), "")
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
		now, err := i.store.Time(k.ctx())
		require.NoError(t, err)
		now = now.UTC()
		for _, ago := range []time.Duration{2 * time.Minute, 5 * time.Minute, 3 * time.Hour} {
			k.do("HSET", "stats:"+now.Add(-ago).Format("2006-01-02T15:04"), "a", "d:1 r:7 r0:1", "b", "f:2")
		}
		k.do("HSET", "stats:"+now.AddDate(0, 0, -3).Format("2006-01-02"), "a", "d:9")

		rows := []struct {
			name   string
			opts   HistoryOptions
			step   time.Duration
			points int // give or take one, since the time goes on
			sums   map[string][2]int64
		}{
			{"the last hour", HistoryOptions{}, time.Minute, 61, map[string][2]int64{"a": {2, 0}, "b": {0, 4}}},
			{"one name", HistoryOptions{Names: []string{"a"}}, time.Minute, 61, map[string][2]int64{"a": {2, 0}}},
			{"a name twice", HistoryOptions{Names: []string{"a", "a"}}, time.Minute, 61,
				map[string][2]int64{"a": {2, 0}}},
			{"a name that nobody knows", HistoryOptions{Names: []string{"c"}}, time.Minute, 61,
				map[string][2]int64{"c": {0, 0}}},
			{"four hours", HistoryOptions{Since: now.Add(-4 * time.Hour)}, time.Minute, 241,
				map[string][2]int64{"a": {3, 0}, "b": {0, 6}}},
			{"before an hour", HistoryOptions{Until: now.Add(-time.Hour), Since: now.Add(-4 * time.Hour)}, time.Minute,
				181,
				map[string][2]int64{"a": {1, 0}, "b": {0, 2}}},
			{"a time to come", HistoryOptions{Until: now.Add(time.Hour), Since: now.Add(-10 * time.Minute)},
				time.Minute, 11,
				map[string][2]int64{"a": {2, 0}, "b": {0, 4}}},
			{"a week is by days", HistoryOptions{Since: now.AddDate(0, 0, -7)}, 24 * time.Hour, 8,
				map[string][2]int64{"a": {9, 0}}},
			{"more days than are kept", HistoryOptions{Since: now.AddDate(-1, 0, 0)}, 24 * time.Hour, 90,
				map[string][2]int64{"a": {9, 0}}},
			{"more minutes than are kept", HistoryOptions{Since: now.AddDate(-1, 0, 0), By: time.Minute}, time.Minute,
				1440,
				map[string][2]int64{"a": {3, 0}, "b": {0, 6}}},
			{"a time that nobody knows any more",
				HistoryOptions{Since: now.AddDate(-2, 0, 0), Until: now.AddDate(-1, 0, 0)}, 24 * time.Hour, 0,
				map[string][2]int64{}},
		}
		for _, row := range rows {
			history, err := i.History(k.ctx(), row.opts)
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
		opts       HistoryOptions
	}{
		{"another step", "HistoryOptions.By", HistoryOptions{By: time.Hour}},
		{"an end before its beginning", "HistoryOptions.Since",
			HistoryOptions{Since: now.Add(-time.Hour), Until: now.Add(-2 * time.Hour)}},
		{"a beginning to come", "HistoryOptions.Since", HistoryOptions{Since: now.Add(time.Hour)}},
		{"too many points", "200000", HistoryOptions{Names: many, Since: now.Add(-23 * time.Hour)}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				_, err := k.inspector().History(k.ctx(), row.opts)
				var invalid *InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.ErrorContains(t, err, row.want)
			})
		})
	}
}

// TestHistoryFollowsTheClockOfRedis over a minute and over midnight.
func TestHistoryFollowsTheClockOfRedis(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)
	pool := NewWorkerPool(nil, 2, c.options()).Job("a", func() error { return nil })
	d := c.tamper(pool, &tampered{})
	c.set(midnight.Add(-90 * time.Second))
	c.start(pool)
	for n, at := range []time.Time{midnight.Add(-90 * time.Second), midnight.Add(-20 * time.Second), midnight,
		midnight.Add(time.Minute)} {
		c.set(at)
		for range n + 1 {
			c.enqueue("a")
		}
		require.NoError(t, pool.Drain(c.ctx()))
		c.until("it is told", func() bool {
			history, err := c.inspector().History(c.ctx(), HistoryOptions{Names: []string{"a"}})
			require.NoError(t, err)
			points := history["a"]
			return points[len(points)-1].Done == int64(n+1)
		})
	}
	sent, _ := d.sent("add")
	assert.LessOrEqual(t, sent, 4*3, "nothing is told where nothing was counted")
	days, err := c.inspector().
		History(c.ctx(), HistoryOptions{Names: []string{"a"}, By: 24 * time.Hour, Since: midnight.Add(-time.Hour)})
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
	pool := k.start(NewWorkerPool(nil, 2, k.options()).
		JobWithOptions("n", JobOptions{Retries: -1}, func(fate string) error {
			if fate == "dies" {
				return errLuck
			}
			return nil
		}))
	told := func(want [3]int64) {
		t.Helper()
		queue, err := k.inspector().Queue(k.ctx(), "n")
		require.NoError(t, err)
		assert.Equal(t, want, [3]int64{queue.Done, queue.Failed, queue.Dead})
	}
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 0, 10, 0, time.UTC))
	k.enqueue("n", "well")
	k.enqueue("n", "well")
	k.enqueue("n", "dies")
	require.NoError(t, pool.Drain(k.ctx()))
	require.NoError(t, k.stop(pool)) // it tells what it has counted
	told([3]int64{})
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 1, 0, 0, time.UTC))
	told([3]int64{2, 0, 1})
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 5, 59, 0, time.UTC))
	told([3]int64{2, 0, 1})
	s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 6, 0, 0, time.UTC))
	told([3]int64{})
}
