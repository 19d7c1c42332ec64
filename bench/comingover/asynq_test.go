package comingover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// Old is the payload of a task.
type Old struct {
	ID    string `json:"id"`
	Fails int    `json:"fails"` // how many attempts fail on the old side
}

// server runs tasks on the old side until the test ends, or stop is called.
func server(t *testing.T, opt asynq.RedisConnOpt, c *counts) (stop func()) {
	t.Helper()
	s := asynq.NewServer(opt, asynq.Config{Concurrency: 2, Queues: map[string]int{"default": 2, "low": 1},
		DelayedTaskCheckInterval: 100 * time.Millisecond, TaskCheckInterval: 50 * time.Millisecond,
		LogLevel: asynq.FatalLevel, RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Second }})
	require.NoError(t, s.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		var old Old
		if err := json.Unmarshal(task.Payload(), &old); err != nil {
			return err
		}
		if retried, _ := asynq.GetRetryCount(ctx); retried < old.Fails {
			return errors.New("not yet")
		}
		<-time.After(time.Millisecond) // a job that takes nothing is never met while it runs
		c.note(c.old, old.ID)
		return nil
	})))
	stop = sync.OnceFunc(s.Shutdown)
	t.Cleanup(stop)
	return stop
}

// enqueue enqueues tasks of all sorts, one after the other.
func enqueue(t *testing.T, client *asynq.Client, from, to int) (ids []string) {
	t.Helper()
	for n := from; n < to; n++ {
		old := Old{ID: fmt.Sprint("n", n)}
		options := []asynq.Option{asynq.TaskID(old.ID), asynq.MaxRetry(5), asynq.Timeout(time.Minute)}
		switch n % 5 {
		case 1:
			options = append(options, asynq.ProcessIn(time.Second))
		case 2:
			options = append(options, asynq.Queue("low"))
		case 3:
			old.Fails = 1
		case 4:
			options = append(options, asynq.Unique(time.Hour))
		}
		payload, err := json.Marshal(old)
		require.NoError(t, err)
		_, err = client.Enqueue(asynq.NewTask("count", payload), options...)
		require.NoError(t, err)
		ids = append(ids, old.ID)
	}
	return ids
}

// asynqUnderLoad has a server of asynq.
func asynqUnderLoad(t *testing.T, f *figures) {
	redis := redistest.Dedicated(t)
	opt := asynq.RedisClientOpt{Addr: redis.Addr()}
	c := newCounts()
	stopOld := server(t, opt, c)
	pool(t, redis.DSN(), c, "count")
	client := asynq.NewClient(opt)
	defer client.Close()
	l := load{T: t, bridge: bridge{dsn: redis.DSN(), library: "asynq"}, counts: c, figures: f, stopOld: stopOld,
		enqueue: func(from, to int) []string { return enqueue(t, client, from, to) }}
	l.run()
}

// failOnce leaves a task in the set of those to be tried again: the old side has run it once, by itself.
func failOnce(t *testing.T, opt asynq.RedisConnOpt, client *asynq.Client, old *asynq.Inspector) {
	t.Helper()
	_, err := client.Enqueue(asynq.NewTask("count", []byte("3")), asynq.TaskID("once"), asynq.MaxRetry(3),
		asynq.Queue("failing"))
	require.NoError(t, err)
	s := asynq.NewServer(opt, asynq.Config{Queues: map[string]int{"failing": 1}, LogLevel: asynq.FatalLevel,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour }})
	require.NoError(t, s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		return errors.New("smtp: 451")
	})))
	defer s.Shutdown()
	require.Eventually(t, func() bool {
		info, err := old.GetTaskInfo("failing", "once")
		return err == nil && info.State == asynq.TaskStateRetry
	}, patience, 10*time.Millisecond)
}

