package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

func TestAMoveTakesALockThatNobodyHas(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		held  string // what stands in unique
		owner string // that keeps the job where it is
	}{
		"free":                         {},
		"its own":                      {held: "dead 0 f"},
		"of a job that is gone":        {held: "gone 0 f"},
		"over":                         {held: "other 5 t"},
		"of another one":               {held: "other 0 f", owner: "other"},
		"of another one, for a time":   {held: "gone 9000000000000 t", owner: "gone"},
		"of one with spaces in its id": {held: "a b 0 m", owner: "a b"},
		"of one that runs elsewhere":   {held: "away 0 f", owner: "away"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "other", "a b", "dead")
				s.cmd(t, "LREM", "queue:a", 0, "dead")
				s.cmd(t, "ZADD", "morgue", 12, "dead")
				s.cmd(t, "HSET", "names", "dead", "a")
				if c.held != "" {
					s.cmd(t, "HSET", "unique", "digest", c.held)
				}
				s.cmd(t, "HSET", "foreign", "away", "1 a\x00digest")
				before := s.dump(t)
				order := s.store.Move(rdb.JobPlace{ID: "dead", Queue: "a", Shelf: rdb.ShelfMorgue, Score: "12"},
					rdb.Destination{Lock: "digest"})
				obeyed, err := s.store.Execute(t.Context(), []rdb.Order{order, order})
				require.NoError(t, err)
				if c.owner != "" {
					want := rdb.OrderResult{Answer: rdb.AnswerOwned, Owner: c.owner}
					assert.Equal(t, []rdb.OrderResult{want, want}, obeyed)
					assert.Equal(t, before, s.dump(t), "nothing has changed")
					return
				}
				assert.Equal(t, []rdb.OrderResult{{Answer: rdb.AnswerDone}, {Answer: rdb.AnswerGone}}, obeyed)
				assert.Equal(t, map[string]string{"digest": "dead 0 f"}, s.hash(t, "unique"))
				assert.Contains(t, s.list(t, "queue:a"), "dead")
				assert.Empty(t, s.scores(t, "morgue"))

				next := job("a", "next")
				next.Lock = rdb.Lock{Digest: "digest", Kind: rdb.UntilEnded}
				stored, err := s.store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{next})
				require.NoError(t, err)
				assert.Equal(t, map[int]string{0: "dead"}, stored.Owners, "it is one of a kind again")
			})
		})
	}
}
