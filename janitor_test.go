package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// tidy makes a pool whose janitor works all the time.
func (k *kit) tidy(p *WorkerPool) *WorkerPool {
	p.tidying = 50 * time.Millisecond
	return k.start(p)
}

// lose takes a waiting job out of its queue and leaves it with that claim.
func (k *kit) lose(receipt Receipt, claim string) {
	k.t.Helper()
	require.Equal(k.t, 1, k.number("LREM", "queue:"+receipt.Name, 0, receipt.ID))
	k.do("HSET", "claimed", receipt.ID, claim)
}

func TestClaimsThatNobodyHoldsAreGivenBack(t *testing.T) {
	t.Parallel()
	longAgo := time.Now().Add(-2 * settledClaim).UnixMilli()
	cases := map[string]func(k *kit, p *WorkerPool) string{
		"of an unknown worker": func(*kit, *WorkerPool) string {
			return fmt.Sprintf("somebody 3 %d n", time.Now().UnixMilli())
		},
		"of a living worker, without an element": func(_ *kit, p *WorkerPool) string {
			return fmt.Sprintf("%s 1 %d n", p.id(), longAgo)
		},
		"that cannot be read": func(*kit, *WorkerPool) string { return "what?" },
	}
	for name, claim := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := make(chan int, 1)
				receipt := k.enqueue("n", 1)
				other := k.start(NewWorkerPool(nil, 1, k.another(newSpy())).Job("other", func() error { return nil }))
				k.lose(receipt, claim(k, other))
				pool := NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error { ran <- n; return nil })
				k.until("the other one has the lease", other.workers[0].daemons.leased.Load)
				require.NoError(t, other.Stop(k.ctx()))
				k.tidy(pool)
				assert.Equal(t, 1, receive(t, ran))
				returned := await[event.JobsReturned](t, k.spy, nil)
				assert.Equal(t, 1, returned.Jobs)
				require.NoError(t, pool.Drain(k.ctx()))
				k.empty("n")
			})
		})
	}
}

func TestAClaimThatIsHeldIsLeftAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.tidy(NewWorkerPool(nil, 2, k.options()).Job("n", p.handle))
		receipt := k.enqueue("n")
		receive(t, p.began)
		elements := k.strings("LRANGE", "worker:"+pool.id()+":inprocess:n", 0, -1)
		require.Len(t, elements, 1)
		var fetch int
		_, err := fmt.Sscanf(elements[0], "%d:", &fetch)
		require.NoError(t, err)
		k.do("HSET", "claimed", receipt.ID, fmt.Sprintf("%s %d 1 n", pool.id(), fetch)) // since 1970
		for range 2 {
			k.do("HSET", "claimed", "ghost", "nobody 1 1 n")
			k.until("the janitor came by", func() bool { return k.number("HEXISTS", "claimed", "ghost") == 0 })
		}
		assert.Equal(t, 1, k.number("HEXISTS", "claimed", receipt.ID))
		close(p.goOn)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Empty(t, p.began)
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("n")
	})
}

func TestNothingBrokenKeepsTheJanitorFromTheRest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("HSET", "jobs", "unreadable", "no json")
		k.do("HSET", "claimed", "unreadable", "what?")
		k.do("SET", "morgue", "no set")
		k.do("HSET", "outcomes", "old", "{}")
		k.do("ZADD", "outcomes:until", 1, "old")
		k.do("HSET", "lanes", "old", "1 1000")
		ran := make(chan int, 5)
		receipt := k.enqueue("n", 1)
		k.lose(receipt, "nobody 1 1 n")
		k.tidy(NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error { ran <- n; return nil }))
		assert.Equal(t, 1, receive(t, ran))
		k.until("outcomes are swept", func() bool { return k.number("HLEN", "outcomes") == 0 })
		k.until("lanes are retired", func() bool { return k.number("HEXISTS", "lanes", "old") == 0 })
		trouble := await(t, k.spy, func(e event.Trouble) bool { return e.Component == "janitor" })
		assert.ErrorContains(t, trouble.Err, `"unreadable"`)
		assert.Equal(t, 1, k.number("HEXISTS", "claimed", "unreadable"), "it is kept")
	})
}

func TestTheMorgueIsTrimmedToItsLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for i := range 5 {
			id := fmt.Sprint("m", i)
			k.do("HSET", "jobs", id, `{"jid":"x","name":"n"}`)
			k.do("HSET", "names", id, "n")
			k.do("ZADD", "morgue", time.Now().Add(time.Duration(i-10)*time.Minute).UnixMilli(), id)
		}
		options := k.options()
		options.MorgueLimit, options.MorgueRetention = 3, 6*time.Minute+30*time.Second
		k.tidy(NewWorkerPool(nil, 1, options).Job("n", func() error { return nil }))
		for i := range 4 {
			await(t, k.spy, func(e event.JobTrimmed) bool {
				return e == event.JobTrimmed{ID: fmt.Sprint("m", i), Name: "n"}
			})
		}
		assert.Equal(t, []string{"m4"}, k.strings("ZRANGE", "morgue", 0, -1))
		assert.Equal(t, 1, k.number("HLEN", "jobs"))
		assert.Equal(t, 4, count[event.JobTrimmed](k.spy))
	})
}
