package maintain

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// What a turn does not come to is for the next one: otherwise nothing that lies behind its first parts would ever go.
func TestAWalkGoesOnWhereTheLastTurnLeftIt(t *testing.T) {
	t.Parallel()
	var seen []string
	failing := "4"
	part := func(_ context.Context, cursor string) (string, error) {
		seen = append(seen, cursor)
		if cursor == failing {
			failing = ""
			return cursor, errors.New("no luck")
		}
		return map[string]string{"": "1", "0": "1", "1": "2", "2": "3", "3": "4", "4": "0"}[cursor], nil
	}
	cursor := ""
	for range 4 {
		_ = walk(t.Context(), &cursor, 3, part) // one turn fails
	}
	assert.Equal(t, []string{"", "1", "2", "3", "4", "4", "0", "1", "2"}, seen)
}

func TestLanesBehindTheFirstPartsGo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newSite(t, s)
		const lanes = 4000
		for n := range 4 {
			var fields []any
			for i := range lanes / 4 {
				fields = append(fields, fmt.Sprint("new", n, "-", i), fmt.Sprint("1 ", time.Now().UnixMilli()),
					fmt.Sprint("old", n, "-", i), "1 1000")
			}
			k.do("HSET", "lanes", fields...)
		}
		cursor, turns := "", 0
		for cursor != "0" && turns < 100 {
			turns++
			require.NoError(t, walk(t.Context(), &cursor, 2, func(ctx context.Context, cursor string) (string, error) {
				return k.store.RemoveStaleLanes(ctx, cursor, time.Hour)
			}))
		}
		assert.Equal(t, lanes, k.number("HLEN", "lanes"), "after %d turns", turns)
	})
}

// tiring makes so many round trips, and then no more.
type tiring struct {
	redisconn.Driver
	left, made int
}

func (d *tiring) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if d.made == d.left {
		return nil, context.DeadlineExceeded
	}
	d.made++
	return d.Driver.Pipeline(ctx, calls...)
}

// What the janitor does about each registered worker takes few round trips for very many of them, and where a turn is
// too short for all, the next one goes on.
func TestJanitorGetsToAllOfVeryManyWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newSite(t, s)
		const workers = 3_000
		ids := []any{}
		for i := range workers {
			ids = append(ids, fmt.Sprintf("w%04d", i))
		}
		k.do("SADD", "workers", ids...)
		last := fmt.Sprint("worker:", ids[workers-1])
		k.do("SADD", last+":queues", "served")
		k.do("HSET", last+":running", "ghost", "1 half")

		driver := k.store.Driver()
		turn := func(j *Janitor, most int, chore func(context.Context) error) (int, error) {
			trips := &tiring{Driver: driver, left: most}
			j.env.Store = rdb.NewStore(trips, k.namespace)
			err := chore(t.Context())
			return trips.made, err
		}
		j := NewJanitor(Env{}, JanitorOptions{})
		made, err := turn(j, workers, j.AgreeIndexes)
		require.NoError(t, err)
		assert.Less(t, made, workers/20)

		for turns := 0; k.number("HEXISTS", last+":running", "ghost") == 1; turns++ {
			require.Less(t, turns, 5, "each turn goes on where the last one stopped")
			if _, err := turn(j, 20, j.RemoveJoblessCheckIns); err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
		}
		j.checkedIn = ""
		made, err = turn(j, workers, j.RemoveJoblessCheckIns)
		require.NoError(t, err)
		assert.Less(t, made, workers/20)
		assert.Empty(t, j.checkIns)
	})
}

// site is a namespace without anything.
type site struct {
	t         *testing.T
	namespace string
	store     *rdb.Store
}

func newSite(t *testing.T, s redistest.Server) *site {
	t.Helper()
	driver, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	k := &site{t: t, namespace: redistest.Namespace(t)}
	k.store = rdb.NewStore(driver, k.namespace)
	return k
}

func (k *site) do(command, key string, args ...any) any {
	k.t.Helper()
	call := redisconn.Call{Command: command, Args: append([]any{k.store.FullName(key)}, args...)}
	reply, err := redisconn.Do(k.t.Context(), k.store.Driver(), call)
	require.NoError(k.t, err)
	return reply
}

func (k *site) number(command, key string, args ...any) int {
	k.t.Helper()
	n, err := redis.Int(k.do(command, key, args...), nil)
	require.NoError(k.t, err)
	return n
}
