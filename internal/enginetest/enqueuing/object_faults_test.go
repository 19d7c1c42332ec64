package enqueuing_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// An object that was collected between its upload and the script that stores the job is stored again, and so is the
// job.
func TestAnObjectThatVanishesBeforeItsJobIsStoredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var vanish atomic.Int64
		driver := &scriptCounter{Driver: pooltest.StoreOf(k.Enq).Driver()}
		driver.before = func(script string) {
			if script == "enqueue_mixed" && vanish.Add(-1) >= 0 {
				hashes := k.Strings("ZRANGE", "objects", 0, -1)
				k.Do("UNLINK", "objects", fmt.Sprintf("{%s}:object:%s", k.Namespace, hashes[0]))
			}
		}
		enq := pooltest.EnqueuerOn(driver, k.Namespace)
		defer enq.Close()
		vanish.Store(2)
		receipt, err := enq.Enqueue(k.Ctx(), "a", long(10_000))
		require.NoError(t, err)
		assert.Equal(t, 3, driver.count("keep"))
		sha := k.stored(receipt.ID).Objects[0]
		assert.Equal(t, []string{receipt.ID}, k.Strings("SMEMBERS", "object:"+sha+":jobs"))
		assert.Equal(t, 10_000, k.Number("STRLEN", "object:"+sha))

		vanish.Store(1)
		receipts, err := enq.EnqueueMany(k.Ctx(),
			[]work.Entry{{Name: "b", Args: []any{1}}, {Name: "b", Args: []any{long(10_000)}},
				{Name: "b", Args: []any{3}}})
		require.NoError(t, err)
		assert.Equal(t, 3, k.Number("LLEN", "queue:b"))
		assert.Equal(t, []string{receipts[1].ID, receipts[2].ID, receipts[0].ID}, k.Strings("LRANGE", "queue:b", 0, -1),
			"behind the others")

		vanish.Store(100)
		_, err = enq.Enqueue(k.Ctx(), "c", long(10_000))
		var vanished *objects.VanishedError
		require.ErrorAs(t, err, &vanished)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.NotStored)
		assert.Equal(t, 1+3, int(100-vanish.Load()), "it is sent again three times")
		assert.Zero(t, k.Number("LLEN", "queue:c"))
	})
}

// Whatever reply is lost, the job is stored once and refers once.
func TestALostReplyCountsNoReferenceTwice(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"object/touch", "object/keep", "job/enqueue_mixed"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.Enqueue("warm", long(9_000)) // Redis knows the scripts
				proxy := redistest.NewProxy(t, s.Addr())
				enq, err := work.NewEnqueuer(proxy.DSN(), work.Namespace(k.Namespace))
				require.NoError(t, err)
				defer enq.Close()
				swallowed := proxy.SwallowReply(redisconn.Load(script).SHA)
				receipt, err := enq.Enqueue(k.Ctx(), "a", long(10_000))
				require.NoError(t, err)
				pooltest.Receive(t, swallowed)
				assert.Equal(t, []string{receipt.ID}, k.Strings("LRANGE", "queue:a", 0, -1))
				sha := k.stored(receipt.ID).Objects[0]
				assert.Equal(t, []string{receipt.ID}, k.Strings("SMEMBERS", "object:"+sha+":jobs"))
			})
		})
	}
}

// A duplicate of a chosen id leaves no reference behind, and an enqueuer that dies before its job leaves an object that
// goes.
func TestWhatIsNotStoredRefersToNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first, err := k.Enq.With(work.ID("chosen")).Enqueue(k.Ctx(), "a", long(10_000))
		require.NoError(t, err)
		second, err := k.Enq.With(work.ID("chosen")).Enqueue(k.Ctx(), "a", long(11_000))
		require.NoError(t, err)
		assert.True(t, second.Duplicate)
		sha := k.stored(first.ID).Objects[0]
		assert.Equal(t, 1, k.Number("SCARD", "object:"+sha+":jobs"))
		other := string(objects.Of(plainJSON(t, long(11_000))))
		assert.Zero(t, k.Number("EXISTS", "object:"+other+":jobs"))

		orphan := plainJSON(t, long(12_000))
		contents, err := objects.New(k.Raw(), objects.Options{})
		require.NoError(t, err)
		require.NoError(t, jobargs.NewUploads(contents).Ensure(k.Ctx(), string(objects.Of(orphan)), orphan))
		assert.Equal(t, 3, k.Number("ZCARD", "objects"))
		done := make(chan int, 1)
		options := k.Options()
		options.ObjectGrace = time.Millisecond
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func(text string) error { done <- len(text); return nil })
		pooltest.Times(pool).Tidy = 5 * time.Millisecond
		k.Start(pool)
		assert.Equal(t, 10_000-2, pooltest.Receive(t, done))
		k.Until("nothing is left", func() bool { return len(k.Remains("object")) == 0 })
	})
}

