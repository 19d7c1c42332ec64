package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// tallying are the uses of the script that adds what was counted.
func tallying() []transition {
	return []transition{
		{name: "tally", script: "history/add", timed: true, prepare: func(t *testing.T, s *site) {
			s.leaveEdge(t)
			s.tell(t, rdb.Tally{Lane: "l", Number: 1, Sums: []rdb.Sums{{Name: "a", Counts: "d:1 r:5 r0:1"}},
				Errors: []rdb.ErrorCount{{Digest: "x", Name: "a", Message: "no #", Count: 2, Sample: "a0"}}})
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			at, err := store.Time(background)
			if err != nil {
				return nil, err
			}
			told, err := tell(store, rdb.Tally{
				Lane: "l", Number: 2, At: at,
				Sums: []rdb.Sums{{Name: "a", Counts: "d:2 f:1 r:7 r0:2"}, {Name: "b", Counts: "m:1"}},
				Errors: []rdb.ErrorCount{
					{Digest: "x", Name: "a", Message: "no #", Count: 1, Sample: "a1"},
					{Digest: "y", Name: "b", Message: "none", Count: 1, Sample: "b1"},
				},
			})
			return told.Refused, err
		}},
		{name: "tally, errors retired", script: "repair/remove_stale", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "errors", "x", "2 7 5\x00id\x00name\x00old", "y", "broken")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			var all []rdb.ErrorGroup
			err := store.ErrorGroups(background,
				func(page []rdb.ErrorGroup) error { all = append(all, page...); return nil })
			if err != nil {
				return nil, err
			}
			_, err = store.RemoveStaleErrorGroups(background, all)
			return nil, err
		}},
	}
}

// leaveEdge waits until a minute does not end soon: what is sent within a few seconds is of the same one.
func (s *site) leaveEdge(t require.TestingT) {
	if left := time.Minute - time.Duration(s.now(t).UnixNano()%int64(time.Minute)); left < 5*time.Second {
		s.pass(t, left)
	}
}

// tell sends a tally, at the time that it is.
func (s *site) tell(t require.TestingT, tally rdb.Tally) rdb.Told {
	if tally.At.IsZero() {
		tally.At = s.now(t)
	}
	told, err := tell(s.store, tally)
	require.NoError(t, err)
	return told
}

func tell(store *rdb.Store, tally rdb.Tally) (rdb.Told, error) {
	replies, err := store.Driver().Pipeline(background, store.Tally(tally))
	if err != nil {
		return rdb.Told{}, err
	}
	return rdb.ParseTold(replies[0])
}

// callsOfTallies has the methods of history make their calls.
func callsOfTallies(r *recorder) {
	store := rdb.NewStore(r, "ns")
	r.calls = append(r.calls, store.Tally(rdb.Tally{
		At: time.Now(), Sums: []rdb.Sums{{Name: "a"}}, Errors: []rdb.ErrorCount{{Digest: "x"}},
	}))
	_, _ = store.RemoveStaleErrorGroups(background, []rdb.ErrorGroup{{}})
}
