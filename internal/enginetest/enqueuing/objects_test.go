package enqueuing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// Handler and middleware see the arguments as they were given, whatever was set apart.
func TestAHandlerSeesNoDifference(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first, second := long(20_000), pooltest.Report{Lines: 9007199254740993,
			Notes: map[string]string{"<&>": long(30_000)}}
		type seen struct {
			n      int
			first  string
			second pooltest.Report
			third  *int
			tail   []string
		}
		handled, raw := make(chan seen, 1), make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
				raw <- string(job.Args)
				return next(ctx)
			}).
			Job("a", func(n int, first string, second pooltest.Report, third *int, tail ...string) error {
				handled <- seen{n, first, second, third, tail}
				return nil
			}))
		receipt := k.Enqueue("a", 7, first, second, nil, "b", first)
		assert.Equal(t, seen{7, first, second, nil, []string{"b", first}}, pooltest.Receive(t, handled))
		whole, err := jobargs.EncodeAll(nil, "a", []any{7, first, second, nil, "b", first}, jobargs.Most)
		require.NoError(t, err)
		assert.Equal(t, string(whole), pooltest.Receive(t, raw))
		k.Drained(pool)
		for _, key := range k.Remains(":jobs") {
			assert.NotContains(t, key, "object:", "%s has ended and refers to nothing", receipt.ID)
		}
		assert.Equal(t, int64(2), pooltest.Parts(pool).Cache.Statistics().Downloads)
		k.Empty("a")
	})
}

func TestRefsAreBoundAndReadWhenTheHandlerWants(t *testing.T) {
	t.Parallel()
	type wrapped struct{ Inner objects.Ref[[]int] }
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		shared, err := objects.Share(k.Ctx(), k.objects(), []int{1, 2, 3})
		require.NoError(t, err)
		values := make(chan []int, 4)
		var pool *work.WorkerPool
		read := func(ctx context.Context, ref objects.Ref[[]int]) error {
			value, err := ref.Value(ctx)
			values <- value
			return err
		}
		pool = work.NewWorkerPool(nil, 1, k.Options()).
			Job("never", func(objects.Ref[[]int]) error { return nil }).
			Job("value", func(ref objects.Ref[[]int]) error { return read(context.Background(), ref) }).
			Job("pointer", func(ref *objects.Ref[[]int]) error { return read(context.Background(), *ref) }).
			Job("deeper", func(ctx context.Context, w wrapped) error { return read(ctx, w.Inner) }).
			Job("tail", func(ctx context.Context, refs ...objects.Ref[[]int]) error { return read(ctx, refs[0]) }).
			Job("nil", func(ref *objects.Ref[[]int], _ objects.Ref[[]int]) error {
				if ref != nil {
					return errors.New("it was null")
				}
				return nil
			})
		k.Start(pool)
		k.Enqueue("never", shared)
		k.Drained(pool)
		assert.Zero(t, pooltest.Parts(pool).Cache.Statistics().Downloads, "nobody asked for it")
		for _, name := range []string{"value", "pointer", "tail"} {
			k.Enqueue(name, shared)
			assert.Equal(t, []int{1, 2, 3}, pooltest.Receive(t, values), name)
		}
		k.Enqueue("deeper", wrapped{shared})
		assert.Equal(t, []int{1, 2, 3}, pooltest.Receive(t, values), "deeper")
		k.Enqueue("nil", (*objects.Ref[[]int])(nil), shared)
		k.Drained(pool)
		assert.Equal(t, int64(1), pooltest.Parts(pool).Cache.Statistics().Downloads)
		assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
		k.Empty("value")
	})
}

// What can never be had again sends the job to the morgue, which says why, without an attempt of its handler.
func TestAnObjectThatCannotBeHadBuriesItsJob(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		damage func(k *kit, id, sha string)
		cause  func(err error) bool
		text   string
	}{
		{"vanished", func(k *kit, _, sha string) { k.Do("UNLINK", "object:"+sha) },
			func(err error) bool { return isA[*objects.VanishedError](err) }, "has vanished"},
		{"changed", func(k *kit, _, sha string) { k.Do("SETRANGE", "object:"+sha, 5, "y") },
			func(err error) bool { return isA[*objects.MismatchError](err) }, "was changed by somebody"},
		{"a hash that is none", func(k *kit, id, sha string) {
			k.Do("HSET", "jobs", id, strings.Replace(k.Text("HGET", "jobs", id), sha, "../"+sha[3:], 1))
		}, func(err error) bool { return isA[*objects.HashError](err) }, "is no hash of an object"},
		{"an argument that the record has not", func(k *kit, id, _ string) {
			k.Do("HSET", "jobs", id, strings.Replace(k.Text("HGET", "jobs", id), `"objects":{"0"`, `"objects":{"9"`, 1))
		}, func(error) bool { return true }, "the record has 1 arguments"},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				k := newKit(t, s)
				id := k.Enqueue("a", long(10_000)).ID
				sha := k.stored(id).Objects[0]
				row.damage(k, id, sha)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(string) error {
					t.Error("it was called")
					return nil
				}))
				buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
				var refused *work.ObjectError
				require.ErrorAs(t, buried.Err, &refused)
				assert.True(t, row.cause(buried.Err), "%v", buried.Err)
				assert.Contains(t, buried.Reason, row.text)
				assert.Contains(t, buried.Reason, "argument ")
				k.Drained(pool)
				assert.Equal(t, buried.Reason, k.Trail(id).Reason)
				assert.Equal(t, 1, k.Number("ZCARD", "morgue"))
			})
		}
	})
}

