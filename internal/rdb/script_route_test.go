package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// routed are the scripts that store something which may belong to another partition: each is sent by who goes by a map
// of that version.
func routed() map[string]struct {
	prepare func(t *testing.T, s *site)
	send    func(s *site, version int64) error
} {
	type row = struct {
		prepare func(t *testing.T, s *site)
		send    func(s *site, version int64) error
	}
	enqueue := func(jobs ...rdb.NewJob) func(*site, int64) error {
		return func(s *site, version int64) error {
			_, err := s.store.EnqueueIn(background, rdb.LaneCall{Lane: "lane", Number: 7, Map: version}, jobs)
			return err
		}
	}
	later, bound := job("b", "later"), job("b", "bound")
	later.Place, later.When, bound.Tracked = rdb.In, 60_000, true
	return map[string]row{
		"enqueue of one queue": {waiting, enqueue(job("a", "x"), job("a", "y"))},
		"enqueue of all kinds": {waiting, enqueue(job("a", "x"), later, bound)},
		"tick": {timetable, func(s *site, version int64) error {
			_, err := sendTick(s.store.AtMap(version), nextTick(timed))
			return err
		}},
		"define": {timetable, func(s *site, version int64) error {
			_, err := s.store.AtMap(version).Define(background, timed.ID, timed.Definition, []byte("new"), false)
			return err
		}},
		"define, removed elsewhere": {waiting, func(s *site, version int64) error {
			_, err := s.store.AtMap(version).Define(background, timed.ID, timed.Definition, nil, false)
			return err
		}},
		"again": {func(t *testing.T, s *site) {
			pastOf(t, s, "a1", "a2")
			s.cmd(t, "ZADD", "objects", 1, "sha")
		}, func(s *site, version int64) error {
			_, err := s.store.AtMap(version).Again(background, again("a1", "new", "sha"))
			return err
		}},
		"pause": {waiting, func(s *site, version int64) error {
			changed, err := s.store.AtMap(version).SetPauses(background, []rdb.Pause{{Name: "a", Paused: true}})
			if err != nil {
				return err
			}
			return changed[0].Err
		}},
		"forget": {waiting, func(s *site, version int64) error {
			return s.store.AtMap(version).ForgetPauses(background, []rdb.Pause{{Name: "a", Version: 3}})
		}},
		"hint": {waiting, func(s *site, version int64) error {
			return s.store.AtMap(version).AddHints(background, hinted)
		}},
		"rule": {waiting, func(s *site, version int64) error {
			_, err := s.store.AtMap(version).SetRule(background, "a", "", rdb.Rule{Paused: true}.Text(), false)
			return err
		}},
	}
}

// Who goes by an older map, or by none, stores nothing and is told which is in force.
func TestWhoGoesByAnOlderMapIsSentElsewhere(t *testing.T) {
	t.Parallel()
	for name, row := range routed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				row.prepare(t, s)
				s.cmd(t, "HSET", "lanes", "", "12")
				before := s.dump(t)
				for _, version := range []int64{0, 5, 11} {
					var route *rdb.RouteError
					require.ErrorAs(t, row.send(s, version), &route, "by version %d", version)
					assert.Equal(t, int64(12), route.Version)
					assert.Equal(t, before, s.dump(t), "by version %d", version)
				}
				require.NoError(t, row.send(s, 12))
				assert.NotEmpty(t, s.dump(t))
			})
		})
	}
}

// A partition that lags behind its callers, as after a failover, serves them.
func TestWhoGoesByANewerMapIsServed(t *testing.T) {
	t.Parallel()
	for name, row := range routed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				row.prepare(t, s)
				s.cmd(t, "HSET", "lanes", "", "12")
				require.NoError(t, row.send(s, 13))
				assert.Equal(t, "12", s.hash(t, "lanes")[""], "it is no business of callers")
			})
		})
	}
}

// A call that was executed before the map changed is answered: its caller must know that it was.
func TestACallSentAgainIsAnsweredWhateverTheMapIs(t *testing.T) {
	t.Parallel()
	later := job("a", "later")
	later.Place, later.When = rdb.In, 60_000
	for name, jobs := range map[string][]rdb.NewJob{
		"of one queue": {job("a", "x")}, "of all kinds": {job("a", "x"), job("b", "y"), later},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				call := rdb.LaneCall{Lane: "lane", Number: 7, Known: 6, Map: 3}
				first, err := s.store.EnqueueIn(t.Context(), call, jobs)
				require.NoError(t, err)
				assert.Equal(t, rdb.Rewind{At: 7}, first.Rewound,
					"the number that was answered is read behind the other")
				s.cmd(t, "HSET", "lanes", "", "4")
				before := s.dump(t)
				second, err := s.store.EnqueueIn(t.Context(), call, jobs)
				require.NoError(t, err)
				assert.Equal(t, first, second)
				assert.Equal(t, before, s.dump(t))
				call.Number++
				_, err = s.store.EnqueueIn(t.Context(), call, jobs)
				var route *rdb.RouteError
				require.ErrorAs(t, err, &route)
				call.Map, call.Known = 4, 0
				third, err := s.store.EnqueueIn(t.Context(), call, jobs)
				require.NoError(t, err, "a call that was refused may be sent again by the map that is in force")
				assert.Equal(t, rdb.Rewind{}, third.Rewound, "it does not say what it knows to be answered")
			})
		})
	}
}

