package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// numbered is a series of one number.
func numbered(n int64) func() int64 { return func() int64 { return n } }

// counting is a series that begins with that number.
func counting(n int64) func() int64 {
	return func() int64 { n++; return n - 1 }
}

// staffing are the transitions of what a worker serves. Worker w1 holds jobs of a and b, and serves c besides.
func staffing() []transition {
	serve := func(change rdb.Serving) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			_, stay, err := store.Worker("w1").Serve(background, numbered(9), change)
			return stay, err
		}
	}
	prepare := func(t *testing.T, s *site) {
		holding(t, s)
		s.cmd(t, "SADD", "worker:w1:queues", "c")
	}
	return []transition{
		{name: "serve, one more", script: "worker/serve", timed: true, prepare: prepare,
			send: serve(rdb.Serving{Add: []string{"d"}})},
		{name: "serve, one less", script: "worker/serve", prepare: prepare,
			send: serve(rdb.Serving{Leave: []string{"a", "c"}})},
		{name: "serve, another one", script: "worker/serve", timed: true, prepare: prepare,
			send: serve(rdb.Serving{Add: []string{"d"}, Leave: []string{"c"}})},
	}
}

// callsOfServing has the method that changes what is served make its call.
func callsOfServing(w *rdb.Worker) {
	_, _, _ = w.Serve(background, numbered(1), rdb.Serving{Add: []string{"c"}, Leave: []string{"a", "b"}})
}

func TestAWorkerLeavesTheQueuesOfWhichItHoldsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		holding(t, s)
		w := s.store.Worker("w1")
		s.cmd(t, "SADD", "worker:w1:queues", "c")
		state, stay, err := w.Serve(t.Context(), counting(2),
			rdb.Serving{Add: []string{"d"}, Leave: []string{"a", "c", "never"}})
		require.NoError(t, err)
		assert.Equal(t, rdb.Registered, state)
		assert.Equal(t, []string{"a"}, stay, "a reaper must find what is held")
		assert.Equal(t, []string{"a", "b", "d"}, s.set(t, "worker:w1:queues"))
		assert.Equal(t, "3", s.hash(t, "worker:w1:info")["serves"])
		assert.Contains(t, s.scores(t, "queues"), "d")

		settled, err := w.Settle(t.Context(), []redisconn.Call{
			w.Release(rdb.Released{Queue: "a", Elements: []string{"1:a1", "1:a2"}}),
			w.Release(rdb.Released{Queue: "b", Elements: []string{"1:b1"}}),
		})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		_, stay, err = w.Serve(t.Context(), counting(3), rdb.Serving{Leave: []string{"a", "b", "d"}})
		require.NoError(t, err)
		assert.Empty(t, stay)
		assert.Empty(t, s.set(t, "worker:w1:queues"))
		assert.Equal(t, "0", s.hash(t, "worker:w1:info")["serves"], "it is meant to have none")
		_, gone, err := w.Forget(t.Context(), nil, "")
		require.NoError(t, err)
		assert.True(t, gone)
	})
}

func TestAChangeOfWhatIsServedKeepsItsPlaceAmongFetches(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		waiting(t, s)
		w := s.worker(t, "w1", "a", "b")
		leave := rdb.Serving{Leave: []string{"a"}}
		state, _, err := w.Serve(t.Context(), numbered(5), leave)
		require.NoError(t, err)
		require.Equal(t, rdb.Registered, state)
		fetched, err := w.Fetch(t.Context(), 4, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
		require.NoError(t, err)
		assert.Equal(t, rdb.Stale, fetched.State, "a fetch from before would leave a job where no reaper looks")
		state, _, err = w.Serve(t.Context(), numbered(6), rdb.Serving{Add: []string{"a"}})
		require.NoError(t, err)
		require.Equal(t, rdb.Registered, state)
		state, _, err = w.Serve(t.Context(), numbered(5), leave)
		require.NoError(t, err)
		assert.Equal(t, rdb.Stale, state, "one that comes late is refused")
		assert.Equal(t, []string{"a", "b"}, s.set(t, "worker:w1:queues"))

		s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1")
		state, _, err = w.Serve(t.Context(), numbered(7), leave)
		require.NoError(t, err)
		assert.Equal(t, rdb.Fenced, state)
		assert.Equal(t, []string{"a", "b"}, s.set(t, "worker:w1:queues"), "the reaper has it now")
	})
}

func TestManyNamesAreServedInSteps(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "first")
		names := many("q")
		next := counting(2)
		_, stay, err := w.Serve(t.Context(), next, rdb.Serving{Add: names, Leave: []string{"first"}})
		require.NoError(t, err)
		assert.Empty(t, stay)
		assert.Len(t, s.set(t, "worker:w1:queues"), len(names))
		_, _, err = w.Serve(t.Context(), next, rdb.Serving{Leave: names})
		require.NoError(t, err)
		assert.Empty(t, s.set(t, "worker:w1:queues"))
	})
}
