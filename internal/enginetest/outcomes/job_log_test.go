package outcomes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestAJobWritesALogThatCanBeReadWhileItRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			job.Logger().Info("begun", "rows", 3)
			job.Logger().With("part", "a").WithGroup("of").Warn("careful", "x", "ü\x00\n<")
			job.Logger().Debug("not kept")
			<-release
			job.Logger().Error("failed", "attempt", "mine")
			return pooltest.ErrLuck
		}))
		before := time.Now()
		id := k.Enqueue("long").ID
		k.Logged(id, 2)
		lines, err := k.Inspector().Log(k.Ctx(), id, 0)
		require.NoError(t, err)
		require.Len(t, lines, 2)
		assert.WithinRange(t, lines[0].Time, before.Add(-time.Second), time.Now().Add(time.Second))
		assert.Equal(t, inspect.LogLine{Number: 1, Time: lines[0].Time, Message: "begun", Attempt: 1,
			Attrs: []byte(`{"rows":3}`)}, lines[0])
		assert.Equal(t, inspect.LogLine{Number: 2, Time: lines[1].Time, Level: slog.LevelWarn, Message: "careful",
			Attempt: 1,
			Attrs:   []byte(`{"part":"a","of":{"x":"ü\u0000\n<"}}`)}, lines[1])
		close(release)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		assert.Equal(t, []string{"begun", "careful", "failed"}, k.Messages(id), "all is there when the outcome is")
		last, err := k.Inspector().Log(k.Ctx(), id, 1)
		require.NoError(t, err)
		assert.Equal(t, "failed", last[0].Message)
		assert.JSONEq(t, `{"attempt":"mine"}`, string(last[0].Attrs), "what the program names so is not taken for ours")
		assert.True(t, k.Trail(id).Log, "so that it goes away with the job")
		assert.False(t, k.Trail(id).State)
		k.NoTrouble(t)
	})
}

// TestALogEndsWithItsJob: each row ends a job that has logged and saved.
func TestALogEndsWithItsJob(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  error
		left int
	}{
		"done":      {nil, 0},
		"discarded": {work.Discard(nil), 0},
		"buried":    {work.Bury(pooltest.ErrLuck), 2},
		"failed":    {pooltest.ErrLuck, 2},
		"snoozed":   {work.Snooze(time.Hour), 2},
		"released":  {work.Release(nil), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
					job.Logger().Info("here")
					require.NoError(t, job.SaveState(k.Ctx(), 7))
					return tt.end
				}))
				id := k.Enqueue("long").ID
				k.Until("it is settled", func() bool {
					return k.Number("HLEN", "claimed") == 0 &&
						k.Number("LLEN", "queue:long") == 0
				})
				k.Drained(pool)
				assert.Len(t, k.Left(), tt.left)
				if tt.left > 0 {
					assert.True(t, k.Trail(id).Log && k.Trail(id).State)
				} else {
					k.Empty("long")
				}
				k.NoTrouble(t)
			})
		})
	}
}

func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines, bytes, most, least int
	}{
		"many lines":  {5000, 10, 1000, 500},
		"large lines": {400, 3500, 80, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
					for i := range tt.lines {
						job.Logger().Info("line", "i", i, "text", strings.Repeat("x", tt.bytes))
					}
					return pooltest.ErrLuck
				}))
				id := k.Enqueue("long").ID
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
				k.Drained(pool)
				lines, err := k.Inspector().Log(k.Ctx(), id, 0)
				require.NoError(t, err)
				assert.LessOrEqual(t, len(lines), tt.most)
				assert.GreaterOrEqual(t, len(lines), tt.least)
				assert.Contains(t, string(lines[len(lines)-1].Attrs), fmt.Sprintf(`"i":%d,`, tt.lines-1),
					"the newest are kept")
				bytes := 0
				for i, line := range k.Strings("LRANGE", "log:"+id, 1, -1) {
					bytes += len(line)
					assert.True(t, i == 0 || lines[i].Number == lines[i-1].Number+1)
				}
				assert.LessOrEqual(t, bytes, 256<<10)
				assert.Positive(t, k.Number("PTTL", "log:"+id))
				k.NoTrouble(t)
			})
		})
	}
}

