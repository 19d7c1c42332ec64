package enqueuing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// poolOf are the options of a pool with one job, create_watch, as changed.
func poolOf(k *kit, change func(*work.WorkerOptions)) *work.WorkerPool {
	options := k.Options()
	change(&options)
	pool := work.NewWorkerPool(nil, 1, options).Job("create_watch", func() error { return nil })
	k.T.Cleanup(func() { assert.NoError(k.T, pool.Stop(context.Background())) })
	return pool
}

func TestAPoolsEnqueuerRefusesNamesThatThePoolDoesNotHave(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := poolOf(k, func(o *work.WorkerOptions) { o.EnqueueNames = []string{"of another program"} }).Enqueuer()
		_, err := enq.Enqueue(k.Ctx(), "create_wacth")
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.NotStored)
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		assert.EqualError(t, invalid, `job "create_wacth" is not registered with this pool: `+
			`did you mean "create_watch"? `+
			`If not, register it with Job, or name jobs of other programs in WorkerOptions.EnqueueNames; `+
			`it has ["create_watch" "of another program"]`)

		_, err = enq.With(work.Retries(1)).EnqueueMany(k.Ctx(),
			[]work.Entry{{Name: "create_watch"}, {Name: "export"}})
		require.ErrorAs(t, err, &invalid)
		assert.ErrorContains(t, err, `entry 1: job "export" is not registered with this pool: register it`)
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0, 1}, failed.NotStored, "all entries are checked first")
		assert.Zero(t, k.Number("HLEN", "jobs"))

		_, err = enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "create_watch"}, {Name: "of another program"}})
		require.NoError(t, err)
		_, err = poolOf(k, func(o *work.WorkerOptions) { o.EnqueueAnyName = true }).Enqueuer().
			Enqueue(k.Ctx(), "export")
		require.NoError(t, err)
		assert.Equal(t, 3, k.Number("HLEN", "jobs"))
	})
}

func TestTheTextOfARefusedNameIsBounded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		many := make([]string, 10_000)
		for i := range many {
			many[i] = strings.Repeat("x", 195) + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		}
		enq := poolOf(k, func(o *work.WorkerOptions) { o.EnqueueNames = many }).Enqueuer()
		_, err := enq.Enqueue(k.Ctx(), strings.Repeat("x", 199))
		require.ErrorContains(t, err, "did you mean")
		assert.Less(t, len(err.Error()), excerpt.Whole+2*excerpt.Name)
	})
}

func TestACloneAcceptsTheNamesOfItsOriginal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, change := range []func(*work.WorkerOptions){
			func(o *work.WorkerOptions) { o.EnqueueNames = []string{"other"} },
			func(o *work.WorkerOptions) { o.EnqueueAnyName = true },
		} {
			clone := poolOf(k, change).Clone(k.Options())
			t.Cleanup(func() { assert.NoError(t, clone.Stop(context.Background())) })
			_, err := clone.Enqueuer().Enqueue(k.Ctx(), "other")
			require.NoError(t, err)
		}
	})
}

func TestNamesThatCannotBeAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := work.NewEnqueuer("memory://names", work.Names("a", "b\n"))
	var invalid *work.InvalidError
	require.ErrorAs(t, err, &invalid)
	assert.EqualError(t, err, `option Names: job name is "b\n": use one without control characters`)
	err = work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://names", EnqueueNames: []string{""}}).
		Job("a", func() error { return nil }).Start(t.Context())
	assert.ErrorContains(t, err, "WorkerOptions.EnqueueNames: job name is empty")
}

// enqueuerWith makes an Enqueuer that is closed at the end; trips counts what it asks Redis about names.
func enqueuerWith(k *kit, opts ...work.EnqueuerOption) (enq *work.Enqueuer, trips func() int) {
	driver, err := redisconn.Open(k.Server.DSN())
	require.NoError(k.T, err)
	counting := (&pooltest.Tampered{}).Over(driver)
	enq, err = work.NewEnqueuer("", append(opts, work.Namespace(k.Namespace),
		work.WithConnection(pooltest.Connection{Of: counting}))...)
	require.NoError(k.T, err)
	k.T.Cleanup(func() {
		assert.NoError(k.T, enq.Close())
		assert.NoError(k.T, driver.Close())
	})
	return enq, func() int { n, _ := counting.Sent("ZMSCORE"); return n }
}

func TestAnEnqueuerRefusesNamesThatItWasNotGiven(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq, trips := enqueuerWith(k, work.Names("mail"), work.Names("export"))
		_, err := enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "mail"}, {Name: "export"}})
		require.NoError(t, err)
		_, err = enq.Enqueue(k.Ctx(), "mial")
		assert.ErrorContains(t, err, `job "mial" is not one of the names of this Enqueuer: did you mean "mail"? `+
			`If not, add it to the option Names; it has ["export" "mail"]`)
		none, _ := enqueuerWith(k, work.Names())
		_, err = none.Enqueue(k.Ctx(), "mail")
		assert.ErrorContains(t, err, "it has []", "no names are none")
		assert.Zero(t, trips())
	})
}

func TestAnEnqueuerAsksWhichNamesWereEverServed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		worker := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("mail", func() error { return nil }).
			Job("export", func() error { return nil }))
		require.NoError(t, worker.Stop(k.Ctx()))
		enq, trips := enqueuerWith(k, work.Names("new"), work.ServedNames())
		_, err := enq.EnqueueMany(k.Ctx(),
			[]work.Entry{{Name: "mail"}, {Name: "export"}, {Name: "mail"}, {Name: "new"}})
		require.NoError(t, err, "no worker runs, but one did")
		assert.Equal(t, 1, trips(), "one for all names of a call")
		for range 3 {
			_, err = enq.Enqueue(k.Ctx(), "mail")
			require.NoError(t, err)
		}
		assert.Equal(t, 1, trips(), "what was served once is not asked for again")

		for range 3 {
			_, err = enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "mail"}, {Name: "exprot"}})
			assert.ErrorContains(t, err, `entry 1: job "exprot" is one that no worker has served in the last 90 days: `+
				`did you mean "export"? If not, start a worker with it, or add it to the option Names; `+
				`there are ["export" "mail" "new"]`)
		}
		assert.Equal(t, 2, trips())
		assert.Zero(t, k.Number("LLEN", "queue:exprot"))
	})
}

// A Redis that answers and does not tell is no reason to refuse a job, nor one that cannot be asked to store it.
func TestARedisThatDoesNotTellTheNamesRefusesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SET", "served", "something else")
		enq, _ := enqueuerWith(k, work.ServedNames())
		_, err := enq.Enqueue(k.Ctx(), "mail")
		require.NoError(t, err)
		assert.Equal(t, 1, k.Number("LLEN", "queue:mail"))
	})
	enq, err := work.NewEnqueuer("redis://127.0.0.1:1/0", work.ServedNames(), work.EnqueueTimeout(20*time.Millisecond))
	require.NoError(t, err)
	_, err = enq.Enqueue(t.Context(), "mail")
	var failed *work.EnqueueError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []int{0}, failed.NotStored)
	var invalid *work.InvalidError
	assert.NotErrorAs(t, err, &invalid, "the name may well be right")
	require.NoError(t, enq.Close())
}
