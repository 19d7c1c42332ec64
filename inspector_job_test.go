package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func (k *kit) job(id string) *JobInfo {
	k.t.Helper()
	info, err := k.inspector().Job(k.ctx(), id)
	require.NoError(k.t, err)
	return info
}

// runs starts a pool with one handler, and waits until one of its jobs has met such an event.
func runs[E event.Event](k *kit, opts JobOptions, handler any) string {
	k.t.Helper()
	k.start(NewWorkerPool(nil, 1, k.options()).JobWithOptions("a", opts, handler))
	receipt := k.enqueue("a", 7)
	await[E](k.t, k.spy, nil)
	return receipt.ID
}

// settled waits until Redis knows what has become of a job: its event is sent before.
func (k *kit) settled(id string) *JobInfo {
	k.t.Helper()
	i := k.inspector()
	var info *JobInfo
	require.Eventually(k.t, func() bool {
		var err error
		info, err = i.Job(k.ctx(), id)
		return err == nil && info.State != StateRunning
	}, patience, time.Millisecond)
	return info
}

// Every state is reached as programs reach it.
func TestJobTellsTheStateOfAJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reach func(k *kit) *JobInfo
		want  State
		check func(t *testing.T, j *JobInfo)
	}{
		"queued": {func(k *kit) *JobInfo {
			k.enqueue("a")
			return k.job(k.enqueue("a").ID)
		}, StateQueued, func(t *testing.T, j *JobInfo) {
			assert.Equal(t, 1, j.Ahead)
			assert.Equal(t, []WaitReason{{Kind: WaitUnserved}, {Kind: WaitBehind, Ahead: 1}}, j.Why)
		}},
		"queued, all that was given": {func(k *kit) *JobInfo {
			enq := k.enq.With(Retries(2), Timeout(time.Minute), Retention(time.Hour), Meta("user", "7"))
			receipt, err := enq.SourcedEnqueue(k.ctx(), "a", 42, "x", 1234567890123456789)
			require.NoError(k.t, err)
			return k.job(receipt.ID)
		}, StateQueued, func(t *testing.T, j *JobInfo) {
			assert.Equal(t, `["x",1234567890123456789]`, string(j.Args))
			assert.Equal(t, map[string]string{"user": "7"}, j.Meta)
			assert.EqualValues(t, 42, j.SourceID)
			two := 2
			assert.Equal(t, JobInfoOptions{Retries: &two, Timeout: time.Minute, Retention: time.Hour}, j.Options)
		}},
		"scheduled": {func(k *kit) *JobInfo {
			receipt, err := k.enq.EnqueueIn(k.ctx(), "a", time.Hour)
			require.NoError(k.t, err)
			return k.job(receipt.ID)
		}, StateScheduled, func(t *testing.T, j *JobInfo) {
			assert.Equal(t, []WaitReason{{Kind: WaitDue, Until: j.RunAt}}, j.Why)
			assert.InDelta(t, time.Hour.Seconds(), j.RunAt.Sub(j.AsOf).Seconds(), 60)
		}},
		"put off": {func(k *kit) *JobInfo {
			return k.settled(runs[event.JobSnoozed](k, JobOptions{}, func(int) error { return Snooze(time.Hour) }))
		}, StateScheduled, func(t *testing.T, j *JobInfo) {
			assert.Zero(t, j.Fails)
			assert.Equal(t, WaitDue, j.Why[0].Kind)
		}},
		"retrying": {func(k *kit) *JobInfo {
			return k.settled(runs[event.JobFailed](k, JobOptions{}, func(int) error { panic("a stack") }))
		}, StateRetrying, func(t *testing.T, j *JobInfo) {
			assert.Equal(t, 1, j.Fails)
			require.Len(t, j.Errors, 1)
			assert.Equal(t, "panic: a stack", j.Errors[0].Error)
			assert.Equal(t, 1, j.Errors[0].Attempt)
			assert.Contains(t, j.Errors[0].Stack, "inspector_job_test.go")
			assert.NotEmpty(t, j.Errors[0].Worker)
			assert.False(t, j.Errors[0].At.IsZero())
			assert.Equal(t, []WaitReason{{Kind: WaitDue, Until: j.RunAt}}, j.Why)
			assert.Equal(t, `[7]`, string(j.Args))
		}},
		"dead": {func(k *kit) *JobInfo {
			return k.settled(runs[event.JobBuried](k, JobOptions{Retries: -1},
				func(int) error { return errors.New("no good") }))
		}, StateDead, func(t *testing.T, j *JobInfo) {
			assert.NotEmpty(t, j.Reason)
			assert.False(t, j.Since.IsZero())
			assert.Equal(t, "no good", j.Errors[0].Error)
			assert.Empty(t, j.Why)
		}},
		"succeeded": {func(k *kit) *JobInfo {
			return k.settled(runs[event.JobDone](k, JobOptions{Retention: time.Hour},
				func(n int) (int, error) { return 2 * n, nil }))
		}, StateSucceeded, func(t *testing.T, j *JobInfo) {
			assert.JSONEq(t, "14", string(j.Result))
			assert.False(t, j.EndedAt.IsZero())
		}},
		"discarded": {func(k *kit) *JobInfo {
			return k.settled(runs[event.JobDiscarded](k, JobOptions{},
				func(int) error { return Discard(errors.New("nobody wants it")) }))
		}, StateDiscarded, func(t *testing.T, j *JobInfo) { assert.False(t, j.EndedAt.IsZero()) }},
		"cancelled": {func(k *kit) *JobInfo {
			id := k.enqueue("a").ID
			_, err := k.inspector().Cancel(k.ctx(), id)
			require.NoError(k.t, err)
			return k.job(id)
		}, StateCancelled, func(t *testing.T, j *JobInfo) { assert.False(t, j.EndedAt.IsZero()) }},
		"to be cancelled, deep in its queue": {func(k *kit) *JobInfo {
			id := k.enqueue("a").ID
			k.do("SADD", "cancelled", id)
			k.do("HSET", "outcomes", id, `{"state":"cancelled","ended":5}`)
			return k.job(id)
		}, StateCancelled, func(t *testing.T, j *JobInfo) { assert.Equal(t, time.UnixMilli(5), j.EndedAt) }},
		"expired": {func(k *kit) *JobInfo {
			k.do("HSET", "outcomes", "x", `{"state":"expired","ended":5}`)
			return k.job("x")
		}, StateExpired, func(t *testing.T, j *JobInfo) { assert.Equal(t, time.UnixMilli(5), j.EndedAt) }},
		"stalled": {func(k *kit) *JobInfo {
			id := k.enqueue("a").ID
			k.do("LREM", "queue:a", 0, id)
			k.do("ZADD", "stalled", 5, id)
			k.do("HSET", "names", id, "a")
			return k.job(id)
		}, StateStalled, func(t *testing.T, j *JobInfo) { assert.Equal(t, time.UnixMilli(5), j.Since) }},
		"lost": {func(k *kit) *JobInfo {
			id := k.enqueue("a").ID
			k.do("LREM", "queue:a", 0, id)
			return k.job(id)
		}, StateLost, func(t *testing.T, j *JobInfo) { assert.Contains(t, j.String(), "Doctor") }},
		"with a record that is none": {func(k *kit) *JobInfo {
			id := k.enqueue("a").ID
			k.do("HSET", "jobs", id, `{"jid":"`+id+`","name":"a","args":7,"t":"yesterday"}`)
			return k.job(id)
		}, StateQueued, func(t *testing.T, j *JobInfo) {
			assert.Contains(t, j.Problem, "does not fit the type")
			assert.Equal(t, "a", j.Name)
		}},
		"suspect": {func(k *kit) *JobInfo {
			receipt, err := k.enq.EnqueueIn(k.ctx(), "a", time.Hour)
			require.NoError(k.t, err)
			k.do("HSET", "crashes", receipt.ID, "w1 w2")
			return k.job(receipt.ID)
		}, StateScheduled, func(t *testing.T, j *JobInfo) {
			assert.Equal(t, []WaitReason{{Kind: WaitSuspect, Until: j.RunAt}}, j.Why)
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
		goOn := make(chan struct{})
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error {
			job.Checkin("half of it")
			<-goOn
			return nil
		}))
		defer close(goOn)
		id := k.enqueue("a").ID
		i := k.inspector()
		var info *JobInfo
		require.Eventually(t, func() bool { // the next heartbeat brings it
			var err error
			info, err = i.Job(k.ctx(), id)
			return err == nil && info.Checkin != nil
		}, patience, 10*time.Millisecond)
		assert.Equal(t, StateRunning, info.State)
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
		id := k.enqueue("a").ID
		k.do("LREM", "queue:a", 0, id)
		k.do("HSET", "claimed", id, "w 2 1000 a")
		k.do("HSET", "worker:w:running", id, "999 earlier")
		info := k.job(id)
		assert.Equal(t, StateRunning, info.State)
		assert.Equal(t, time.UnixMilli(1000), info.BegunAt)
		assert.True(t, info.WorkerLost)
		assert.Nil(t, info.Checkin)
		k.do("HSET", "worker:w:running", id, "1000 later")
		k.do("SET", "worker:w", "RUN 5")
		info = k.job(id)
		assert.False(t, info.WorkerLost)
		assert.Equal(t, &JobCheckin{At: time.UnixMilli(1000), Message: "later"}, info.Checkin)
		k.do("HSET", "worker:w:running", id, "1001 \x00{\"row\":3}\x00later")
		assert.Equal(t, &JobCheckin{At: time.UnixMilli(1001), Message: "later", Progress: json.RawMessage(`{"row":3}`)},
			k.job(id).Checkin)
		k.do("SADD", "cancelled", id)
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
			ids = append(ids, k.enqueue(name, strings.Repeat("x", 1<<(n%16))).ID)
		}
		ids = append(ids, ids[0]) // twice is twice
		infos, err := k.inspector().Jobs(k.ctx(), ids...)
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
		_, err = k.inspector().Job(k.ctx(), "none9")
		require.ErrorIs(t, err, ErrNotFound)
		_, err = k.inspector().Job(k.ctx(), "")
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
		none, err := k.inspector().Jobs(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, none)
	})
}

