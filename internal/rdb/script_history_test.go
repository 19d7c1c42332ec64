package rdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// stats are the sums of the minute and of the day that it is.
func (s *site) stats(t require.TestingT, at time.Time) (minute, day map[string]string) {
	at = at.UTC()
	return s.hash(t, "stats:"+at.Format("2006-01-02T15:04")), s.hash(t, "stats:"+at.Format("2006-01-02"))
}

func TestTalliesAddUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		at := s.now(t)
		s.tell(t, rdb.Tally{Lane: "x", Number: 1,
			Sums: []rdb.Sums{{Name: "a", Counts: "d:1 r:70 r0:1"}, {Name: "b c", Counts: "f:1"}}})
		s.tell(t, rdb.Tally{Lane: "y", Number: 1, Sums: []rdb.Sums{{Name: "a", Counts: "d:2 r:5 r3:2 w:1"}}})
		s.tell(t, rdb.Tally{Lane: "x", Number: 2, Sums: []rdb.Sums{{Name: "a", Counts: "m:1 r:1000000000000"}}})
		want := map[string]string{"a": "d:3 r:1000000000075 r0:1 r3:2 w:1 m:1", "b c": "f:1"}
		minute, day := s.stats(t, at)
		assert.Equal(t, want, minute)
		assert.Equal(t, want, day)
	})
}

// TestATallySentAgainAddsNothing: its answer may be lost, and it may come late.
func TestATallySentAgainAddsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		tally := rdb.Tally{Lane: "x", Number: 7, Sums: []rdb.Sums{{Name: "a", Counts: "d:1"}},
			Errors: []rdb.ErrorCount{{Digest: "e", Name: "a", Count: 1}}}
		first := s.tell(t, tally)
		tally.At = s.now(t).Add(-48 * time.Hour) // whatever minute the caller now thinks it is
		assert.Equal(t, first, s.tell(t, tally))
		late := tally
		late.Number, late.At = 6, s.now(t)
		_, err := tell(s.store, late)
		var refused *redisconn.ServerError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "STALE", refused.Code)
		minute, day := s.stats(t, s.now(t))
		assert.Equal(t, map[string]string{"a": "d:1"}, minute)
		assert.Equal(t, map[string]string{"a": "d:1"}, day)
		assert.Len(t, s.hash(t, "errors"), 1)
		assert.Equal(t, map[string]string{"e": "1"}, s.hash(t, "stats:errors:"+s.now(t).UTC().Format("2006-01-02T15")))
	})
}

// TestATallyForAnotherMinuteIsNotAdded: the keys that the caller has named are the wrong ones. It keeps its number.
func TestATallyForAnotherMinuteIsNotAdded(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{
		"a minute ago": -time.Minute, "a minute ahead": time.Minute, "a day ago": -24 * time.Hour,
		"a year ahead": 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.leaveEdge(t)
				at := s.now(t)
				before := s.dump(t)
				told := s.tell(t, rdb.Tally{Lane: "x", Number: 1, At: at.Add(off),
					Sums: []rdb.Sums{{Name: "a", Counts: "d:1"}}})
				assert.True(t, told.Elsewhere)
				assert.WithinDuration(t, at, told.Time, 20*time.Second, "it says what time it is")
				assert.Equal(t, before, s.dump(t))
				told = s.tell(t, rdb.Tally{Lane: "x", Number: 1, At: told.Time,
					Sums: []rdb.Sums{{Name: "a", Counts: "d:1"}}})
				assert.False(t, told.Elsewhere)
				minute, _ := s.stats(t, at)
				assert.Equal(t, map[string]string{"a": "d:1"}, minute)
			})
		})
	}
}

