package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestACompletionQueueTellsHowJobsEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		rows := []struct {
			name    string
			handler func() error
			want    State
		}{
			{"done", func() error { return nil }, StateSucceeded},
			{"discarded", func() error { return Discard(nil) }, StateDiscarded},
			{"out of retries", func() error { return errors.New("boom") }, StateDead},
			{"buried", func() error { return Bury(nil) }, StateDead},
		}
		pool := NewWorkerPool(nil, 4, k.options())
		for _, row := range rows {
			pool.JobWithOptions(row.name, JobOptions{Retries: -1}, row.handler)
		}
		pool.JobWithOptions("result", JobOptions{Retention: time.Hour}, func() (int, error) { return 5, nil })
		k.start(pool)
		enq := k.enq.With(Completion("ends"))
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				receipt, err := enq.Enqueue(k.ctx(), row.name)
				require.NoError(t, err)
				got, err := k.enq.Completions("ends").Next(k.ctx())
				require.NoError(t, err)
				assert.Equal(t, Ended{ID: receipt.ID, State: row.want}, got)
			})
		}
		t.Run("with a result", func(t *testing.T) {
			_, err := enq.Enqueue(k.ctx(), "result")
			require.NoError(t, err)
			got, err := k.enq.Completions("ends").Next(k.ctx())
			require.NoError(t, err)
			result, err := Result[int](k.ctx(), k.enq, got.ID)
			require.NoError(t, err)
			assert.Equal(t, 5, result)
		})
		k.enqueue("done")
		k.drained(pool)
		assert.Zero(t, k.number("EXISTS", "completion:ends"), "a job without one is none of its business")
	})
}

// Many readers in several programs share the jobs of many others, while their connections break.
func TestEachEndIsToldOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		k.start(NewWorkerPool(nil, 8, k.options()).Job("a", func(int) error { return nil }))
		const jobs = 300
		told := make(chan string, jobs)
		ctx, cancel := context.WithCancel(k.ctx())
		readers := make(chan error, 6)
		for i := range 6 {
			dsn := proxy.DSN()
			if i%2 == 0 {
				dsn = s.DSN()
			}
			enq, err := NewEnqueuer(dsn, Namespace(k.namespace))
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
			receipt, err := k.enq.With(Completion("ends")).Enqueue(k.ctx(), "a", i)
			require.NoError(t, err)
			want = append(want, receipt.ID)
			if i%50 == 0 {
				proxy.Cut()
			}
		}
		for range jobs {
			got = append(got, receive(t, told))
		}
		cancel()
		for range 6 {
			require.ErrorIs(t, receive(t, readers), context.Canceled)
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
		b := newEnqueueBench(t, s, proxy.DSN())
		ends := b.Completions("ends")
		b.command(t, "LPUSH", b.key("completion:ends"), "done a", "done b", "odd", "cancelled c", "done d")
		for _, want := range []Ended{{"a", StateSucceeded}, {"b", StateSucceeded}} {
			lost := proxy.SwallowReply("completion:ends")
			got, err := ends.Next(t.Context())
			require.NoError(t, err)
			receive(t, lost)
			assert.Equal(t, want, got)
		}
		_, err := ends.Next(t.Context())
		var strange *rdb.UnexpectedReplyError
		require.ErrorAs(t, err, &strange, "what cannot be read is told once")
		proxy.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = ends.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `completion queue "ends": `)
		proxy.Resume()
		for _, want := range []Ended{{"c", StateCancelled}, {"d", StateSucceeded}} {
			got, err := b.Completions("ends").Next(t.Context())
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	})
}

func TestNextEnds(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		assert.Same(t, b.Completions("ends"), b.With(Front()).Completions("ends"), "a name has one reader")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancelled := later(func() (Ended, error) { return b.Completions("ends").Next(ctx) })
		closed := later(func() (Ended, error) { return b.Completions("ends").Next(t.Context()) })
		cancel(errors.New("enough"))
		_, err := cancelled()
		require.EqualError(t, err, `completion queue "ends": enough`)
		require.NoError(t, b.Close())
		_, err = closed()
		require.ErrorIs(t, err, ErrClosed)
		_, err = b.Completions("other").Next(t.Context())
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestCompletionRefusesWhatIsNoName(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		for _, name := range []string{"", "a\nb"} {
			t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
				_, err := b.With(Completion(name)).Enqueue(t.Context(), "a")
				var refused *InvalidError
				require.ErrorAs(t, err, &refused)
				require.ErrorContains(t, err, "option Completion: ")
				_, err = b.Completions(name).Next(t.Context())
				require.ErrorAs(t, err, &refused)
			})
		}
		b.command(t, "SET", b.key("completion:ends"), "something else")
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
		enq, err := NewEnqueuer(server.DSN())
		require.NoError(t, err)
		defer enq.Close() // everything has been read
		driver, err := rdb.Open(server.DSN())
		require.NoError(t, err)
		defer driver.Close() // everything was answered
		do := func(command string, args ...any) {
			replies, err := driver.Pipeline(t.Context(), rdb.Call{Command: command, Args: args})
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
			if strings.Contains(err.Error(), "OOM") || wait > patience {
				break
			}
		}
		require.ErrorContains(t, err, "OOM", "and why it could not wait")
		do("CONFIG", "SET", "maxmemory", "0")
		next := later(func() (Ended, error) { return enq.Completions("ends").Next(t.Context()) })
		do("LPUSH", "{work}:completion:ends", "done b")
		got, err = next()
		require.NoError(t, err)
		assert.Equal(t, "b", got.ID)
	})
}
