package rdb_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// pastOf lets jobs have been done in queue a, with details.
func pastOf(t *testing.T, s *site, ids ...string) {
	t.Helper()
	s.enqueue(t, "a", ids...)
	w := s.worker(t, "past", "a")
	done := ended(s.take(t, w, 1, len(ids), "a")...)
	for i := range done {
		done[i].Keep, done[i].State = time.Hour, "done"
		done[i].Outcome, done[i].Details = withDetails("done", "a", done[i].ID)
	}
	require.Empty(t, settle(t, w, w.Complete(done)))
}

// requireBytes compares what a shelf counts with what is there.
func requireBytes(t *testing.T, s *site, shelf string) {
	t.Helper()
	sum := 0
	kept := s.hash(t, "details:"+shelf)
	for id, text := range kept {
		if id != "" {
			sum += len(text)
			assert.Contains(t, s.scores(t, "ended:"+shelf), id)
		}
	}
	assert.Equal(t, strconv.Itoa(sum), kept[""], shelf)
	assert.Len(t, s.scores(t, "ended:"+shelf), len(kept)-1)
}

func TestCompleteKeepsDetailsByStateAndName(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3", "plain")
		s.enqueue(t, "b", "b1")
		w := s.worker(t, "w1", "a", "b")
		claims := s.take(t, w, 1, 5, "a", "b")
		slices.SortFunc(claims, func(a, b rdb.Claim) int { return strings.Compare(a.Element, b.Element) })
		done := ended(claims...)
		for i, state := range []string{"done", "discarded", "done", "done"} {
			done[i].Keep, done[i].State, done[i].Outcome = time.Hour, state, []byte("o")
			done[i].Details = []byte("details of " + done[i].ID)
		}
		gone := done[0]
		gone.Element, gone.ID, gone.Details = "7:a9", "a9", []byte("not mine")
		before := s.now(t).UnixMilli()
		assert.Equal(t, []string{"7:a9"}, settle(t, w, w.Complete(append(done, gone))))
		assert.Equal(t, map[string]string{"a1": "details of a1", "a3": "details of a3", "": "26"},
			s.hash(t, "details:done:a"))
		assert.Equal(t, map[string]string{"a2": "details of a2", "": "13"}, s.hash(t, "details:discarded:a"))
		assert.Equal(t, map[string]string{"b1": "details of b1", "": "13"}, s.hash(t, "details:done:b"))
		for _, shelf := range []string{"done:a", "discarded:a", "done:b"} {
			requireBytes(t, s, shelf)
			for _, at := range s.scores(t, "ended:"+shelf) {
				assert.GreaterOrEqual(t, asInt(t, at), before)
				assert.LessOrEqual(t, asInt(t, at), s.now(t).UnixMilli())
			}
			for _, key := range []string{"ended:" + shelf, "details:" + shelf} {
				left := s.cmd(t, "PTTL", key).(int64)
				assert.Greater(t, left, time.Hour.Milliseconds(), key)
				assert.LessOrEqual(t, left, 2*time.Hour.Milliseconds(), key)
			}
		}
		assert.Len(t, s.hash(t, "outcomes"), 4)
	})
}

func TestWhoKeepsNothingPaysNothing(t *testing.T) {
	t.Parallel()
	plain, kept := rdb.Ended{Claim: rdb.Claim{Queue: "a", Element: "1:x"}, ID: "x"}, rdb.Ended{}
	kept = plain
	kept.Keep, kept.Outcome, kept.State, kept.Details = time.Hour, []byte("o"), "done", []byte("{}")
	w := rdb.NewStore(nil, "ns").Worker("w")
	assert.Len(t, w.Complete([]rdb.Ended{plain}).Keys, 12, "10 and two of its queue")
	assert.Equal(t, []any{1, 1, "1", 1, "x"}, w.Complete([]rdb.Ended{plain}).Args)
	assert.Len(t, w.Complete([]rdb.Ended{kept}).Keys, 14)
	ending := rdb.Ending{ID: "x", Queue: "a", State: "done"}
	assert.Len(t, w.End(plain.Claim, ending).Keys, 24)
	assert.Len(t, w.End(plain.Claim, ending).Args, 9)
}

