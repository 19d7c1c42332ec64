package work

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// sooner makes all that is scheduled due at once, in the order in which it stands.
func (k *kit) sooner(by time.Duration) {
	k.t.Helper()
	scores, err := redis.StringMap(k.do("ZRANGE", "scheduled", 0, -1, "WITHSCORES"), nil)
	require.NoError(k.t, err)
	args := []any{"XX"}
	for id, score := range scores {
		due, err := strconv.ParseFloat(score, 64)
		require.NoError(k.t, err)
		args = append(args, strconv.FormatFloat(due-float64(by.Milliseconds()), 'f', -1, 64), id)
	}
	k.do("ZADD", "scheduled", args...)
}

func TestJobsDueAtTheSameTimeRunInTheOrderOfTheirEnqueue(t *testing.T) {
	t.Parallel()
	ids := map[string]func(i int) []EnqueueOption{
		"ids of the enqueuer": func(int) []EnqueueOption { return nil },
		"ids that go down": func(i int) []EnqueueOption {
			return []EnqueueOption{ID(fmt.Sprintf("id-%04d", 9999-i))}
		},
		"both in turn": func(i int) []EnqueueOption {
			if i%3 > 0 {
				return nil
			}
			return []EnqueueOption{ID(strconv.Itoa(i * 7919 % 10007))}
		},
	}
	calls := map[string]struct{ jobs, size int }{
		"one by one":               {30, 1},
		"more than a page of them": {1100, 1100},
		"in calls of several":      {90, 9},
	}
	for how, optionsOf := range ids {
		for size, c := range calls {
			t.Run(how+", "+size, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					at := time.Now().Add(time.Hour).Truncate(time.Second)
					var entries []Entry
					for i := range c.jobs {
						entries = append(entries, Entry{Name: "later", Args: []any{i}, At: at, Options: optionsOf(i)})
					}
					for part := range slices.Chunk(entries, c.size) {
						_, err := k.enq.EnqueueMany(k.ctx(), part)
						require.NoError(t, err)
					}
					require.Equal(t, c.jobs, k.number("ZCOUNT", "scheduled", at.UnixMilli(),
						fmt.Sprint("(", at.UnixMilli()+1)))
					k.sooner(2 * time.Hour)
					ran := make(chan int, c.jobs)
					pool := k.start(NewWorkerPool(nil, 1, k.options()).
						Job("later", func(n int) error { ran <- n; return nil }))
					var order []int
					for range c.jobs {
						order = append(order, receive(t, ran))
					}
					require.NoError(t, pool.Drain(k.ctx()))
					assert.True(t, slices.IsSorted(order), "%v", order[:30])
				})
			})
		}
	}
}

func TestIDsSortAsTheyWereMade(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before, seen := "", map[string]bool{}
	for i := range 10_000 {
		id := newID(now.Add(time.Duration(i%7-3) * time.Millisecond)) // the clock goes back and forth
		require.Len(t, id, 22)
		require.Less(t, before, id)
		require.False(t, seen[id[11:]], "the second half is random")
		seen[id[11:]], before = true, id
	}
}
