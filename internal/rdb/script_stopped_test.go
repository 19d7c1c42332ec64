package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// leaves has a worker that serves a stop.
func (s *site) leaves(t *testing.T, id, text string) {
	t.Helper()
	_, gone, err := s.worker(t, id, "a").Forget(t.Context(), []string{"a"}, text)
	require.NoError(t, err)
	require.True(t, gone)
}

// listed are the ids of the list of the stopped, the newest first, each with its text.
func (s *site) listed(t *testing.T, most int) (ids []string, texts map[string]string) {
	t.Helper()
	list, err := s.store.Stopped(t.Context(), most)
	require.NoError(t, err)
	texts = map[string]string{}
	for _, worker := range list {
		ids, texts[worker.ID] = append(ids, worker.ID), worker.Text
	}
	return ids, texts
}

// What is sent again, and what a second reaper sends, changes nothing: the first one knew as much.
func TestForgetListsAWorkerOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaves(t, "w1", "stopped {1}")
		s.pass(t, 10*time.Millisecond)
		s.worker(t, "w2", "a")
		s.cmd(t, "SMOVE", "workers", s.key("dead"), "w2")
		s.pass(t, 10*time.Millisecond)
		for _, text := range []string{"died {1}", "died {1}", "died {2}"} {
			_, gone, err := s.store.Worker("w2").Forget(t.Context(), []string{"a"}, text)
			require.NoError(t, err)
			assert.True(t, gone)
		}
		before := s.dump(t)
		_, _, err := s.store.Worker("w1").Forget(t.Context(), []string{"a"}, "stopped {2}")
		require.NoError(t, err)
		assert.Equal(t, before, s.dump(t))
		list, err := s.store.Stopped(t.Context(), 1)
		require.NoError(t, err)
		assert.WithinDuration(t, s.now(t), list[0].At, time.Minute)
		ids, texts := s.listed(t, 10)
		assert.Equal(t, []string{"w2", "w1"}, ids, "the newest first")
		assert.Equal(t, map[string]string{"w1": "stopped {1}", "w2": "died {1}"}, texts)
		ids, _ = s.listed(t, 1)
		assert.Equal(t, []string{"w2"}, ids)

		s.leaves(t, "w3", "")
		ids, _ = s.listed(t, 10)
		assert.NotContains(t, ids, "w3", "nobody said why it left")
		_, gone, err := s.store.Worker("w3").Forget(t.Context(), []string{"a"}, "stopped {}")
		require.NoError(t, err)
		assert.True(t, gone)
		ids, _ = s.listed(t, 10)
		assert.NotContains(t, ids, "w3", "this call has not removed it")
	})
}

func TestForgetKeepsAThousandForAWeek(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t).UnixMilli()
		fill := func(from, to int, at int64) {
			scores, texts := []any{}, []any{}
			for n := from; n < to; n++ {
				scores = append(scores, at+int64(n), fmt.Sprint("old", n))
				texts = append(texts, fmt.Sprint("old", n), "stopped {}")
			}
			s.cmd(t, "ZADD", "stopped", scores...)
			s.cmd(t, "HSET", "stopped:info", texts...)
		}
		count := func() (int64, int64) {
			return s.cmd(t, "ZCARD", "stopped").(int64), s.cmd(t, "HLEN", "stopped:info").(int64)
		}
		fill(0, rdb.MaxStopped-1, now-rdb.StoppedKept.Milliseconds()/2)
		s.leaves(t, "w1", "stopped {}")
		listed, texts := count()
		assert.EqualValues(t, [2]int64{rdb.MaxStopped, rdb.MaxStopped}, [2]int64{listed, texts}, "a thousand")
		s.leaves(t, "w2", "stopped {}")
		listed, texts = count()
		assert.EqualValues(t, [2]int64{rdb.MaxStopped, rdb.MaxStopped}, [2]int64{listed, texts}, "and one")
		ids, _ := s.listed(t, rdb.MaxStopped)
		assert.Contains(t, ids, "w1")
		assert.NotContains(t, ids, "old0", "the oldest has gone")
		assert.Contains(t, ids, "old1")
		assert.InDelta(t, rdb.StoppedKept.Milliseconds(), s.cmd(t, "PTTL", "stopped"), 60_000)
		assert.InDelta(t, rdb.StoppedKept.Milliseconds(), s.cmd(t, "PTTL", "stopped:info"), 60_000)

		s.cmd(t, "UNLINK", "stopped", s.key("stopped:info"))
		fill(0, 150, now-rdb.StoppedKept.Milliseconds()-time.Minute.Milliseconds())
		fill(1000, 1003, now-rdb.StoppedKept.Milliseconds()+time.Hour.Milliseconds())
		s.leaves(t, "w3", "stopped {}")
		listed, texts = count()
		assert.EqualValues(t, [2]int64{54, 54}, [2]int64{listed, texts}, "one call removes a hundred")
		s.leaves(t, "w4", "stopped {}")
		ids, _ = s.listed(t, 10)
		assert.Len(t, ids, 5)
		assert.Subset(t, ids, []string{"w3", "w4", "old1000", "old1001", "old1002"}, "a week is not over")
	})
}

