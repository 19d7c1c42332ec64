package inspect_test

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

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

// bout is one job that is cancelled, deleted, purged and run at the same time.
type bout struct {
	*brawl
	id        string
	queued    bool // else it is scheduled, where no purge finds it
	completes bool // its end goes to a completion queue, so it is no plain job
	awaited   bool

	cancelled work.CancelResult
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
		b, ends := newBrawl(t, s), map[work.State]int{}
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
		b.Empty("n")
		b.Unflagged()
		assert.Len(t, ends, 3, "each of them wins now and then: %v", ends)
	})
}

func (b *bout) put() {
	rec := record.Record{ID: b.id, Name: "n"}
	if b.completes {
		rec.Completion = b.id
	}
	job := rdb.NewJob{Queue: "n", ID: b.id, Place: rdb.Back, Record: rec.Append(nil)}
	if !b.queued {
		job.Place, job.When = rdb.In, time.Hour.Milliseconds()
	}
	_, err := b.store.Enqueue(b.Ctx(), b.id, 1, []rdb.NewJob{job})
	require.NoError(b.T, err)
	if b.awaited {
		b.await()
	}
}

func (b *bout) await() rdb.Awaited {
	known, err := b.store.Await(b.Ctx(), []string{b.id}, time.Minute)
	require.NoError(b.T, err)
	return known[0]
}

// fight lets two to four begin at the same time. Once a worker has done a job, its outcome may be deleted by whoever
// wants: where one is kept, no worker and Delete meet.
func (b *bout) fight() {
	i := b.hands()
	cancel := func() {
		results, err := i.Cancel(b.Ctx(), b.id)
		if assert.NoError(b.T, err) {
			b.cancelled = results[0]
		}
	}
	remove := func() { b.deleted = i.Delete(b.Ctx(), b.id) }
	purge := func() {
		var err error
		b.purged, err = i.Purge(b.Ctx(), "n", inspect.PurgeOptions{})
		assert.NoError(b.T, err)
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
		ending := rdb.Ending{ID: b.id, Queue: "n", State: record.Succeeded}
		if b.completes {
			ending.Completion = b.id
		}
		answer := b.settle(b.worker.End(claim, ending))
		if len(answer.Waited) > 0 {
			ending.Keep, ending.Outcome = time.Minute, record.Outcome{State: record.Succeeded}.Encode()
			answer = b.settle(b.worker.End(claim, ending))
		}
		if len(answer.Cancelled) > 0 {
			ending.State, ending.Keep, ending.Outcome = record.Cancelled, time.Minute,
				record.Outcome{State: record.Cancelled}.Encode()
			b.settle(b.worker.End(claim, ending))
			continue
		}
		assert.Empty(b.T, answer.Gone, "nobody else holds %s", b.id)
		b.done = true
	}
}

// finish lets a worker come by what was flagged when nobody could end it at once.
func (b *bout) finish() {
	if b.lives() {
		done := b.done
		b.run()
		assert.Equal(b.T, done, b.done, "a job that was to be cancelled does not run")
	}
}

func (b *bout) lives() bool {
	raw, err := b.store.Record(b.Ctx(), b.id)
	require.NoError(b.T, err)
	return raw != nil
}

// check counts who was told that it has ended the job, looks whether all agree on how, and returns that.
func (b *bout) check() work.State {
	t := b.T
	told := map[work.State]int{}
	if b.cancelled.Err() == nil && b.cancelled.ID != "" {
		told[work.StateCancelled]++
	}
	if b.deleted == nil {
		told[work.StateDeleted]++
	}
	told[work.StateDeleted] += b.purged
	if b.done {
		told[work.StateSucceeded]++
	}
	sum, state := 0, work.StateLost
	for end, count := range told {
		if sum += count; count > 0 {
			state = end
		}
	}
	what := fmt.Sprintf("%+v, %v, %d purged, done %t", b.cancelled, b.deleted, b.purged, b.done)
	require.Equal(t, 1, sum, "so many were told that they have ended it: %v, %s", told, what)
	require.False(t, b.lives(), what)

	known := b.await()
	if b.awaited || state == work.StateCancelled || known.State != rdb.WaitGone {
		require.Equal(t, state, work.State(record.EndedAs(known.Kept)), "what those are told who wait: %s", what)
	}
	if word := map[work.State]string{work.StateSucceeded: record.Succeeded}[state]; b.completes {
		require.Equal(t, []string{cmp.Or(word, string(state)) + " " + b.id},
			b.Strings("LRANGE", "completion:"+b.id, 0, -1))
	}
	if refused := errchain.Find[*inspect.StateError](b.deleted); refused != nil && refused.State != work.StateRunning {
		require.Equal(t, state, refused.State, "what the one who deletes was told: %s", what)
	}
	if b.cancelled.Effect == work.CancelTooLate {
		require.Equal(t, state, b.cancelled.State, "what the one who cancels was told: %s", what)
	}
	return state
}
