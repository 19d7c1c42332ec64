package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestACompletionQueueTellsHowJobsEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		rows := []struct {
			name    string
			handler func() error
			want    work.State
		}{
			{"done", func() error { return nil }, work.StateSucceeded},
			{"discarded", func() error { return work.Discard(nil) }, work.StateDiscarded},
			{"out of retries", func() error { return errors.New("boom") }, work.StateDead},
			{"buried", func() error { return work.Bury(nil) }, work.StateDead},
		}
		pool := work.NewWorkerPool(nil, 4, k.Options())
		for _, row := range rows {
			pool.JobWithOptions(row.name, work.JobOptions{Retries: -1}, row.handler)
		}
		pool.JobWithOptions("result", work.JobOptions{Retention: time.Hour}, func() (int, error) { return 5, nil })
		k.Start(pool)
		enq := k.Enq.With(work.Completion("ends"))
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				receipt, err := enq.Enqueue(k.Ctx(), row.name)
				require.NoError(t, err)
				got, err := k.Enq.Completions("ends").Next(k.Ctx())
				require.NoError(t, err)
				assert.Equal(t, work.Ended{ID: receipt.ID, State: row.want}, got)
			})
		}
		t.Run("with a result", func(t *testing.T) {
			_, err := enq.Enqueue(k.Ctx(), "result")
			require.NoError(t, err)
			got, err := k.Enq.Completions("ends").Next(k.Ctx())
			require.NoError(t, err)
			result, err := work.Result[int](k.Ctx(), k.Enq, got.ID)
			require.NoError(t, err)
			assert.Equal(t, 5, result)
		})
		k.Enqueue("done")
		k.Drained(pool)
		assert.Zero(t, k.Number("EXISTS", "completion:ends"), "a job without one is none of its business")
	})
}

// Many readers in several programs share the jobs of many others, while their connections break.
func TestEachEndIsToldOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		k.Start(work.NewWorkerPool(nil, 8, k.Options()).Job("a", func(int) error { return nil }))
		const jobs = 300
		told := make(chan string, jobs)
		ctx, cancel := context.WithCancel(k.Ctx())
		readers := make(chan error, 6)
		for i := range 6 {
			dsn := proxy.DSN()
			if i%2 == 0 {
				dsn = s.DSN()
			}
			enq, err := work.NewEnqueuer(dsn, work.Namespace(k.Namespace))
			require.NoError(t, err)
			defer enq.Close() // everything has been read
			go func() {
				for ended, err := range enq.Completions("ends").All(ctx) {
					if err != nil {
						readers <- err
						return
					}
					told <- ended.ID
				}
			}()
		}
		var want, got []string
		for i := range jobs {
			receipt, err := k.Enq.With(work.Completion("ends")).Enqueue(k.Ctx(), "a", i)
			require.NoError(t, err)
			want = append(want, receipt.ID)
			if i%50 == 0 {
				proxy.Cut()
			}
		}
		for range jobs {
			got = append(got, pooltest.Receive(t, told))
		}
		cancel()
		for range 6 {
			require.ErrorIs(t, pooltest.Receive(t, readers), context.Canceled)
		}
		slices.Sort(want)
		slices.Sort(got)
		assert.Equal(t, want, got)
		assert.Empty(t, told)
	})
}

// The answer with which an entry was taken is lost, and the caller gives up: the next one gets it.
func TestALostAnswerLosesNoEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		b := enginetest.NewEnqueueBench(t, s, proxy.DSN())
		ends := b.Completions("ends")
		b.Command(t, "LPUSH", b.Key("completion:ends"), "done a", "done b", "odd", "cancelled c", "done d")
		for _, want := range []work.Ended{{ID: "a", State: work.StateSucceeded},
			{ID: "b", State: work.StateSucceeded}} {
			lost := proxy.SwallowReply("completion:ends")
			got, err := ends.Next(t.Context())
			require.NoError(t, err)
			pooltest.Receive(t, lost)
			assert.Equal(t, want, got)
		}
		_, err := ends.Next(t.Context())
		var strange *redisconn.UnexpectedReplyError
		require.ErrorAs(t, err, &strange, "what cannot be read is told once")
		proxy.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = ends.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `completion queue "ends": `)
		proxy.Resume()
		for _, want := range []work.Ended{{ID: "c", State: work.StateCancelled},
			{ID: "d", State: work.StateSucceeded}} {
			got, err := b.Completions("ends").Next(t.Context())
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	})
}