// TestTheEdgesOfAMinuteAndOfADay are found by the clock of Redis, to the millisecond.
func TestTheEdgesOfAMinuteAndOfADay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	last := midnight.Add(-time.Millisecond)
	rows := []struct {
		name      string
		clock, at time.Time
		added     bool
	}{
		{"the last millisecond", last, last, true},
		{"the first millisecond", midnight, midnight, true},
		{"told too late", midnight, last, false},
		{"told too early", last, midnight, false},
		{"the end of a minute within a day", midnight.Add(time.Minute - 1), midnight, true},
		{"the next minute of the day", midnight.Add(time.Minute), midnight, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Embedded(t)
			s := newSite(t, server.DSN(), server.Embedded())
			s.clock.SetTime(row.clock)
			told := s.tell(t, rdb.Tally{Lane: "x", Number: 1, At: row.at, Sums: []rdb.Sums{{Name: "a", Counts: "d:1"}}})
			assert.Equal(t, row.added, !told.Elsewhere)
			minute, day := s.stats(t, row.clock)
			assert.Equal(t, row.added, len(minute) == 1)
			assert.Equal(t, row.added, len(day) == 1)
		})
	}
}

// TestErrorsAreCountedByTheHour: what was counted before is added to, what cannot be read begins anew, and what is
// forgotten is forgotten of all hours.
func TestErrorsAreCountedByTheHour(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		now := s.now(t).UTC()
		hour := func(back int) string {
			return "stats:errors:" + now.Add(-time.Duration(back)*time.Hour).Format("2006-01-02T15")
		}
		s.cmd(t, "HSET", hour(3), "e", "5", "f", "broken")
		s.cmd(t, "HSET", hour(0), "f", "broken")
		for n := range int64(2) {
			s.tell(t, rdb.Tally{Lane: "x", Number: n + 1, Errors: []rdb.ErrorCount{
				{Digest: "e", Name: "a", Count: 2}, {Digest: "f", Name: "a", Count: 1}}})
		}
		left, _ := s.cmd(t, "PTTL", hour(0)).(int64)
		assert.InDelta(t, rdb.MinutesKept.Milliseconds(), left, 20_000)
		counts, err := s.store.ErrorCounts(background, now, []string{"e", "f", "g"})
		require.NoError(t, err)
		want := map[string][]int64{"e": make([]int64, rdb.ErrorHours), "f": make([]int64, rdb.ErrorHours),
			"g": make([]int64, rdb.ErrorHours)}
		want["e"][rdb.ErrorHours-4], want["e"][rdb.ErrorHours-1], want["f"][rdb.ErrorHours-1] = 5, 4, 2
		assert.Equal(t, want, counts)

		require.NoError(t, s.store.ForgetErrorGroups(background, []string{"e"}))
		assert.Equal(t, map[string]string{"f": "broken"}, s.hash(t, hour(3)))
		assert.Equal(t, map[string]string{"f": "2"}, s.hash(t, hour(0)))
		require.NoError(t, s.store.ForgetErrorGroups(background, nil))
		assert.Empty(t, s.cmd(t, "KEYS", s.key("stats:errors:*")))
	})
}

// TestAnHourHasSoManyGroups and no more: those of which more come are counted on in it.
func TestAnHourHasSoManyGroups(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		hour := "stats:errors:" + s.now(t).UTC().Format("2006-01-02T15")
		var fields []any
		for n := range rdb.MaxErrorGroups {
			fields = append(fields, fmt.Sprint("g", n), 1)
		}
		s.cmd(t, "HSET", hour, fields...)
		s.tell(t, rdb.Tally{Lane: "x", Number: 1, Errors: []rdb.ErrorCount{
			{Digest: "g7", Name: "a", Count: 2}, {Digest: "new", Name: "a", Count: 1}}})
		assert.EqualValues(t, rdb.MaxErrorGroups, s.cmd(t, "HLEN", hour))
		assert.Equal(t, "3", text(s.cmd(t, "HGET", hour, "g7")))
		assert.Len(t, s.groups(t), 2, "the groups themselves are counted")
	})
}