// isA tells whether there is an error of that type in err.
func isA[E error](err error) bool {
	var wanted E
	return errors.As(err, &wanted)
}

// flakyHome fails for a while.
type flakyHome struct {
	objects.Home
	fail chan error
}

func (h *flakyHome) Get(ctx context.Context, hash objects.Hash) ([]byte, error) {
	select {
	case err := <-h.fail:
		return nil, err
	default:
		return h.Home.Get(ctx, hash)
	}
}

func TestTroubleOnTheWayToAnObjectUsesNoAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		home, err := objects.Directory(t.TempDir())
		require.NoError(t, err)
		flaky := &flakyHome{Home: home, fail: make(chan error, 1)}
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.ObjectHome(home))
		require.NoError(t, err)
		defer enq.Close()
		receipt, err := enq.With(work.Retries(0)).Enqueue(k.Ctx(), "a", long(10_000))
		require.NoError(t, err)
		assert.Zero(t, k.Number("EXISTS", "object:"+k.stored(receipt.ID).Objects[0]), "it is at home")

		flaky.fail <- errors.New("the disk is away")
		options := k.Options()
		options.ObjectHome = flaky
		attempts := make(chan int, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, options).Job("a", func(job *work.Job, text string) error {
			attempts <- job.Attempt
			return nil
		}))
		snoozed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](receipt.ID))
		var trouble *work.ObjectError
		require.ErrorAs(t, snoozed.Err, &trouble)
		assert.Equal(t, 1, trouble.Argument)
		assert.ErrorContains(t, snoozed.Err, "the disk is away")
		k.Until("it waits", func() bool { return k.Number("ZCARD", "scheduled") == 1 })
		assert.Equal(t, 1, k.Number("SCARD", fmt.Sprintf("object:%s:jobs", trouble.Hash)), "and still refers to it")
		assert.Equal(t, 1, pooltest.Receive(t, attempts))
		k.Drained(pool)
		k.Empty("a")
	})
}

// A Redis that refuses an object, and will do so again, is a failure like others.
func TestAnObjectWhoseKeyIsBrokenFailsTheAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("a", long(10_000)).ID
		key := "object:" + k.stored(id).Objects[0]
		k.Do("UNLINK", key)
		k.Do("RPUSH", key, "a list")
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Backoff: pooltest.Hourly}, func(string) error { return nil }))
		failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		var refused *redisconn.ServerError
		require.ErrorAs(t, failed.Err, &refused)
		assert.Equal(t, "WRONGTYPE", refused.Code)
	})
}

// A download that takes longer than the job may fails the attempt, and holds up nobody else.
func TestASlowDownloadHoldsUpItsOwnJobOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		directory, err := objects.Directory(t.TempDir())
		require.NoError(t, err)
		slow := &slowHome{Home: directory}
		options := k.Options()
		options.ObjectHome = slow
		done := make(chan int, 1)
		pool := k.Start(work.NewWorkerPool(nil, 2, options).
			JobWithOptions("large", work.JobOptions{Backoff: pooltest.Hourly, Timeout: 50 * time.Millisecond},
				func(string) error { return nil }).
			Job("small", func(n int) error { done <- n; return nil }))
		receipt, err := pool.Enqueuer().Enqueue(k.Ctx(), "large", long(10_000))
		require.NoError(t, err)
		for i := range 5 {
			k.Enqueue("small", i)
			assert.Equal(t, i, pooltest.Receive(t, done))
		}
		failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](receipt.ID))
		require.ErrorIs(t, failed.Err, work.ErrTimeout)
		assert.True(t, isA[*work.ObjectError](failed.Err))
	})
}

// slowHome gives nothing away until nobody wants it any more.
type slowHome struct{ objects.Home }

