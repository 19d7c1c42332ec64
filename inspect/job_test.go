package inspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func (k *kit) job(id string) *inspect.JobInfo {
	k.T.Helper()
	info, err := k.inspector().Job(k.Ctx(), id)
	require.NoError(k.T, err)
	return info
}

// runs starts a pool with one handler, and waits until one of its jobs has met such an event.
func runs[E event.Event](k *kit, opts work.JobOptions, handler any) string {
	k.T.Helper()
	k.Start(work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("a", opts, handler))
	receipt := k.Enqueue("a", 7)
	pooltest.Await[E](k.T, k.Spy, nil)
	return receipt.ID
}

// settled waits until Redis knows what has become of a job: its event is sent before.
func (k *kit) settled(id string) *inspect.JobInfo {
	k.T.Helper()
	i := k.inspector()
	var info *inspect.JobInfo
	require.Eventually(k.T, func() bool {
		var err error
		info, err = i.Job(k.Ctx(), id)
		return err == nil && info.State != work.StateRunning
	}, pooltest.Patience, time.Millisecond)
	return info
}

// Every state is reached as programs reach it.
func TestJobTellsTheStateOfAJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reach func(k *kit) *inspect.JobInfo
		want  work.State
		check func(t *testing.T, j *inspect.JobInfo)
	}{
		"queued": {func(k *kit) *inspect.JobInfo {
			k.Enqueue("a")
			return k.job(k.Enqueue("a").ID)
		}, work.StateQueued, func(t *testing.T, j *inspect.JobInfo) {
			assert.Equal(t, 1, j.Ahead)
			assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitUnserved}, {Kind: inspect.WaitBehind, Ahead: 1}},
				j.Why)
		}},
		"queued, all that was given": {func(k *kit) *inspect.JobInfo {
			enq := k.Enq.With(work.Retries(2), work.Timeout(time.Minute), work.Retention(time.Hour),
				work.Meta("user", "7"))
			receipt, err := enq.SourcedEnqueue(k.Ctx(), "a", 42, "x", 1234567890123456789)
			require.NoError(k.T, err)
			return k.job(receipt.ID)
		}, work.StateQueued, func(t *testing.T, j *inspect.JobInfo) {
			assert.Equal(t, `["x",1234567890123456789]`, string(j.Args))
			assert.Equal(t, map[string]string{"user": "7"}, j.Meta)
			assert.EqualValues(t, 42, j.SourceID)
			two := 2
			assert.Equal(t, inspect.JobInfoOptions{Retries: &two, Timeout: time.Minute, Retention: time.Hour},
				j.Options)
		}},
		"scheduled": {func(k *kit) *inspect.JobInfo {
			receipt, err := k.Enq.EnqueueIn(k.Ctx(), "a", time.Hour)
			require.NoError(k.T, err)
			return k.job(receipt.ID)
		}, work.StateScheduled, func(t *testing.T, j *inspect.JobInfo) {
			assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitDue, Until: j.RunAt}}, j.Why)
			assert.InDelta(t, time.Hour.Seconds(), j.RunAt.Sub(j.AsOf).Seconds(), 60)
		}},
		"put off": {func(k *kit) *inspect.JobInfo {
			return k.settled(runs[event.JobSnoozed](k, work.JobOptions{},
				func(int) error { return work.Snooze(time.Hour) }))
		}, work.StateScheduled, func(t *testing.T, j *inspect.JobInfo) {
			assert.Zero(t, j.Fails)
			assert.Equal(t, inspect.WaitDue, j.Why[0].Kind)
		}},
		"retrying": {func(k *kit) *inspect.JobInfo {
			return k.settled(runs[event.JobFailed](k, work.JobOptions{}, func(int) error { panic("a stack") }))
		}, work.StateRetrying, func(t *testing.T, j *inspect.JobInfo) {
			assert.Equal(t, 1, j.Fails)
			require.Len(t, j.Errors, 1)
			assert.Equal(t, "panic: a stack", j.Errors[0].Error)
			assert.Equal(t, 1, j.Errors[0].Attempt)
			assert.Contains(t, j.Errors[0].Stack, "job_test.go")
			assert.NotEmpty(t, j.Errors[0].Worker)
			assert.False(t, j.Errors[0].At.IsZero())
			assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitDue, Until: j.RunAt}}, j.Why)
			assert.Equal(t, `[7]`, string(j.Args))
		}},
		"dead": {func(k *kit) *inspect.JobInfo {
			return k.settled(runs[event.JobBuried](k, work.JobOptions{Retries: -1},
				func(int) error { return errors.New("no good") }))
		}, work.StateDead, func(t *testing.T, j *inspect.JobInfo) {
			assert.NotEmpty(t, j.Reason)
			assert.False(t, j.Since.IsZero())
			assert.Equal(t, "no good", j.Errors[0].Error)
			assert.Empty(t, j.Why)
		}},
		"succeeded": {func(k *kit) *inspect.JobInfo {
			return k.settled(runs[event.JobDone](k, work.JobOptions{Retention: time.Hour},
				func(n int) (int, error) { return 2 * n, nil }))
		}, work.StateSucceeded, func(t *testing.T, j *inspect.JobInfo) {
			assert.JSONEq(t, "14", string(j.Result))
			assert.False(t, j.EndedAt.IsZero())
		}},
		"discarded": {func(k *kit) *inspect.JobInfo {
			return k.settled(runs[event.JobDiscarded](k, work.JobOptions{},
				func(int) error { return work.Discard(errors.New("nobody wants it")) }))
		}, work.StateDiscarded, func(t *testing.T, j *inspect.JobInfo) { assert.False(t, j.EndedAt.IsZero()) }},
		"cancelled": {func(k *kit) *inspect.JobInfo {
			id := k.Enqueue("a").ID
			_, err := k.inspector().Cancel(k.Ctx(), id)
			require.NoError(k.T, err)
			return k.job(id)
		}, work.StateCancelled, func(t *testing.T, j *inspect.JobInfo) { assert.False(t, j.EndedAt.IsZero()) }},
		"to be cancelled, deep in its queue": {func(k *kit) *inspect.JobInfo {
			id := k.Enqueue("a").ID
			k.Do("SADD", "cancelled", id)
			k.Do("HSET", "outcomes", id, `{"state":"cancelled","ended":5}`)
			return k.job(id)
		}, work.StateCancelled, func(t *testing.T, j *inspect.JobInfo) {
			assert.Equal(t, time.UnixMilli(5), j.EndedAt)
		}},
		"expired": {func(k *kit) *inspect.JobInfo {
			k.Do("HSET", "outcomes", "x", `{"state":"expired","ended":5}`)
			return k.job("x")
		}, work.StateExpired, func(t *testing.T, j *inspect.JobInfo) { assert.Equal(t, time.UnixMilli(5), j.EndedAt) }},
		"stalled": {func(k *kit) *inspect.JobInfo {
			id := k.Enqueue("a").ID
			k.Do("LREM", "queue:a", 0, id)
			k.Do("ZADD", "stalled", 5, id)
			k.Do("HSET", "names", id, "a")
			return k.job(id)
		}, work.StateStalled, func(t *testing.T, j *inspect.JobInfo) { assert.Equal(t, time.UnixMilli(5), j.Since) }},
		"lost": {func(k *kit) *inspect.JobInfo {
			id := k.Enqueue("a").ID
			k.Do("LREM", "queue:a", 0, id)
			return k.job(id)
		}, work.StateLost, func(t *testing.T, j *inspect.JobInfo) { assert.Contains(t, j.String(), "doctor.Examine") }},
		"with a record that is none": {func(k *kit) *inspect.JobInfo {
			id := k.Enqueue("a").ID
			k.Do("HSET", "jobs", id, `{"jid":"`+id+`","name":"a","args":7,"t":"yesterday"}`)
			return k.job(id)
		}, work.StateQueued, func(t *testing.T, j *inspect.JobInfo) {
			assert.Contains(t, j.Problem, "does not fit the type")
			assert.Equal(t, "a", j.Name)
		}},
		"suspect": {func(k *kit) *inspect.JobInfo {
			receipt, err := k.Enq.EnqueueIn(k.Ctx(), "a", time.Hour)
			require.NoError(k.T, err)
			k.Do("HSET", "crashes", receipt.ID, "w1 w2")
			return k.job(receipt.ID)
		}, work.StateScheduled, func(t *testing.T, j *inspect.JobInfo) {
			assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitSuspect, Until: j.RunAt}}, j.Why)
			assert.Equal(t, []string{"w1", "w2"}, j.Crashes)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				j := c.reach(k)
				assert.Equal(t, c.want, j.State)
				assert.False(t, j.AsOf.IsZero())
				if !j.State.Ended() {
					assert.Equal(t, "a", j.Name)
				}
				c.check(t, j)
				assert.True(t, strings.Contains(j.String(), j.ID+": "+string(j.State)), j.String())
			})
		})
	}
}