// TestWhatATaskHasComesOver compares tasks as asynq stores them with the jobs that become of them.
func TestWhatATaskHasComesOver(t *testing.T) {
	t.Parallel()
	redis := redistest.Dedicated(t)
	opt := asynq.RedisClientOpt{Addr: redis.Addr()}
	client, old := asynq.NewClient(opt), asynq.NewInspector(opt)
	defer client.Close()
	defer old.Close()
	add := func(id, payload string, options ...asynq.Option) {
		task := asynq.NewTaskWithHeaders("count", []byte(payload), map[string]string{"trace": "7"})
		_, err := client.Enqueue(task, append(options, asynq.TaskID(id))...)
		require.NoError(t, err)
	}
	due, deadline := time.Now().Add(time.Hour).Truncate(time.Second), time.Now().Add(2*time.Hour).Truncate(time.Second)
	add("json", `{"id": 12345678901234567890}`, asynq.MaxRetry(7), asynq.Timeout(90*time.Second),
		asynq.Retention(time.Hour))
	add("later", `[1]`, asynq.ProcessAt(due), asynq.Deadline(deadline), asynq.Queue("low"))
	add("text", "no json")
	add("bytes", "\xff\x00")
	add("none", "")
	add("unique", `"u"`, asynq.Unique(time.Hour))
	add("grouped", `1`, asynq.Group("g"))
	add("dead", `2`)
	require.NoError(t, old.ArchiveTask("default", "dead"))
	scheduler := asynq.NewScheduler(opt, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
	_, err := scheduler.Register("0 6 * * 1", asynq.NewTask("weekly", nil))
	require.NoError(t, err)
	require.NoError(t, scheduler.Start())
	defer scheduler.Shutdown()
	require.Eventually(t, func() bool { // its program publishes its entries every 5 s
		entries, err := old.SchedulerEntries()
		return err == nil && len(entries) == 1
	}, patience, 10*time.Millisecond)

	failOnce(t, opt, client, old)

	b := bridge{dsn: redis.DSN(), library: "asynq"}
	dry, status := run(t, b.command(t, "--dry-run"))
	assert.Zero(t, status)
	assert.Equal(t, map[string]int{"queued": 5, "scheduled": 1, "retrying": 1, "dead": 1}, dry.Moved)
	assert.Contains(t, dry.Notes, `cron "0 6 * * 1" of weekly: declare it, pool.Periodic("0 6 * * 1", "weekly", ...)`)
	r, status := run(t, b.command(t, "--within", "0s"))
	assert.Equal(t, 5, status, "the group is left")
	assert.Equal(t, dry.Moved, r.Moved)
	assert.Equal(t, map[string]int{"grouped": 1}, r.Left)

	i, err := inspect.New(redis.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	defer i.Close()
	job := func(id string) *inspect.JobInfo {
		info, err := i.Job(t.Context(), id)
		require.NoError(t, err, id)
		return info
	}
	first := job("asynq-default-json")
	assert.JSONEq(t, `[{"id":12345678901234567890}]`, string(first.Args))
	assert.Equal(t, "7", first.Meta["trace"])
	assert.Equal(t, 90*time.Second, first.Options.Timeout)
	assert.Equal(t, time.Hour, first.Options.Retention)
	require.NotNil(t, first.Options.Retries)
	assert.Equal(t, 7, *first.Options.Retries)
	failed := job("asynq-failing-once")
	require.NotNil(t, failed.Options.Retries)
	assert.Equal(t, 2, *failed.Options.Retries, "of three one is used")
	assert.Equal(t, "1", failed.Meta["asynq.retried"])
	assert.Equal(t, "smtp: 451", failed.Meta["asynq.error"])
	later := job("asynq-low-later")
	assert.Equal(t, work.StateScheduled, later.State)
	assert.WithinDuration(t, due, later.RunAt, time.Second)
	assert.WithinDuration(t, deadline, later.Options.Deadline, time.Second)
	assert.Equal(t, "low", later.Meta["asynq.queue"])
	assert.Equal(t, `["no json"]`, string(job("asynq-default-text").Args))
	assert.Equal(t, `["/wA="]`, string(job("asynq-default-bytes").Args))
	assert.Equal(t, `[]`, string(job("asynq-default-none").Args))
	assert.Equal(t, work.StateStalled, job("asynq-default-dead").State)

	enq, err := work.NewEnqueuer(redis.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	defer enq.Close()
	twin, err := enq.With(work.Unique(work.UniqueOptions{})).Enqueue(t.Context(), "count", "u")
	require.NoError(t, err)
	assert.Equal(t, "asynq-default-unique", twin.ID, "the lock has come over")
	_, err = client.Enqueue(asynq.NewTask("count", []byte(`"u"`)), asynq.Unique(time.Hour))
	require.NoError(t, err, "and is free there")

	r, status = run(t, b.command(t, "--groups"))
	assert.Zero(t, status)
	assert.Equal(t, map[string]int{"grouped": 1, "queued": 1}, r.Moved)
	assert.Equal(t, 1, r.Twins)
	assert.Equal(t, "g", job("asynq-default-grouped").Meta["asynq.group"])
}