func TestHostileLinesAreKeptInBounds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			log := job.Logger()
			log.Info("a\xffb\x00\n# 1 2 3 4")
			log.Info(strings.Repeat("ü", 1<<20))
			log.With("huge", strings.Repeat("x", 1<<20)).Warn("too long")
			log.Info("panics", "v", panicking{})
			log.Info("no json", "f", func() {})
			log.Info("", "err", errors.New("x\r\ny"))
			return pooltest.ErrLuck
		}))
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		lines, err := k.Inspector().Log(k.Ctx(), id, 0)
		require.NoError(t, err)
		require.Len(t, lines, 6)
		assert.Equal(t, "a\uFFFDb\x00\n# 1 2 3 4", lines[0].Message)
		assert.Len(t, lines[1].Message, 1023)
		assert.Equal(t, slog.LevelWarn, lines[2].Level)
		assert.Regexp(t, `^{"left_out":10\d{5}}$`, string(lines[2].Attrs))
		assert.Contains(t, string(lines[3].Attrs), "panic")
		assert.JSONEq(t, `{"err":"x\r\ny"}`, string(lines[5].Attrs))
		k.NoTrouble(t)
	})
}

// panicking is a value that cannot be logged.
type panicking struct{}

func (panicking) LogValue() slog.Value { panic("hostile") }

func TestALoggerMayBeUsedByManyGoroutinesAndAfterItsJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		kept := make(chan *work.Job, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					for range 20 {
						job.Logger().Info(fmt.Sprint(i))
					}
				})
			}
			all.Wait()
			kept <- job
			return pooltest.ErrLuck
		}))
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		assert.Len(t, k.Messages(id), 200)
		late := pooltest.Receive(t, kept)
		late.Logger().Info("after its end")
		require.ErrorIs(t, late.SaveState(k.Ctx(), 1), work.ErrAttemptOver)
		assert.Len(t, k.Messages(id), 200)
		assert.Empty(t, k.Remains(":state:"))
	})
}

func TestALogGoesToThePoolsLoggerOnRequest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mirrored pooltest.LockedBuffer
		options := k.Options()
		options.MirrorJobLogs = true
		options.Logger = slog.New(slog.NewTextHandler(&mirrored, &slog.HandlerOptions{Level: slog.LevelDebug}))
		pool := k.Start(work.NewWorkerPool(nil, 1, options).Job("long", func(job *work.Job) error {
			job.Logger().With("a", 1).WithGroup("g").Info("to both", "b", 2)
			job.Logger().Debug("to one")
			return pooltest.ErrLuck
		}))
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		assert.Equal(t, []string{"to both"}, k.Messages(id))
		assert.Contains(t, mirrored.String(), `msg="to both" job=`+id+` name=long a=1 g.b=2`)
		assert.Contains(t, mirrored.String(), `msg="to one" job=`+id)
	})
}

func TestALoggerOfAJobThatNoPoolRuns(t *testing.T) {
	t.Parallel()
	job := &work.Job{ID: "by hand"}
	assert.NotNil(t, job.Logger())
	require.NoError(t, job.Progress(1))
	require.ErrorIs(t, job.SaveState(t.Context(), 1), work.ErrNoPool)
	_, err := job.LoadState(t.Context(), new(int))
	require.ErrorIs(t, err, work.ErrNoPool)
}

// TestALogWhoseRepliesAreLostHasEachLineOnce: every other batch is executed and not answered.
func TestALogWhoseRepliesAreLostHasEachLineOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			for i := range 200 {
				job.Logger().Info(fmt.Sprint(i))
			}
			return pooltest.ErrLuck
		})
		k.LoseReplies(pool, "log", func(sent int) bool { return sent%2 == 1 })
		k.Start(pool)
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		messages := k.Messages(id)
		require.Len(t, messages, 200)
		for i, message := range messages {
			assert.Equal(t, fmt.Sprint(i), message)
		}
	})
}

// TestALongJobGoesOnWithoutRedis: what it logs meanwhile is held, and what is too much is dropped and counted.
func TestALongJobGoesOnWithoutRedis(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		away, back := make(chan struct{}), make(chan struct{})
		said, saved := make(chan struct{}), make(chan error, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(ctx context.Context, job *work.Job) error {
			<-away
			for i := range 3000 {
				job.Logger().Info(fmt.Sprint(i))
			}
			close(said)
			saved <- job.SaveState(ctx, "saved late")
			<-back
			return pooltest.ErrLuck
		})
		gone := make(chan struct{})
		refused := make(chan struct{}, 1)
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, batch []redisconn.Call,
		) ([]redisconn.Reply, error) {
			select {
			case <-gone:
				return pass(ctx, batch...)
			default:
			}
			if name := pooltest.NameOf(batch[0]); name != "log" && name != "save" {
				return pass(ctx, batch...)
			}
			select {
			case refused <- struct{}{}:
			default:
			}
			return nil, &redisconn.DialError{Addr: "nowhere", Err: pooltest.ErrLuck}
		}})
		k.Start(pool)
		id := k.Enqueue("long").ID
		close(away)
		pooltest.Receive(t, said)
		pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "log flusher" })
		assert.Empty(t, saved, "it waits for Redis")
		close(gone) // Redis is back
		require.NoError(t, pooltest.Receive(t, saved))
		close(back)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		pooltest.Await(t, k.Spy, func(e event.TroubleOver) bool { return e.Component == "log flusher" })
		messages := k.Messages(id)
		assert.Equal(t, "2999", messages[len(messages)-1])
		told, notices := 0, 0
		lines, err := k.ByHand().Lines(k.Ctx(), id)
		require.NoError(t, err)
		for _, line := range lines {
			if strings.Contains(line.Message, "lines of this log were dropped") {
				dropped := 0
				_, err := fmt.Sscanf(line.Message, "%d lines", &dropped)
				require.NoError(t, err)
				told += dropped
				notices++
				assert.Equal(t, fmt.Sprintf(`{"dropped":%d}`, dropped), string(line.Attrs))
				assert.False(t, line.Time.IsZero())
			}
		}
		assert.Equal(t, 3000, told+len(lines)-notices, "each line is there or counted")
		assert.Equal(t, `"saved late"`, k.StateIn(id))
	})
}