// What was defined or moved on before the map changed is there; the tick says so.
func TestATickSentAgainIsAnsweredWhateverTheMapIs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		store := s.store.AtMap(3)
		_, err := sendTick(store, nextTick(timed))
		require.NoError(t, err)
		s.cmd(t, "HSET", "lanes", "", "4")
		answer, err := sendTick(store, nextTick(timed))
		require.NoError(t, err)
		assert.Equal(t, rdb.TickDone, answer.State)
	})
}

// What does not store new jobs goes on by lanes, whatever stands beside them.
func TestTheVersionOfTheMapIsNoLane(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "HSET", "lanes", "", "12", "old", "7 5")
		_, err := noted(s.store, rdb.LaneCall{Lane: "l", Number: 7, Map: 3})
		require.NoError(t, err)
		s.cmd(t, "LPUSH", "completion:c", "done a1")
		_, err = s.store.Collect(t.Context(), "c", "reader", 7)
		require.NoError(t, err)
		states, err := s.store.Lanes(t.Context(), []string{"l"})
		require.NoError(t, err)
		assert.Equal(t, []rdb.LaneState{{Number: 7}}, states)
		_, err = s.store.RemoveStaleLanes(t.Context(), "", time.Hour)
		require.NoError(t, err)
		lanes := s.hash(t, "lanes")
		assert.Equal(t, "12", lanes[""], "it has no time, and is not old")
		assert.NotContains(t, lanes, "old")
	})
}

// Those who move what is bound learn of it as it is stored, and of nothing else.
func TestWhatIsTrackedIsListedAsItIsStored(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		plain, chosen := job("a", "plain"), job("a", "chosen")
		unique, second, later := job("b", "unique"), job("b", "second"), job("b", "later")
		chosen.Chosen, chosen.Tracked = true, true
		unique.Lock, unique.Tracked = rdb.Lock{Digest: "digest", Kind: rdb.UntilEnded}, true
		second.Lock, second.Tracked = unique.Lock, true
		later.Place, later.When, later.Tracked = rdb.In, 60_000, true
		later.Objects = []string{"sha"}
		s.cmd(t, "ZADD", "objects", 1, "sha")
		answer, err := s.store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{plain, chosen, unique, second, later})
		require.NoError(t, err)
		assert.Equal(t, map[int]rdb.Problem{3: rdb.Unique}, answer.Problems)
		listed := texts(t, s.cmd(t, "LRANGE", "tracked", 0, -1))
		assert.Equal(t, []string{"chosen\x00\x00a", "unique\x00digest\x00b", "later\x00\x00b"}, listed)
		assert.Equal(t, []string{"later"}, s.set(t, "object:sha:jobs"), "its key is not that of an object")

		timetable(t, s)
		tick := nextTick(timed)
		tick.Tracked = true
		_, err = sendTick(s.store, tick)
		require.NoError(t, err)
		assert.Equal(t, []string{"n1\x00\x00a", "n2\x00\x00a"}, texts(t, s.cmd(t, "LRANGE", "tracked", 3, -1)))

		s.cmd(t, "UNLINK", "tracked")
		chosen.ID, chosen.Tracked = "other", false
		_, err = s.store.Enqueue(t.Context(), "lane", 2, []rdb.NewJob{chosen, job("b", "b2")})
		require.NoError(t, err)
		assert.False(t, s.exists(t, "tracked"))
	})
}

// A pool learns of a change by its heartbeats.
func TestAHeartbeatBringsTheVersionOfTheMap(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		conn, err := s.driver.Dial(t.Context())
		require.NoError(t, err)
		defer conn.Close() //lint:ignore errcheck nothing of it is needed
		beat := func(lease time.Duration) rdb.Pulse {
			pulse, err := w.Beat(t.Context(), conn, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", Lease: lease})
			require.NoError(t, err)
			require.Equal(t, rdb.Registered, pulse.State)
			return pulse
		}
		assert.Zero(t, beat(0).Map)
		_, err = s.store.WriteMap(t.Context(), 12, []byte(`{"version":12}`), -1)
		require.NoError(t, err)
		assert.Equal(t, int64(12), beat(0).Map)
		assert.Equal(t, int64(12), beat(time.Minute).Map, "the one with the lease is told more, and that too")
		s.cmd(t, "UNLINK", "lanes")
		s.cmd(t, "SET", "lanes", "broken")
		assert.Zero(t, beat(0).Map, "a broken key ends no worker")
	})
}

// A map is decided by a compare-and-set: of two who send one of the same version one has it, and learns so also by a
// second call. One that is merely passed on needs no certain one before it.
func TestOneOfTwoWritersOfAMapHasIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		write := func(version int64, text string, after int64) (int64, error) {
			return s.store.WriteMap(t.Context(), version, []byte(text), after)
		}
		known, err := write(1, "first", 0)
		require.NoError(t, err)
		assert.Equal(t, int64(1), known)
		for range 2 { // the second time since the reply was lost
			known, err = write(2, "mine", 1)
			require.NoError(t, err)
			assert.Equal(t, int64(2), known)
		}
		var route *rdb.RouteError
		_, err = write(2, "yours", 1)
		require.ErrorAs(t, err, &route, "it is of that version, and another one")
		assert.Equal(t, int64(2), route.Version)
		_, err = write(5, "far", 4)
		require.ErrorAs(t, err, &route, "what it follows is not here")
		text, err := s.store.ReadMap(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "mine", string(text))

		known, err = write(9, "passed on", -1)
		require.NoError(t, err)
		assert.Equal(t, int64(9), known)
		known, err = write(8, "older", -1)
		require.NoError(t, err)
		assert.Equal(t, int64(9), known)
		text, err = s.store.ReadMap(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "passed on", string(text))
	})
}
