package rdb_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// callsOfRecurring has every method of recurring items that sends a script make its call.
func callsOfRecurring(r *recorder) {
	set := thoonkdb.NewStore(answering{r}, "{ns}:").Recurring("news")
	ignore := func(...any) {}
	ignore(set.Define(background, time.Second))
	ignore(set.Add(background, []byte("x")))
	ignore(set.Take(background))
	ignore(set.Update(background, []byte("x"), []byte("y")))
	ignore(set.Delete(background))
}

// recurring are the scripts of recurring items.
func recurring() []transition {
	of := func(name string, prepare func(*testing.T, *site), send func(r *thoonkdb.Recurring) error) transition {
		return transition{
			name: name, script: name, prepare: prepare, storing: slices.Contains(storingFeeds, name),
			once: name == "recurring/take",
			send: func(s *site, store *rdb.Store) (any, error) {
				return nil, send(thoonkdb.NewStore(store.Driver(), s.key("")).Recurring("news"))
			},
		}
	}
	none := func(*testing.T, *site) {}
	defined := func(t *testing.T, s *site) {
		t.Helper()
		set := thoonkdb.NewStore(s.driver, s.key("")).Recurring("news")
		require.NoError(t, ignoring(set.Define(background, time.Hour)))
	}
	due := func(t *testing.T, s *site) {
		t.Helper()
		defined(t, s)
		s.cmd(t, "ZADD", "recurring:news", "1000", "x", "2000", "y")
	}
	return []transition{
		of("recurring/define", none,
			func(r *thoonkdb.Recurring) error { return ignoring(r.Define(background, time.Hour)) }),
		of("recurring/add", defined, func(r *thoonkdb.Recurring) error {
			_, _, err := r.Add(background, []byte("z"))
			return err
		}),
		of("recurring/take", due, func(r *thoonkdb.Recurring) error { return ignoring(r.Take(background)) }),
		of("recurring/update", due,
			func(r *thoonkdb.Recurring) error { return ignoring(r.Update(background, []byte("x"), []byte("z"))) }),
		of("recurring/delete", due, func(r *thoonkdb.Recurring) error { return ignoring(r.Delete(background)) }),
	}
}
