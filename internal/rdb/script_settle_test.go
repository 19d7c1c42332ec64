package rdb_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

func TestCompleteEndsWhatIsHeldAndNothingElse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		s.enqueue(t, "b", "b1")
		s.cmd(t, "HSET", "trail", "a1", "x", "b1", "x", "a3", "x")
		s.cmd(t, "HSET", "crashes", "a1", "v1", "a3", "v1")
		w := s.worker(t, "w1", "a", "b")
		claims := s.take(t, w, 1, 4, "a", "b")
		keep := ended(claims[0], claims[3], rdb.Claim{Queue: "a", Element: "2:a2"},
			rdb.Claim{Queue: "b", Element: "1:a2"}, claims[0])
		keep[0].Keep, keep[0].Outcome = time.Minute, []byte("result")
		keep[2].Keep, keep[2].Outcome = time.Minute, []byte("not mine")

		assert.ElementsMatch(t, []string{"2:a2", "1:a2", "1:a1"}, settle(t, w, w.Complete(keep)))
		assert.Equal(t, map[string]string{"a1": "result"}, s.hash(t, "outcomes"))
		assert.Len(t, s.scores(t, "outcomes:until"), 1)
		assert.Equal(t, []string{"1:a2", "1:a3"}, s.list(t, "worker:w1:inprocess:a"))
		assert.False(t, s.exists(t, "worker:w1:inprocess:b"))
		for _, key := range []string{"jobs", "claimed"} {
			assert.Len(t, s.hash(t, key), 2, key)
		}
		assert.Equal(t, map[string]string{"a3": "x"}, s.hash(t, "trail"))
		assert.Equal(t, map[string]string{"a3": "v1"}, s.hash(t, "crashes"))
	})
}

func TestCompleteKeepsNoOutcomeOfAClaimThatIsGone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		w := s.worker(t, "w1", "a")
		old := s.take(t, w, 1, 1, "a")
		settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: elements(old)}))
		done := ended(append(old, s.take(t, w, 2, 1, "a")...)...)
		done[0].Keep, done[0].Outcome = time.Minute, []byte("of the run whose claim is gone")
		assert.Equal(t, []string{"1:a1"}, settle(t, w, w.Complete(done)))
		assert.False(t, s.exists(t, "outcomes") || s.exists(t, "jobs"))
	})
}

func TestShelvePutsAJobOnAShelf(t *testing.T) {
	t.Parallel()
	tests := map[rdb.Shelf]struct {
		delay time.Duration
		after int64 // ms
	}{
		rdb.ShelfRetry:     {1500 * time.Millisecond, 1500},
		rdb.ShelfScheduled: {0, 1},
		rdb.ShelfMorgue:    {time.Hour, 0},
	}
	for shelf, tt := range tests {
		t.Run(string(shelf), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2")
				s.cmd(t, "HSET", "crashes", "a1", "v1")
				s.cmd(t, "HSET", "trail", "a2", "old")
				w := s.worker(t, "w1", "a")
				claims := s.take(t, w, 1, 2, "a")
				before := s.now(t).UnixMilli()
				call := w.Shelve(rdb.Shelved{Claim: claims[0], Shelf: shelf, Delay: tt.delay, Trail: []byte("news")})
				assert.Empty(t, settle(t, w, call))
				after := s.now(t).UnixMilli()
				assert.Equal(t, []string{"1:a1"}, settle(t, w, call))
				settle(t, w, w.Shelve(rdb.Shelved{Claim: claims[1], Shelf: shelf, Delay: tt.delay}))

				due := asInt(t, s.scores(t, string(shelf))["a1"])
				assert.GreaterOrEqual(t, due, before+tt.after)
				assert.LessOrEqual(t, due, after+tt.after)
				assert.Equal(t, map[string]string{"a1": "a", "a2": "a"}, s.hash(t, "names"))
				assert.Equal(t, map[string]string{"a1": "news", "a2": "old"}, s.hash(t, "trail"))
				assert.Len(t, s.hash(t, "jobs"), 2)
				assert.False(t, s.exists(t, "claimed") || s.exists(t, "crashes") ||
					s.exists(t, "worker:w1:inprocess:a"))
			})
		})
	}
}

func TestReleaseGivesBackInTheOldOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3", "a4")
		w := s.worker(t, "w1", "a")
		claims := s.take(t, w, 1, 3, "a")
		s.cmd(t, "UNLINK", "wake:a")
		call := w.Release(rdb.Released{Queue: "a", Elements: []string{"1:a1", "7:a2", "1:a3"}})
		assert.Equal(t, []string{"7:a2"}, settle(t, w, call))
		assert.Equal(t, []string{"a1", "a3", "a4"}, s.list(t, "queue:a"))
		assert.Equal(t, elements(claims[1:2]), s.list(t, "worker:w1:inprocess:a"))
		assert.Equal(t, []string{"1:a1", "7:a2", "1:a3"}, settle(t, w, call))
		assert.Equal(t, []string{"a1", "a3", "a4"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
	})
}

