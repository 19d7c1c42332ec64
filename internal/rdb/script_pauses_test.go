package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// Of all that is said of a queue the newest counts, in whichever order it comes, and of two of one version the one that
// lets it go on. Its limit stays as it is.
func TestTheNewestThatIsSaidOfAQueueCounts(t *testing.T) {
	t.Parallel()
	pause := func(version int64) rdb.Pause { return rdb.Pause{Name: "a", Version: version, Paused: true} }
	resume := func(version int64) rdb.Pause { return rdb.Pause{Name: "a", Version: version} }
	for name, row := range map[string]struct {
		said   []rdb.Pause
		done   []bool
		paused bool
	}{
		"in order":                 {[]rdb.Pause{pause(5), resume(6), pause(7)}, []bool{true, true, true}, true},
		"a pause too late":         {[]rdb.Pause{resume(6), pause(5)}, []bool{true, false}, false},
		"a resume too late":        {[]rdb.Pause{pause(6), resume(5)}, []bool{true, false}, true},
		"of one version":           {[]rdb.Pause{pause(5), resume(5)}, []bool{true, true}, false},
		"of one version, reversed": {[]rdb.Pause{resume(5), pause(5)}, []bool{true, false}, false},
		"twice":                    {[]rdb.Pause{pause(5), pause(5)}, []bool{true, true}, true},
		"without a version":        {[]rdb.Pause{pause(0), resume(0), pause(0)}, []bool{true, true, true}, true},
		"without one behind one":   {[]rdb.Pause{pause(5), resume(0)}, []bool{true, false}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				rule := rdb.Rule{Limit: rdb.Limit{Concurrent: 3}, Filling: "held", Service: "s x"}
				s.cmd(t, "HSET", "limits", "a", rule.Text())
				for i, p := range row.said {
					changed, err := s.store.SetPauses(background, []rdb.Pause{p})
					require.NoError(t, err)
					require.NoError(t, changed[0].Err)
					assert.Equal(t, row.done[i], changed[0].Done, "%d", i)
				}
				rule.Paused = row.paused
				assert.Equal(t, rule.Text(), s.hash(t, "limits")["a"])
			})
		})
	}
}

func TestAQueueThatGoesOnCallsItsWorkersAndHasNoRule(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		waiting(t, s)
		say := func(paused bool) {
			changed, err := s.store.SetPauses(background, []rdb.Pause{{Name: "a", Paused: paused}, {Name: "x"}})
			require.NoError(t, err)
			assert.Equal(t, []rdb.Changed{{Done: true}, {Done: true}}, changed)
		}
		say(true)
		assert.Equal(t, map[string]string{"a": rdb.Rule{Paused: true}.Text()}, s.hash(t, "limits"))
		s.cmd(t, "UNLINK", "wake:a")
		say(false)
		assert.Empty(t, s.hash(t, "limits"))
		assert.Equal(t, int64(2), s.cmd(t, "LLEN", "wake:a"))
		assert.Zero(t, s.cmd(t, "EXISTS", "pauses"), "one partition keeps no versions")
	})
}

func TestARuleThatCannotBeReadIsNotPaused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "HSET", "limits", "a", "0 broken")
		changed, err := s.store.SetPauses(background, []rdb.Pause{{Name: "a", Paused: true}, {Name: "b", Paused: true}})
		require.NoError(t, err)
		require.ErrorContains(t, changed[0].Err, "RULE")
		assert.Equal(t, "0 broken", s.hash(t, "limits")["a"])
		assert.Equal(t, rdb.Changed{Done: true}, changed[1])
	})
}

// Who says something now says it after all that is known.
func TestTheNextVersionIsNewerThanAll(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		next := func() int64 {
			version, err := s.store.NextVersion(background, []string{"a", "b", ""})
			require.NoError(t, err)
			return version
		}
		assert.Zero(t, next(), "there is no map")
		s.cmd(t, "HSET", "lanes", "", "1")
		assert.InDelta(t, s.now(t).UnixMilli(), next(), 60_000)
		s.cmd(t, "HSET", "pauses", "a", "5", "b", "9999999999999", "c", "99999999999999")
		assert.Equal(t, int64(10_000_000_000_000), next())
	})
}

func TestTheNewestHintIsKept(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		hint := func(partition int, version int64, paused bool) rdb.Hint {
			return rdb.Hint{Partition: partition, Pause: rdb.Pause{Name: "a", Version: version, Paused: paused}}
		}
		add := func(h rdb.Hint) { require.NoError(t, s.store.AddHints(background, []rdb.Hint{h})) }
		noted := func() []rdb.Hint {
			hints, err := s.store.Hints(background)
			require.NoError(t, err)
			return hints
		}
		add(hint(1, 5, true))
		add(hint(1, 4, false))
		assert.Equal(t, []rdb.Hint{hint(1, 5, true)}, noted())
		add(hint(1, 5, false))
		add(hint(1, 5, true))
		assert.Equal(t, []rdb.Hint{hint(1, 5, false)}, noted())
		require.NoError(t, s.store.DropHints(background, []rdb.Hint{hint(1, 5, true), hint(2, 5, false)}))
		assert.Equal(t, []rdb.Hint{hint(1, 5, false)}, noted(), "it is another one")
		left, err := s.store.Remaining(background)
		require.NoError(t, err)
		assert.Equal(t, 1, left.Hints)
		assert.False(t, left.Nothing())
		require.NoError(t, s.store.DropHints(background, noted()))
		assert.Empty(t, noted())
	})
}

// What was said in between is told under the version before, or as it was.
func TestThePausesThatAreKnown(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		_, err := s.store.SetPauses(background, []rdb.Pause{{Name: "a", Version: 5, Paused: true},
			{Name: "b", Version: 6}})
		require.NoError(t, err)
		s.cmd(t, "HSET", "limits", "c", rdb.Rule{Paused: true}.Text(),
			"d", rdb.Rule{Limit: rdb.Limit{Concurrent: 1}}.Text())
		pauses, err := s.store.Pauses(background)
		require.NoError(t, err)
		assert.Equal(t, map[string]rdb.Pause{"a": {Name: "a", Version: 5, Paused: true}, "b": {Name: "b", Version: 6},
			"c": {Name: "c", Paused: true}}, pauses)
	})
}