func TestNextEnds(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		assert.Same(t, b.Completions("ends"), b.With(work.Front()).Completions("ends"), "a name has one reader")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancelled := later(func() (work.Ended, error) { return b.Completions("ends").Next(ctx) })
		closed := later(func() (work.Ended, error) { return b.Completions("ends").Next(t.Context()) })
		cancel(errors.New("enough"))
		_, err := cancelled()
		require.EqualError(t, err, `completion queue "ends": enough`)
		require.NoError(t, b.Close())
		_, err = closed()
		require.ErrorIs(t, err, work.ErrClosed)
		_, err = b.Completions("other").Next(t.Context())
		require.ErrorIs(t, err, work.ErrClosed)
	})
}

func TestCompletionRefusesWhatIsNoName(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for _, name := range []string{"", "a\nb"} {
			t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
				_, err := b.With(work.Completion(name)).Enqueue(t.Context(), "a")
				var refused *work.InvalidError
				require.ErrorAs(t, err, &refused)
				require.ErrorContains(t, err, "option Completion: ")
				_, err = b.Completions(name).Next(t.Context())
				require.ErrorAs(t, err, &refused)
			})
		}
		b.Command(t, "SET", b.Key("completion:ends"), "something else")
		_, err := b.Completions("ends").Next(t.Context())
		require.ErrorContains(t, err, `completion queue "ends": BADKEY`)
	})
}

// A full Redis lets nobody wait, but gives what is there.
func TestAFullRedisGivesCompletions(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t, "--maxmemory-policy", "noeviction")
		enq, err := work.NewEnqueuer(server.DSN())
		require.NoError(t, err)
		defer enq.Close() // everything has been read
		driver, err := redisconn.Open(server.DSN())
		require.NoError(t, err)
		defer driver.Close() // everything was answered
		do := func(command string, args ...any) {
			replies, err := driver.Pipeline(t.Context(), redisconn.Call{Command: command, Args: args})
			require.NoError(t, err)
			require.NoError(t, replies[0].Err)
		}
		do("LPUSH", "{work}:completion:ends", "done a")
		do("CONFIG", "SET", "maxmemory", "1mb")
		got, err := enq.Completions("ends").Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "a", got.ID)
		for wait := 50 * time.Millisecond; ; wait *= 2 { // it takes a connection to be told
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			_, err = enq.Completions("ends").Next(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if strings.Contains(err.Error(), "OOM") || wait > pooltest.Patience {
				break
			}
		}
		require.ErrorContains(t, err, "OOM", "and why it could not wait")
		do("CONFIG", "SET", "maxmemory", "0")
		next := later(func() (work.Ended, error) { return enq.Completions("ends").Next(t.Context()) })
		do("LPUSH", "{work}:completion:ends", "done b")
		got, err = next()
		require.NoError(t, err)
		assert.Equal(t, "b", got.ID)
	})
}

// dialled counts the connections that are made outside of the pool.
type dialled struct {
	redisconn.Driver
	count atomic.Int64
}

func (d *dialled) Dial(ctx context.Context) (redisconn.Conn, error) {
	d.count.Add(1)
	return d.Driver.Dial(ctx)
}

// TestAReaderOfACompletionQueueKeepsItsConnection: entries may come by the thousand, each while it waits.
func TestAReaderOfACompletionQueueKeepsItsConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing))
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		d := &dialled{Driver: driver}
		enq := pooltest.EnqueuerOn(d, k.Namespace)
		ended := make(chan work.Ended)
		reading, stop := context.WithCancel(k.Ctx())
		read := make(chan struct{})
		go func() {
			defer close(read)
			for end, err := range enq.Completions("ends").All(reading) {
				if err == nil {
					ended <- end
				}
			}
		}()
		for range 50 {
			receipt, err := k.Enq.With(work.Completion("ends")).Enqueue(k.Ctx(), "a")
			require.NoError(t, err)
			assert.Equal(t, receipt.ID, pooltest.Receive(t, ended).ID)
		}
		assert.LessOrEqual(t, d.count.Load(), int64(3), "of 50 waits")
		stop()
		<-read
		require.NoError(t, enq.Close())
	})
}