// The jobs of a worker that died run elsewhere, with the arguments that they had.
func TestObjectsOutliveAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, options := make(chan string, 3), k.Another(pooltest.NewSpy())
		options.ObjectGrace = time.Millisecond
		victim := work.NewWorkerPool(nil, 3, options).
			Job("a", func(ctx context.Context, job *work.Job, _ string) error {
				begun <- job.ID
				<-ctx.Done()
				return ctx.Err()
			})
		pooltest.Times(victim).Tidy = 5 * time.Millisecond
		require.NoError(t, victim.Start(context.Background()))
		for range 3 {
			k.Enqueue("a", long(10_000))
		}
		for range 3 {
			pooltest.Receive(t, begun)
		}
		k.Crash(victim)
		survivor, lengths := k.Options(), make(chan int, 3)
		survivor.ObjectGrace = time.Millisecond
		pool := work.NewWorkerPool(nil, 3, survivor).
			Job("a", func(text string) error { lengths <- len(text); return nil })
		pooltest.Times(pool).Tidy = 5 * time.Millisecond
		k.Start(pool)
		for range 3 {
			assert.Equal(t, 10_000-2, pooltest.Receive(t, lengths))
		}
		k.Drained(pool)
		assert.Equal(t, int64(1), pooltest.Parts(pool).Cache.Statistics().Downloads)
		k.Until("nothing is left", func() bool { return len(k.Remains("object")) == 0 })
		k.Empty("a")
	})
}

// A thousand jobs that share 1 MiB: one copy, one download for each worker, and in the end nothing.
func TestAThousandJobsShareOneCopy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		shared, err := objects.Share(k.Ctx(), k.objects(), long(1<<20))
		require.NoError(t, err)
		receipt := k.Enqueue("first", long(1<<20))
		entries := make([]work.Entry, 999)
		for i := range entries {
			entries[i] = work.Entry{Name: "a", Args: []any{shared}}
		}
		_, err = k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		sha := k.stored(receipt.ID).Objects[0]
		assert.Equal(t, string(shared.Hash()), sha, "an argument that is shared and one that was given are one object")
		assert.Equal(t, 1000, k.Number("SCARD", "object:"+sha+":jobs"))
		assert.Len(t, k.Remains(":object:"), 2, "one copy and those that refer to it")

		var lengths atomic.Int64
		var pools []*work.WorkerPool
		for range 2 {
			options := k.Options()
			options.ObjectGrace = time.Millisecond
			var pool *work.WorkerPool
			pool = work.NewWorkerPool(nil, 20, options).
				Job("first", func(text string) error { lengths.Add(int64(len(text))); return nil }).
				Job("a", func(ctx context.Context, ref objects.Ref[string]) error {
					// as Value does, which then decodes it
					content, err := pooltest.Parts(pool).Cache.Get(ctx, ref.Hash())
					lengths.Add(int64(len(content) - len(`""`)))
					return err
				})
			pooltest.Times(pool).Tidy = 5 * time.Millisecond
			pools = append(pools, pool)
		}
		for _, pool := range pools {
			k.Start(pool)
		}
		for _, pool := range pools {
			require.NoError(t, pool.Drain(k.Ctx()))
			assert.LessOrEqual(t, pooltest.Parts(pool).Cache.Statistics().Downloads, int64(1))
		}
		assert.Equal(t, int64(1000*(1<<20-2)), lengths.Load())
		k.Until("the keys are gone", func() bool { return len(k.Remains("object")) == 0 })
		k.Empty("first", "a")
	})
}
