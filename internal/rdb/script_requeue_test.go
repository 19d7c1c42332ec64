package rdb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// sortedIDs are n ids that sort as they stand.
func sortedIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%05d", i)
	}
	return ids
}

// claimAll has the worker hold jobs of these ids, and returns their elements.
func (s *site) claimAll(t require.TestingT, w *rdb.Worker, number int64, ids ...string) (held []string) {
	s.enqueue(t, "of claims", ids...)
	fetched, err := w.Fetch(background, number, len(ids), false, []rdb.Share{{Queue: "of claims", Jobs: len(ids)}})
	require.NoError(t, err)
	require.Len(t, fetched.Jobs, len(ids))
	for _, job := range fetched.Jobs {
		held = append(held, job.Element)
	}
	return held
}

// front makes a queue of these ids, as they are to be fetched.
func (s *site) front(t require.TestingT, ids ...string) {
	s.cmd(t, "UNLINK", "queue:of claims")
	for some := range slices.Chunk(ids, rdb.MaxBatch) {
		args := []any{}
		for _, id := range some {
			args = append(args, id)
		}
		s.cmd(t, "LPUSH", "queue:of claims", args...)
	}
}

func older(before int, ids ...string) (all []rdb.Older) {
	for _, id := range ids {
		all = append(all, rdb.Older{ID: id, Before: before})
	}
	return all
}

func TestWhatIsOlderStandsBeforeWhatIsReleased(t *testing.T) {
	t.Parallel()
	many := sortedIDs(rdb.MaxOlder)
	rows := map[string]struct {
		queue []string
		older []rdb.Older
		want  []string // of x1 and x2, which are released
	}{
		"none is known":   {[]string{"a", "b"}, nil, []string{"x1", "x2", "a", "b"}},
		"none is there":   {[]string{"a", "b"}, older(1, "c"), []string{"x1", "x2", "a", "b"}},
		"all is older":    {[]string{"a", "b"}, older(1, "a", "b"), []string{"a", "b", "x1", "x2"}},
		"some is older":   {[]string{"a", "b", "c"}, older(1, "a"), []string{"a", "x1", "x2", "b", "c"}},
		"between the two": {[]string{"a", "b", "c"}, older(2, "b"), []string{"x1", "b", "x2", "a", "c"}},
		"on both sides": {[]string{"a", "b", "c"}, slices.Concat(older(1, "c"), older(2, "b")),
			[]string{"c", "x1", "b", "x2", "a"}},
		"named twice": {[]string{"a", "b"}, older(1, "b", "b"), []string{"b", "x1", "x2", "a"}},
		"it stands there twice": {[]string{"a", "b", "c", "b"}, older(1, "b"),
			[]string{"b", "x1", "x2", "a", "c", "b"}},
		"the last one": {append(slices.Clone(many[1:]), "z"), older(1, "z"),
			slices.Concat([]string{"z", "x1", "x2"}, many[1:])},
		"beyond the last": {append(slices.Clone(many), "z"), older(1, "z"),
			slices.Concat([]string{"x1", "x2"}, many, []string{"z"})},
		"as many as may be": {append(slices.Clone(many), "z"), older(1, many...),
			slices.Concat(many, []string{"x1", "x2", "z"})},
		"nothing behind them": {many, older(2, many...), slices.Concat([]string{"x1"}, many, []string{"x2"})},
	}
	onEach(t, func(t *testing.T, s *site) {
		w, number := s.worker(t, "w1", "of claims"), int64(0)
		for name, row := range rows {
			t.Run(name, func(t *testing.T) {
				number++
				held := s.claimAll(t, w, number, "x1", "x2")
				s.front(t, row.queue...)
				call := w.Release(rdb.Released{Queue: "of claims", Elements: held, Older: row.older})
				assert.Empty(t, settle(t, w, call))
				assert.Equal(t, row.want, s.list(t, "queue:of claims"))
				assert.Equal(t, held, settle(t, w, call), "a call that is sent again finds nothing to do")
				assert.Equal(t, row.want, s.list(t, "queue:of claims"))
				s.cmd(t, "UNLINK", "queue:of claims", "jobs")
			})
		}
	})
}

// Jobs that have a key and are given back one after the other wait in their old order as well, whether they have places
// of their keys or not.
func TestWhatIsOlderOfKeysWaitsBeforeWhatIsReleased(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for number, rule := range []string{"", "1 4 - - - - -"} {
			s := s.fresh(fmt.Sprintf("%s-%d", s.namespace, number))
			if rule != "" {
				s.keyRule(t, "a", rule)
			}
			s.store500(t, keyedJobs("a", "x", 1, 6))
			w := s.worker(t, "w1", "a")
			held := s.take(t, w, 1, 4, "a")
			require.Len(t, held, 4)
			release := func(older []rdb.Older, nth ...int) {
				call := rdb.Released{Queue: "a", Older: older}
				for _, n := range nth {
					call.Elements = append(call.Elements, held[n-1].Element)
				}
				assert.Empty(t, settle(t, w, w.Release(call)))
				assert.Equal(t, call.Elements, settle(t, w, w.Release(call)), "the second time there is nothing to do")
			}
			release(nil, 2)
			release(older(2, "x2", "none"), 1, 4)
			release(older(1, "x1", "x2", "x6"), 3) // x6 was not given back, and stays where it is
			assert.Equal(t, []string{"x1", "x2", "x3", "x4"}, s.draw(t, w, 2, "a", 4), "with the rule %q", rule)
			assert.Equal(t, []string{"x5", "x6"}, s.draw(t, w, 3, "a", 4), "with the rule %q", rule)
		}
	})
}

// Whatever stands in front, nothing is lost and nothing is doubled, and what is known of the order holds.
func TestAReleaseMovesAtMostWhatItNames(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, number := s.worker(t, "w1", "of claims"), int64(0)
		rapid.Check(t, func(t *rapid.T) {
			number++
			stands := rapid.SliceOfNDistinct(rapid.IntRange(0, 39), 0, 20, rapid.ID[int]).Draw(t, "stands")
			named := rapid.SliceOfNDistinct(rapid.IntRange(0, 49), 0, 30, rapid.ID[int]).Draw(t, "older")
			released := sortedIDs(60)[50 : 50+rapid.IntRange(1, 5).Draw(t, "released")]
			var call rdb.Released
			before := 1
			for _, n := range named {
				before = min(len(released), before+rapid.IntRange(0, 1).Draw(t, "further"))
				call.Older = append(call.Older, rdb.Older{ID: fmt.Sprintf("%05d", n), Before: before})
			}
			queue := make([]string, len(stands))
			for i, n := range stands {
				queue[i] = fmt.Sprintf("%05d", n)
			}
			call.Queue, call.Elements = "of claims", s.claimAll(t, w, number, released...)
			s.front(t, queue...)
			replies, err := w.Settle(background, []redisconn.Call{w.Release(call)})
			require.NoError(t, err)
			require.NoError(t, replies[0].Err)
			require.Equal(t, merged(queue, released, call.Older), s.list(t, "queue:of claims"))
			s.cmd(t, "UNLINK", "queue:of claims", "jobs")
		})
	})
}

// merged is what the front of a queue should be: the released with the older ones that stand there, then the rest.
func merged(queue, released []string, older []rdb.Older) (want []string) {
	for i, id := range released {
		for _, o := range older {
			if o.Before == i+1 && slices.Contains(queue, o.ID) {
				want = append(want, o.ID)
			}
		}
		want = append(want, id)
	}
	for _, id := range queue {
		if !slices.Contains(want, id) {
			want = append(want, id)
		}
	}
	return want
}