// A running job says who has it, since when, and what it said last.
func TestJobTellsOfOneThatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		if s.Embedded() != nil { // all of it happens within one millisecond
			s.Embedded().SetTime(time.Date(2030, 1, 1, 12, 0, 0, 123_456_000, time.UTC))
		}
		goOn := make(chan struct{})
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(job *work.Job) error {
			job.Checkin("half of it")
			<-goOn
			return nil
		}))
		defer close(goOn)
		id := k.Enqueue("a").ID
		i := k.inspector()
		var info *inspect.JobInfo
		require.Eventually(t, func() bool { // the next heartbeat brings it
			var err error
			info, err = i.Job(k.Ctx(), id)
			return err == nil && info.Checkin != nil
		}, pooltest.Patience, 10*time.Millisecond)
		assert.Equal(t, work.StateRunning, info.State)
		assert.Equal(t, "half of it", info.Checkin.Message)
		assert.False(t, info.Checkin.At.Before(info.BegunAt))
		assert.False(t, info.BegunAt.IsZero())
		assert.NotEmpty(t, info.Worker)
		assert.False(t, info.WorkerLost)
		assert.Empty(t, info.Why)
		assert.Contains(t, info.String(), `said "half of it"`)
	})
}

// What a worker said of an earlier claim is not told of a later one, and a worker without heartbeat is named as such.
func TestJobTellsOfOneWhoseWorkerIsGone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("a").ID
		k.Do("LREM", "queue:a", 0, id)
		k.Do("HSET", "claimed", id, "w 2 1000 a")
		k.Do("HSET", "worker:w:running", id, "999 earlier")
		info := k.job(id)
		assert.Equal(t, work.StateRunning, info.State)
		assert.Equal(t, time.UnixMilli(1000), info.BegunAt)
		assert.True(t, info.WorkerLost)
		assert.Nil(t, info.Checkin)
		k.Do("HSET", "worker:w:running", id, "1000 later")
		k.Do("SET", "worker:w", "RUN 5")
		info = k.job(id)
		assert.False(t, info.WorkerLost)
		assert.Equal(t, &inspect.JobCheckin{At: time.UnixMilli(1000), Message: "later"}, info.Checkin)
		k.Do("HSET", "worker:w:running", id, "1001 \x00{\"row\":3}\x00later")
		assert.Equal(t, &inspect.JobCheckin{At: time.UnixMilli(1001), Message: "later", Progress: json.RawMessage(`{"row":3}`)},
			k.job(id).Checkin)
		k.Do("SADD", "cancelled", id)
		assert.True(t, k.job(id).Cancelling)
		assert.Contains(t, k.job(id).String(), "to be cancelled")
	})
}

