package work

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

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/rdb"
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
	b := &brawl{kit: k, store: k.enq.core.store}
	b.worker = b.store.Worker("brawler")
	_, _, err := b.worker.Register(t.Context(), rdb.Registration{Life: time.Hour, Epoch: "e", Queues: []string{"n"}})
	require.NoError(t, err)
	return b
}

func (b *brawl) fight(control handled, rounds int) {
	i := b.hands()
	done := 0
	states := []State{StateQueued, StateScheduled, StateRetrying, StateStalled, StateDead}
	// few rounds may all be refused by chance
	for round := 0; round < rounds || done == 0 && round < 100*rounds; round++ {
		state := states[round%len(states)]
		id := b.begin(state, round)
		deeds := []func(){b.work, b.due, func() {
			err := control.do(i, b.kit, id)
			if err == nil {
				done++
			} else {
				refused := errchain.Find[*StateError](err) != nil || errors.Is(err, ErrNotFound) ||
					errors.Is(err, errRestless)
				assert.True(b.t, refused, "%v", err)
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
		if b.t.Failed() {
			return
		}
	}
	assert.NotZero(b.t, done, "it was refused each time")
	b.empty("n")
	found, err := i.Doctor(b.ctx(), DoctorOptions{})
	require.NoError(b.t, err)
	assert.Empty(b.t, found.Findings)
}

// begin stores a job and puts it into that state; what is due later is due at once.
func (b *brawl) begin(state State, round int) string {
	id := fmt.Sprint("job", round)
	job := rdb.NewJob{Queue: "n", ID: id, Place: rdb.Back, Record: (&record{ID: id, Name: "n"}).encode(nil)}
	if state == StateScheduled {
		job.Place, job.When = rdb.In, 1
	}
	_, err := b.store.Enqueue(b.t.Context(), "lane", int64(round+1), []rdb.NewJob{job})
	require.NoError(b.t, err)
	shelf := map[State]rdb.Shelf{StateRetrying: rdb.ShelfRetry, StateStalled: rdb.ShelfStalled,
		StateDead: rdb.ShelfMorgue}[state]
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
	fetched, err := b.worker.Fetch(b.t.Context(), b.number, 1, false, []rdb.Share{{Queue: "n", Jobs: 1}})
	if !assert.NoError(b.t, err) || len(fetched.Jobs) == 0 {
		return nil
	}
	return []rdb.Claim{fetched.Jobs[0].Claim}
}

// settle gives an outcome back; that its claim has gone is one answer.
func (b *brawl) settle(call rdb.Call) rdb.Settled {
	settled, err := b.worker.Settle(context.Background(), []rdb.Call{call})
	if !assert.NoError(b.t, err) {
		return rdb.Settled{}
	}
	assert.NoError(b.t, settled[0].Err)
	return settled[0]
}

// work fetches what there is and gives it back in one of the ways in which jobs leave workers, twice at once: a reaper
// may take it as well.
func (b *brawl) work() {
	for range 2 {
		for _, claim := range b.fetch() {
			id := claim.Element[len(fmt.Sprint(b.number))+1:]
			ways := []rdb.Call{
				b.worker.Complete([]rdb.Ended{{Claim: claim, ID: id}}),
				b.worker.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfRetry, Delay: time.Millisecond,
					Trail: []byte(`{"fails":1}`)}),
				b.worker.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfMorgue,
					Trail: []byte(`{"fails":2,"reason":"x"}`)}),
			}
			reaped := b.worker.Release(rdb.Released{Queue: "n", Elements: []string{claim.Element}, Died: "somebody"})
			var both sync.WaitGroup
			for _, call := range []rdb.Call{ways[rand.IntN(len(ways))], reaped} {
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
			answer, err := b.store.Due(b.t.Context(), shelf, call)
			if !assert.NoError(b.t, err) {
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
	var calls []rdb.Call
	ask := func(command, key string, args ...any) {
		calls = append(calls, rdb.Call{Command: command, Args: append([]any{b.store.FullName(key)}, args...)})
	}
	ask("LRANGE", "queue:n", 0, -1)
	ask("LRANGE", "worker:brawler:inprocess:n", 0, -1)
	for _, shelf := range shelves {
		ask("ZSCORE", shelf, id)
	}
	for _, hash := range hashes {
		ask("HEXISTS", hash, id)
	}
	replies, err := b.store.Driver().Pipeline(b.t.Context(), calls...)
	require.NoError(b.t, err)
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
	assert.Equal(b.t, has["jobs"], places == 1, "%s: it has a record: %t, and is in %d places", when, has["jobs"],
		places)
	assert.Equal(b.t, onShelf, has["names"], "names, %s", when)
	if !has["jobs"] {
		assert.Zero(b.t, places, when)
		assert.False(b.t, has["trail"] || has["crashes"] || has["claimed"], "%s: %v", when, has)
	}
}

// finish ends the job, if it lives.
func (b *brawl) finish(i *Inspector, id string) {
	err := i.Delete(b.t.Context(), id)
	assert.True(b.t, err == nil || errors.Is(err, ErrNotFound), "%v", err)
}
