package inspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

const pastTrail = `{"fails":3,"releases":2,"errors":[{"at":1,"attempt":3,"worker":"w","error":"no luck"}],"reason":"out of luck"}`

// standing makes a job of that state and returns its id.
func (k *kit) standing(state work.State, name string, opts ...work.EnqueueOption) string {
	k.T.Helper()
	if state == work.StateScheduled {
		receipt, err := k.Enq.With(opts...).EnqueueIn(k.Ctx(), name, time.Hour, 1)
		require.NoError(k.T, err)
		return receipt.ID
	}
	receipt, err := k.Enq.With(opts...).Enqueue(k.Ctx(), name, 1)
	require.NoError(k.T, err)
	id := receipt.ID
	switch state {
	case work.StateQueued:
	case work.StateRunning:
		k.hold(name)
	case work.StateSucceeded:
		k.hold(name, id)
	default:
		shelf := map[work.State]string{work.StateRetrying: "retry", work.StateStalled: "stalled",
			work.StateDead: "morgue"}[state]
		require.Equal(k.T, 1, k.Number("LREM", "queue:"+name, 0, id))
		k.Do("ZADD", shelf, time.Now().Add(-time.Minute).UnixMilli(), id)
		k.Do("HSET", "names", id, name)
		k.Do("HSET", "trail", id, pastTrail)
	}
	return id
}

// hold has a worker fetch what waits, and end those that are named.
func (k *kit) hold(name string, ended ...string) {
	k.T.Helper()
	w := k.Raw().Worker("hand")
	_, _, err := w.Register(k.Ctx(), rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{name}})
	require.NoError(k.T, err)
	fetched, err := w.Fetch(k.Ctx(), 1, 10, false, []rdb.Share{{Queue: name, Jobs: 10}})
	require.NoError(k.T, err)
	for _, job := range fetched.Jobs {
		if slices.Contains(ended, job.ID) {
			_, err := w.Settle(k.Ctx(),
				[]redisconn.Call{w.Complete([]rdb.Ended{{Claim: job.Claim, ID: job.ID, Keep: time.Hour,
					Outcome: record.Outcome{State: record.Succeeded, EndedAt: 1}.Encode()}})})
			require.NoError(k.T, err)
		}
	}
}

// whereabouts is the state of a job, "" where there is nothing of it.
func (k *kit) whereabouts(id string) work.State {
	k.T.Helper()
	state, err := inspect.StateOf(k.Ctx(), k.hands(), id)
	if errors.Is(err, work.ErrNotFound) {
		return ""
	}
	require.NoError(k.T, err)
	return state
}

var allStates = []work.State{
	"", work.StateQueued, work.StateScheduled, work.StateRunning, work.StateRetrying, work.StateStalled, work.StateDead,
	work.StateSucceeded,
}

// handled is what a control should do, written down once more.
type handled struct {
	do      func(i *inspect.Inspector, k *kit, id string) error
	from    []work.State
	already []work.State
	becomes work.State // "" stays as it is
	gone    bool       // nothing is left of it
}

func handledControls() map[string]handled {
	return map[string]handled{
		"Stall": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.Stall(k.Ctx(), id) },
			from:    []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying},
			already: []work.State{work.StateStalled},
			becomes: work.StateStalled},
		"Resume": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.Resume(k.Ctx(), id) },
			from: []work.State{work.StateStalled}, already: []work.State{work.StateQueued}, becomes: work.StateQueued},
		"RunNow": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.RunNow(k.Ctx(), id) },
			from: []work.State{work.StateScheduled}, already: []work.State{work.StateQueued},
			becomes: work.StateQueued},
		"RetryNow": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.RetryNow(k.Ctx(), id) },
			from: []work.State{work.StateRetrying, work.StateDead}, already: []work.State{work.StateQueued},
			becomes: work.StateQueued},
		"Reschedule": {do: func(i *inspect.Inspector, k *kit, id string) error {
			return i.Reschedule(k.Ctx(), id, time.Now().Add(time.Minute))
		},
			from: []work.State{work.StateScheduled, work.StateRetrying}},
		"ChangeArgs": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.ChangeArgs(k.Ctx(), id, 2) },
			from: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
				work.StateDead}},
		"MoveToFront": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.MoveToFront(k.Ctx(), id) },
			from: []work.State{work.StateQueued}},
		"Delete": {do: func(i *inspect.Inspector, k *kit, id string) error { return i.Delete(k.Ctx(), id) },
			from: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
				work.StateDead, work.StateSucceeded},
			gone: true},
	}
}

func TestEachControlInEachState(t *testing.T) {
	t.Parallel()
	for name, control := range handledControls() {
		for _, state := range allStates {
			t.Run(name+" "+string(state), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) { control.try(newKit(t, s), state) })
			})
		}
	}
}

