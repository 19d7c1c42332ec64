package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

func (s *site) awaited(t *testing.T, ids ...string) []rdb.Awaited {
	t.Helper()
	all, err := s.store.Await(t.Context(), ids, time.Minute)
	require.NoError(t, err)
	require.Len(t, all, len(ids))
	return all
}

func TestAwaitSaysWhatHasBecomeOfAJob(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "waits", "buried", "silent", "again", "flagged", "dropped")
		s.cmd(t, "ZADD", "morgue", 1, "buried", 1, "silent")
		s.cmd(t, "HSET", "trail", "buried", "trail")
		s.cmd(t, "HSET", "outcomes", "over", "kept", "again", "of the former", "dropped", "cancelled")
		s.cmd(t, "SADD", "cancelled", "flagged", "dropped")
		s.cmd(t, "HSET", "waited", "over", 1)
		rows := []struct {
			id   string
			want rdb.Awaited
		}{
			{"waits", rdb.Awaited{State: rdb.WaitPending}},
			{"over", rdb.Awaited{State: rdb.WaitEnded, Kept: []byte("kept")}},
			{"buried", rdb.Awaited{State: rdb.WaitDead, Kept: []byte("trail")}},
			{"silent", rdb.Awaited{State: rdb.WaitDead}},
			{"nobody", rdb.Awaited{State: rdb.WaitGone}},
			{"again", rdb.Awaited{State: rdb.WaitPending}},
			{"flagged", rdb.Awaited{State: rdb.WaitPending}},
			{"dropped", rdb.Awaited{State: rdb.WaitEnded, Kept: []byte("cancelled")}},
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.id
		}
		for i, got := range s.awaited(t, ids...) {
			t.Run(rows[i].id, func(t *testing.T) { assert.Equal(t, rows[i].want, got) })
		}
		noted := s.hash(t, "waited")
		assert.Len(t, noted, 3, "what has ended is not waited for")
		until := asInt(t, noted["waits"])
		assert.LessOrEqual(t, s.now(t).UnixMilli(), until)
		assert.GreaterOrEqual(t, s.now(t).Add(time.Minute).UnixMilli(), until)
	})
}

// One answer has bounds, however large outcomes are, and every job gets one in the end.
func TestAwaitPutsOffLargeOutcomes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		large := strings.Repeat("x", 300<<10)
		s.cmd(t, "HSET", "outcomes", "o1", large, "o2", large, "o3", large, "o4", large)
		all := s.awaited(t, "o1", "o2", "o3", "o4")
		assert.Equal(t, rdb.WaitEnded, all[0].State)
		assert.Equal(t, rdb.WaitEnded, all[1].State)
		assert.Len(t, all[1].Kept, len(large))
		assert.Equal(t, rdb.Awaited{State: rdb.WaitAskAgain}, all[2])
		assert.Equal(t, rdb.Awaited{State: rdb.WaitAskAgain}, all[3])
		assert.Equal(t, rdb.WaitEnded, s.awaited(t, "o3")[0].State)
	})
}

func TestAwaitAsksForAnyNumberOfJobs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		ids := make([]string, awaitPipeline+1)
		for i := range ids {
			ids[i] = fmt.Sprint("id ", i)
		}
		s.enqueue(t, "a", ids[0], ids[len(ids)-1])
		all := s.awaited(t, ids...)
		assert.Equal(t, rdb.WaitPending, all[0].State)
		assert.Equal(t, rdb.WaitGone, all[1].State)
		assert.Equal(t, rdb.WaitPending, all[len(ids)-1].State)
	})
}

// awaitPipeline is more than goes into one pipeline.
const awaitPipeline = 9 * rdb.MaxBatch

func TestBurialTellsThoseWhoWaitAndTheCompletionQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "waited for", "not waited for", "retried")
		w := s.worker(t, "w1", "a")
		claims := s.take(t, w, 1, 3, "a")
		s.awaited(t, "waited for", "retried")
		told := s.published(t, s.store.Done(), func() {
			for i, shelf := range []rdb.Shelf{rdb.ShelfMorgue, rdb.ShelfMorgue, rdb.ShelfRetry} {
				settle(t, w, w.Shelve(rdb.Shelved{Claim: claims[i], Shelf: shelf, Delay: time.Hour, Completion: "c"}))
			}
		})
		assert.Equal(t, []string{"waited for"}, told)
		assert.Equal(t, []string{"dead waited for", "dead not waited for"}, s.list(t, "completion:c"))
		assert.Positive(t, s.cmd(t, "PTTL", "completion:c"))
		assert.Len(t, s.hash(t, "waited"), 1, "a retry is no end")
	})
}

