package work

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

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// hands is an Inspector of the kit's namespace.
func (k *kit) hands() *Inspector { return newInspector(k.enq.core.store, defaultMorgueLimit) }

const pastTrail = `{"fails":3,"releases":2,"errors":[{"at":1,"attempt":3,"worker":"w","error":"no luck"}],"reason":"out of luck"}`

// standing makes a job of that state and returns its id.
func (k *kit) standing(state State, name string, opts ...EnqueueOption) string {
	k.t.Helper()
	if state == StateScheduled {
		receipt, err := k.enq.With(opts...).EnqueueIn(k.ctx(), name, time.Hour, 1)
		require.NoError(k.t, err)
		return receipt.ID
	}
	receipt, err := k.enq.With(opts...).Enqueue(k.ctx(), name, 1)
	require.NoError(k.t, err)
	id := receipt.ID
	switch state {
	case StateQueued:
	case StateRunning:
		k.hold(name)
	case StateSucceeded:
		k.hold(name, id)
	default:
		shelf := map[State]string{StateRetrying: "retry", StateStalled: "stalled", StateDead: "morgue"}[state]
		require.Equal(k.t, 1, k.number("LREM", "queue:"+name, 0, id))
		k.do("ZADD", shelf, time.Now().Add(-time.Minute).UnixMilli(), id)
		k.do("HSET", "names", id, name)
		k.do("HSET", "trail", id, pastTrail)
	}
	return id
}

// hold has a worker fetch what waits, and end those that are named.
func (k *kit) hold(name string, ended ...string) {
	k.t.Helper()
	w := k.enq.core.store.Worker("hand")
	_, _, err := w.Register(k.ctx(), rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{name}})
	require.NoError(k.t, err)
	fetched, err := w.Fetch(k.ctx(), 1, 10, false, []rdb.Share{{Queue: name, Jobs: 10}})
	require.NoError(k.t, err)
	for _, job := range fetched.Jobs {
		if slices.Contains(ended, job.ID) {
			_, err := w.Settle(k.ctx(),
				[]rdb.Call{w.Complete([]rdb.Ended{{Claim: job.Claim, ID: job.ID, Keep: time.Hour,
					Outcome: outcome{State: stateSucceeded, EndedAt: 1}.encode()}})})
			require.NoError(k.t, err)
		}
	}
}

// whereabouts is the state of a job, "" where there is nothing of it.
func (k *kit) whereabouts(id string) State {
	k.t.Helper()
	seen, err := k.hands().sight(k.ctx(), id)
	if errors.Is(err, ErrNotFound) {
		return ""
	}
	require.NoError(k.t, err)
	return seen.state
}

var allStates = []State{
	"", StateQueued, StateScheduled, StateRunning, StateRetrying, StateStalled, StateDead, StateSucceeded,
}

// handled is what a control should do, written down once more.
type handled struct {
	do      func(i *Inspector, k *kit, id string) error
	from    []State
	already []State
	becomes State // "" stays as it is
	gone    bool  // nothing is left of it
}

