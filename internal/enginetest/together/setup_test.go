package together_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// own is the context of pools.
type own struct{ called chan int }

func (o *own) Index(_ context.Context, batch work.Batch[int]) error {
	o.called <- len(batch)
	return nil
}

type document struct {
	Title string `json:"title"`
}

func TestWhatCannotBeTakenTogetherIsRefused(t *testing.T) {
	t.Parallel()
	fits := func(work.Batch[int]) error { return nil }
	for name, c := range map[string]struct {
		opts    work.Together
		handler any
		want    string // a regular expression
	}{
		"a handler of one": {work.Together{Most: 5}, func(int) error { return nil },
			`JobOptions.Together is given with the handler .*: have that take a work.Batch\[A\] as its only argument, or leave`},
		"left out": {work.Together{}, fits,
			`JobOptions.Together is left out with the handler .*: say how many its work.Batch may have: work.Together\{Most: `},
		"none":             {work.Together{Wait: time.Second}, fits, `JobOptions.Together.Most is 0.*: give 1 to 500`},
		"fewer than none":  {work.Together{Most: -1}, fits, `JobOptions.Together.Most is -1.*: give 1 to 500`},
		"too many":         {work.Together{Most: 501}, fits, `JobOptions.Together.Most is 501.*: give 1 to 500`},
		"a negative wait":  {work.Together{Most: 5, Wait: -1}, fits, `JobOptions.Together.Wait is -1ns.*: give up to an hour`},
		"a wait for a day": {work.Together{Most: 5, Wait: 24 * time.Hour}, fits, `Together.Wait is 24h0m0s.*: give up to`},
		"a job beside":     {work.Together{Most: 5}, func(*work.Job, work.Batch[int]) error { return nil }, `drop the job: each`},
		"an argument before": {work.Together{Most: 5}, func(int, work.Batch[int]) error { return nil },
			`beside other arguments.*give the jobs one argument`},
		"an argument behind": {work.Together{Most: 5}, func(work.Batch[int], int) error { return nil },
			`beside other arguments.*give the jobs one argument`},
		"any number": {work.Together{Most: 5}, func(...work.Batch[int]) error { return nil }, `without the dots`},
		"a result": {work.Together{Most: 5}, func(work.Batch[int]) (int, error) { return 0, nil },
			`returns \(int, error\), wanted func\(\[\*together_test.own,\] \[context.Context,\] work.Batch\[A\]\) error: return an ` +
				`error alone, and give each item its result with Return`},
		"nothing returned": {work.Together{Most: 5}, func(work.Batch[int]) {}, `returns nothing`},
		"a pointer":        {work.Together{Most: 5}, func(*work.Batch[int]) error { return nil }, `takes \*work.Batch\[int\] as`},
		"items":            {work.Together{Most: 5}, func([]*work.Item[int]) error { return nil }, `wanted work.Batch\[A\] for jobs`},
		"an item":          {work.Together{Most: 5}, func(*work.Item[int]) error { return nil }, `wanted work.Batch\[A\] for jobs`},
		"what is not JSON": {work.Together{Most: 5}, func(work.Batch[chan int]) error { return nil }, `encoding/json can decode`},
		"a batch of a batch": {work.Together{Most: 5}, func(work.Batch[work.Batch[int]]) error { return nil },
			`wanted work.Batch\[A\] for jobs`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := work.WorkerOptions{Redis: "redis://127.0.0.1:1", Logger: pooltest.Silent()}
			pool := work.NewWorkerPool(own{}, 1, options).
				JobWithOptions("index", work.JobOptions{Together: c.opts}, c.handler)
			err := pool.Start(t.Context())
			var setup *work.SetupError
			require.ErrorAs(t, err, &setup)
			assert.Regexp(t, c.want, err.Error())
			assert.Contains(t, err.Error(), `"index"`)
		})
	}
}

func TestAnOrderedKeyIsNotTakenTogether(t *testing.T) {
	t.Parallel()
	options := work.WorkerOptions{Redis: "redis://127.0.0.1:1", Logger: pooltest.Silent()}
	pool := work.NewWorkerPool(nil, 1, options).
		JobWithOptions("index", work.JobOptions{Ordered: true, Together: work.Together{Most: 5, ByKey: true}},
			func(work.Batch[int]) error { return nil })
	err := pool.Start(t.Context())
	require.ErrorContains(t, err, "JobOptions.Together.ByKey is true beside Ordered: leave one of them out")
}

func TestHandlersOfEachShapeTakeBatches(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		called := make(chan int, 10)
		opts := work.JobOptions{Together: work.Together{Most: 2, Wait: time.Hour}}
		kind := work.Define[document]("kind", opts)
		counted := work.DefineResult[document, int]("counted",
			work.JobOptions{Together: opts.Together, Retention: time.Hour})
		pool := work.NewWorkerPool(own{called}, 2, k.Options()).
			JobWithOptions("method", opts, (*own).Index).
			JobWithOptions("plain", opts, func(batch work.Batch[*document]) error { called <- len(batch); return nil })
		work.HandleTogether(pool, kind, func(o *own, _ context.Context, batch work.Batch[document]) error {
			o.called <- len(batch)
			return nil
		})
		work.HandleFuncTogether(pool, counted, func(_ context.Context, batch work.Batch[document]) error {
			for _, item := range batch {
				item.Return(len(item.Args.Title))
			}
			return nil
		})
		k.Tidy(pool)
		for range 2 {
			k.Enqueue("method", 1)
			_, err := kind.Enqueue(k.Ctx(), k.Enq, document{"a"})
			require.NoError(t, err)
		}
		k.Enqueue("plain", document{"a"})
		k.Enqueue("plain", nil)
		for range 3 {
			assert.Equal(t, 2, pooltest.Receive(t, called))
		}
		first, err := counted.Enqueue(k.Ctx(), k.Enq, document{"four"})
		require.NoError(t, err)
		_, err = counted.Enqueue(k.Ctx(), k.Enq, document{"a"})
		require.NoError(t, err)
		length, err := counted.Wait(k.Ctx(), k.Enq, first.ID)
		require.NoError(t, err)
		assert.Equal(t, 4, length)
		_, err = pool.Enqueuer().Enqueue(k.Ctx(), "method", "no number")
		var bad *work.ArgumentError
		require.ErrorAs(t, err, &bad, "the Enqueuer of the pool knows what each job takes")
		k.Drained(pool)
		assert.Zero(t, pooltest.Count[event.JobBuried](k.Spy))
	})
}

// TestAClonedPoolTakesJobsTogether, too.
func TestAClonedPoolTakesJobsTogether(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := newSieve()
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{}).JobWithOptions("index", of(3, time.Hour), seen.handle).
			Clone(k.Options())
		k.Start(pool)
		k.EnqueueNumbers("index", 0, 3)
		assert.Equal(t, numbers(3), pooltest.Receive(t, seen.begun))
	})
}

// TestItemsCanBeMadeByTests of a handler.
func TestItemsCanBeMadeByTests(t *testing.T) {
	t.Parallel()
	batch := work.Batch[int]{{Args: 1}, {Args: 2}, {Args: 3}}
	batch[0].Fail(work.ErrNotFound)
	batch[1].Return("result")
	for i, want := range []struct {
		result any
		err    error
		said   bool
	}{{nil, work.ErrNotFound, true}, {"result", nil, true}, {nil, nil, false}} {
		result, err, said := batch[i].Said()
		assert.Equal(t, want.result, result)
		assert.Equal(t, want.err, err)
		assert.Equal(t, want.said, said)
	}
	assert.Equal(t, []int{1, 2, 3}, batch.Args())
}
