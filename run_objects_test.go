package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// Handler and middleware see the arguments as they were given, whatever was set apart.
func TestAHandlerSeesNoDifference(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first, second := long(20_000), report{Lines: 9007199254740993, Notes: map[string]string{"<&>": long(30_000)}}
		type seen struct {
			n      int
			first  string
			second report
			third  *int
			tail   []string
		}
		handled, raw := make(chan seen, 1), make(chan string, 1)
		pool := k.start(NewWorkerPool(nil, 2, k.options()).
			Middleware(func(ctx context.Context, job *Job, next NextFunc) error {
				raw <- string(job.Args)
				return next(ctx)
			}).
			Job("a", func(n int, first string, second report, third *int, tail ...string) error {
				handled <- seen{n, first, second, third, tail}
				return nil
			}))
		receipt := k.enqueue("a", 7, first, second, nil, "b", first)
		assert.Equal(t, seen{7, first, second, nil, []string{"b", first}}, receive(t, handled))
		whole, err := encodeArgs(nil, "a", []any{7, first, second, nil, "b", first}, maxMaxArgsSize)
		require.NoError(t, err)
		assert.Equal(t, string(whole), receive(t, raw))
		k.drained(pool)
		for _, key := range k.remains(":jobs") {
			assert.NotContains(t, key, "object:", "%s has ended and refers to nothing", receipt.ID)
		}
		assert.Equal(t, int64(2), pool.objects.cache.Statistics().Downloads)
		k.empty("a")
	})
}

func TestRefsAreBoundAndReadWhenTheHandlerWants(t *testing.T) {
	t.Parallel()
	type wrapped struct{ Inner objects.Ref[[]int] }
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		shared, err := objects.Share(k.ctx(), k.objects(), []int{1, 2, 3})
		require.NoError(t, err)
		values := make(chan []int, 4)
		var pool *WorkerPool
		read := func(ctx context.Context, ref objects.Ref[[]int]) error {
			value, err := ref.Value(ctx)
			values <- value
			return err
		}
		pool = NewWorkerPool(nil, 1, k.options()).
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
		k.start(pool)
		k.enqueue("never", shared)
		k.drained(pool)
		assert.Zero(t, pool.objects.cache.Statistics().Downloads, "nobody asked for it")
		for _, name := range []string{"value", "pointer", "tail"} {
			k.enqueue(name, shared)
			assert.Equal(t, []int{1, 2, 3}, receive(t, values), name)
		}
		k.enqueue("deeper", wrapped{shared})
		assert.Equal(t, []int{1, 2, 3}, receive(t, values), "deeper")
		k.enqueue("nil", (*objects.Ref[[]int])(nil), shared)
		k.drained(pool)
		assert.Equal(t, int64(1), pool.objects.cache.Statistics().Downloads)
		assert.Zero(t, count[event.JobFailed](k.spy))
		k.empty("value")
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
		{"vanished", func(k *kit, _, sha string) { k.do("UNLINK", "object:"+sha) },
			func(err error) bool { return isA[*objects.VanishedError](err) }, "has vanished"},
		{"changed", func(k *kit, _, sha string) { k.do("SETRANGE", "object:"+sha, 5, "y") },
			func(err error) bool { return isA[*objects.MismatchError](err) }, "was changed by somebody"},
		{"a hash that is none", func(k *kit, id, sha string) {
			k.do("HSET", "jobs", id, strings.Replace(k.text("HGET", "jobs", id), sha, "../"+sha[3:], 1))
		}, func(err error) bool { return isA[*objects.HashError](err) }, "is no hash of an object"},
		{"an argument that the record has not", func(k *kit, id, _ string) {
			k.do("HSET", "jobs", id, strings.Replace(k.text("HGET", "jobs", id), `"objects":{"0"`, `"objects":{"9"`, 1))
		}, func(error) bool { return true }, "the record has 1 arguments"},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				k := newKit(t, s)
				id := k.enqueue("a", long(10_000)).ID
				sha := k.stored(id).Objects[0]
				row.damage(k, id, sha)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(string) error {
					t.Error("it was called")
					return nil
				}))
				buried := await(t, k.spy, ofJob[event.JobBuried](id))
				var refused *ObjectError
				require.ErrorAs(t, buried.Err, &refused)
				assert.True(t, row.cause(buried.Err), "%v", buried.Err)
				assert.Contains(t, buried.Reason, row.text)
				assert.Contains(t, buried.Reason, "argument ")
				k.drained(pool)
				assert.Equal(t, buried.Reason, k.trail(id).Reason)
				assert.Equal(t, 1, k.number("ZCARD", "morgue"))
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
		enq, err := NewEnqueuer(s.DSN(), Namespace(k.namespace), ObjectHome(home))
		require.NoError(t, err)
		defer enq.Close()
		receipt, err := enq.With(Retries(0)).Enqueue(k.ctx(), "a", long(10_000))
		require.NoError(t, err)
		assert.Zero(t, k.number("EXISTS", "object:"+k.stored(receipt.ID).Objects[0]), "it is at home")

		flaky.fail <- errors.New("the disk is away")
		options := k.options()
		options.ObjectHome = flaky
		attempts := make(chan int, 1)
		pool := k.start(NewWorkerPool(nil, 1, options).Job("a", func(job *Job, text string) error {
			attempts <- job.Attempt
			return nil
		}))
		snoozed := await(t, k.spy, ofJob[event.JobSnoozed](receipt.ID))
		var trouble *ObjectError
		require.ErrorAs(t, snoozed.Err, &trouble)
		assert.Equal(t, 1, trouble.Argument)
		assert.ErrorContains(t, snoozed.Err, "the disk is away")
		k.until("it waits", func() bool { return k.number("ZCARD", "scheduled") == 1 })
		assert.Equal(t, 1, k.number("SCARD", fmt.Sprintf("object:%s:jobs", trouble.Hash)), "and still refers to it")
		assert.Equal(t, 1, receive(t, attempts))
		k.drained(pool)
		k.empty("a")
	})
}

// A Redis that refuses an object, and will do so again, is a failure like others.
func TestAnObjectWhoseKeyIsBrokenFailsTheAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.enqueue("a", long(10_000)).ID
		key := "object:" + k.stored(id).Objects[0]
		k.do("UNLINK", key)
		k.do("RPUSH", key, "a list")
		k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Backoff: hourly}, func(string) error { return nil }))
		failed := await(t, k.spy, ofJob[event.JobFailed](id))
		var refused *rdb.ServerError
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
		options := k.options()
		options.ObjectHome = slow
		done := make(chan int, 1)
		pool := k.start(NewWorkerPool(nil, 2, options).
			JobWithOptions("large", JobOptions{Backoff: hourly, Timeout: 50 * time.Millisecond},
				func(string) error { return nil }).
			Job("small", func(n int) error { done <- n; return nil }))
		receipt, err := pool.Enqueuer().Enqueue(k.ctx(), "large", long(10_000))
		require.NoError(t, err)
		for i := range 5 {
			k.enqueue("small", i)
			assert.Equal(t, i, receive(t, done))
		}
		failed := await(t, k.spy, ofJob[event.JobFailed](receipt.ID))
		require.ErrorIs(t, failed.Err, ErrTimeout)
		assert.True(t, isA[*ObjectError](failed.Err))
	})
}

// slowHome gives nothing away until nobody wants it any more.
type slowHome struct{ objects.Home }

func (slowHome) Get(ctx context.Context, _ objects.Hash) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