func TestReleaseOfMoreThanABatchKeepsTheOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var ids []string
		for i := range 2*rdb.MaxBatch + 7 {
			ids = append(ids, fmt.Sprintf("%04d", i))
		}
		w := s.worker(t, "w1", "a")
		for from := 0; from < len(ids); from += rdb.MaxBatch {
			s.enqueue(t, "a", ids[from:min(from+rdb.MaxBatch, len(ids))]...)
			s.take(t, w, int64(from+1), rdb.MaxBatch, "a")
		}
		s.enqueue(t, "a", "last")
		for {
			held, err := inProcess(t.Context(), w, "a")
			require.NoError(t, err)
			if len(held) == 0 {
				break
			}
			require.LessOrEqual(t, len(held), rdb.MaxBatch)
			settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: held, Died: "w1"}))
		}
		assert.Equal(t, append(ids, "last"), s.list(t, "queue:a"))
	})
}

func TestSettlementsNameTheKeyOfAnotherTypeAndDoNothing(t *testing.T) {
	t.Parallel()
	calls := map[string]func(w *rdb.Worker, claim rdb.Claim) redisconn.Call{
		"complete": func(w *rdb.Worker, claim rdb.Claim) redisconn.Call {
			kept := ended(claim)
			kept[0].Keep, kept[0].Outcome = time.Hour, []byte("x") // else those keys are not written
			return w.Complete(kept)
		},
		"shelve": func(w *rdb.Worker, claim rdb.Claim) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfRetry, Trail: []byte("x")})
		},
		"release": func(w *rdb.Worker, claim rdb.Claim) redisconn.Call {
			return w.Release(rdb.Released{Queue: "a", Elements: []string{claim.Element}, Died: "w1"})
		},
	}
	broken := map[string][]string{
		"complete": {"claimed", "jobs", "trail", "crashes", "outcomes", "outcomes:until"},
		"shelve":   {"claimed", "crashes", "names", "trail", "retry", "waited"},
		"release":  {"claimed", "crashes", "ready", "queue:a"},
	}
	for script, keys := range broken {
		for _, key := range keys {
			t.Run(script+" "+key, func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) {
					s.enqueue(t, "a", "a1")
					w := s.worker(t, "w1", "a")
					claim := s.take(t, w, 1, 1, "a")[0]
					s.cmd(t, "UNLINK", key)
					s.cmd(t, "SET", key, "something else")
					settled, err := w.Settle(t.Context(), []redisconn.Call{calls[script](w, claim)})
					require.NoError(t, err)
					var refused *redisconn.ServerError
					require.ErrorAs(t, settled[0].Err, &refused)
					assert.Equal(t, "BADKEY", refused.Code)
					assert.Contains(t, refused.Message, s.key(key))
					assert.Equal(t, []string{"1:a1"}, s.list(t, "worker:w1:inprocess:a"))
				})
			})
		}
	}
}

func TestSettleAnswersForEachCall(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		w := s.worker(t, "w1", "a")
		claims := s.take(t, w, 1, 3, "a")
		s.cmd(t, "SET", "morgue", "something else")
		settled, err := w.Settle(t.Context(), []redisconn.Call{
			w.Complete(ended(claims[0])),
			w.Shelve(rdb.Shelved{Claim: claims[1], Shelf: rdb.ShelfMorgue}),
			w.Release(rdb.Released{Queue: "a", Elements: elements(claims[2:])}),
		})
		require.NoError(t, err)
		require.Len(t, settled, 3)
		assert.Equal(t, rdb.Settled{Gone: []string{}}, settled[0])
		assert.ErrorContains(t, settled[1].Err, s.key("morgue"))
		assert.Equal(t, rdb.Settled{Gone: []string{}}, settled[2])

		// A pipeline of its own: within one, a call whose script Redis did not know comes after the others.
		settled, err = w.Settle(t.Context(), []redisconn.Call{
			w.Shelve(rdb.Shelved{Claim: claims[0], Shelf: rdb.ShelfRetry}),
		})
		require.NoError(t, err)
		assert.Equal(t, []rdb.Settled{{Gone: []string{"1:a1"}}}, settled)
		assert.Equal(t, []string{"1:a2"}, s.list(t, "worker:w1:inprocess:a"))
	})
}

// inProcess is what a worker has of one queue.
func inProcess(ctx context.Context, w *rdb.Worker, queue string) ([]string, error) {
	lists, err := w.InProcess(ctx, []string{queue}, rdb.MaxBatch)
	if err != nil {
		return nil, err
	}
	return lists[0].Elements, lists[0].Err
}