// TestALogThatRedisRefusesHoldsNoOutcomeBack: somebody else has put something into its place.
func TestALogThatRedisRefusesHoldsNoOutcomeBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			k.Do("SET", "log:"+job.ID, "of another type")
			job.Logger().Info("lost")
			return nil
		}))
		id := k.Enqueue("long").ID
		trouble := pooltest.Await(t, k.Spy,
			func(e event.Trouble) bool { return strings.HasPrefix(e.Component, "log flusher, log of long ") })
		assert.ErrorContains(t, trouble.Err, "log:"+id)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		k.Drained(pool)
		k.Empty("long")
		assert.Empty(t, k.Left(), "it goes away with the job, whatever it is")
	})
}

// TestALongJobInAFullRedisRealRedis needs maxmemory.
func TestALongJobInAFullRedisRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t, "--maxmemory-policy", "noeviction")
		k := newKit(t, server.Server())
		conn, err := redis.Dial("tcp", server.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		config := func(memory string) {
			_, err := conn.Do("CONFIG", "SET", "maxmemory", memory)
			require.NoError(t, err)
		}
		step := make(chan struct{})
		results := make(chan error)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("long", func(ctx context.Context, job *work.Job) error {
				<-step
				job.Logger().Info("when it was full")
				results <- job.SaveState(ctx, 1)
				<-step
				results <- job.SaveState(ctx, 2)
				<-step
				job.Logger().Info("full again")
				results <- job.SaveState(ctx, 3)
				return pooltest.ErrLuck
			}))
		id := k.Enqueue("long").ID
		k.Until("it runs", func() bool { return k.Number("HLEN", "claimed") == 1 })
		config("1mb")
		step <- struct{}{}
		require.ErrorIs(t, pooltest.Receive(t, results), work.ErrRedisFull)
		pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "log flusher" })
		assert.Empty(t, k.Left())
		config("0")
		step <- struct{}{}
		require.NoError(t, pooltest.Receive(t, results))
		k.Logged(id, 1)
		config("1mb")
		step <- struct{}{}
		require.ErrorIs(t, pooltest.Receive(t, results), work.ErrRedisFull)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Until("it is settled", func() bool { return k.Number("HLEN", "claimed") == 0 })
		assert.Equal(t, []string{"when it was full"}, k.Messages(id),
			"what came when it was full again is lost, the outcome is not")
		assert.Equal(t, "2", k.StateIn(id))
		config("0")
		k.Drained(pool)
	})
}

// TestAnOutcomeDoesNotWaitForTheLogFlusher: whatever the flusher has under way, the log goes with the outcome, whole
// and in order.
func TestAnOutcomeDoesNotWaitForTheLogFlusher(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		flushing, settled := make(chan struct{}, 10), make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			for i := range 100 {
				job.Logger().Info(fmt.Sprint(i))
			}
			pooltest.Receive(t, flushing)
			job.Logger().Info("the last words")
			return pooltest.ErrLuck
		})
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, batch []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(batch[len(batch)-1]) == "log" {
				flushing <- struct{}{}
				select {
				case <-settled: // what was under way comes late
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return pass(ctx, batch...)
		}})
		k.Start(pool)
		id := k.Enqueue("long").ID
		k.Until("the outcome is in Redis", func() bool { return k.Number("ZCARD", "retry") == 1 })
		want := make([]string, 101)
		for i := range want {
			want[i] = fmt.Sprint(i)
		}
		want[100] = "the last words"
		assert.Equal(t, want, k.Messages(id))
		close(settled)
		require.NoError(t, pool.Stop(k.Ctx()))
		assert.Equal(t, want, k.Messages(id), "and each line once")
		k.NoTrouble(t)
	})
}
