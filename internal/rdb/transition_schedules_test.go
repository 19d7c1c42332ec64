package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// timed is a schedule whose last tick was a second before the clock of the embedded Redis; a real one is far behind it.
var timed = rdb.Schedule{ID: "nightly", Definition: []byte("definition"), Entry: "1600000000000 old"}

// timetable stores the schedule, and another one.
func timetable(t *testing.T, s *site) {
	t.Helper()
	s.cmd(t, "HSET", "schedules", timed.ID, timed.Definition, "other", "x")
	s.cmd(t, "HSET", "ticks", timed.ID, timed.Entry, "other", "5 y")
}

func nextTick(of rdb.Schedule) rdb.Tick {
	at := time.UnixMilli(1_600_000_001_000)
	return rdb.Tick{Schedule: of, At: at, Queue: "a", Jobs: []rdb.TickJob{
		{ID: "n1", Due: at, Record: record("n1")},
		{ID: "n2", Due: time.UnixMilli(9_000_000_000_123), Record: record("n2")},
	}}
}

// sendTick answers what came of one tick.
func sendTick(store *rdb.Store, tick rdb.Tick) (rdb.Ticked, error) {
	answers, err := store.Tick(background, []rdb.Tick{tick})
	if err != nil {
		return rdb.Ticked{}, err
	}
	return answers[0], answers[0].Err
}

func scheduling() []transition {
	skip := nextTick(timed)
	skip.Skip = true
	tracked := nextTick(timed)
	tracked.Tracked = true
	needing := nextTick(timed)
	needing.Queue = aOnGPU
	tick := func(tick rdb.Tick) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			answer, err := sendTick(store, tick)
			return answer.Entry, err
		}
	}
	define := func(before, definition []byte, anew bool) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			return store.Define(background, timed.ID, before, definition, anew)
		}
	}
	return []transition{
		{name: "tick", script: "schedule/tick", prepare: timetable, send: tick(nextTick(timed))},
		{name: "tick, needs labels", script: "schedule/tick", prepare: timetable, send: tick(needing)},
		{name: "tick, tracked", script: "schedule/tick", prepare: timetable, send: tick(tracked)},
		{name: "tick, skipped", script: "schedule/tick", prepare: func(t *testing.T, s *site) {
			timetable(t, s)
			s.cmd(t, "HSET", "jobs", "old", "{}")
		}, send: tick(skip)},
		{name: "define, new", script: "schedule/define", timed: true, prepare: func(*testing.T, *site) {},
			send: define(nil, []byte("new"), true)},
		{name: "define, changed", script: "schedule/define", timed: true, prepare: timetable,
			send: define(timed.Definition, []byte("new"), false)},
		{name: "define, removed", script: "schedule/define", timed: true, prepare: timetable,
			send: define(timed.Definition, nil, false)},
		{name: "withdraw", script: "schedule/withdraw", timed: true, prepare: func(t *testing.T, s *site) {
			timetable(t, s)
			s.worker(t, "w1", "a")
		}, send: func(_ *site, store *rdb.Store) (any,
			error) {
			return store.Withdraw(background, timed, []string{"w1"})
		}},
	}
}

// callsOfScheduling has every method that sends a script of schedules make its call.
func callsOfScheduling(store *rdb.Store) {
	ignore := func(...any) {}
	ignore(store.Tick(background, []rdb.Tick{nextTick(timed)}))
	ignore(store.Define(background, "x", nil, []byte("definition"), true))
	ignore(store.Withdraw(background, timed, []string{"V", "W"}))
}

// Each row is a tick that Redis does not take as it was sent.
func TestATickThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(t *testing.T, s *site, tick *rdb.Tick)
		want   rdb.TickState
		entry  string
	}{
		"another worker was first": {func(t *testing.T, s *site, _ *rdb.Tick) {
			s.cmd(t, "HSET", "ticks", timed.ID, "1600000001000 n2")
		}, rdb.TickDone, "1600000001000 n2"},
		"its schedule has moved on": {func(t *testing.T, s *site, _ *rdb.Tick) {
			s.cmd(t, "HSET", "ticks", timed.ID, "1600000002000 n3")
		}, rdb.TickMoved, "1600000002000 n3"},
		"another job was stored by hand": {func(t *testing.T, s *site, _ *rdb.Tick) {
			s.cmd(t, "HSET", "ticks", timed.ID, "1600000000000 by-hand")
		}, rdb.TickMoved, "1600000000000 by-hand"},
		"its schedule was removed": {func(t *testing.T, s *site, _ *rdb.Tick) {
			s.cmd(t, "HDEL", "schedules", timed.ID)
		}, rdb.TickGone, timed.Entry},
		"its schedule was changed": {func(t *testing.T, s *site, _ *rdb.Tick) {
			s.cmd(t, "HSET", "schedules", timed.ID, "another one")
		}, rdb.TickGone, timed.Entry},
		"it is still to come": {func(t *testing.T, s *site, tick *rdb.Tick) {
			tick.At = s.now(t).Add(time.Minute)
		}, rdb.TickClock, timed.Entry},
		"judged by a clock that is ahead": {func(t *testing.T, s *site, tick *rdb.Tick) {
			tick.Judged = s.now(t).Add(time.Minute)
		}, rdb.TickClock, timed.Entry},
		"judged by a clock that is behind": {func(t *testing.T, s *site, tick *rdb.Tick) {
			tick.Judged = s.now(t).Add(-time.Minute)
		}, rdb.TickClock, timed.Entry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				timetable(t, s)
				tick := nextTick(timed)
				row.change(t, s, &tick)
				before := s.dump(t)
				answer, err := sendTick(s.store, tick)
				require.NoError(t, err)
				assert.Equal(t, row.want, answer.State)
				assert.Equal(t, row.entry, answer.Entry)
				assert.WithinDuration(t, s.now(t), answer.Time, time.Minute)
				assert.Equal(t, before, s.dump(t), "nothing is written")
			})
		})
	}
}

