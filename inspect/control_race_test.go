package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Whatever workers, daemons and people do to a job at the same time, it is in one place afterwards, and nothing is left
// of it when it has ended.
func TestControlsAgainstFetchSettleDueAndReap(t *testing.T) {
	t.Parallel()
	for name, control := range handledControls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				rounds := 125 // of each control: 1,000 in all
				if os.Getenv("WORK_RACES_LONG") != "" {
					rounds = 1000 // make races-long
				}
				if s.Embedded() == nil {
					rounds /= 5
				}
				newBrawl(t, s).fight(control, rounds)
			})
		})
	}
}

// brawl is a namespace in which much is done to one job at the same time.
type brawl struct {
	*kit
	store  *rdb.Store
	worker *rdb.Worker
	number int64
}

func newBrawl(t *testing.T, s redistest.Server) *brawl {
	k := newKit(t, s)
	b := &brawl{kit: k, store: k.Raw()}
	b.worker = b.store.Worker("brawler")
	_, _, err := b.worker.Register(t.Context(), rdb.Registration{Life: time.Hour, Epoch: "e", Queues: []string{"n"}})
	require.NoError(t, err)
	return b
}

func (b *brawl) fight(control handled, rounds int) {
	i := b.hands()
	done := 0
	states := []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled, work.StateDead}
	// few rounds may all be refused by chance
	for round := 0; round < rounds || done == 0 && round < 100*rounds; round++ {
		state := states[round%len(states)]
		id := b.begin(state, round)
		deeds := []func(){b.work, b.due, func() {
			err := control.do(i, b.kit, id)
			if err == nil {
				done++
			} else {
				refused := errchain.Find[*inspect.StateError](err) != nil || errors.Is(err, work.ErrNotFound) ||
					errors.Is(err, inspect.ErrRestless)
				assert.True(b.T, refused, "%v", err)
			}
		}}
		rand.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
		var all sync.WaitGroup
		for _, deed := range deeds {
			all.Go(deed)
		}
		all.Wait()
		b.inOnePlace(id, fmt.Sprintf("round %d, it was %s", round, state))
		b.finish(i, id)
		if b.T.Failed() {
			return
		}
	}
	assert.NotZero(b.T, done, "it was refused each time")
	b.Empty("n")
	found, err := doctor.Examine(b.Ctx(), i, doctor.Options{})
	require.NoError(b.T, err)
	assert.Empty(b.T, found.Findings)
}

// begin stores a job and puts it into that state; what is due later is due at once.
func (b *brawl) begin(state work.State, round int) string {
	id := fmt.Sprint("job", round)
	job := rdb.NewJob{Queue: "n", ID: id, Place: rdb.Back, Record: (&record.Record{ID: id, Name: "n"}).Append(nil)}
	if state == work.StateScheduled {
		job.Place, job.When = rdb.In, 1
	}
	_, err := b.store.Enqueue(b.T.Context(), "lane", int64(round+1), []rdb.NewJob{job})
	require.NoError(b.T, err)
	shelf := map[work.State]rdb.Shelf{work.StateRetrying: rdb.ShelfRetry, work.StateStalled: rdb.ShelfStalled,
		work.StateDead: rdb.ShelfMorgue}[state]
	if shelf != "" {
		for _, claim := range b.fetch() {
			b.settle(b.worker.Shelve(rdb.Shelved{Claim: claim, Shelf: shelf, Delay: time.Millisecond,
				Trail: []byte(`{"fails":1}`)}))
		}
	}
	return id
}

func (b *brawl) fetch() []rdb.Claim {
	b.number++
	fetched, err := b.worker.Fetch(b.T.Context(), b.number, 1, false, []rdb.Share{{Queue: "n", Jobs: 1}})
	if !assert.NoError(b.T, err) || len(fetched.Jobs) == 0 {
		return nil
	}
	return []rdb.Claim{fetched.Jobs[0].Claim}
}

// settle gives an outcome back; that its claim has gone is one answer.
func (b *brawl) settle(call redisconn.Call) rdb.Settled {
	settled, err := b.worker.Settle(context.Background(), []redisconn.Call{call})
	if !assert.NoError(b.T, err) {
		return rdb.Settled{}
	}
	assert.NoError(b.T, settled[0].Err)
	return settled[0]
}

// work fetches what there is and gives it back in one of the ways in which jobs leave workers, twice at once: a reaper
// may take it as well.
func (b *brawl) work() {
	for range 2 {
		for _, claim := range b.fetch() {
			id := claim.Element[len(fmt.Sprint(b.number))+1:]
			ways := []redisconn.Call{
				b.worker.Complete([]rdb.Ended{{Claim: claim, ID: id}}),
				b.worker.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfRetry, Delay: time.Millisecond,
					Trail: []byte(`{"fails":1}`)}),
				b.worker.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfMorgue,
					Trail: []byte(`{"fails":2,"reason":"x"}`)}),
			}
			reaped := b.worker.Release(rdb.Released{Queue: "n", Elements: []string{claim.Element}, Died: "somebody"})
			var both sync.WaitGroup
			for _, call := range []redisconn.Call{ways[rand.IntN(len(ways))], reaped} {
				both.Go(func() { b.settle(call) })
			}
			both.Wait()
		}
	}
}

// due moves what is due, as the scheduler and the retrier do.
func (b *brawl) due() {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		call := rdb.DueCall{Ahead: time.Second}
		for range 2 {
			answer, err := b.store.Due(b.T.Context(), shelf, call)
			if !assert.NoError(b.T, err) {
				return
			}
			call.Move = answer.Page
		}
	}
}

// inOnePlace looks at all places, in one round trip: a job that lives is in exactly one, one that has ended in none.
func (b *brawl) inOnePlace(id, when string) {
	shelves := []string{"scheduled", "retry", "morgue", "stalled"}
	hashes := []string{"jobs", "names", "trail", "crashes", "claimed"}
	var calls []redisconn.Call
	ask := func(command, key string, args ...any) {
		calls = append(calls, redisconn.Call{Command: command, Args: append([]any{b.store.FullName(key)}, args...)})
	}
	ask("LRANGE", "queue:n", 0, -1)
	ask("LRANGE", "worker:brawler:inprocess:n", 0, -1)
	for _, shelf := range shelves {
		ask("ZSCORE", shelf, id)
	}
	for _, hash := range hashes {
		ask("HEXISTS", hash, id)
	}
	replies, err := b.store.Driver().Pipeline(b.T.Context(), calls...)
	require.NoError(b.T, err)
	places, onShelf := 0, false
	for _, reply := range replies[:2] {
		list, _ := reply.Value.([]any)
		places += len(list) // there is no other job
	}
	for _, reply := range replies[2:6] {
		if reply.Value != nil {
			places, onShelf = places+1, true
		}
	}
	has := map[string]bool{}
	for n, hash := range hashes {
		has[hash] = replies[6+n].Value == int64(1)
	}
	assert.Equal(b.T, has["jobs"], places == 1, "%s: it has a record: %t, and is in %d places", when, has["jobs"],
		places)
	assert.Equal(b.T, onShelf, has["names"], "names, %s", when)
	if !has["jobs"] {
		assert.Zero(b.T, places, when)
		assert.False(b.T, has["trail"] || has["crashes"] || has["claimed"], "%s: %v", when, has)
	}
}

// finish ends the job, if it lives.
func (b *brawl) finish(i *inspect.Inspector, id string) {
	err := i.Delete(b.T.Context(), id)
	assert.True(b.T, err == nil || errors.Is(err, work.ErrNotFound), "%v", err)
}
