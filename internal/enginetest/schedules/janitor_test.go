package schedules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// lose takes a waiting job out of its queue and leaves it with that claim.
func (k *kit) lose(receipt work.Receipt, claim string) {
	k.T.Helper()
	require.Equal(k.T, 1, k.Number("LREM", "queue:"+receipt.Name, 0, receipt.ID))
	k.Do("HSET", "claimed", receipt.ID, claim)
}

func TestClaimsThatNobodyHoldsAreGivenBack(t *testing.T) {
	t.Parallel()
	longAgo := time.Now().Add(-2 * rdb.ClaimSettled).UnixMilli()
	cases := map[string]func(k *kit, p *work.WorkerPool) string{
		"of an unknown worker": func(*kit, *work.WorkerPool) string {
			return fmt.Sprintf("somebody 3 %d n", time.Now().UnixMilli())
		},
		"of a living worker, without an element": func(_ *kit, p *work.WorkerPool) string {
			return fmt.Sprintf("%s 1 %d n", pooltest.WorkerID(p), longAgo)
		},
		"that cannot be read": func(*kit, *work.WorkerPool) string { return "what?" },
	}
	for name, claim := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := make(chan int, 1)
				receipt := k.Enqueue("n", 1)
				other := k.Start(work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).
					Job("other", func() error { return nil }))
				k.lose(receipt, claim(k, other))
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error { ran <- n; return nil })
				k.UntilLeased(other)
				require.NoError(t, other.Stop(k.Ctx()))
				k.Tidy(pool)
				assert.Equal(t, 1, pooltest.Receive(t, ran))
				returned := pooltest.Await[event.JobsReturned](t, k.Spy, nil)
				assert.Equal(t, 1, returned.Jobs)
				require.NoError(t, pool.Drain(k.Ctx()))
				k.Empty("n")
			})
		})
	}
}

func TestAClaimThatIsHeldIsLeftAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Tidy(work.NewWorkerPool(nil, 2, k.Options()).Job("n", p.Handle))
		receipt := k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		elements := k.Strings("LRANGE", "worker:"+pooltest.WorkerID(pool)+":inprocess:n", 0, -1)
		require.Len(t, elements, 1)
		var fetch int
		_, err := fmt.Sscanf(elements[0], "%d:", &fetch)
		require.NoError(t, err)
		k.Do("HSET", "claimed", receipt.ID, fmt.Sprintf("%s %d 1 n", pooltest.WorkerID(pool), fetch)) // since 1970
		for range 2 {
			k.Do("HSET", "claimed", "ghost", "nobody 1 1 n")
			k.Until("the janitor came by", func() bool { return k.Number("HEXISTS", "claimed", "ghost") == 0 })
		}
		assert.Equal(t, 1, k.Number("HEXISTS", "claimed", receipt.ID))
		close(p.GoOn)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Empty(t, p.Began)
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("n")
	})
}

func TestNothingBrokenKeepsTheJanitorFromTheRest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("HSET", "jobs", "unreadable", "no json")
		k.Do("HSET", "claimed", "unreadable", "what?")
		k.Do("SET", "morgue", "no set")
		k.Do("HSET", "outcomes", "old", "{}")
		k.Do("ZADD", "outcomes:until", 1, "old")
		k.Do("HSET", "lanes", "old", "1 1000")
		ran := make(chan int, 5)
		receipt := k.Enqueue("n", 1)
		k.lose(receipt, "nobody 1 1 n")
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error { ran <- n; return nil }))
		assert.Equal(t, 1, pooltest.Receive(t, ran))
		k.Until("outcomes are swept", func() bool { return k.Number("HLEN", "outcomes") == 0 })
		k.Until("lanes are retired", func() bool { return k.Number("HEXISTS", "lanes", "old") == 0 })
		trouble := pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "janitor" })
		assert.ErrorContains(t, trouble.Err, `"unreadable"`)
		assert.Equal(t, 1, k.Number("HEXISTS", "claimed", "unreadable"), "it is kept")
	})
}

func TestTheMorgueIsTrimmedToItsLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for i := range 5 {
			id := fmt.Sprint("m", i)
			k.Do("HSET", "jobs", id, `{"jid":"x","name":"n"}`)
			k.Do("HSET", "names", id, "n")
			k.Do("ZADD", "morgue", time.Now().Add(time.Duration(i-10)*time.Minute).UnixMilli(), id)
		}
		options := k.Options()
		options.MorgueLimit, options.MorgueRetention = 3, 6*time.Minute+30*time.Second
		k.Tidy(work.NewWorkerPool(nil, 1, options).Job("n", func() error { return nil }))
		for i := range 4 {
			pooltest.Await(t, k.Spy, func(e event.JobTrimmed) bool {
				return e == event.JobTrimmed{ID: fmt.Sprint("m", i), Name: "n"}
			})
		}
		assert.Equal(t, []string{"m4"}, k.Strings("ZRANGE", "morgue", 0, -1))
		assert.Equal(t, 1, k.Number("HLEN", "jobs"))
		assert.Equal(t, 4, pooltest.Count[event.JobTrimmed](k.Spy))
	})
}