// A list that is broken costs the note, and no worker stays because of it.
func TestForgetPassesABrokenListOfTheStopped(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"stopped", "stopped:info"} {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "SET", broken, "x")
				s.worker(t, "w1", "a")
				s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1")
				for _, id := range []string{"w1", "w2"} {
					s.leaves(t, id, "stopped {}")
				}
				assert.False(t, s.exists(t, "workers"))
				assert.False(t, s.exists(t, "dead"))
				assert.Equal(t, "x", text(s.cmd(t, "GET", broken)))
				_, err := s.store.Worker("w1").DeclareAlive(t.Context(), []string{"a1"})
				require.NoError(t, err)
				if broken == "stopped" {
					_, err := s.store.Stopped(t.Context(), 10)
					assert.ErrorContains(t, err, "WRONGTYPE")
				}
			})
		})
	}
}

// Where the list was lost, its texts go: nothing else would ever remove them.
func TestForgetDropsTheTextsOfAListThatIsGone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "HSET", "stopped:info", "lost", "stopped {}")
		s.leaves(t, "w1", "stopped {}")
		assert.Equal(t, map[string]string{"w1": "stopped {}"}, s.hash(t, "stopped:info"))
	})
}

func TestAWorkerThatTurnsOutToBeAliveIsListedAsFenced(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		texts := map[string]string{"w1": `died {"pid":1}`, "w2": `stopped {"pid":1}`}
		for id, text := range texts {
			s.leaves(t, id, text)
			for range 2 {
				_, err := s.store.Worker(id).DeclareAlive(t.Context(), nil)
				require.NoError(t, err)
			}
		}
		texts["w1"] = `fenced {"pid":1}`
		assert.Equal(t, texts, s.hash(t, "stopped:info"))

		w := s.worker(t, "w3", "a") // it says so just before it is forgotten
		s.cmd(t, "HSET", "worker:w3:info", "host", "h")
		_, err := w.DeclareAlive(t.Context(), nil)
		require.NoError(t, err)
		_, _, err = w.Forget(t.Context(), []string{"a"}, `died {"pid":3}`)
		require.NoError(t, err)
		texts["w3"] = `fenced {"pid":3}`
		for range 2 { // or afterwards, and names itself dead with its next registration
			_, _, err = w.Forget(t.Context(), []string{"a"}, `died {}`)
			require.NoError(t, err)
			s.cmd(t, "SADD", "dead", "w3")
		}
		assert.Equal(t, texts, s.hash(t, "stopped:info"))
		_, err = s.store.Worker("unknown").DeclareAlive(t.Context(), nil)
		require.NoError(t, err)
		assert.Len(t, s.hash(t, "stopped:info"), 3)
	})
}

// What a worker has run stands with what else is known of it, and does not come back once it was forgotten.
func TestBeatTellsWhatTheWorkerRan(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		beat := rdb.Beat{Life: time.Minute, Epoch: "epoch-1"}
		for _, ran := range []string{`{"done":1}`, "", `{"done":2}`, ""} {
			if beat.Load = ""; ran != "" {
				beat.Load = "load of " + ran
			}
			if beat.Ran = ran; ran == "" {
				before := s.hash(t, "worker:w1:info")
				assert.Equal(t, rdb.Registered, s.beat(t, w, beat).State)
				assert.Equal(t, before, s.hash(t, "worker:w1:info"))
				continue
			}
			assert.Equal(t, rdb.Registered, s.beat(t, w, beat).State)
			assert.Equal(t, ran, s.hash(t, "worker:w1:info")[rdb.InfoRan])
			assert.Equal(t, beat.Load, s.hash(t, "worker:w1:info")[rdb.InfoLoad])
		}
		left, err := w.Remains(t.Context())
		require.NoError(t, err)
		assert.Equal(t, `{"done":2}`, left.Info[rdb.InfoRan])

		s.cmd(t, "UNLINK", "worker:w1:info")
		s.cmd(t, "SET", "worker:w1:info", "x")
		beat.Ran = `{"done":3}`
		assert.Equal(t, rdb.Registered, s.beat(t, w, beat).State, "it lives, whatever became of that key")
		s.cmd(t, "UNLINK", "worker:w1:info")
		s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1")
		assert.Equal(t, rdb.Fenced, s.beat(t, w, beat).State)
		assert.False(t, s.exists(t, "worker:w1:info"))
	})
}