// What is not there is said to be not there, and is no error of Jobs.
func TestJobsAnswersInTheOrderOfTheIDs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ids []string
		for n := range 150 {
			name := fmt.Sprint("queue", n%3)
			if n%10 == 9 {
				ids = append(ids, fmt.Sprint("none", n))
				continue
			}
			ids = append(ids, k.Enqueue(name, strings.Repeat("x", 1<<(n%16))).ID)
		}
		ids = append(ids, ids[0]) // twice is twice
		infos, err := k.inspector().Jobs(k.Ctx(), ids...)
		require.NoError(t, err)
		require.Len(t, infos, len(ids))
		for n, info := range infos {
			if n%10 == 9 {
				assert.Nil(t, info)
				continue
			}
			assert.Equal(t, ids[n], info.ID)
			assert.Equal(t, fmt.Sprint("queue", n%150%3), info.Name)
		}
		_, err = k.inspector().Job(k.Ctx(), "none9")
		require.ErrorIs(t, err, work.ErrNotFound)
		_, err = k.inspector().Job(k.Ctx(), "")
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		none, err := k.inspector().Jobs(k.Ctx())
		require.NoError(t, err)
		assert.Empty(t, none)
	})
}

// One job that cannot be looked at does not hide the others.
func TestJobsTellsWhichCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		good, bad := k.Enqueue("good").ID, k.Enqueue("bad").ID
		k.Do("UNLINK", "queue:bad")
		k.Do("SET", "queue:bad", "text")
		k.Do("HSET", "outcomes", "x", "no JSON")
		infos, err := k.inspector().Jobs(k.Ctx(), bad, good, "x")
		require.ErrorContains(t, err, "queue:bad")
		require.ErrorContains(t, err, `job "x" cannot be looked up`)
		assert.Nil(t, infos[0])
		require.NotNil(t, infos[1])
		assert.Equal(t, work.StateQueued, infos[1].State)
	})
}

func TestReasonsToWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule string
		want []inspect.WaitReason
		text string
	}{
		"paused": {"1 - - - -", []inspect.WaitReason{{Kind: inspect.WaitPaused}}, "its queue is paused"},
		"a full limit": {"0 2 - - -", []inspect.WaitReason{{Kind: inspect.WaitLimit, Limit: 2, Running: 2}},
			"2 of its queue run, and 2 may"},
		"a limit with room": {"0 3 - - -", nil, ""},
		"more than may": {"0 1 - - - operator", []inspect.WaitReason{{Kind: inspect.WaitLimit, Limit: 1, Running: 2}},
			"2 of its queue run, and 1 may"},
		"paused and limited": {"1 2 - - -", []inspect.WaitReason{{Kind: inspect.WaitPaused},
			{Kind: inspect.WaitLimit, Limit: 2, Running: 2}},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				id := k.Enqueue("a").ID
				k.Do("SADD", "workers", "w")
				k.Do("SADD", "worker:w:queues", "a")
				k.Do("HSET", "limits", "a", c.rule)
				k.Do("SADD", "running:a", "p", "q")
				info := k.job(id)
				assert.Equal(t, c.want, info.Why)
				if c.text != "" {
					assert.Equal(t, c.text, info.Why[0].String())
				}
			})
		})
	}
}

// A pool's Inspector without Redis says why, whatever it is asked.
func TestJobWithoutRedis(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://%zz"})
	_, err := inspect.Of(pool).Job(t.Context(), "x")
	require.Error(t, err)
	infos, err := inspect.Of(pool).Jobs(t.Context(), "x", "y")
	require.Error(t, err)
	assert.Equal(t, []*inspect.JobInfo{nil, nil}, infos)
}

func TestJobInfoAsJSON(t *testing.T) {
	t.Parallel()
	one := 1
	at := time.UnixMilli(1_800_000_000_000).UTC()
	info := inspect.JobInfo{
		ID: "x", Name: "a", State: work.StateRetrying, AsOf: at, Args: json.RawMessage(`[12345678901234567890,"<b>"]`),
		RunAt:   at,
		Options: inspect.JobInfoOptions{Retries: &one, Timeout: 90 * time.Second}, Fails: 1,
		Errors: []inspect.JobError{{At: at, Attempt: 1, Worker: "w", Error: "no"}},
		Why:    []inspect.WaitReason{{Kind: inspect.WaitDue, Until: at}},
	}
	encoded, err := json.Marshal(&info)
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"x","name":"a","state":"retrying","as_of":"2027-01-15T08:00:00Z","args":[12345678901234567890,"<b>"],
		"options":{"retries":1,"timeout":"1m30s"},"run_at":"2027-01-15T08:00:00Z","why":[{"kind":"due","until":"2027-01-15T08:00:00Z"}],
		"fails":1,"errors":[{"at":"2027-01-15T08:00:00Z","attempt":1,"worker":"w","error":"no"}]}`, string(encoded))
	assert.Contains(t, string(encoded), "12345678901234567890", "numbers stay as they are")

	info = inspect.JobInfo{ID: "x", State: work.StateQueued, AsOf: at, Args: json.RawMessage(`[1,`)}
	encoded, err = json.Marshal(info)
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"x","state":"queued","as_of":"2027-01-15T08:00:00Z","args":"[1,"}`, string(encoded))
}
