package pools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

var errTired = errors.New("not today")

// answering is a pool that answers a message of its own, "double", and others that go wrong.
func answering(o work.WorkerOptions) *work.WorkerPool {
	return work.NewWorkerPool(nil, 3, o).Job("a", pooltest.Nothing).
		OnMessage("double", func(_ context.Context, payload json.RawMessage) (any, error) {
			var n int
			err := json.Unmarshal(payload, &n)
			return 2 * n, err
		}).
		OnMessage("refuse", func(context.Context, json.RawMessage) (any, error) { return nil, errTired }).
		OnMessage("panic", func(context.Context, json.RawMessage) (any, error) { panic("oh") })
}

func TestWorkersAnswerMessages(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"by the hint": false, "by a heartbeat, where the hint is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				start := func() string {
					o := k.Options()
					k.Tamper(&o, &pooltest.Tampered{Deaf: deaf})
					return k.ID(k.Start(answering(o)))
				}
				one, two := start(), start()
				i := k.Inspector()
				for message, row := range map[string]struct {
					payload     any
					value, says string
				}{
					"echo":   {map[string]any{"a": []int{1, 2}}, `{"a":[1,2]}`, ""},
					"double": {21, "42", ""},
					"refuse": {nil, "", "not today"},
					"panic":  {nil, "", "the function that answers panicked: oh"},
					"oh?":    {nil, "", `message "oh?" is not known to this worker: it answers double, echo, info, panic, refuse`},
				} {
					answers, err := i.Ask(k.Ctx(), nil, message, row.payload)
					require.NoError(t, err)
					require.Len(t, answers, 2)
					assert.ElementsMatch(t, []string{one, two}, []string{answers[0].Worker, answers[1].Worker})
					for _, answer := range answers {
						assert.Equal(t, row.value, string(answer.Value))
						if row.says == "" {
							require.NoError(t, answer.Err)
						} else {
							require.EqualError(t, answer.Err, row.says)
						}
					}
				}
				answers, err := i.Ask(k.Ctx(), []string{two, "nobody"}, "echo", nil)
				require.NoError(t, err)
				assert.Equal(t, inspect.Answer{Worker: two, Value: json.RawMessage("null")}, answers[0])
				require.ErrorIs(t, answers[1].Err, inspect.ErrNoWorker)
			})
		})
	}
}

func TestAWorkerTellsAboutItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		t.Cleanup(g.Release)
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).Job("a", g.Handle))
		t.Cleanup(g.Release)
		job := k.Enqueue("a")
		g.Began(t, 1)
		answers, err := k.Inspector().Ask(k.Ctx(), []string{k.ID(pool)}, "info", nil)
		require.NoError(t, err)
		require.NoError(t, answers[0].Err)
		var info work.PoolInfo
		require.NoError(t, json.Unmarshal(answers[0].Value, &info))
		assert.Equal(t, []any{k.ID(pool), os.Getpid(), runtime.Version(), 3, []string{"echo", "info"}},
			[]any{info.Worker, info.PID, info.Go, info.Concurrency, info.Messages})
		assert.True(t, info.Goroutines > 5 && info.Memory > info.Heap && info.Heap > 0 && info.Version != "", info)
		require.Len(t, info.Running, 1)
		assert.Equal(t, job.ID+" a", info.Running[0].ID+" "+info.Running[0].Name)
		assert.NotEmpty(t, info.Uptime+info.Running[0].For)
	})
}

// An answer whose acknowledgement is lost is sent again, and the message is handled once.
func TestAMessageIsHandledOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var handled, lost atomic.Int64
		o := k.Options()
		k.Tamper(&o, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "command" && lost.Add(1) == 1 { // of the worker: it has stored its answer
				return nil, pooltest.ErrLuck
			}
			return pass(ctx, calls...)
		}})
		pool := k.Start(work.NewWorkerPool(nil, 1, o).Job("a", pooltest.Nothing).
			OnMessage("count", func(context.Context, json.RawMessage) (any, error) { return handled.Add(1), nil }))
		answers, err := k.Inspector().Ask(k.Ctx(), nil, "count", nil)
		require.NoError(t, err)
		assert.Equal(t, "1", string(answers[0].Value))
		k.Until("it is taken out", func() bool {
			return lost.Load() > 1 && k.Number("HEXISTS", "worker:"+k.ID(pool)+":info", "asked") == 0
		})
		assert.EqualValues(t, 1, handled.Load())
	})
}

func TestWhoDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gate := make(chan struct{})
		ctx, cancel := context.WithCancelCause(k.Ctx())
		slow := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing).
			OnMessage("wait", func(context.Context, json.RawMessage) (any, error) {
				cancel(context.DeadlineExceeded) // it was asked, and now the time is over
				<-gate
				return 1, nil
			})
		id := k.ID(k.Start(slow))
		t.Cleanup(func() { close(gate) })
		answers, err := k.Inspector().Ask(ctx, nil, "wait", nil)
		require.NoError(t, err)
		assert.Equal(t, id, answers[0].Worker)
		require.ErrorIs(t, answers[0].Err, context.DeadlineExceeded)
		require.ErrorContains(t, answers[0].Err, "it has not answered: ")
		answers, err = k.Inspector().Ask(k.Ctx(), nil, "echo", 1)
		require.NoError(t, err)
		assert.Equal(t, "1", string(answers[0].Value), "others are answered meanwhile")
	})
}

// Who asks a worker that leaves hears that it is gone, and does not wait for the end of its ctx.
func TestAWorkerThatLeavesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SADD", "workers", "w1") // it beats no more
		answered := make(chan []inspect.Answer, 1)
		i := k.Inspector()
		go func() {
			answers, _ := i.Ask(context.Background(), []string{"w1"}, "echo", nil)
			answered <- answers
		}()
		k.Until("it is asked", func() bool { return k.Number("HEXISTS", "worker:w1:info", "asked") == 1 })
		k.Do("SREM", "workers", "w1")
		require.ErrorIs(t, pooltest.Receive(t, answered)[0].Err, inspect.ErrNoWorker)
	})
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(answering(k.Options()))
		i := k.Inspector()
		whole := strings.Repeat("x", 64<<10-2) // and two quotes
		answers, err := i.Ask(k.Ctx(), nil, "echo", whole)
		require.NoError(t, err)
		assert.Len(t, answers[0].Value, 64<<10)
		_, err = i.Ask(k.Ctx(), nil, "echo", whole+"x")
		require.ErrorContains(t, err, "the payload has 65537 bytes as JSON, more than 65536")
		_, err = i.Ask(k.Ctx(), nil, strings.Repeat("n", 256), nil)
		require.ErrorContains(t, err, "its name has 256 bytes, more than 255")
		_, err = i.Ask(k.Ctx(), nil, "echo", json.RawMessage("{"))
		require.ErrorContains(t, err, "cannot be written as JSON")
	})
}

func TestMistakesOfMessagesAreReturnedByStart(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost", Logger: pooltest.Silent()}).
		Job("a", pooltest.Nothing).OnMessage("echo", fn).OnMessage("info", fn).OnMessage("b", nil).OnMessage("", fn).
		OnMessage("c", fn).OnMessage("c", fn)
	var setup *work.SetupError
	require.ErrorAs(t, pool.Start(t.Context()), &setup)
	require.Len(t, setup.Mistakes, 5)
	for _, mistake := range setup.Mistakes {
		assert.ErrorContains(t, mistake, "OnMessage at messages_test.go:")
	}
}