// One job that cannot be looked at does not hide the others.
func TestJobsTellsWhichCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		good, bad := k.enqueue("good").ID, k.enqueue("bad").ID
		k.do("UNLINK", "queue:bad")
		k.do("SET", "queue:bad", "text")
		k.do("HSET", "outcomes", "x", "no JSON")
		infos, err := k.inspector().Jobs(k.ctx(), bad, good, "x")
		require.ErrorContains(t, err, "queue:bad")
		require.ErrorContains(t, err, `job "x" cannot be looked up`)
		assert.Nil(t, infos[0])
		require.NotNil(t, infos[1])
		assert.Equal(t, StateQueued, infos[1].State)
	})
}

func TestReasonsToWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule string
		want []WaitReason
		text string
	}{
		"paused": {"1 - - - -", []WaitReason{{Kind: WaitPaused}}, "its queue is paused"},
		"a full limit": {"0 2 - - -", []WaitReason{{Kind: WaitLimit, Limit: 2, Running: 2}},
			"2 of its queue run, and 2 may"},
		"a limit with room": {"0 3 - - -", nil, ""},
		"more than may": {"0 1 - - - operator", []WaitReason{{Kind: WaitLimit, Limit: 1, Running: 2}},
			"2 of its queue run, and 1 may"},
		"paused and limited": {"1 2 - - -", []WaitReason{{Kind: WaitPaused}, {Kind: WaitLimit, Limit: 2, Running: 2}},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				id := k.enqueue("a").ID
				k.do("SADD", "workers", "w")
				k.do("SADD", "worker:w:queues", "a")
				k.do("HSET", "limits", "a", c.rule)
				k.do("SADD", "running:a", "p", "q")
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
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://%zz"})
	_, err := pool.Inspector().Job(t.Context(), "x")
	require.Error(t, err)
	infos, err := pool.Inspector().Jobs(t.Context(), "x", "y")
	require.Error(t, err)
	assert.Equal(t, []*JobInfo{nil, nil}, infos)
}

func TestJobInfoAsJSON(t *testing.T) {
	t.Parallel()
	one := 1
	at := time.UnixMilli(1_800_000_000_000).UTC()
	info := JobInfo{
		ID: "x", Name: "a", State: StateRetrying, AsOf: at, Args: json.RawMessage(`[12345678901234567890,"<b>"]`),
		RunAt:   at,
		Options: JobInfoOptions{Retries: &one, Timeout: 90 * time.Second}, Fails: 1,
		Errors: []JobError{{At: at, Attempt: 1, Worker: "w", Error: "no"}},
		Why:    []WaitReason{{Kind: WaitDue, Until: at}},
	}
	encoded, err := json.Marshal(&info)
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"x","name":"a","state":"retrying","as_of":"2027-01-15T08:00:00Z","args":[12345678901234567890,"<b>"],
		"options":{"retries":1,"timeout":"1m30s"},"run_at":"2027-01-15T08:00:00Z","why":[{"kind":"due","until":"2027-01-15T08:00:00Z"}],
		"fails":1,"errors":[{"at":"2027-01-15T08:00:00Z","attempt":1,"worker":"w","error":"no"}]}`, string(encoded))
	assert.Contains(t, string(encoded), "12345678901234567890", "numbers stay as they are")

	info = JobInfo{ID: "x", State: StateQueued, AsOf: at, Args: json.RawMessage(`[1,`)}
	encoded, err = json.Marshal(info)
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"x","state":"queued","as_of":"2027-01-15T08:00:00Z","args":"[1,"}`, string(encoded))
}