func TestATickStoresItsJobsAndNotesTheLast(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		answer, err := sendTick(s.store, nextTick(timed))
		require.NoError(t, err)
		assert.Equal(t, rdb.TickStored, answer.State)
		assert.Equal(t, "1600000001000 n2", answer.Entry)
		assert.Equal(t, []string{"n1"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		assert.Equal(t, map[string]string{"n2": "9000000000123"}, s.scores(t, "scheduled"))
		assert.Equal(t, map[string]string{"n2": "a"}, s.hash(t, "names"))
		assert.Len(t, s.hash(t, "jobs"), 2)
		assert.Equal(t, map[string]string{timed.ID: "1600000001000 n2", "other": "5 y"}, s.hash(t, "ticks"))
	})
}

func TestATickLeavesAJobAloneThatLives(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		s.cmd(t, "HSET", "jobs", "n1", "mine", "n2", "mine too")
		answer, err := sendTick(s.store, nextTick(timed))
		require.NoError(t, err)
		assert.Equal(t, rdb.TickStored, answer.State)
		assert.Equal(t, map[string]string{"n1": "mine", "n2": "mine too"}, s.hash(t, "jobs"))
		assert.Empty(t, s.list(t, "queue:a"))
		assert.Empty(t, s.scores(t, "scheduled"))
	})
}

func TestATickSkipsWhileTheLastJobLives(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		s.cmd(t, "HSET", "jobs", "old", "it lives")
		tick := nextTick(timed)
		tick.Skip = true
		answer, err := sendTick(s.store, tick)
		require.NoError(t, err)
		assert.Equal(t, rdb.TickSkipped, answer.State)
		assert.Equal(t, map[string]string{"old": "it lives"}, s.hash(t, "jobs"))
		assert.Equal(t, "1600000001000 old", s.hash(t, "ticks")[timed.ID], "the job to wait for is still that one")

		s.cmd(t, "ZADD", "morgue", 1, "old")
		tick = nextTick(timed)
		tick.Skip, tick.Schedule.Entry, tick.At = true, "1600000001000 old", tick.At.Add(time.Minute)
		answer, err = sendTick(s.store, tick)
		require.NoError(t, err)
		assert.Equal(t, rdb.TickStored, answer.State, "a dead one neither waits nor runs")
	})
}

func TestNothingIsLeftOfAScheduleThatIsRemoved(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		done, err := s.store.Define(t.Context(), timed.ID, timed.Definition, nil, false)
		require.NoError(t, err)
		assert.True(t, done)
		assert.Equal(t, map[string]string{"other": "x"}, s.hash(t, "schedules"))
		assert.Equal(t, map[string]string{"other": "5 y"}, s.hash(t, "ticks"))
	})
}

func TestTheFirstSightOfAScheduleStoresNow(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "HSET", "schedules", timed.ID, timed.Definition)
		unseen := timed
		unseen.Entry = ""
		answer, err := sendTick(s.store, nextTick(unseen))
		require.NoError(t, err)
		assert.Equal(t, rdb.TickFirst, answer.State)
		at, job := rdb.LastTick(answer.Entry)
		assert.Empty(t, job)
		assert.WithinDuration(t, s.now(t), at, time.Minute)
		assert.Empty(t, s.hash(t, "jobs"))
	})
}

func TestABadKeyStopsOneScheduleOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		s.cmd(t, "SET", "queue:a", "no list")
		other := nextTick(rdb.Schedule{ID: "other", Definition: []byte("x"), Entry: "5 y"})
		other.Queue = "b"
		answers, err := s.store.Tick(t.Context(), []rdb.Tick{nextTick(timed), other})
		require.NoError(t, err)
		require.Len(t, answers, 2)
		require.ErrorContains(t, answers[0].Err, "BADKEY "+s.key("queue:a"))
		assert.Equal(t, timed.Entry, s.hash(t, "ticks")[timed.ID])
		require.NoError(t, answers[1].Err)
		assert.Equal(t, rdb.TickStored, answers[1].State)
	})
}