// An id that ends again in the same state is listed once, with what is new of it.
func TestAnIDThatEndsAgainReplacesItsDetails(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pastOf(t, s, "a1", "a2")
		first := s.scores(t, "ended:done:a")["a1"]
		s.pass(t, 5*time.Millisecond)
		again := job("a", "a1")
		again.Chosen = true
		_, err := s.store.Enqueue(t.Context(), "another lane", 1, []rdb.NewJob{again})
		require.NoError(t, err)
		assert.NotContains(t, s.hash(t, "outcomes"), "a1")
		assert.Contains(t, s.hash(t, "details:done:a"), "a1", "the former run stays listed")
		w := s.worker(t, "w1", "a")
		call := w.End(s.take(t, w, 1, 1, "a")[0], rdb.Ending{ID: "a1", Queue: "a", State: "done", Keep: time.Minute,
			Outcome: []byte("o"), Details: []byte("a longer text than that of the former run, and another one")})
		assert.Empty(t, settle(t, w, call))
		after := s.dump(t)
		assert.Equal(t, []string{"1:a1"}, settle(t, w, call), "sent again")
		assert.Equal(t, after, s.dump(t))
		assert.Greater(t, asInt(t, s.scores(t, "ended:done:a")["a1"]), asInt(t, first))
		assert.Len(t, s.scores(t, "ended:done:a"), 2)
		requireBytes(t, s, "done:a")
		assert.Greater(t, s.cmd(t, "PTTL", "details:done:a").(int64), 100*time.Minute.Milliseconds(),
			"the shorter retention shortens nothing")
	})
}

func TestAShelfOfEndedJobsIsBounded(t *testing.T) {
	t.Parallel()
	const most, bytesMost = 10_000, 16 << 20
	tests := map[string]struct {
		there, each, new int // jobs that are there, their bytes, bytes of the one that comes
		gone             int
	}{
		"the last that has room":    {there: most - 1, each: 10, new: 10},
		"one too many":              {there: most, each: 10, new: 10, gone: 1},
		"the last byte":             {there: 15, each: 1 << 20, new: 1 << 20},
		"a byte too many":           {there: 15, each: 1 << 20, new: 1<<20 + 1, gone: 1},
		"a large one for many":      {there: 9000, each: 1860, new: 60_000, gone: 13},
		"more than one call may do": {there: 9000, each: 1000, new: bytesMost, gone: 500},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "new")
				fill(t, s, tt.there, tt.each)
				w := s.worker(t, "w1", "a")
				call := w.Complete([]rdb.Ended{{Claim: s.take(t, w, 1, 1, "a")[0], ID: "new", Keep: time.Hour,
					State: "done", Outcome: []byte("o"), Details: bytes.Repeat([]byte("n"), tt.new)}})
				assert.Empty(t, settle(t, w, call))
				kept := s.scores(t, "ended:done:a")
				assert.Len(t, kept, tt.there+1-tt.gone)
				assert.Contains(t, kept, "new")
				assert.Equal(t, tt.gone == 0, kept["old-00000"] != "", "the oldest goes first")
				assert.NotContains(t, kept, fmt.Sprintf("old-%05d", tt.gone-1))
				assert.Equal(t, strconv.Itoa((tt.there-tt.gone)*tt.each+tt.new),
					string(s.cmd(t, "HGET", "details:done:a", "").([]byte)))
				assert.EqualValues(t, tt.there+2-tt.gone, s.cmd(t, "HLEN", "details:done:a"))
			})
		})
	}
}

// fill lets jobs have ended before, the first one first.
func fill(t *testing.T, s *site, jobs, each int) {
	t.Helper()
	text := strings.Repeat("o", each)
	for from := 0; from < jobs; from += 500 {
		scores, texts := []any{s.key("ended:done:a")}, []any{s.key("details:done:a")}
		for i := from; i < min(jobs, from+500); i++ {
			id := fmt.Sprintf("old-%05d", i)
			scores, texts = append(scores, i, id), append(texts, id, text)
		}
		replies, err := s.driver.Pipeline(t.Context(), redisconn.Call{Command: "ZADD", Args: scores},
			redisconn.Call{Command: "HSET", Args: append(texts, "", jobs*each)})
		require.NoError(t, err)
		require.NoError(t, replies[0].Err)
		require.NoError(t, replies[1].Err)
	}
}

