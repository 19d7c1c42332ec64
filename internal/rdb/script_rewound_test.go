package rdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// fell is what a worker is told of a Redis that fell back.
func fell(t *testing.T, w *rdb.Worker) int64 {
	t.Helper()
	known, is := w.FellBack()
	if !is {
		return -1
	}
	return known
}

func TestAWorkerLearnsThatRedisFellBack(t *testing.T) {
	t.Parallel()
	calls := map[string]func(t *testing.T, s *site, w *rdb.Worker) rdb.State{
		"fetch": func(t *testing.T, _ *site, w *rdb.Worker) rdb.State {
			fetched, err := w.Fetch(t.Context(), 9, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
			require.NoError(t, err)
			return fetched.State
		},
		"survey": func(t *testing.T, _ *site, w *rdb.Worker) rdb.State {
			state, _, err := w.Survey(t.Context(), 9, []string{"a"})
			require.NoError(t, err)
			return state
		},
		"serve": func(t *testing.T, _ *site, w *rdb.Worker) rdb.State {
			state, _, err := w.Serve(t.Context(), func() int64 { return 9 }, rdb.Serving{Add: []string{"b"}})
			require.NoError(t, err)
			return state
		},
		"beat": func(t *testing.T, s *site, w *rdb.Worker) rdb.State {
			pulse, err := w.Beat(t.Context(), conn{s.driver}, rdb.Beat{Life: time.Minute, Epoch: "epoch"})
			require.NoError(t, err)
			assert.Equal(t, rdb.Registered, pulse.State)
			return rdb.Rewound
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2")
				w := s.worker(t, "w1", "a")
				s.cmd(t, "SET", "epoch", "epoch")
				s.take(t, w, 1, 1, "a")
				assert.EqualValues(t, -1, fell(t, w))
				w.Acknowledged(5)
				before := s.dump(t)
				assert.Equal(t, rdb.Rewound, call(t, s, w))
				assert.EqualValues(t, 1, fell(t, w))
				assert.EqualValues(t, -1, fell(t, w), "it is told once")
				if name != "beat" {
					assert.Equal(t, before, s.dump(t), "nothing was done")
				}
				call(t, s, w)
				assert.EqualValues(t, 1, fell(t, w), "should the first answer have been lost")
				w.Acknowledged(1)
				call(t, s, w)
				assert.EqualValues(t, -1, fell(t, w))
			})
		})
	}
}

func TestWhatRestoreMakesOfEachJob(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, other := s.worker(t, "w1", "a"), s.worker(t, "w2", "a")
		s.enqueue(t, "a", "mine")
		s.take(t, w, 1, 1, "a")
		s.enqueue(t, "a", "others")
		s.take(t, other, 1, 1, "a")
		s.enqueue(t, "a", "first", "waits", "begun", "last", "another", "due", "dead")
		s.cmd(t, "HSET", "unique", "d", "begun 0 s")
		for shelf, id := range map[string]string{"retry": "due", "morgue": "dead"} {
			s.cmd(t, "LREM", "queue:a", 0, id)
			s.cmd(t, "ZADD", shelf, 5, id)
			s.cmd(t, "HSET", "names", id, "a")
		}
		held := func(n, id string, record []byte) rdb.Held {
			return rdb.Held{Claim: rdb.Claim{Queue: "a", Element: n + ":" + id}, ID: id, Record: record}
		}
		jobs := []rdb.Held{held("1", "mine", record("mine")), held("4", "others", record("others")),
			held("4", "waits", record("waits")), held("4", "begun", record("begun")), held("4", "due", record("due")),
			held("4", "dead", record("dead")), held("4", "another", []byte("as it was")),
			held("5", "new", record("new"))}
		jobs[3].Lock, jobs[3].Kind = "d", rdb.FreedLock
		done, state, err := w.Restore(t.Context(), 5, 2, jobs)
		require.NoError(t, err)
		assert.Equal(t, rdb.Registered, state)
		others := []string{"4:others", "4:another"}
		assert.Equal(t, rdb.Restored{Stored: 1, Reclaimed: 4, Known: 1, Others: others}, done)
		assert.Equal(t, []string{"first", "last", "another"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"1:mine", "4:waits", "4:begun", "4:due", "4:dead", "5:new"},
			s.list(t, "worker:w1:inprocess:a"))
		assert.Equal(t, []string{"1:others"}, s.list(t, "worker:w2:inprocess:a"))
		for _, key := range []string{"retry", "morgue", "names", "unique"} {
			assert.False(t, s.exists(t, key), key)
		}
		assert.Equal(t, "5", s.hash(t, "worker:w1:info")["n"])
		before := s.dump(t)
		done, _, err = w.Restore(t.Context(), 5, 3, jobs[2:3])
		require.NoError(t, err)
		assert.Equal(t, rdb.Restored{Known: 1, Others: []string{}}, done, "its reply was lost")
		_, state, err = w.Restore(t.Context(), 5, 2, []rdb.Held{held("5", "ended", record("ended"))})
		require.NoError(t, err)
		assert.Equal(t, rdb.Stale, state)
		before.maps["worker:w1:info"]["restored"] = "3"
		assert.Equal(t, before, s.dump(t))
		_, state, err = s.store.Worker("stranger").Restore(t.Context(), 5, 9, jobs)
		require.NoError(t, err)
		assert.Equal(t, rdb.Fenced, state)
	})
}

