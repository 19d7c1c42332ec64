package inspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestQueuesTellWhatWaitsRunsAndRestrains(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.hands()
		for range 5 {
			k.standing(work.StateQueued, "a")
		}
		oldest := time.UnixMilli(1_700_000_000_000)
		k.Do("RPUSH", "queue:a", "old") // to the front
		k.Do("HSET", "jobs", "old", fmt.Sprintf(`{"jid":"old","name":"a","args":[],"t":%d}`, oldest.UnixMilli()-1000))
		k.Do("HSET", "trail", "old", fmt.Sprintf(`{"fails":1,"run_at":%d}`, oldest.UnixMilli()))
		k.standing(work.StateQueued, "b")
		k.standing(work.StateQueued, "b")
		k.takes("hand", "b", 2)
		require.NoError(t, i.SetLimit(k.Ctx(), "b", work.Limit{Concurrent: 7}))
		require.NoError(t, i.PauseQueue(k.Ctx(), "a"))

		queues, err := i.Queues(k.Ctx())
		require.NoError(t, err)
		require.Len(t, queues, 2)
		a, b := queues[0], queues[1]
		assert.Equal(t, []any{"a", 6, 0, true, 0}, []any{a.Name, a.Waiting, a.Running, a.Paused, a.Workers})
		assert.Equal(t, []any{"b", 0, 2, false, 1}, []any{b.Name, b.Waiting, b.Running, b.Paused, b.Workers})
		assert.True(t, a.Oldest.Equal(k.job("old").RunAt), "%s", a.Oldest)
		assert.Zero(t, b.Oldest)
		assert.Nil(t, a.Limit, "a pause is no limit")
		require.NotNil(t, b.Limit)
		assert.Equal(t, []any{7, 2}, []any{b.Limit.Limit.Concurrent, b.Limit.Running})
		assert.False(t, a.LastActive.IsZero())

		require.NoError(t, i.PauseAll(k.Ctx()))
		one, err := i.Queue(k.Ctx(), "b")
		require.NoError(t, err)
		assert.True(t, one.Paused, "all are")
		one.Paused = false
		assert.Equal(t, b.Running, one.Running)
		_, err = i.Queue(k.Ctx(), "c")
		require.ErrorIs(t, err, inspect.ErrNoQueue)
		_, err = i.Queue(k.Ctx(), "")
		assert.ErrorContains(t, err, "job name is empty")
	})
}

func TestAWorkerWithoutHeartbeatServesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.standing(work.StateQueued, "a")
		k.takes("hand", "a", 1)
		k.standing(work.StateQueued, "a")
		k.Do("UNLINK", "worker:hand")
		queue, err := k.hands().Queue(k.Ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, []int{1, 1, 0}, []int{queue.Waiting, queue.Running, queue.Workers})
		counts, err := k.hands().Counts(k.Ctx())
		require.NoError(t, err)
		assert.Zero(t, counts.Workers)
	})
}

func TestABrokenQueueHidesNoOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.standing(work.StateQueued, "a")
		k.Do("SET", "queue:broken", "x")
		k.Do("ZADD", "queues", 1, "broken")
		k.Do("SADD", "ready", "broken")
		queues, err := k.hands().Queues(k.Ctx())
		require.NoError(t, err)
		require.Len(t, queues, 2)
		assert.Equal(t, 1, queues[0].Waiting)
		assert.Contains(t, queues[1].Problem, "WRONGTYPE")
		counts, err := k.hands().Counts(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, 1, counts.Queued)
		found, err := k.hands().Search(k.Ctx(), inspect.Selection{}, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Len(t, found.Jobs, 1)
	})
}

func TestCountsSayHowManyJobsAreWhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		counts, err := k.hands().Counts(k.Ctx())
		require.NoError(t, err)
		assert.False(t, counts.AsOf.IsZero())
		counts.AsOf = time.Time{}
		assert.Zero(t, counts)
		for n, state := range []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
			work.StateDead} {
			for range n + 1 {
				k.standing(state, "a")
				k.standing(state, "b")
			}
		}
		k.standing(work.StateQueued, "c")
		k.takes("hand", "c", 1)
		counts, err = k.hands().Counts(k.Ctx())
		require.NoError(t, err)
		counts.AsOf = time.Time{}
		assert.Equal(t, inspect.Counts{Queued: 2, Running: 1, Scheduled: 4, Retrying: 6, Stalled: 8, Dead: 10,
			Queues: 3, Workers: 1}, counts)
	})
}

