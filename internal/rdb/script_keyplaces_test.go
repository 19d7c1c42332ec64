package rdb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// rule puts a rule of the keys of queue a into force, in place of another one, as a caller does.
func (s *site) rule(t *testing.T, before, after string) {
	t.Helper()
	done, err := s.store.SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, before, after)
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, s.store.GrantParked(t.Context(), "a", ""))
}

// While no key has a rule nobody notes who has a place, which would cost half of what a job does. What runs is told
// all the same.
func TestWithoutARuleNoPlacesAreKept(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 4))
		s.store500(t, keyedJobs("a", "y", 1, 1))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 4)
		require.Len(t, jobs, 4)
		assert.False(t, s.exists(t, "holding"))
		running := func(held, x int, keys ...string) {
			t.Helper()
			line := s.line(t, "a")
			assert.Equal(t, held, line.Held)
			states, err := s.store.KeyStates(t.Context(), &line, []string{"x"})
			require.NoError(t, err)
			assert.Equal(t, x, states[0].Running)
			found, err := s.store.KeysHeld(t.Context(), &line, &rdb.KeyCursor{}, 10)
			require.NoError(t, err)
			assert.Equal(t, keys, found)
		}
		running(4, 3, "x", "y")
		s.rule(t, "", "1 9 - - - - -") // and so when they are kept
		assert.True(t, s.exists(t, "holding"))
		running(4, 3, "x", "y")
		for _, job := range jobs {
			s.end(t, w, job)
		}
		assert.False(t, s.exists(t, "holding"))
	})
}

// The first rule counts what runs already, however much that is: it is exact from when it is in force.
func TestTheFirstRuleCountsWhatRuns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 1202))
		w := s.worker(t, "w1", "a")
		var jobs []rdb.FetchedJob
		for number := int64(1); len(jobs) < 1200; number++ {
			fetched, err := w.Fetch(t.Context(), number, 400, false, []rdb.Share{{Queue: "a", Jobs: 400}})
			require.NoError(t, err)
			jobs = append(jobs, fetched.Jobs...)
		}
		require.Len(t, jobs, 1200)
		s.rule(t, "", "1 2 - - - - -")
		holding, _ := s.places(t, "x")
		require.Len(t, holding, 1200)
		ids, _ := s.bring(t, w, 100, 10)
		assert.Empty(t, ids)
		for _, job := range jobs[:1198] {
			assert.False(t, s.end(t, w, job))
		}
		ids, _ = s.bring(t, w, 101, 10)
		assert.Empty(t, ids, "two run")
		assert.True(t, s.end(t, w, jobs[1198]))
		ids, _ = s.bring(t, w, 102, 10)
		assert.Equal(t, []string{"x1201"}, ids)
	})
}

// Who puts the first rule into force may die at each step, and be slower than another one: what is claimed meanwhile
// counts, and no rule is in force before all does.
func TestACountOfWhatRunsIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 9))
		w := s.worker(t, "w1", "a")
		_, first := s.bring(t, w, 1, 1)
		slow := rdb.NewStore(&stumbling{Driver: s.driver, left: 1}, s.namespace)
		_, err := slow.SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, "", "1 1 - - - - -")
		require.ErrorIs(t, err, errStumbled, "it dies once the count is noted")
		assert.Equal(t, "", s.hash(t, "keyrules")["a"])
		_, second := s.bring(t, w, 2, 1)
		holding, _ := s.places(t, "x")
		assert.Equal(t, []string{"x2"}, holding, "what is claimed during a count has its place")
		s.rule(t, "", "1 1 - - - - -")
		holding, _ = s.places(t, "x")
		assert.Equal(t, []string{"x1", "x2"}, holding)
		assert.False(t, s.end(t, w, first[0]))

		// The last rule goes, and the count with it.
		s.rule(t, "1 1 - - - - -", "")
		assert.False(t, s.exists(t, "keyrules"))
		s.end(t, w, second[0])
		_, jobs := s.bring(t, w, 3, 2)
		require.Len(t, jobs, 2)
		assert.False(t, s.exists(t, "holding"))
		// What one has counted is worth nothing once others have ended that count.
		counting := &meanwhile{Driver: s.driver, command: "HSCAN", do: func() {
			s.rule(t, "", "1 9 - - - - -")
			s.rule(t, "1 9 - - - - -", "")
			_, jobs := s.bring(t, w, 4, 2)
			require.Len(t, jobs, 2)
			slow := rdb.NewStore(&stumbling{Driver: s.driver, left: 1}, s.namespace)
			_, err := slow.SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, "", "1 1 - - - - -")
			require.ErrorIs(t, err, errStumbled)
		}}
		done, err := rdb.NewStore(counting, s.namespace).
			SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, "", "1 1 - - - - -")
		require.NoError(t, err)
		require.True(t, done)
		holding, _ = s.places(t, "x")
		assert.Len(t, holding, 4)
	})
}

