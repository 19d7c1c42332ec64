package work

import (
	"cmp"
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

// bout is one job that is cancelled, deleted, purged and run at the same time.
type bout struct {
	*brawl
	id        string
	queued    bool // else it is scheduled, where no purge finds it
	completes bool // its end goes to a completion queue, so it is no plain job
	awaited   bool

	cancelled CancelResult
	deleted   error
	purged    int
	done      bool
}

// Whoever ends a job is told so, and nobody else is: of a Cancel, a Delete, a Purge and a worker at the same time. All
// that tell of its end afterwards tell the same.
func TestOneOfCancelDeletePurgeAndWorkerEndsAJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		rounds := 300
		if os.Getenv("WORK_RACES_LONG") != "" {
			rounds = 4000 // make races-long
		}
		if s.Embedded() == nil {
			rounds /= 2
		}
		b, ends := newBrawl(t, s), map[State]int{}
		for n := range rounds {
			one := &bout{brawl: b, id: fmt.Sprint("job", n), queued: n%4 != 0, completes: n%3 == 0, awaited: n%2 == 0}
			one.put()
			one.fight()
			one.finish()
			ends[one.check()]++
			if t.Failed() {
				return
			}
		}
		t.Log(ends)
		b.empty("n")
		b.unflagged()
		assert.Len(t, ends, 3, "each of them wins now and then: %v", ends)
	})
}

func (b *bout) put() {
	rec := record{ID: b.id, Name: "n"}
	if b.completes {
		rec.Completion = b.id
	}
	job := rdb.NewJob{Queue: "n", ID: b.id, Place: rdb.Back, Record: rec.encode(nil)}
	if !b.queued {
		job.Place, job.When = rdb.In, time.Hour.Milliseconds()
	}
	_, err := b.store.Enqueue(b.ctx(), b.id, 1, []rdb.NewJob{job})
	require.NoError(b.t, err)
	if b.awaited {
		b.await()
	}
}

func (b *bout) await() rdb.Awaited {
	known, err := b.store.Await(b.ctx(), []string{b.id}, time.Minute)
	require.NoError(b.t, err)
	return known[0]
}

// fight lets two to four begin at the same time. Once a worker has done a job, its outcome may be deleted by whoever
// wants: where one is kept, no worker and Delete meet.
func (b *bout) fight() {
	i := b.hands()
	cancel := func() {
		results, err := i.Cancel(b.ctx(), b.id)
		if assert.NoError(b.t, err) {
			b.cancelled = results[0]
		}
	}
	remove := func() { b.deleted = i.Delete(b.ctx(), b.id) }
	purge := func() {
		var err error
		b.purged, err = i.Purge(b.ctx(), "n", PurgeOptions{})
		assert.NoError(b.t, err)
	}
	meetings := [][]func(){{cancel, remove, purge, b.run}}
	if b.awaited {
		meetings = [][]func(){{cancel, remove}, {cancel, purge}, {cancel, purge, remove}, {cancel, purge, b.run}}
	}
	b.deleted = errors.New("nobody deletes it")
	b.meet(meetings[rand.IntN(len(meetings))])
}

// meet has all begin together, in an order that changes. Now and then one of them goes before the others, so that each
// wins sometimes whatever the machine does besides.
func (b *bout) meet(deeds []func()) {
	rand.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
	if rand.IntN(4) == 0 {
		deeds[0]()
		deeds = deeds[1:]
	}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for _, deed := range deeds {
		all.Go(func() {
			<-begin
			for range rand.IntN(5) { // they differ in how many requests they make before the one that counts
				b.lives()
			}
			deed()
		})
	}
	close(begin)
	all.Wait()
}

// run fetches the job and ends it as a worker does: one that is to be cancelled ends so.
func (b *bout) run() {
	for _, claim := range b.fetch() {
		ending := rdb.Ending{ID: b.id, Queue: "n", State: stateSucceeded}
		if b.completes {
			ending.Completion = b.id
		}
		answer := b.settle(b.worker.End(claim, ending))
		if len(answer.Waited) > 0 {
			ending.Keep, ending.Outcome = time.Minute, outcome{State: stateSucceeded}.encode()
			answer = b.settle(b.worker.End(claim, ending))
		}
		if len(answer.Cancelled) > 0 {
			ending.State, ending.Keep, ending.Outcome = stateCancelled, time.Minute,
				outcome{State: stateCancelled}.encode()
			b.settle(b.worker.End(claim, ending))
			continue
		}
		assert.Empty(b.t, answer.Gone, "nobody else holds %s", b.id)
		b.done = true
	}
}

// finish lets a worker come by what was flagged when nobody could end it at once.
func (b *bout) finish() {
	if b.lives() {
		done := b.done
		b.run()
		assert.Equal(b.t, done, b.done, "a job that was to be cancelled does not run")
	}
}

func (b *bout) lives() bool {
	raw, err := b.store.Record(b.ctx(), b.id)
	require.NoError(b.t, err)
	return raw != nil
}

// check counts who was told that it has ended the job, looks whether all agree on how, and returns that.
func (b *bout) check() State {
	t := b.t
	told := map[State]int{}
	if b.cancelled.Err() == nil && b.cancelled.ID != "" {
		told[StateCancelled]++
	}
	if b.deleted == nil {
		told[StateDeleted]++
	}
	told[StateDeleted] += b.purged
	if b.done {
		told[StateSucceeded]++
	}
	sum, state := 0, StateLost
	for end, count := range told {
		if sum += count; count > 0 {
			state = end
		}
	}
	what := fmt.Sprintf("%+v, %v, %d purged, done %t", b.cancelled, b.deleted, b.purged, b.done)
	require.Equal(t, 1, sum, "so many were told that they have ended it: %v, %s", told, what)
	require.False(t, b.lives(), what)

	known := b.await()
	if b.awaited || state == StateCancelled || known.Fate != rdb.FateGone {
		require.Equal(t, state, endedAs(known.Kept), "what those are told who wait: %s", what)
	}
	if word := map[State]string{StateSucceeded: stateSucceeded}[state]; b.completes {
		require.Equal(t, []string{cmp.Or(word, string(state)) + " " + b.id},
			b.strings("LRANGE", "completion:"+b.id, 0, -1))
	}
	if refused := errchain.Find[*StateError](b.deleted); refused != nil && refused.State != StateRunning {
		require.Equal(t, state, refused.State, "what the one who deletes was told: %s", what)
	}
	if b.cancelled.Effect == CancelTooLate {
		require.Equal(t, state, b.cancelled.State, "what the one who cancels was told: %s", what)
	}
	return state
}