func TestARestoreThatIsSentAgainStoresNothingThatHasEnded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		jobs := []rdb.Held{
			{Claim: rdb.Claim{Queue: "a", Element: "4:ended"}, ID: "ended", Record: record("ended")},
			{Claim: rdb.Claim{Queue: "a", Element: "4:held"}, ID: "held", Record: record("held")},
		}
		done, _, err := w.Restore(t.Context(), 4, 1, jobs)
		require.NoError(t, err)
		require.Equal(t, rdb.Restored{Stored: 2, Others: []string{}}, done)
		replies, err := s.driver.Pipeline(t.Context(),
			w.Complete([]rdb.Ended{{Claim: jobs[0].Claim, ID: "ended", State: "done"}}))
		require.NoError(t, err)
		require.NoError(t, replies[0].Err)
		before := s.dump(t)
		s.cmd(t, "SET", "trail", "broken")
		done, state, err := w.Restore(t.Context(), 4, 1, jobs)
		require.NoError(t, err, "a refusal would say that it was not executed")
		s.cmd(t, "UNLINK", "trail")
		assert.Equal(t, rdb.Registered, state)
		assert.Equal(t, rdb.Restored{Known: 1, Others: []string{}}, done)
		assert.Equal(t, before, s.dump(t))
	})
}

func TestARestoreLeavesWhatSomebodyElseHasRunSince(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		shelf, mine, stands string
		others              bool
	}{
		"as it was":                    {"retry", `{"fails":1}`, `{"fails":1}`, false},
		"has failed since":             {"retry", `{"fails":1}`, `{"fails":2}`, true},
		"was buried since":             {"morgue", "", `{"fails":1,"reason":"no luck"}`, true},
		"was interrupted since":        {"stalled", `{"fails":1}`, `{"fails":1,"interruptions":1}`, true},
		"its last failure is lost too": {"scheduled", `{"fails":2}`, `{"fails":1}`, false},
		"it has saved a state":         {"retry", `{"fails":9,"state":true}`, `{"fails":9}`, false},
		"its error looks like one": {"retry", `{"fails":1}`,
			`{"fails":1,"errors":[{"error":"\"fails\":7"}]}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker(t, "w1", "a")
				s.cmd(t, "HSET", "jobs", "j", string(record("j")))
				s.cmd(t, "HSET", "trail", "j", tt.stands)
				s.cmd(t, "HSET", "names", "j", "a")
				s.cmd(t, "ZADD", tt.shelf, 5, "j")
				done, _, err := w.Restore(t.Context(), 4, 1, []rdb.Held{{Claim: rdb.Claim{Queue: "a", Element: "4:j"},
					ID: "j", Record: record("j"), Trail: []byte(tt.mine)}})
				require.NoError(t, err)
				if tt.others {
					assert.Equal(t, rdb.Restored{Others: []string{"4:j"}}, done)
					assert.True(t, s.exists(t, tt.shelf))
					return
				}
				assert.Equal(t, rdb.Restored{Reclaimed: 1, Others: []string{}}, done)
				assert.False(t, s.exists(t, tt.shelf))
				assert.Equal(t, tt.mine, s.hash(t, "trail")["j"], "no attempt is forgotten")
			})
		})
	}
}

// afterwards is a connection whose answers come when something else has happened.
type afterwards struct {
	conn
	happens func()
}

func (a afterwards) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := a.conn.Pipeline(ctx, calls...)
	a.happens()
	return replies, err
}

// The worker has been told of the fall otherwise, has mended it, and remembers the same number as before.
func TestAnAnswerFromBeforeAMendIsNoFall(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		w := s.worker(t, "w1", "a")
		s.cmd(t, "SET", "epoch", "epoch")
		s.take(t, w, 1, 1, "a")
		w.Acknowledged(5)
		beat := rdb.Beat{Life: time.Minute, Epoch: "epoch"}
		_, err := w.Beat(t.Context(), afterwards{conn{s.driver}, func() { w.Acknowledged(5) }}, beat)
		require.NoError(t, err)
		assert.EqualValues(t, -1, fell(t, w))
		_, err = w.Beat(t.Context(), conn{s.driver}, beat)
		require.NoError(t, err)
		assert.EqualValues(t, 1, fell(t, w))
	})
}