func TestManyTicksGoInSeveralPipelines(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var ticks []rdb.Tick
		for i := range 150 {
			schedule := rdb.Schedule{ID: fmt.Sprint("s", i), Definition: []byte("x"), Entry: "5 y"}
			s.cmd(t, "HSET", "schedules", schedule.ID, "x")
			s.cmd(t, "HSET", "ticks", schedule.ID, schedule.Entry)
			tick := nextTick(schedule)
			tick.Jobs = []rdb.TickJob{{ID: fmt.Sprint("j", i), Due: tick.At, Record: make([]byte, 20_000)}}
			ticks = append(ticks, tick)
		}
		answers, err := s.store.Tick(t.Context(), ticks)
		require.NoError(t, err)
		require.Len(t, answers, len(ticks))
		for _, answer := range answers {
			require.NoError(t, answer.Err)
			require.Equal(t, rdb.TickStored, answer.State)
		}
		assert.Len(t, s.list(t, "queue:a"), len(ticks))
		all, _, err := s.store.Schedules(t.Context())
		require.NoError(t, err)
		assert.Len(t, all, len(ticks), "read in several parts")
	})
}

func TestASchedulesDefinitionIsReplacedAsItWasRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		done, err := s.store.Define(t.Context(), timed.ID, []byte("older"), []byte("new"), true)
		require.NoError(t, err)
		assert.False(t, done)
		done, err = s.store.Define(t.Context(), timed.ID, nil, []byte("new"), true)
		require.NoError(t, err)
		assert.False(t, done, "it is there already")
		assert.Equal(t, string(timed.Definition), s.hash(t, "schedules")[timed.ID])
		_, before, err := s.store.Schedules(t.Context())
		require.NoError(t, err)

		done, err = s.store.Define(t.Context(), timed.ID, timed.Definition, []byte("new"), false)
		require.NoError(t, err)
		assert.True(t, done)
		read, err := s.store.ScheduleOf(t.Context(), timed.ID)
		require.NoError(t, err)
		assert.Equal(t, rdb.Schedule{ID: timed.ID, Definition: []byte("new"), Entry: timed.Entry}, read)
		_, after, err := s.store.Schedules(t.Context())
		require.NoError(t, err)
		assert.NotEqual(t, before, after, "the revision says that there is news")

		done, err = s.store.Define(t.Context(), timed.ID, []byte("new"), []byte("newer"), true)
		require.NoError(t, err)
		assert.True(t, done)
		read, err = s.store.ScheduleOf(t.Context(), timed.ID)
		require.NoError(t, err)
		at, job := rdb.LastTick(read.Entry)
		assert.WithinDuration(t, s.now(t), at, time.Minute)
		assert.Equal(t, "old", job, "the last job is still known")
	})
}

func TestAScheduleIsWithdrawnOnlyWhenNobodyDeclaresIt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		declares string
		named    []string
		want     rdb.Withdrawal
	}{
		"a worker declares it":            {"first\nnightly\nlast", []string{"w1", "w2"}, rdb.StillDeclared},
		"one declares a similar one":      {"nightly2\nx nightly", []string{"w1", "w2"}, rdb.Withdrawn},
		"a worker was not named":          {"", []string{"w1"}, rdb.OtherwiseReads},
		"one of those named has gone":     {"", []string{"w1", "w3"}, rdb.OtherwiseReads},
		"nobody declares anything at all": {"", []string{"w2", "w1"}, rdb.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				timetable(t, s)
				s.worker(t, "w1", "a")
				_, _, err := s.store.Worker("w2").Register(t.Context(), rdb.Registration{
					Life: time.Minute, Epoch: "epoch-1", Queues: []string{"a"},
					Info: map[string]string{"service": "shop", "schedules": row.declares},
				})
				require.NoError(t, err)
				state, err := s.store.Withdraw(t.Context(), timed, row.named)
				require.NoError(t, err)
				assert.Equal(t, row.want, state)
				_, there := s.hash(t, "schedules")[timed.ID]
				assert.Equal(t, row.want != rdb.Withdrawn, there)
				declared, err := s.store.Declarations(t.Context())
				require.NoError(t, err)
				assert.Equal(t, "shop", declared["w2"].Service)
				assert.Len(t, declared, 2)
			})
		})
	}
	t.Run("too many workers to look at", func(t *testing.T) {
		t.Parallel()
		_, err := rdb.NewStore(nil, "ns").Withdraw(t.Context(), timed, make([]string, rdb.MaxBatch+1))
		require.ErrorContains(t, err, "501 workers are registered")
	})
}