func TestDetailsGoWithTheOutcome(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pastOf(t, s, "a1", "a2", "a3")
		outcome, _ := withDetails("cancelled", `odd ","ended":`, "c1") // a name may be anything
		s.cmd(t, "HSET", "outcomes", "old", `{"state":"done","ended":1}`, "broken", "{", "c1", outcome)
		s.cmd(t, "ZADD", "outcomes:until", 1, "old", 2, "a1", 3, "c1", 4, "broken", 5, "no outcome")
		s.cmd(t, "HSET", `details:cancelled:odd ","ended":`, "c1", "x", "", 1)
		s.cmd(t, "ZADD", `ended:cancelled:odd ","ended":`, 5, "c1")
		expired, err := s.store.RemoveExpiredOutcomes(t.Context(), nil)
		require.NoError(t, err)
		unknown := []string{`{"state":"done","name":"a"`, `{"state":"cancelled","name":"odd \",\"ended\":"`}
		assert.Equal(t, rdb.Expired{Removed: 3, Unknown: unknown}, expired)
		assert.Contains(t, s.hash(t, "outcomes"), "a1", "it stays until somebody says where its details are")
		expired, err = s.store.RemoveExpiredOutcomes(t.Context(), unknown)
		require.NoError(t, err)
		assert.Equal(t, rdb.Expired{Removed: 2}, expired)
		assert.Len(t, s.hash(t, "outcomes"), 2)
		assert.NotContains(t, s.hash(t, "details:done:a"), "a1")
		requireBytes(t, s, "done:a")
		assert.False(t, s.exists(t, `details:cancelled:odd ","ended":`) ||
			s.exists(t, `ended:cancelled:odd ","ended":`), "what is empty goes")

		for _, want := range []bool{true, false} {
			dropped, err := s.store.DropOutcome(t.Context(), "a2")
			require.NoError(t, err)
			assert.Equal(t, want, dropped)
		}
		requireBytes(t, s, "done:a")
		assert.Len(t, s.scores(t, "ended:done:a"), 1)
	})
}

func TestABrokenShelfKeepsNoOutcomeFromGoing(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ended:done:b", "details:done:b"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				pastOf(t, s, "a1")
				outcome, _ := withDetails("done", "b", "b1")
				s.cmd(t, "HSET", "outcomes", "b1", outcome)
				s.cmd(t, "ZADD", "outcomes:until", 1, "a1", 2, "b1")
				s.cmd(t, "SET", key, "someone's")
				expired, err := s.store.RemoveExpiredOutcomes(t.Context(), nil)
				require.NoError(t, err)
				require.Len(t, expired.Unknown, 2)
				expired, err = s.store.RemoveExpiredOutcomes(t.Context(), expired.Unknown)
				require.NoError(t, err)
				assert.Equal(t, rdb.Expired{Removed: 2}, expired)
				for _, gone := range []string{"outcomes", "outcomes:until", "ended:done:a", "details:done:a"} {
					assert.False(t, s.exists(t, gone), gone)
				}
				assert.Equal(t, []byte("someone's"), s.cmd(t, "GET", key), "it is left to the doctor")
			})
		})
	}
}

// A job of that id that has ended since, otherwise, is not taken for the one that was looked at.
func TestAnOutcomeThatHasChangedIsNotDropped(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pastOf(t, s, "a1")
		newer, details := withDetails("cancelled", "a", "a1")
		changing := rdb.NewStore(&justBefore{Driver: s.driver, call: 2, do: func() {
			s.cmd(t, "HSET", "outcomes", "a1", newer)
			s.cmd(t, "HSET", "details:cancelled:a", "a1", details, "", len(details))
			s.cmd(t, "ZADD", "ended:cancelled:a", 5, "a1")
		}}, s.namespace)
		dropped, err := changing.DropOutcome(t.Context(), "a1")
		require.NoError(t, err)
		assert.True(t, dropped)
		assert.False(t, s.exists(t, "outcomes") || s.exists(t, "ended:cancelled:a") ||
			s.exists(t, "details:cancelled:a"), "it was read again")
		requireBytes(t, s, "done:a")
	})
}