// The same key of another queue has places of its own.
func TestAKeyIsOneOfItsQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - - -")
		s.keyRule(t, "b", "1 1 - - - - -")
		w := s.worker(t, "w1", "a", "b")
		for number, queue := range []string{"b", "a"} {
			jobs := keyedJobs(queue, "x", 1, 3)
			for i := range jobs {
				jobs[i].ID = queue + jobs[i].ID
			}
			s.store500(t, jobs)
			fetched, err := w.Fetch(t.Context(), int64(number+1), 5, false, []rdb.Share{{Queue: queue, Jobs: 5}})
			require.NoError(t, err)
			require.Len(t, fetched.Jobs, 1, queue)
			assert.Equal(t, queue+"x1", fetched.Jobs[0].ID)
		}
	})
}

// What has ended since the caller read that it runs has no place.
func TestWhatHasEndedIsNotCounted(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 3))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 2)
		late := &meanwhile{Driver: s.driver, command: "HSCAN", do: func() {
			for _, call := range []redisconn.Call{
				w.Shelve(rdb.Shelved{Claim: jobs[0].Claim, Shelf: rdb.ShelfRetry, Delay: 1 << 40, Keyed: true}),
				w.Complete([]rdb.Ended{{Claim: jobs[1].Claim, ID: jobs[1].ID, Keyed: true}}),
			} {
				settled, err := w.Settle(t.Context(), []redisconn.Call{call})
				require.NoError(t, err)
				require.NoError(t, settled[0].Err)
			}
		}}
		done, err := rdb.NewStore(late, s.namespace).
			SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, "", "1 1 - - - - -")
		require.NoError(t, err)
		require.True(t, done)
		assert.False(t, s.exists(t, "holding"))
		ids, _ := s.bring(t, w, 2, 5)
		assert.Equal(t, []string{"x3"}, ids)
	})
}

// meanwhile does something once that command was answered.
type meanwhile struct {
	redisconn.Driver
	command string
	do      func()
}

func (d *meanwhile) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := d.Driver.Pipeline(ctx, calls...)
	if calls[0].Command == d.command && d.do != nil {
		d.do()
		d.do = nil
	}
	return replies, err
}

// Rules that come from another partition count what runs here, whichever of them comes first.
func TestRulesThatAreAddedCountWhatRuns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 3))
		_, jobs := s.bring(t, s.worker(t, "w1", "a"), 1, 3)
		require.Len(t, jobs, 3)
		rules := map[rdb.KeyRuleOf]string{{Queue: "a"}: "1 2 - - - - -"}
		for i := range 5 {
			rules[rdb.KeyRuleOf{Queue: "a", Key: fmt.Sprint("k", i)}] = "1 1 - - - - -"
		}
		for range 2 {
			require.NoError(t, s.store.AddKeyRules(t.Context(), rules))
			holding, _ := s.places(t, "x")
			assert.Len(t, holding, 3)
			found, err := s.store.KeyRules(t.Context())
			require.NoError(t, err)
			assert.Equal(t, rules, found)
			rules[rdb.KeyRuleOf{Queue: "b"}] = "3 3 - - - - -"
		}
		require.NoError(t, s.store.AddKeyRules(t.Context(), map[rdb.KeyRuleOf]string{{Queue: "a"}: "9 9 - - - - -"}))
		assert.Equal(t, "1 2 - - - - -", s.hash(t, "keyrules")["a"], "what is there stays")
	})
}

var errStumbled = errors.New("the caller has died")

// stumbling is a connection of a caller that dies after so many calls.
type stumbling struct {
	redisconn.Driver
	left int
}

func (d *stumbling) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if d.left--; d.left < 0 {
		return nil, errStumbled
	}
	return d.Driver.Pipeline(ctx, calls...)
}