func TestHistoryIsKeptForItsTime(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		at := s.now(t).UTC()
		for n := range int64(2) { // a new key, and one that is there
			s.tell(t, rdb.Tally{Lane: "x", Number: n + 1, Sums: []rdb.Sums{{Name: "a", Counts: "d:1"}}})
			for key, kept := range map[string]time.Duration{"2006-01-02T15:04": rdb.MinutesKept,
				"2006-01-02": rdb.DaysKept} {
				left, _ := s.cmd(t, "PTTL", "stats:"+at.Format(key)).(int64)
				assert.InDelta(t, kept.Milliseconds(), left, 20_000, key)
			}
		}
	})
}

// TestSumsThatCannotBeReadAreInNobodysWay: what can be read of them counts.
func TestSumsThatCannotBeReadAreInNobodysWay(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		at := s.now(t).UTC()
		s.cmd(t, "HSET", "stats:"+at.Format("2006-01-02"), "a", "broken\x00 d:x 7 d:5 d:9")
		s.cmd(t, "HSET", "errors", "e", "broken")
		s.tell(t, rdb.Tally{Lane: "x", Number: 1,
			Sums:   []rdb.Sums{{Name: "a", Counts: "d:1"}, {Name: "b", Counts: "d:1"}},
			Errors: []rdb.ErrorCount{{Digest: "e", Name: "a", Message: "m", Sample: "id", Count: 2}}})
		_, day := s.stats(t, at)
		assert.Equal(t, map[string]string{"a": "broken\x00 d:x 7 d:6 d:9", "b": "d:1"}, day)
		groups := s.groups(t)
		require.Len(t, groups, 1)
		assert.Equal(t, rdb.ErrorCount{Digest: "e", Name: "a", Message: "m", Sample: "id", Count: 2},
			groups[0].ErrorCount)
	})
}

func TestATallyIsRefusedWhereAKeyHasAWrongType(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lanes", "errors", "minute", "day", "hour"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.leaveEdge(t)
				at := s.now(t).UTC()
				name := map[string]string{"minute": "stats:" + at.Format("2006-01-02T15:04"), "day": "stats:" +
					at.Format("2006-01-02"), "hour": "stats:errors:" + at.Format("2006-01-02T15")}[key]
				if name == "" {
					name = key
				}
				s.cmd(t, "SET", name, "x")
				before := s.dump(t)
				_, err := tell(s.store, rdb.Tally{Lane: "x", Number: 1, At: at,
					Sums: []rdb.Sums{{Name: "a", Counts: "d:1"}}})
				assert.ErrorContains(t, err, "BADKEY "+s.key(name))
				assert.Equal(t, before, s.dump(t))
			})
		})
	}
}

// groups are all groups of errors, by digest.
func (s *site) groups(t require.TestingT) (groups []rdb.ErrorGroup) {
	require.NoError(t, s.store.ErrorGroups(background, func(page []rdb.ErrorGroup) error {
		groups = append(groups, page...)
		return nil
	}))
	slices.SortFunc(groups, func(a, b rdb.ErrorGroup) int { return strings.Compare(a.Digest, b.Digest) })
	return groups
}

func TestErrorsOfAGroupAddUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		e := rdb.ErrorCount{Digest: "e", Name: "a b", Message: "no \n\"#\"", Sample: "first", Count: 2}
		first := s.tell(t, rdb.Tally{Lane: "x", Number: 1, Errors: []rdb.ErrorCount{e}})
		s.pass(t, 3*time.Millisecond)
		e.Sample, e.Count = "last\x00", 5
		last := s.tell(t, rdb.Tally{Lane: "x", Number: 2, Errors: []rdb.ErrorCount{e}})
		groups := s.groups(t)
		require.Len(t, groups, 1)
		e.Sample, e.Count = "last", 7
		assert.Equal(t, e, groups[0].ErrorCount)
		assert.Equal(t, first.Time, groups[0].First)
		assert.Equal(t, last.Time, groups[0].Last)
		assert.True(t, groups[0].Last.After(groups[0].First))
		assert.Empty(t, s.cmd(t, "KEYS", "stats:2*"), "nothing else was told")
	})
}