func TestForgetWaitersRemovesWhatHasRunOut(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.awaited(t, "a1")
		for i := range 700 { // more than one part
			s.cmd(t, "HSET", "waited", fmt.Sprint("old ", i), 5)
		}
		s.cmd(t, "HSET", "waited", "odd", "not a time")
		require.NoError(t, everyPart(func(cursor string) (string,
			error) {
			return s.store.ForgetWaiters(t.Context(), cursor)
		}))
		assert.Equal(t, []string{"a1"}, slices.Collect(maps.Keys(s.hash(t, "waited"))))
		if s.clock != nil {
			s.clock.Advance(time.Minute)
			require.NoError(t, everyPart(func(cursor string) (string,
				error) {
				return s.store.ForgetWaiters(t.Context(), cursor)
			}))
			assert.False(t, s.exists(t, "waited"))
		}
	})
}

func TestCollectGivesEachEntryOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "LPUSH", "completion:c", "done first", "dead the second", "cancelled third")
		collect := func(lane string, number int64) rdb.Collected {
			got, err := s.store.Collect(t.Context(), "c", lane, number)
			require.NoError(t, err)
			return got
		}
		first := rdb.Collected{State: "done", ID: "first"}
		assert.Equal(t, first, collect("one", 1))
		assert.Equal(t, first, collect("one", 1), "its answer was lost")
		assert.Equal(t, rdb.Collected{State: "dead", ID: "the second"}, collect("other", 1))
		assert.Equal(t, rdb.Collected{State: "cancelled", ID: "third"}, collect("one", 2))
		_, err := s.store.Collect(t.Context(), "c", "one", 1)
		require.ErrorContains(t, err, "STALE reader one is at call 2", "it lands late")
		assert.Zero(t, collect("one", 3), "there is none")
		s.cmd(t, "LPUSH", "completion:c", "done fourth")
		assert.Equal(t, rdb.Collected{State: "done", ID: "fourth"}, collect("one", 3))

		s.cmd(t, "LPUSH", "completion:c", "odd")
		_, err = s.store.Collect(t.Context(), "c", "one", 4)
		var strange *redisconn.UnexpectedReplyError
		require.ErrorAs(t, err, &strange)
	})
}

func TestWaitForCompletionTakesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		on, err := s.driver.Dial(t.Context())
		require.NoError(t, err)
		defer on.Close() // nothing of it is wanted
		require.NoError(t, s.store.WaitForCompletion(t.Context(), on, "c", time.Millisecond), "there is none")
		s.cmd(t, "LPUSH", "completion:c", "done a", "done b")
		require.NoError(t, s.store.WaitForCompletion(t.Context(), on, "c", time.Hour))
		assert.Equal(t, []string{"done a", "done b"}, s.list(t, "completion:c"))
	})
}

// What is broken is named, by those who ask and by those who clean up.
func TestWaitingNamesTheKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	await := func(s *site) error {
		_, err := s.store.Await(background, []string{"x"}, time.Minute)
		return err
	}
	collect := func(s *site) error {
		_, err := s.store.Collect(background, "c", "lane", 1)
		return err
	}
	for key, call := range map[string]func(*site) error{
		"waited": await, "jobs": await, "outcomes": await, "morgue": await, "trail": await, "cancelled": await,
		"lanes": collect, "completion:c": collect,
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "SET", key, "something else")
				require.ErrorContains(t, call(s), "BADKEY "+s.key(key))
			})
		})
	}
}

// published returns what came on a channel during the call.
func (s *site) published(t *testing.T, channel string, during func()) []string {
	t.Helper()
	var told []string
	ready, end := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.driver.Subscribe(t.Context(), channel, func() { close(ready) }, func(message []byte) {
			if string(message) == "the end" {
				close(end)
				return
			}
			told = append(told, string(message))
		})
	}()
	<-ready
	during()
	require.NoError(t, redisconn.Publish(t.Context(), s.driver, channel, "the end"))
	<-end
	return told
}
