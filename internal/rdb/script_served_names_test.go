package rdb_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

func TestANameThatWasServedIsRemembered(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		names := []string{"a", "later", "never"}
		never, err := s.store.NeverServed(t.Context(), names)
		require.NoError(t, err)
		assert.Equal(t, names, never)

		w := s.worker(t, "w1", "a")
		_, _, err = w.Serve(t.Context(), numbered(1), rdb.Serving{Add: []string{"later"}, Leave: []string{"a"}})
		require.NoError(t, err)
		_, gone, err := w.Forget(t.Context(), []string{"later"}, "")
		require.NoError(t, err)
		require.True(t, gone)
		s.enqueue(t, "never", "x1") // a queue that nobody serves
		never, err = s.store.NeverServed(t.Context(), names)
		require.NoError(t, err)
		assert.Equal(t, []string{"never"}, never, "also when no worker is left")

		listed, err := s.store.LastServed(t.Context(), 10)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"a", "later"}, listed)
		listed, err = s.store.LastServed(t.Context(), 1)
		require.NoError(t, err)
		assert.Len(t, listed, 1)
	})
}

func TestManyNamesAreAskedForInParts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		names := many("q")
		s.worker(t, "w1", names...)
		never, err := s.store.NeverServed(t.Context(), append([]string{"first"}, append(names, "last")...))
		require.NoError(t, err)
		assert.Equal(t, []string{"first", "last"}, never)
		never, err = s.store.NeverServed(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, never)
	})
}

func TestAServedKeyOfAWrongTypeKeepsNoWorkerFromWorking(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "SET", "served", "something else")
		w := s.worker(t, "w1", "a")
		_, _, err := w.Serve(t.Context(), numbered(1), rdb.Serving{Add: []string{"b"}})
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b"}, s.set(t, "worker:w1:queues"))
		_, err = rdb.Mender{Store: s.store, Mend: true}.AgreeIndexes(t.Context(), []string{"a"},
			func(string) bool { return true }, time.Hour)
		require.NoError(t, err)
		_, err = s.store.NeverServed(t.Context(), []string{"a"})
		require.ErrorContains(t, err, "WRONGTYPE")
	})
}

func TestTheJanitorKeepsServedNamesFreshAndFew(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t).UnixMilli()
		old := now - 3*time.Hour.Milliseconds() - 60_000
		agree := func(mend bool, unseen time.Duration) {
			_, err := rdb.Mender{Store: s.store, Mend: mend}.AgreeIndexes(t.Context(), []string{"lives", "idle"},
				func(name string) bool { return name == "lives" }, unseen)
			require.NoError(t, err)
		}
		s.cmd(t, "ZADD", "served", old, "lives", old, "old", old+120_000, "young")
		agree(false, time.Hour)
		agree(true, 0)
		assert.Len(t, s.scores(t, "served"), 3, "who only looks, or forgets none, leaves all")
		agree(true, time.Hour)
		names := s.scores(t, "served")
		assert.Len(t, names, 2, "%v", names)
		assert.Contains(t, names, "young")
		assert.GreaterOrEqual(t, asInt(t, names["lives"]), now, "also of a worker that registered long ago")

		for from := 0; from < rdb.MostServed+700; from += 5000 {
			args := []any{"served"}
			for i := from; i < from+5000; i++ {
				args = append(args, now+int64(i), "n"+strconv.Itoa(i))
			}
			s.cmd(t, "ZADD", args[0].(string), args[1:]...)
		}
		there := len(s.scores(t, "served"))
		agree(true, time.Hour)
		assert.Len(t, s.scores(t, "served"), there-500, "500 in a call")
		for range (there-rdb.MostServed)/500 + 1 {
			agree(true, time.Hour)
		}
		names = s.scores(t, "served")
		assert.Len(t, names, rdb.MostServed)
		assert.Contains(t, names, fmt.Sprintf("n%d", rdb.MostServed), "the last ones stay")
	})
}