func TestReadsAsJSON(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000).UTC()
	cases := map[string]struct {
		value any
		want  string
	}{
		"a queue": {inspect.QueueInfo{Name: "a", Waiting: 1, Oldest: at, Workers: 2},
			`{"name":"a","waiting":1,"oldest":"2023-11-14T22:13:20Z","running":0,"paused":false,"workers":2,"done":0,"failed":0,"dead":0}`},
		"a queue with a limit": {inspect.QueueInfo{Name: "a",
			Limit: &inspect.LimitInfo{Name: "a", Limit: work.Limit{Rate: 5, Per: time.Minute, Burst: 1},
				Problem: errors.New("torn")}},
			`{"name":"a","waiting":0,"running":0,"paused":false,"workers":0,"done":0,"failed":0,"dead":0,"limit":{"name":"a","paused":false,
			"limit":{"rate":5,"per":"1m0s","burst":1},"operator":false,"running":0,"problem":"torn"}}`},
		"a worker": {inspect.WorkerInfo{ID: "w", PID: 7, Started: at, AsOf: at, Queues: []string{"a"},
			Running: []inspect.RunningJob{{ID: "j", Name: "a", Since: at,
				CheckIn: "half", Progress: json.RawMessage(`{"n":1}`), CheckAt: at}}},
			`{"id":"w","pid":7,"started":"2023-11-14T22:13:20Z","as_of":"2023-11-14T22:13:20Z","concurrency":0,"queues":["a"],"alive":false,"load":{"one":0,"five":0,"fifteen":0},
			"running":[{"id":"j","name":"a","since":"2023-11-14T22:13:20Z","check_in":"half","progress":{"n":1},"check_at":"2023-11-14T22:13:20Z"}]}`},
		"counts": {inspect.Counts{Queued: 1, AsOf: at},
			`{"queued":1,"running":0,"scheduled":0,"retrying":0,"stalled":0,"dead":0,"queues":0,"workers":0,"as_of":"2023-11-14T22:13:20Z"}`},
		"a page": {inspect.JobPage{Jobs: []*inspect.JobInfo{}, Total: 3}, `{"jobs":[],"total":3}`},
		"a search": {inspect.SearchPage{Jobs: []*inspect.JobInfo{}, Next: "x", Looked: 1, Through: 2, Total: 3},
			`{"jobs":[],"next":"x","looked":1,"through":2,"total":3}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(c.value)
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(text))
		})
	}
}

func TestAWorkerTellsTheProgressAndTheAgesOfItsJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		t.Cleanup(g.Release)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(job *work.Job) error {
			if err := job.Progress(map[string]int{"done": 1}); err != nil {
				return err
			}
			job.Checkin("half way there")
			return g.Handle()
		}))
		t.Cleanup(g.Release)
		k.Enqueue("n")
		g.Began(t, 1)
		var worker inspect.WorkerInfo
		k.Until("the check-in is there", func() bool {
			var err error
			worker, err = k.hands().Worker(k.Ctx(), k.ID(pool))
			return err == nil && len(worker.Running) == 1 && worker.Running[0].Progress != nil
		})
		job := worker.Running[0]
		assert.Equal(t, "half way there", job.CheckIn)
		assert.JSONEq(t, `{"done":1}`, string(job.Progress))
		assert.Equal(t, worker.AsOf.Sub(job.Since), job.Age(worker.AsOf))
		assert.Equal(t, worker.AsOf.Sub(worker.Started), worker.Uptime())
		assert.GreaterOrEqual(t, job.Age(worker.AsOf), time.Duration(0))
		assert.Zero(t, inspect.WorkerInfo{AsOf: worker.AsOf}.Uptime(), "it did not tell")
	})
}
