package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// obey carries one order out.
func (s *site) obey(t *testing.T, order rdb.Order) rdb.Answer {
	t.Helper()
	obeyed, err := s.store.Execute(t.Context(), []rdb.Order{order})
	require.NoError(t, err)
	require.NoError(t, obeyed[0].Err)
	return obeyed[0].Answer
}

func TestMoveTakesAJobFromOnePlaceToAnother(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.cmd(t, "UNLINK", "wake:a")
		in := rdb.JobPlace{ID: "a1", Queue: "a"}
		assert.Equal(t, rdb.AnswerDone, s.obey(t, s.store.Move(in, rdb.Destination{Shelf: rdb.ShelfStalled})))
		since := s.scores(t, "stalled")["a1"]
		assert.InDelta(t, s.now(t).UnixMilli(), asInt(t, since), 60_000)
		assert.Equal(t, map[string]string{"a1": "a"}, s.hash(t, "names"))
		assert.Empty(t, s.set(t, "ready"), "nothing waits there any more")
		again := s.store.Move(in, rdb.Destination{Shelf: rdb.ShelfStalled})
		assert.Equal(t, rdb.AnswerGone, s.obey(t, again), "sent twice")

		s.enqueue(t, "a", "a2")
		on := rdb.JobPlace{ID: "a1", Queue: "a", Shelf: rdb.ShelfStalled, Score: since}
		other := on
		other.Score = "5"
		assert.Equal(t, rdb.AnswerGone, s.obey(t, s.store.Move(other, rdb.Destination{})), "it has come there since")
		assert.Equal(t, rdb.AnswerDone, s.obey(t, s.store.Move(on, rdb.Destination{Trail: []byte("news")})))
		assert.Equal(t, []string{"a2", "a1"}, s.list(t, "queue:a"))
		assert.Equal(t, map[string]string{"a1": "news"}, s.hash(t, "trail"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		assert.Empty(t, s.hash(t, "names"))
		assert.Empty(t, s.scores(t, "stalled"))
		assert.Equal(t, rdb.AnswerDone, s.obey(t, s.store.Move(in, rdb.Destination{Front: true})))
		assert.Equal(t, []string{"a1", "a2"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))
	})
}

func TestMoveLeavesWhatIsHeldCancelledOrOfAnotherQueue(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		damage func(t *testing.T, s *site)
		want   rdb.Answer
	}{
		"held": {func(t *testing.T, s *site) { s.take(t, s.worker(t, "w1", "a"), 1, 1, "a") },
			rdb.AnswerHeld},
		"to be cancelled":  {func(t *testing.T, s *site) { s.cmd(t, "SADD", "cancelled", "a1") }, rdb.AnswerCancelled},
		"without a record": {func(t *testing.T, s *site) { s.cmd(t, "HDEL", "jobs", "a1") }, rdb.AnswerGone},
		"on a shelf": {func(t *testing.T, s *site) {
			s.cmd(t, "ZADD", "retry", 1, "a1")
			s.cmd(t, "HSET", "names", "a1", "a")
		}, rdb.AnswerGone},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1")
				c.damage(t, s)
				before := s.dump(t)
				assert.Equal(t, c.want, s.obey(t,
					s.store.Move(rdb.JobPlace{ID: "a1", Queue: "a"}, rdb.Destination{Shelf: rdb.ShelfStalled})))
				assert.Equal(t, before, s.dump(t))
			})
		})
	}
}

func TestAPausedQueueGetsNoTokenByHand(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.cmd(t, "UNLINK", "wake:a")
		s.cmd(t, "HSET", "limits", "a", "1 - - - -")
		to := rdb.Destination{Front: true}
		assert.Equal(t, rdb.AnswerDone, s.obey(t, s.store.Move(rdb.JobPlace{ID: "a1", Queue: "a"}, to)))
		assert.False(t, s.exists(t, "wake:a"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
	})
}

