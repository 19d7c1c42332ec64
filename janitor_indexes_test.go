package work

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// came waits until the janitor has done all its chores twice, as seen by names that it forgets.
func (k *kit) came() {
	k.t.Helper()
	for range 2 {
		k.do("ZADD", "queues", 1, "forgotten")
		k.until("the janitor came by", func() bool { return k.do("ZSCORE", "queues", "forgotten") == nil })
	}
	for _, hash := range []string{"trail", "names"} {
		k.do("HSET", hash, "ghost", "x")
		k.until("the janitor came by", func() bool { return k.number("HEXISTS", hash, "ghost") == 0 })
	}
}

func TestJanitorKeepsWhatIsNeededAndRemovesWhatIsNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.tidy(NewWorkerPool(nil, 1, k.options()).Job("n", p.handle))
		held := k.enqueue("n")
		receive(t, p.began)
		waits := k.enqueue("nobody")
		later, err := k.enq.EnqueueIn(k.ctx(), "later", time.Hour)
		require.NoError(t, err)

		k.do("ZADD", "queues", 1, "n", 1, "nobody")
		k.do("SREM", "ready", "nobody")
		k.do("SADD", "ready", "empty")
		k.do("HSET", "crashes", "ghost", "w", held.ID, "w")
		k.do("HSET", "trail", waits.ID, `{"fails":1}`)
		running := "worker:" + pool.id() + ":running"
		k.do("HSET", running, "ghost", "1 half", held.ID, "1 half")
		k.came()

		k.until("check-ins of jobs that are not held are gone",
			func() bool { return k.number("HEXISTS", running, "ghost") == 0 })
		assert.Equal(t, 1, k.number("HEXISTS", running, held.ID))
		assert.Zero(t, k.number("HEXISTS", "crashes", "ghost"))
		assert.Equal(t, 1, k.number("HEXISTS", "crashes", held.ID))
		assert.Equal(t, 1, k.number("HEXISTS", "trail", waits.ID))
		assert.Equal(t, 1, k.number("HEXISTS", "names", later.ID))
		assert.Equal(t, []string{"nobody"}, k.strings("SMEMBERS", "ready"))
		monthAgo := time.Now().Add(-unseenName).UnixMilli()
		assert.ElementsMatch(t, []string{"n", "nobody", "later"}, k.strings("ZRANGE", "queues", 0, -1))
		assert.Zero(t, k.number("ZCOUNT", "queues", 0, monthAgo), "those with jobs or workers are renewed")
		close(p.goOn)
	})
}

func TestNameThatWasNotSeenForLongIsForgotten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		almost := time.Now().Add(-unseenName + time.Hour).UnixMilli()
		k.do("ZADD", "queues", almost, "almost", almost-2*time.Hour.Milliseconds(), "over")
		k.tidy(NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil }))
		k.came()
		assert.ElementsMatch(t, []string{"n", "almost"}, k.strings("ZRANGE", "queues", 0, -1))
	})
}

// tiring makes so many round trips, and then no more.
type tiring struct {
	rdb.Driver
	left, made int
}

func (d *tiring) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
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
		k := newKit(t, s)
		const workers = 3_000
		ids := []any{}
		for i := range workers {
			ids = append(ids, fmt.Sprintf("w%04d", i))
		}
		k.do("SADD", "workers", ids...)
		last := fmt.Sprint("worker:", ids[workers-1])
		k.do("SADD", last+":queues", "served")
		k.do("HSET", last+":running", "ghost", "1 half")

		driver := k.enq.core.store.Driver()
		turn := func(j *janitor, most int, chore func(context.Context) error) (int, error) {
			trips := &tiring{Driver: driver, left: most}
			j.worker = &worker{store: rdb.NewStore(trips, k.namespace)}
			err := chore(k.ctx())
			return trips.made, err
		}
		j := &janitor{checkIns: map[string]string{}}
		made, err := turn(j, workers, j.renewQueues)
		require.NoError(t, err)
		assert.Less(t, made, workers/20)

		for turns := 0; k.number("HEXISTS", last+":running", "ghost") == 1; turns++ {
			require.Less(t, turns, 5, "each turn goes on where the last one stopped")
			if _, err := turn(j, 20, j.shedCheckIns); err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
		}
		j.checkedIn = ""
		made, err = turn(j, workers, j.shedCheckIns)
		require.NoError(t, err)
		assert.Less(t, made, workers/20)
		assert.Empty(t, j.checkIns)
	})
}