func (c handled) try(k *kit, state work.State) {
	t, i, id := k.T, k.hands(), "nobody"
	if state != "" {
		id = k.standing(state, "n")
	}
	err := c.do(i, k, id)
	switch {
	case state == "":
		assert.ErrorIs(t, err, work.ErrNotFound)
	case slices.Contains(c.from, state):
		require.NoError(t, err)
		after := c.becomes
		if after == "" && !c.gone {
			after = state
		}
		assert.Equal(t, after, k.whereabouts(id))
		c.again(k, i, id)
	case slices.Contains(c.already, state):
		require.NoError(t, err)
		assert.Equal(t, state, k.whereabouts(id))
	default:
		var refused *inspect.StateError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, state, refused.State)
		assert.ErrorContains(t, err, "is "+string(state)+", and only one that is ")
		assert.Equal(t, state, k.whereabouts(id), "nothing was done")
	}
}

// again is what somebody does whose first answer was lost.
func (c handled) again(k *kit, i *inspect.Inspector, id string) {
	before := k.whereabouts(id)
	err := c.do(i, k, id)
	if c.gone {
		assert.ErrorIs(k.T, err, work.ErrNotFound)
		k.Empty("n")
		return
	}
	assert.NoError(k.T, err)
	assert.Equal(k.T, before, k.whereabouts(id))
}

func TestRetryNowOfADeadJob(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		opts  []inspect.RetryOption
		fails int
	}{
		"attempts as before": {nil, 3},
		"fresh attempts":     {[]inspect.RetryOption{inspect.FreshAttempts()}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				id := k.standing(work.StateDead, "n")
				before := time.Now()
				require.NoError(t, k.hands().RetryNow(k.Ctx(), id, c.opts...))
				kept := k.Trail(id)
				assert.Equal(t, c.fails, kept.Fails)
				assert.Zero(t, kept.Releases)
				assert.Empty(t, kept.Reason)
				assert.Len(t, kept.Errors, 1, "its errors stay")
				assert.WithinRange(t, time.UnixMilli(kept.RunAt), before.Add(-time.Second), time.Now().Add(time.Second))
			})
		})
	}
}

func TestARescheduledJobRunsWhenItIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan time.Time, 1)
		id := k.standing(work.StateScheduled, "n")
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("n", func(job *work.Job, _ int) error { ran <- job.RunAt; return nil }))
		at := time.Now().Add(50 * time.Millisecond)
		require.NoError(t, k.hands().Reschedule(k.Ctx(), id, at))
		due := pooltest.Receive(t, ran)
		assert.WithinRange(t, due, at, at.Add(time.Millisecond), "RunAt is the new time")
	})
}

func TestMoveToFrontIsTheNext(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Enqueue("n", 1)
		k.Enqueue("n", 2)
		last := k.Enqueue("n", 3)
		require.NoError(t, k.hands().MoveToFront(k.Ctx(), last.ID))
		ran := make(chan int, 3)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error { ran <- n; return nil }))
		assert.Equal(t, 3, pooltest.Receive(t, ran))
	})
}

func TestAStalledJobDoesNotRunUntilItIsResumed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		stalled := k.Enqueue("n", 1)
		require.NoError(t, k.hands().Stall(k.Ctx(), stalled.ID))
		ran := make(chan int, 2)
		p := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("n", func(job *work.Job, n int) error { ran <- 10*n + job.Attempt; return nil }))
		k.Enqueue("n", 2)
		assert.Equal(t, 21, pooltest.Receive(t, ran))
		require.NoError(t, p.Drain(k.Ctx()))
		assert.Empty(t, ran)
		require.NoError(t, k.hands().Resume(k.Ctx(), stalled.ID))
		assert.Equal(t, 11, pooltest.Receive(t, ran), "the pool was woken, and it is its first attempt")
	})
}

func TestChangedArgsReachTheHandler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("n", 1).ID
		record := k.Text("HGET", "jobs", id)
		record = record[:len(record)-1] + `, "of another version" : [1.50] }`
		k.Do("HSET", "jobs", id, record)
		require.NoError(t, k.hands().ChangeArgs(k.Ctx(), id, int64(1)<<60, []string{}))
		want := strings.Replace(record, `"args":[1]`, `"args":[1152921504606846976,[]]`, 1)
		assert.Equal(t, want, k.Text("HGET", "jobs", id), "all else is as it was, byte for byte")
		ran := make(chan int64, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("n", func(n int64, _ []string) error { ran <- n; return nil }))
		assert.Equal(t, int64(1)<<60, pooltest.Receive(t, ran))
	})
}

func TestDeleteTakesAllThatBelongsToTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.standing(work.StateDead, "n")
		k.Do("HSET", "jobs", id, fmt.Sprintf(
			`{"jid":%q,"name":"n","args":[],"t":1,"lock":"digest","objects":{"0":"abc"}}`, id))
		k.Do("HSET", "trail", id, `{"log":true,"state":true}`)
		k.Do("HSET", "unique", "digest", id+" 0 f")
		k.Do("SADD", "object:abc:jobs", id)
		k.Do("RPUSH", "log:"+id, "line")
		k.Do("SET", "state:"+id, "{}")
		k.Do("HSET", "waited", id, time.Now().Add(time.Hour).UnixMilli())
		require.NoError(t, k.hands().Delete(k.Ctx(), id))
		k.Empty("n")
		for _, key := range []string{"unique", "object:abc:jobs", "log:" + id, "state:" + id, "waited"} {
			assert.Zero(t, k.Number("EXISTS", key), key)
		}
		var kept record.Outcome
		require.NoError(t, json.Unmarshal([]byte(k.Text("HGET", "outcomes", id)), &kept), "somebody waits for it")
		assert.Equal(t, string(work.StateDeleted), kept.State)
		assert.Equal(t, work.StateDeleted, k.whereabouts(id))
	})
}

func TestControlsRefuseWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	i, id := k.hands(), k.standing(work.StateScheduled, "n")
	cases := map[string]error{
		"no id":                   i.Stall(k.Ctx(), ""),
		"the zero time":           i.Reschedule(k.Ctx(), id, time.Time{}),
		"in a thousand years":     i.Reschedule(k.Ctx(), id, time.Now().AddDate(1000, 0, 0)),
		"args that do not encode": i.ChangeArgs(k.Ctx(), id, make(chan int)),
		"args that are not UTF-8": i.ChangeArgs(k.Ctx(), id, []string{"file-\xe9"}),
		"a message not UTF-8":     i.Send(k.Ctx(), id, "go", "file-\xe9"),
		"a schedule's args": i.AddSchedule(k.Ctx(), "@daily", "n", work.PeriodicOptions{ID: "s"},
			[]string{"file-\xe9"}),
		"the id of a schedule": i.AddSchedule(k.Ctx(), "@daily", "n", work.PeriodicOptions{ID: "file-\xe9"}),
	}
	for name, err := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invalid *work.InvalidError
			assert.ErrorAs(t, err, &invalid)
		})
	}
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "nonsense"})
	assert.Error(t, inspect.Of(pool).Stall(k.Ctx(), id), "the pool's Redis cannot be")
	assert.Error(t, inspect.Of(pool).Delete(k.Ctx(), id))
}

// Who cancelled it was told so, and may have gone away since.
func TestAJobToBeCancelledEndsSoWhenItIsDeletedOrPurged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		refuses := func(err error) {
			t.Helper()
			var refused *inspect.StateError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, work.StateCancelled, refused.State)
		}
		for _, state := range []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying,
			work.StateStalled} {
			id := k.standing(state, "n")
			k.Do("SADD", "cancelled", id)
			refuses(k.hands().Stall(k.Ctx(), id))
			for range 2 {
				refuses(k.hands().Delete(k.Ctx(), id))
				assert.Equal(t, record.Cancelled, k.OutcomeOf(id).State)
				k.Unflagged()
				k.Empty("n")
			}
		}
		plain, locked := k.standing(work.StateQueued, "n"),
			k.standing(work.StateQueued, "n", work.Unique(work.UniqueOptions{}))
		k.Do("SADD", "cancelled", plain, locked)
		k.EnqueueNumbers("n", 0, 40)
		purged, err := k.hands().Purge(k.Ctx(), "n", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 40, purged)
		for _, id := range []string{plain, locked} {
			assert.Equal(t, record.Cancelled, k.OutcomeOf(id).State)
		}
		k.Unflagged()
		k.Empty("n")
	})
}

func TestAJobDeepInALongQueueIsFarAndCanBeDeleted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateQueued, 2*inspect.FarReach+100)
		i, id := k.hands(), fmt.Sprint("j", inspect.FarReach+50)
		for _, err := range []error{i.Stall(k.Ctx(), id), i.MoveToFront(k.Ctx(), id)} {
			var far *inspect.TooDeepError
			require.ErrorAs(t, err, &far)
			assert.Equal(t, "n", far.Name)
		}
		require.NoError(t, i.ChangeArgs(k.Ctx(), id, 7))
		require.NoError(t, i.Delete(k.Ctx(), id))
		assert.Equal(t, work.StateDeleted, k.whereabouts(id))
		require.NoError(t, i.Delete(k.Ctx(), id), "again")
		assert.Equal(t, work.CancelResult{ID: id, Effect: work.CancelTooLate, State: work.StateDeleted}, k.Cancel(id))

		other := fmt.Sprint("j", inspect.FarReach+51)
		assert.Equal(t, work.CancelResult{ID: other, Effect: work.CancelEnded, State: work.StateCancelled},
			k.Cancel(other))
		var refused *inspect.StateError
		require.ErrorAs(t, i.Delete(k.Ctx(), other), &refused)
		assert.Equal(t, work.StateCancelled, refused.State)
		require.NoError(t, k.Cancel(other).Err(), "again")
	})
}