func (slowHome) Get(ctx context.Context, _ objects.Hash) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestALargeResultIsAnObject(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		want := pooltest.Report{Lines: 9007199254740993, Notes: map[string]string{"<&>": long(3 << 20)}}
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Retention: time.Hour},
				func() (pooltest.Report, error) { return want, nil }).
			JobWithOptions("small", work.JobOptions{Retention: time.Hour},
				func() (string, error) { return long(jobargs.DefaultLarge), nil }))
		id, small := k.Enqueue("a").ID, k.Enqueue("small").ID
		k.Drained(pool)
		assert.Less(t, k.Number("HSTRLEN", "outcomes", id), 200, "the outcome names it")
		got, err := work.Result[pooltest.Report](k.Ctx(), k.Enq, id)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		got, err = work.Wait[pooltest.Report](k.Ctx(), k.Enq, id)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		require.NoError(t, k.Enq.WaitEnd(k.Ctx(), id))
		text, err := work.Result[string](k.Ctx(), k.Enq, small)
		require.NoError(t, err)
		assert.Len(t, text, jobargs.DefaultLarge-2)

		hashes := k.Strings("ZRANGE", "objects", 0, -1)
		require.Len(t, hashes, 1)
		assert.Equal(t, []string{id}, k.Strings("SMEMBERS", "object:"+hashes[0]+":jobs"))
		k.Do("UNLINK", "object:"+hashes[0])
		_, err = work.Result[pooltest.Report](k.Ctx(), k.Enq, id)
		var vanished *objects.VanishedError
		require.ErrorAs(t, err, &vanished)
		require.NoError(t, k.Enq.WaitEnd(k.Ctx(), id), "which reads no result")
	})
}

// A result may be the very object that the job had as its argument: the end of the job must not take its reference
// away.
func TestAResultThatIsTheArgumentStays(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.ObjectGrace = time.Millisecond
		pool := work.NewWorkerPool(nil, 1, options).
			JobWithOptions("echo", work.JobOptions{Retention: time.Hour},
				func(text string) (string, error) { return text, nil })
		pooltest.Times(pool).Tidy = 5 * time.Millisecond
		want := long(20_000)
		id := k.Enqueue("echo", want).ID
		k.Start(pool)
		k.Drained(pool)
		sha := string(objects.Of(plainJSON(t, want)))
		assert.Equal(t, []string{id}, k.Strings("SMEMBERS", "object:"+sha+":jobs"))
		k.Do("HDEL", "outcomes", id)
		k.Until("the outcome is gone, and with it the object", func() bool { return len(k.Remains("object:")) == 0 })
	})
}

// Once its outcome is not kept any more, a result is nobody's.
func TestAResultGoesWithItsRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.ObjectGrace = time.Millisecond
		pool := work.NewWorkerPool(nil, 1, options).
			JobWithOptions("a", work.JobOptions{Retention: 300 * time.Millisecond},
				func() (string, error) { return long(20_000), nil })
		pooltest.Times(pool).Tidy = 5 * time.Millisecond
		k.Enqueue("a")
		k.Start(pool)
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		k.Until("all is gone", func() bool {
			return len(k.Remains("object")) == 0 &&
				k.Number("HLEN", "outcomes") == 0
		})
	})
}

// A full Redis takes no object, but an outcome: a result of moderate size is kept in that.
func TestAResultThatCannotBeAnObjectIsKeptInTheOutcome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("RPUSH", "objects", "a list") // so that no object can be stored
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Retention: time.Hour},
				func() (string, error) { return long(20_000), nil }).
			JobWithOptions("huge", work.JobOptions{Retention: time.Hour, Backoff: pooltest.Hourly},
				func() (string, error) { return long(2 << 20), nil }))
		id, huge := k.Enqueue("a").ID, k.Enqueue("huge").ID
		got, err := work.Wait[string](k.Ctx(), k.Enq, id)
		require.NoError(t, err)
		assert.Equal(t, long(20_000), got)
		failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](huge))
		assert.True(t, isA[*work.ResultError](failed.Err), "%v", failed.Err)
		k.Drained(pool)
	})
}

// scriptCounter counts the calls of each script, and may do something before one.
type scriptCounter struct {
	redisconn.Driver
	before func(script string) // may be nil

	mu     sync.Mutex
	counts map[string]int
}

func (d *scriptCounter) count(script string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[script]
}

// objects is the store of the namespace.
func (k *kit) objects() *objects.Store {
	k.T.Helper()
	store, err := objects.New(pooltest.StoreOf(k.Enq), objects.Options{})
	require.NoError(k.T, err)
	return store
}

func (d *scriptCounter) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	for _, call := range calls {
		if call.Script == nil {
			continue
		}
		d.mu.Lock()
		if d.counts == nil {
			d.counts = map[string]int{}
		}
		d.counts[pooltest.NameOf(call)]++
		d.mu.Unlock()
		if d.before != nil {
			d.before(pooltest.NameOf(call))
		}
	}
	return d.Driver.Pipeline(ctx, calls...)
}