func TestJobsInTheMiddleOfALongQueueAreFar(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const many, reach = 20_100, 10_000
		// the last ones first, to the front: the embedded Redis is slow at the back
		for from := 0; from < many; from += 1000 {
			var ids, records []any
			for i := from; i < min(from+1000, many); i++ {
				id := fmt.Sprint("j", many-1-i)
				ids, records = append(ids, id), append(records, id, "{}")
			}
			s.cmd(t, "RPUSH", "queue:a", ids...)
			s.cmd(t, "HSET", "jobs", records...)
		}
		at := func(n int) rdb.JobPlace { return rdb.JobPlace{ID: fmt.Sprint("j", n), Queue: "a"} }
		stall := func(n int) rdb.Answer {
			return s.obey(t, s.store.Move(at(n), rdb.Destination{Shelf: rdb.ShelfStalled}))
		}
		assert.Equal(t, rdb.AnswerFar, stall(reach), "the first that is too deep, from the front")
		assert.Equal(t, rdb.AnswerFar, stall(many-reach-1), "the first that is too deep, from the back")
		assert.Equal(t, rdb.AnswerDone, stall(many-reach))
		assert.Equal(t, rdb.AnswerDone, stall(reach-1))
		assert.Equal(t, rdb.AnswerFar, s.obey(t, s.store.Remove(at(reach+50), rdb.Ending{State: "deleted"})))
		flag := s.store.Flag(at(reach+50), rdb.Ending{Keep: time.Minute, Outcome: []byte(`{"state":"deleted"}`)})
		assert.Equal(t, rdb.AnswerFlagged, s.obey(t, flag))
		assert.Equal(t, rdb.AnswerFlagged, s.obey(t, flag), "sent twice")
		assert.Equal(t, []string{at(reach + 50).ID}, s.set(t, "cancelled"))
		standings, err := s.store.Cancel(t.Context(), []string{at(reach + 50).ID})
		require.NoError(t, err)
		assert.Equal(t, rdb.SpotGone, standings[0].Spot, "it is over")
		assert.Equal(t, `{"state":"deleted"}`, string(standings[0].Outcome))
	})
}

func TestRemoveEndsAJobWhereItStands(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.cmd(t, "RPUSH", "log:a1", "line")
		assert.Equal(t, rdb.AnswerDone, s.obey(t, s.store.Remove(rdb.JobPlace{ID: "a1", Queue: "a"}, rdb.Ending{
			State: "deleted", Belongings: rdb.Belongings{Log: true},
		})))
		assert.Empty(t, s.hash(t, "jobs"))
		assert.Empty(t, s.set(t, "ready"), "nothing waits there any more")
		assert.False(t, s.exists(t, "log:a1"))
	})
}

func TestOverdueAreTheOldestOfTheMorgue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t).UnixMilli()
		for hours, id := range []string{"new", "old", "older", "oldest"} {
			s.cmd(t, "ZADD", "morgue", now-int64(hours)*3_600_000, id)
		}
		overdue := func(limit int, retention time.Duration, n int) []string {
			page, err := s.store.Overdue(t.Context(), limit, retention, n)
			require.NoError(t, err)
			ids := []string{}
			for _, stood := range page {
				ids = append(ids, stood.ID)
				assert.Equal(t, rdb.ShelfMorgue, stood.Shelf)
			}
			return ids
		}
		assert.Empty(t, overdue(4, 24*time.Hour, 10))
		assert.Equal(t, []string{"oldest"}, overdue(3, time.Minute, 10), "those over the limit go first")
		assert.Equal(t, []string{"oldest", "older"}, overdue(4, 90*time.Minute, 10))
		assert.Equal(t, []string{"oldest"}, overdue(0, time.Hour, 1))
	})
}

func TestDropOutcome(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "HSET", "outcomes", "a1", "x") // as older versions wrote it: it names no details
		s.cmd(t, "ZADD", "outcomes:until", 5, "a1")
		for _, want := range []bool{true, false} {
			dropped, err := s.store.DropOutcome(t.Context(), "a1")
			require.NoError(t, err)
			assert.Equal(t, want, dropped)
		}
		assert.Empty(t, s.dump(t).maps)
	})
}
