package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Two enqueuers and a worker that ends, shelves, buries and gives back what it gets, all at once and each call perhaps
// sent twice, as after a lost reply. Whatever comes first, there is never more than one living job of the kind.
func TestAtMostOneJobOfAKindLives(t *testing.T) {
	t.Parallel()
	for _, kind := range []rdb.LockKind{rdb.UntilEnded, rdb.UntilGone} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				rounds := redistest.Rounds(s.clock, 1000, 200)
				race := &uniqueRace{site: s, kind: kind, worker: s.worker(t, "w1", "a")}
				for n := range rounds {
					race.round(t, int64(n+1))
				}
				race.end(t, int64(rounds+1))
				assert.Positive(t, race.stored, "some were stored")
				assert.Less(t, race.stored, 2*rounds, "and some were not")
			})
		})
	}
}

type uniqueRace struct {
	*site
	kind   rdb.LockKind
	worker *rdb.Worker

	mu     sync.Mutex
	stored int
}

const raceDigest = "digest"

func (r *uniqueRace) round(t *testing.T, n int64) {
	var all sync.WaitGroup
	for _, lane := range []string{"first", "second"} {
		all.Go(func() { r.enqueueTwice(t, lane, n) })
	}
	all.Go(func() { r.handle(t, n) })
	all.Go(func() { r.count(t) })
	all.Wait()
	r.count(t)
}

// count looks how many live: those with a record, without the buried ones where these do not count.
func (r *uniqueRace) count(t assert.TestingT) {
	value, err := r.driver.Pipeline(background, redisconn.Call{Command: "HLEN", Args: []any{r.key("jobs")}})
	if assert.NoError(t, err) {
		assert.LessOrEqual(t, value[0].Value, int64(1))
	}
}

func (r *uniqueRace) enqueueTwice(t *testing.T, lane string, n int64) {
	one := job("a", fmt.Sprintf("%s-%d", lane, n))
	one.Lock = rdb.Lock{Digest: raceDigest, Kind: r.kind}
	first, err := r.store.Enqueue(background, lane, n, []rdb.NewJob{one})
	assert.NoError(t, err)
	if rand.N(2) == 0 {
		second, err := r.store.Enqueue(background, lane, n, []rdb.NewJob{one})
		assert.NoError(t, err)
		assert.Equal(t, first, second, "the answer of the first time")
	}
	if len(first.Problems) == 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stored++
	}
}

// handle takes a job, if there is one, and does something with it.
func (r *uniqueRace) handle(t *testing.T, n int64) {
	fetched, err := r.worker.Fetch(background, n, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
	if !assert.NoError(t, err) || len(fetched.Jobs) == 0 {
		return
	}
	claim, id := fetched.Jobs[0].Claim, fetched.Jobs[0].ID
	call := r.worker.Release(rdb.Released{Queue: "a", Elements: []string{claim.Element}})
	switch rand.N(4) {
	case 0:
		call = r.worker.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfRetry, Delay: time.Millisecond})
		defer r.bring(t, id)
	case 1, 2:
		state := []string{"done", "discarded", "expired", "cancelled"}[rand.N(4)]
		call = r.worker.End(claim,
			rdb.Ending{ID: id, Queue: "a", State: state, Belongings: rdb.Belongings{Lock: raceDigest}})
	}
	for range 1 + rand.N(2) {
		_, err := r.worker.Settle(background, []redisconn.Call{call})
		assert.NoError(t, err)
	}
}

// bring moves a shelved job back to its queue, once it is due.
func (r *uniqueRace) bring(t *testing.T, id string) {
	r.pass(t, 2*time.Millisecond)
	_, err := r.store.Due(background, rdb.ShelfRetry, rdb.DueCall{Move: []rdb.Waiting{{ID: id, Queue: "a"}}})
	assert.NoError(t, err)
}

// end ends what is left. Then there is no lock.
func (r *uniqueRace) end(t *testing.T, n int64) {
	for _, claim := range r.take(t, r.worker, n, 9, "a") {
		settle(t, r.worker, r.worker.End(claim, rdb.Ending{
			ID: idOf(claim.Element), Queue: "a", State: "done", Belongings: rdb.Belongings{Lock: raceDigest},
		}))
	}
	for _, key := range []string{"jobs", "unique", "claimed", "queue:a", "retry", "names"} {
		require.False(t, r.exists(t, key), key)
	}
}

// The same with burials: a buried job keeps its record, and has no lock.
func TestABuriedJobMakesRoomForOneOfItsKind(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		rounds, fetches := redistest.Rounds(s.clock, 1000, 200), int64(0)
		next := func() rdb.Claim {
			fetches++
			return s.take(t, w, fetches, 1, "a")[0]
		}
		for n := int64(1); n <= int64(rounds); n++ {
			one := job("a", fmt.Sprint(n))
			one.Lock = rdb.Lock{Digest: raceDigest, Kind: rdb.UntilEnded}
			answer, err := s.store.Enqueue(t.Context(), "lane", 2*n, []rdb.NewJob{one})
			require.NoError(t, err)
			require.Empty(t, answer.Problems, "round %d", n)
			claim := next()
			var all sync.WaitGroup
			var during rdb.Enqueued
			all.Go(func() {
				settle(t, w, w.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfMorgue, Lock: raceDigest}))
			})
			all.Go(func() {
				other := one
				other.ID = "other " + one.ID
				during, err = s.store.Enqueue(t.Context(), "lane", 2*n+1, []rdb.NewJob{other})
			})
			all.Wait()
			require.NoError(t, err)
			if len(during.Problems) == 0 { // it came after the burial
				claim = next()
				settle(t, w, w.End(claim, rdb.Ending{ID: idOf(claim.Element), Queue: "a", State: "done",
					Belongings: rdb.Belongings{Lock: raceDigest}}))
			}
			require.False(t, s.exists(t, "unique"))
		}
	})
}