func handledControls() map[string]handled {
	return map[string]handled{
		"Stall": {do: func(i *Inspector, k *kit, id string) error { return i.Stall(k.ctx(), id) },
			from: []State{StateQueued, StateScheduled, StateRetrying}, already: []State{StateStalled},
			becomes: StateStalled},
		"Resume": {do: func(i *Inspector, k *kit, id string) error { return i.Resume(k.ctx(), id) },
			from: []State{StateStalled}, already: []State{StateQueued}, becomes: StateQueued},
		"RunNow": {do: func(i *Inspector, k *kit, id string) error { return i.RunNow(k.ctx(), id) },
			from: []State{StateScheduled}, already: []State{StateQueued}, becomes: StateQueued},
		"RetryNow": {do: func(i *Inspector, k *kit, id string) error { return i.RetryNow(k.ctx(), id) },
			from: []State{StateRetrying, StateDead}, already: []State{StateQueued}, becomes: StateQueued},
		"Reschedule": {do: func(i *Inspector, k *kit, id string) error {
			return i.Reschedule(k.ctx(), id, time.Now().Add(time.Minute))
		},
			from: []State{StateScheduled, StateRetrying}},
		"ChangeArgs": {do: func(i *Inspector, k *kit, id string) error { return i.ChangeArgs(k.ctx(), id, 2) },
			from: []State{StateQueued, StateScheduled, StateRetrying, StateStalled, StateDead}},
		"MoveToFront": {do: func(i *Inspector, k *kit, id string) error { return i.MoveToFront(k.ctx(), id) },
			from: []State{StateQueued}},
		"Delete": {do: func(i *Inspector, k *kit, id string) error { return i.Delete(k.ctx(), id) },
			from: []State{StateQueued, StateScheduled, StateRetrying, StateStalled, StateDead, StateSucceeded},
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

func (c handled) try(k *kit, state State) {
	t, i, id := k.t, k.hands(), "nobody"
	if state != "" {
		id = k.standing(state, "n")
	}
	err := c.do(i, k, id)
	switch {
	case state == "":
		assert.ErrorIs(t, err, ErrNotFound)
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
		var refused *StateError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, state, refused.State)
		assert.ErrorContains(t, err, "is "+string(state)+", and only one that is ")
		assert.Equal(t, state, k.whereabouts(id), "nothing was done")
	}
}

// again is what somebody does whose first answer was lost.
func (c handled) again(k *kit, i *Inspector, id string) {
	before := k.whereabouts(id)
	err := c.do(i, k, id)
	if c.gone {
		assert.ErrorIs(k.t, err, ErrNotFound)
		k.empty("n")
		return
	}
	assert.NoError(k.t, err)
	assert.Equal(k.t, before, k.whereabouts(id))
}

func TestRetryNowOfADeadJob(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		opts  []RetryOption
		fails int
	}{
		"attempts as before": {nil, 3},
		"fresh attempts":     {[]RetryOption{FreshAttempts()}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				id := k.standing(StateDead, "n")
				before := time.Now()
				require.NoError(t, k.hands().RetryNow(k.ctx(), id, c.opts...))
				kept := k.trail(id)
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
		id := k.standing(StateScheduled, "n")
		k.start(NewWorkerPool(nil, 1, k.options()).
			Job("n", func(job *Job, _ int) error { ran <- job.RunAt; return nil }))
		at := time.Now().Add(50 * time.Millisecond)
		require.NoError(t, k.hands().Reschedule(k.ctx(), id, at))
		due := receive(t, ran)
		assert.WithinRange(t, due, at, at.Add(time.Millisecond), "RunAt is the new time")
	})
}

func TestMoveToFrontIsTheNext(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue("n", 1)
		k.enqueue("n", 2)
		last := k.enqueue("n", 3)
		require.NoError(t, k.hands().MoveToFront(k.ctx(), last.ID))
		ran := make(chan int, 3)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error { ran <- n; return nil }))
		assert.Equal(t, 3, receive(t, ran))
	})
}

func TestAStalledJobDoesNotRunUntilItIsResumed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		stalled := k.enqueue("n", 1)
		require.NoError(t, k.hands().Stall(k.ctx(), stalled.ID))
		ran := make(chan int, 2)
		p := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("n", func(job *Job, n int) error { ran <- 10*n + job.Attempt; return nil }))
		k.enqueue("n", 2)
		assert.Equal(t, 21, receive(t, ran))
		require.NoError(t, p.Drain(k.ctx()))
		assert.Empty(t, ran)
		require.NoError(t, k.hands().Resume(k.ctx(), stalled.ID))
		assert.Equal(t, 11, receive(t, ran), "the pool was woken, and it is its first attempt")
	})
}

func TestChangedArgsReachTheHandler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.enqueue("n", 1).ID
		record := k.text("HGET", "jobs", id)
		record = record[:len(record)-1] + `, "of another version" : [1.50] }`
		k.do("HSET", "jobs", id, record)
		require.NoError(t, k.hands().ChangeArgs(k.ctx(), id, int64(1)<<60, []string{}))
		want := strings.Replace(record, `"args":[1]`, `"args":[1152921504606846976,[]]`, 1)
		assert.Equal(t, want, k.text("HGET", "jobs", id), "all else is as it was, byte for byte")
		ran := make(chan int64, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func(n int64, _ []string) error { ran <- n; return nil }))
		assert.Equal(t, int64(1)<<60, receive(t, ran))
	})
}

func TestDeleteTakesAllThatBelongsToTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.standing(StateDead, "n")
		k.do("HSET", "jobs", id, fmt.Sprintf(
			`{"jid":%q,"name":"n","args":[],"t":1,"lock":"digest","objects":{"0":"abc"}}`, id))
		k.do("HSET", "trail", id, `{"log":true,"state":true}`)
		k.do("HSET", "unique", "digest", id+" 0 f")
		k.do("SADD", "object:abc:jobs", id)
		k.do("RPUSH", "log:"+id, "line")
		k.do("SET", "state:"+id, "{}")
		k.do("HSET", "waited", id, time.Now().Add(time.Hour).UnixMilli())
		require.NoError(t, k.hands().Delete(k.ctx(), id))
		k.empty("n")
		for _, key := range []string{"unique", "object:abc:jobs", "log:" + id, "state:" + id, "waited"} {
			assert.Zero(t, k.number("EXISTS", key), key)
		}
		var kept outcome
		require.NoError(t, json.Unmarshal([]byte(k.text("HGET", "outcomes", id)), &kept), "somebody waits for it")
		assert.Equal(t, string(StateDeleted), kept.State)
		assert.Equal(t, StateDeleted, k.whereabouts(id))
	})
}

func TestControlsRefuseWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	i, id := k.hands(), k.standing(StateScheduled, "n")
	cases := map[string]error{
		"no id":                   i.Stall(k.ctx(), ""),
		"the zero time":           i.Reschedule(k.ctx(), id, time.Time{}),
		"in a thousand years":     i.Reschedule(k.ctx(), id, time.Now().AddDate(1000, 0, 0)),
		"args that do not encode": i.ChangeArgs(k.ctx(), id, make(chan int)),
	}
	for name, err := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invalid *InvalidError
			assert.ErrorAs(t, err, &invalid)
		})
	}
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "nonsense"})
	assert.Error(t, pool.Inspector().Stall(k.ctx(), id), "the pool's Redis cannot be")
	assert.Error(t, pool.Inspector().Delete(k.ctx(), id))
}

// Who cancelled it was told so, and may have gone away since.
func TestAJobToBeCancelledEndsSoWhenItIsDeletedOrPurged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		refuses := func(err error) {
			t.Helper()
			var refused *StateError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, StateCancelled, refused.State)
		}
		for _, state := range []State{StateQueued, StateScheduled, StateRetrying, StateStalled} {
			id := k.standing(state, "n")
			k.do("SADD", "cancelled", id)
			refuses(k.hands().Stall(k.ctx(), id))
			for range 2 {
				refuses(k.hands().Delete(k.ctx(), id))
				assert.Equal(t, stateCancelled, k.outcomeOf(id).State)
				k.unflagged()
				k.empty("n")
			}
		}
		plain, locked := k.standing(StateQueued, "n"), k.standing(StateQueued, "n", Unique(UniqueOptions{}))
		k.do("SADD", "cancelled", plain, locked)
		k.enqueueNumbers("n", 0, 40)
		purged, err := k.hands().Purge(k.ctx(), "n", PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 40, purged)
		for _, id := range []string{plain, locked} {
			assert.Equal(t, stateCancelled, k.outcomeOf(id).State)
		}
		k.unflagged()
		k.empty("n")
	})
}

func TestAJobDeepInALongQueueIsFarAndCanBeDeleted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateQueued, 2*farReach+100)
		i, id := k.hands(), fmt.Sprint("j", farReach+50)
		for _, err := range []error{i.Stall(k.ctx(), id), i.MoveToFront(k.ctx(), id)} {
			var far *FarError
			require.ErrorAs(t, err, &far)
			assert.Equal(t, "n", far.Name)
		}
		require.NoError(t, i.ChangeArgs(k.ctx(), id, 7))
		require.NoError(t, i.Delete(k.ctx(), id))
		assert.Equal(t, StateDeleted, k.whereabouts(id))
		require.NoError(t, i.Delete(k.ctx(), id), "again")
		assert.Equal(t, CancelResult{ID: id, Effect: CancelTooLate, State: StateDeleted}, k.cancel(id))

		other := fmt.Sprint("j", farReach+51)
		assert.Equal(t, CancelResult{ID: other, Effect: CancelEnded, State: StateCancelled}, k.cancel(other))
		var refused *StateError
		require.ErrorAs(t, i.Delete(k.ctx(), other), &refused)
		assert.Equal(t, StateCancelled, refused.State)
		require.NoError(t, k.cancel(other).Err(), "again")
	})
}