// storeGroups writes n groups of a name, the last of them the newest.
func (k *kit) storeGroups(name string, n int, newest time.Time) {
	k.T.Helper()
	var fields []any
	for i := range n {
		at := newest.Add(time.Duration(i-n) * time.Second).UnixMilli()
		fields = append(fields, fmt.Sprint(name, i), fmt.Sprintf("1 %d %d\x00id\x00%s\x00m %d", at, at, name, i))
	}
	k.Do("HSET", "errors", fields...)
}

func TestGroupsOfErrorsAreTrimmed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.storeGroups("many", history.MaxGroups+10, time.Now())
		k.storeGroups("few", 3, time.Now())
		k.storeGroups("old", 3, time.Now().Add(-maintain.ErrorGroupLife))
		k.Do("HSET", "errors", "broken", "what?")
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		k.Until("the surplus is gone", func() bool { return k.Number("HLEN", "errors") == history.MaxGroups+3 })
		i := k.ByHand()
		digests, _, err := i.ErrorDigests(k.Ctx(), "many")
		require.NoError(t, err)
		assert.Len(t, digests, history.MaxGroups)
		for _, digest := range digests {
			assert.NotContains(t, []string{"many0", "many9"}, digest, "the oldest have gone")
		}
		digests, _, err = i.ErrorDigests(k.Ctx(), "few")
		require.NoError(t, err)
		assert.Len(t, digests, 3)
	})
}

// came waits until the janitor has done all its chores twice, as seen by names that it forgets.
func (k *kit) came() {
	k.T.Helper()
	for range 2 {
		k.Do("ZADD", "queues", 1, "forgotten")
		k.Until("the janitor came by", func() bool { return k.Do("ZSCORE", "queues", "forgotten") == nil })
	}
	for _, hash := range []string{"trail", "names"} {
		k.Do("HSET", hash, "ghost", "x")
		k.Until("the janitor came by", func() bool { return k.Number("HEXISTS", hash, "ghost") == 0 })
	}
}

func TestJanitorKeepsWhatIsNeededAndRemovesWhatIsNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("n", p.Handle))
		held := k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		waits := k.Enqueue("nobody")
		later, err := k.Enq.EnqueueIn(k.Ctx(), "later", time.Hour)
		require.NoError(t, err)

		k.Do("ZADD", "queues", 1, "n", 1, "nobody")
		k.Do("SREM", "ready", "nobody")
		k.Do("SADD", "ready", "empty")
		k.Do("HSET", "crashes", "ghost", "w", held.ID, "w")
		k.Do("HSET", "trail", waits.ID, `{"fails":1}`)
		running := "worker:" + pooltest.WorkerID(pool) + ":running"
		k.Do("HSET", running, "ghost", "1 half", held.ID, "1 half")
		k.came()

		k.Until("check-ins of jobs that are not held are gone",
			func() bool { return k.Number("HEXISTS", running, "ghost") == 0 })
		assert.Equal(t, 1, k.Number("HEXISTS", running, held.ID))
		assert.Zero(t, k.Number("HEXISTS", "crashes", "ghost"))
		assert.Equal(t, 1, k.Number("HEXISTS", "crashes", held.ID))
		assert.Equal(t, 1, k.Number("HEXISTS", "trail", waits.ID))
		assert.Equal(t, 1, k.Number("HEXISTS", "names", later.ID))
		assert.Equal(t, []string{"nobody"}, k.Strings("SMEMBERS", "ready"))
		monthAgo := time.Now().Add(-maintain.UnseenName).UnixMilli()
		assert.ElementsMatch(t, []string{"n", "nobody", "later"}, k.Strings("ZRANGE", "queues", 0, -1))
		assert.Zero(t, k.Number("ZCOUNT", "queues", 0, monthAgo), "those with jobs or workers are renewed")
		close(p.GoOn)
	})
}

func TestNameThatWasNotSeenForLongIsForgotten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		almost := time.Now().Add(-maintain.UnseenName + time.Hour).UnixMilli()
		k.Do("ZADD", "queues", almost, "almost", almost-2*time.Hour.Milliseconds(), "over")
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		k.came()
		assert.ElementsMatch(t, []string{"n", "almost"}, k.Strings("ZRANGE", "queues", 0, -1))
	})
}
