package rdb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// doneOf is the shelf of pastOf, with how the outcomes on it begin.
var doneOf, doneBeginning = rdb.EndedShelf{State: "done", Name: "a"}, `{"state":"done","name":"a",`

func TestEndedJobsAreForgottenWithAllThatIsKeptOfThem(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		bytes := 0
		for n := range 501 {
			id := fmt.Sprintf("a%03d", n)
			outcome, details := withDetails("done", "a", id)
			bytes += len(details)
			s.cmd(t, "ZADD", "ended:done:a", n, id)
			s.cmd(t, "HSET", "details:done:a", id, details, "", bytes)
			s.cmd(t, "HSET", "outcomes", id, outcome)
			s.cmd(t, "ZADD", "outcomes:until", n, id)
		}
		newer := `{"state":"cancelled","name":"a","ended":1}`
		s.cmd(t, "HSET", "outcomes", "a007", newer)
		removed, left, err := s.store.ForgetEnded(t.Context(), doneOf, doneBeginning)
		require.NoError(t, err)
		assert.Equal(t, []int{500, 1}, []int{removed, left})
		requireBytes(t, s, "done:a")
		removed, left, err = s.store.ForgetEnded(t.Context(), doneOf, doneBeginning)
		require.NoError(t, err)
		assert.Equal(t, []int{1, 0}, []int{removed, left})
		assert.Equal(t, map[string]string{"a007": newer}, s.hash(t, "outcomes"), "it is of a newer job")
		assert.Len(t, s.scores(t, "outcomes:until"), 1)
		assert.False(t, s.exists(t, "ended:done:a") || s.exists(t, "details:done:a"))
		removed, left, err = s.store.ForgetEnded(t.Context(), doneOf, doneBeginning)
		require.NoError(t, err)
		assert.Equal(t, []int{0, 0}, []int{removed, left}, "sent once more")
	})
}

// No call looks at more than some MiB.
func TestLargeOutcomesAreForgottenInParts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pastOf(t, s, "a1", "a2", "a3", "a4", "a5", "a6")
		for n := range 6 {
			s.cmd(t, "HSET", "outcomes", fmt.Sprintf("a%d", n+1), doneBeginning+strings.Repeat("x", 1<<20)+"}")
		}
		removed, left, err := s.store.ForgetEnded(t.Context(), doneOf, doneBeginning)
		require.NoError(t, err)
		assert.Equal(t, []int{4, 2}, []int{removed, left})
	})
}

func TestAQueueIsForgottenWhereNothingIsInIt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before   func(t *testing.T, s *site)
		unserved bool
		want     bool
		known    bool
	}{
		"empty":            {unserved: true, want: true},
		"empty and served": {want: true, known: true},
		"something waits": {known: true,
			before: func(t *testing.T, s *site) { s.cmd(t, "LPUSH", "queue:a", "a1") }},
		"something counts in it": {known: true,
			before: func(t *testing.T, s *site) { s.cmd(t, "SADD", "running:a", "a1") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "b", "b1")
				s.cmd(t, "ZADD", "queues", 1, "a")
				s.cmd(t, "ZADD", "served", 1, "a")
				s.cmd(t, "ZADD", "served", 1, "b")
				s.cmd(t, "SADD", "ready", "a")
				s.cmd(t, "LPUSH", "wake:a", "1")
				s.cmd(t, "SET", "rate:a", "1")
				if row.before != nil {
					row.before(t, s)
				}
				forgotten, err := s.store.ForgetQueue(t.Context(), "a", row.unserved)
				require.NoError(t, err)
				assert.Equal(t, row.want, forgotten)
				_, listed := s.scores(t, "queues")["a"]
				assert.Equal(t, !row.want, listed)
				_, known := s.scores(t, "served")["a"]
				assert.Equal(t, row.known, known)
				for _, key := range []string{"wake:a", "rate:a"} {
					assert.Equal(t, !row.want, s.exists(t, key), key)
				}
				assert.Contains(t, s.scores(t, "queues"), "b")
				assert.Contains(t, s.scores(t, "served"), "b")
				assert.Contains(t, s.set(t, "ready"), "b")
				assert.Equal(t, !row.want, len(s.set(t, "ready")) == 2)
			})
		})
	}
}

// A date that somebody has set meanwhile stays; who destroys at once leaves none.
func TestADateToBeDestroyed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		first, second := time.UnixMilli(1_700_000_000_123), time.UnixMilli(1_800_000_000_456)
		dates := func(until time.Time) map[string]time.Time {
			dates, err := s.store.Doomed(t.Context(), until)
			require.NoError(t, err)
			return dates
		}
		for range 2 { // sent twice
			require.NoError(t, s.store.Doom(t.Context(), "a", first))
		}
		require.NoError(t, s.store.Doom(t.Context(), "b", second))
		assert.Equal(t, map[string]time.Time{"a": first}, dates(second.Add(-time.Millisecond)))
		assert.Equal(t, map[string]time.Time{"a": first, "b": second}, dates(second))
		forget := func(name string, due time.Time) {
			require.NoError(t, s.store.ForgetDate(t.Context(), name, due))
		}
		forget("b", first)
		assert.Len(t, dates(second), 2)
		forget("a", first)
		assert.Equal(t, map[string]time.Time{"b": second}, dates(second))
		forget("b", time.Time{})
		assert.Empty(t, dates(second))
		require.NoError(t, s.store.Doom(t.Context(), "a", first))
		for _, want := range []bool{true, false} {
			had, err := s.store.Spare(t.Context(), "a")
			require.NoError(t, err)
			assert.Equal(t, want, had)
		}
	})
}