// justBefore does something before a call, the first is 1.
type justBefore struct {
	redisconn.Driver
	call int
	do   func()
}

func (b *justBefore) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if b.call--; b.call == 0 {
		b.do()
	}
	return b.Driver.Pipeline(ctx, calls...)
}

// Outcomes that have results are large: a call that looks at them ends early, and says so.
func TestLargeOutcomesExpireInParts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		large := strings.Repeat("r", 3<<20)
		for i := range 3 {
			s.cmd(t, "HSET", "outcomes", fmt.Sprint("l", i), large)
			s.cmd(t, "ZADD", "outcomes:until", i, fmt.Sprint("l", i))
		}
		for _, want := range []rdb.Expired{{Removed: 1, More: true}, {Removed: 1, More: true}, {Removed: 1}, {}} {
			expired, err := s.store.RemoveExpiredOutcomes(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, want, expired)
		}
	})
}

// One that was told how it has ended, deep in its queue, keeps the details that were written then.
func TestWhatWasForetoldIsListedOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "deep")
		told := rdb.Ending{State: "deleted", Keep: time.Minute}
		told.Outcome, told.Details = withDetails("deleted", "a", "deep")
		flag := s.store.Flag(rdb.JobPlace{ID: "deep", Queue: "a"}, told)
		assert.Equal(t, rdb.AnswerFlagged, s.obey(t, flag))
		listed := s.dump(t)
		assert.Equal(t, rdb.AnswerFlagged, s.obey(t, flag), "sent again")
		assert.Equal(t, listed, s.dump(t))
		requireBytes(t, s, "deleted:a")

		w := s.worker(t, "w1", "a")
		cancelled := rdb.Ending{ID: "deep", Queue: "a", State: "cancelled", Keep: time.Minute}
		cancelled.Outcome, cancelled.Details = withDetails("cancelled", "a", "deep")
		assert.Empty(t, settle(t, w, w.End(s.take(t, w, 1, 1, "a")[0], cancelled)))
		assert.Equal(t, string(told.Outcome), s.hash(t, "outcomes")["deep"])
		requireBytes(t, s, "deleted:a")
		assert.False(t, s.exists(t, "ended:cancelled:a") || s.exists(t, "details:cancelled:a"))
	})
}

func TestEndsNameTheShelfOfAnotherTypeAndDoNothing(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ended:done:a", "details:done:a"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2", "deep")
				w := s.worker(t, "w1", "a")
				claims := s.take(t, w, 1, 2, "a")
				s.cmd(t, "SET", key, "someone's")
				done := ended(claims[0])
				done[0].Keep, done[0].State = time.Hour, "done"
				done[0].Outcome, done[0].Details = withDetails("done", "a", "a1")
				e := rdb.Ending{ID: "a2", Queue: "a", State: "done", Keep: time.Hour}
				e.Outcome, e.Details = withDetails("done", "a", "a2")
				before := s.dump(t)
				settled, err := w.Settle(t.Context(), []redisconn.Call{w.Complete(done), w.End(claims[1], e)})
				require.NoError(t, err)
				for _, one := range settled {
					assert.ErrorContains(t, one.Err, "BADKEY "+s.key(key))
				}
				results, err := s.store.Execute(t.Context(),
					[]rdb.Order{s.store.Flag(rdb.JobPlace{ID: "deep", Queue: "a"}, e)})
				require.NoError(t, err)
				assert.ErrorContains(t, results[0].Err, "BADKEY "+s.key(key))
				assert.Equal(t, before, s.dump(t), "nothing was lost")
				s.cmd(t, "UNLINK", key)
				assert.Empty(t, settle(t, w, w.Complete(done)))
				requireBytes(t, s, "done:a")
			})
		})
	}
}