// TestNewGroupsAreRefusedWhereThereAreTooMany, and those that are there grow.
func TestNewGroupsAreRefusedWhereThereAreTooMany(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for n := 0; n < rdb.MaxErrorGroups-1; {
			var fields []any
			for ; n < rdb.MaxErrorGroups-1 && len(fields) < 1000; n++ {
				fields = append(fields, fmt.Sprint("g", n), "1 1 1\x00id\x00a\x00m")
			}
			s.cmd(t, "HSET", "errors", fields...)
		}
		one := func(digest string) rdb.ErrorCount { return rdb.ErrorCount{Digest: digest, Name: "a", Count: 1} }
		must := one("must")
		must.Must = true
		tally := rdb.Tally{Lane: "x", Number: 1, Errors: []rdb.ErrorCount{one("new"), one("toomany"), one("g7"), must,
			one("more")}}
		told := s.tell(t, tally)
		assert.Equal(t, []int{1, 4}, told.Refused)
		assert.Equal(t, told, s.tell(t, tally), "said again")
		assert.EqualValues(t, rdb.MaxErrorGroups+1, s.cmd(t, "HLEN", "errors"))
		assert.Contains(t, text(s.cmd(t, "HGET", "errors", "g7")), "2 ")
	})
}

func TestGroupsThatHaveGrownAreNotRetired(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.tell(t, rdb.Tally{Lane: "x", Number: 1,
			Errors: []rdb.ErrorCount{{Digest: "grows", Count: 1}, {Digest: "stays", Count: 1}}})
		seen := s.groups(t)
		s.pass(t, 3*time.Millisecond)
		s.tell(t, rdb.Tally{Lane: "x", Number: 2, Errors: []rdb.ErrorCount{{Digest: "grows", Count: 1}}})
		removed, err := s.store.RemoveStaleErrorGroups(background, seen)
		require.NoError(t, err)
		assert.Equal(t, 1, removed)
		left := s.groups(t)
		require.Len(t, left, 1)
		assert.Equal(t, "grows", left[0].Digest)
		n, err := s.store.CountErrorGroups(background)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
	})
}

func TestRepliesToATallyThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, reply := range []any{nil, int64(1), []byte(""), []byte("x"), []byte("1 x"), []byte("1 0")} {
		t.Run(fmt.Sprintf("%T %s", reply, reply), func(t *testing.T) {
			t.Parallel()
			_, err := rdb.ParseTold(redisconn.Reply{Value: reply})
			var unexpected *redisconn.UnexpectedReplyError
			assert.ErrorAs(t, err, &unexpected)
		})
	}
}

// TestAMinuteAndADayHaveSoManyNames: what is counted of others goes to one row, so that all sums stay right. A name
// that has a row keeps it.
func TestAMinuteAndADayHaveSoManyNames(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.leaveEdge(t)
		at := s.now(t)
		minute := "stats:" + at.UTC().Format("2006-01-02T15:04")
		rows := []any{}
		for n := range rdb.MinuteNames - 1 {
			rows = append(rows, fmt.Sprint("n", n), "d:1")
		}
		s.cmd(t, "HSET", minute, rows...)
		names := []string{"first", "second", "third", "n7"}
		for round := range 2 {
			tally := rdb.Tally{Lane: "x", Number: int64(round + 1)}
			for _, name := range names {
				tally.Sums = append(tally.Sums, rdb.Sums{Name: name, Counts: "d:2 r:5 r0:2"})
			}
			s.tell(t, tally)
		}
		inMinute, inDay := s.stats(t, at)
		assert.Equal(t, "d:4 r:10 r0:4", inMinute["first"])
		assert.Equal(t, "d:5 r:10 r0:4", inMinute["n7"])
		assert.Equal(t, "d:8 r:20 r0:8", inMinute[rdb.OtherNames], "of the second and the third")
		assert.Len(t, inMinute, rdb.MinuteNames+1)
		for _, name := range names {
			assert.Equal(t, "d:4 r:10 r0:4", inDay[name], "a day has room for more")
		}
	})
}
