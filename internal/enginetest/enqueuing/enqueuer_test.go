package enqueuing_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

func TestEnqueueStoresTheJob(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		before := time.Now().Add(-time.Minute)
		receipt, err := b.Enqueue(t.Context(), "create_watch", 1234567890123456789, "<a> & é\n", nil, []int{},
			map[string]int{"b": 1}, true)
		require.NoError(t, err)
		assert.Len(t, receipt.ID, 22)
		assert.Equal(t, "create_watch", receipt.Name)
		assert.WithinRange(t, receipt.RunAt, before, time.Now().Add(time.Minute))
		assert.False(t, receipt.Duplicate)
		got := b.Waiting(t, "create_watch")
		require.Len(t, got, 1)
		assert.Equal(t, receipt.ID, got[0].ID)
		assert.Equal(t, "create_watch", got[0].Name)
		assert.Equal(t, `[1234567890123456789,"<a> & é\n",null,[],{"b":1},true]`, string(got[0].Args))
		assert.WithinRange(t, time.UnixMilli(got[0].EnqueuedAt), before, time.Now().Add(time.Minute))
		assert.Equal(t, record.Record{ID: got[0].ID, Name: got[0].Name, Args: got[0].Args,
			EnqueuedAt: got[0].EnqueuedAt}, got[0], "no other field")
	})
}

func TestEnqueueWithoutArgs(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		_, err := b.Enqueue(t.Context(), "größe 1")
		require.NoError(t, err)
		got := b.Waiting(t, "größe 1")
		require.Len(t, got, 1)
		assert.Equal(t, `[]`, string(got[0].Args))
	})
}

func TestEnqueueMethodsPlaceTheJob(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	for _, c := range []struct {
		name    string
		enqueue func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error)
		source  int64
		in      time.Duration // 0: at soon
		now     bool
	}{
		{name: "Enqueue", now: true,
			enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error) {
				return e.Enqueue(ctx, "a", 1)
			}},
		{name: "EnqueueIn", in: time.Hour, enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error) {
			return e.EnqueueIn(ctx, "a", time.Hour, 1)
		}},
		{name: "EnqueueIn zero", now: true, enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error) {
			return e.EnqueueIn(ctx, "a", 0, 1)
		}},
		{name: "EnqueueAt", enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt,
			error) {
			return e.EnqueueAt(ctx, "a", soon, 1)
		}},
		{name: "SourcedEnqueue", now: true, source: 7,
			enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error) {
				return e.SourcedEnqueue(ctx, "a", 7, 1)
			}},
		{name: "SourcedEnqueueIn", in: time.Hour, source: 7,
			enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error) {
				return e.SourcedEnqueueIn(ctx, "a", 7, time.Hour, 1)
			}},
		{name: "SourcedEnqueueAt", source: -7,
			enqueue: func(ctx context.Context, e *work.Enqueuer) (work.Receipt, error) {
				return e.SourcedEnqueueAt(ctx, "a", -7, soon, 1)
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
				receipt, err := c.enqueue(t.Context(), b.Enqueuer)
				require.NoError(t, err)
				scheduled := b.Scheduled(t)
				if c.now {
					assert.Empty(t, scheduled)
					got := b.Waiting(t, "a")
					require.Len(t, got, 1)
					assert.Equal(t, c.source, got[0].Source)
					assert.Zero(t, got[0].RunAt)
					return
				}
				require.Len(t, scheduled, 1)
				assert.Equal(t, "a", scheduled[0].Queue)
				assert.Equal(t, receipt.ID, scheduled[0].ID)
				assert.Equal(t, receipt.RunAt.UnixMilli(), scheduled[0].Due.UnixMilli())
				stored, err := b.Store.Record(t.Context(), receipt.ID)
				require.NoError(t, err)
				r, err := record.Decode(stored)
				require.NoError(t, err)
				assert.Equal(t, c.source, r.Source)
				assert.WithinDuration(t, receipt.RunAt, time.UnixMilli(r.RunAt), time.Minute)
				if c.in > 0 {
					assert.WithinDuration(t, time.Now().Add(c.in), receipt.RunAt, time.Minute)
				} else {
					assert.Equal(t, soon.UnixMilli(), receipt.RunAt.UnixMilli())
					assert.Equal(t, soon.UnixMilli(), r.RunAt)
				}
			})
		})
	}
}

func TestEnqueueAtAPassedTimeIsDueAtOnce(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		past := time.Now().Add(-time.Hour)
		receipt, err := b.EnqueueAt(t.Context(), "a", past)
		require.NoError(t, err)
		assert.True(t, past.Equal(receipt.RunAt))
		assert.Len(t, b.Waiting(t, "a"), 1)
		assert.Empty(t, b.Scheduled(t))
	})
}

func TestEnqueueOptionsAreInTheRecord(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		with := b.With(work.Retries(3), work.Timeout(time.Minute), work.Meta("a", "1"), work.Meta("b", "1"),
			work.Retention(time.Hour))
		receipts, err := with.EnqueueMany(t.Context(), []work.Entry{
			{Name: "a"},
			{Name: "a", Options: []work.EnqueueOption{work.ID("mine"), work.Retries(-2), work.Timeout(time.Microsecond),
				work.Meta("b", "2"), work.Retention(time.Second)}},
			{Name: "a"},
			{Name: "a", Options: []work.EnqueueOption{work.Retries(0), work.Retries(5)}},
		})
		require.NoError(t, err)
		assert.Equal(t, "mine", receipts[1].ID)
		_, err = b.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		got := b.Waiting(t, "a")
		require.Len(t, got, 5)
		three, none, five := 3, 0, 5
		for i := range got {
			got[i].EnqueuedAt = 0
		}
		shared := map[string]string{"a": "1", "b": "1"}
		hour := time.Hour.Milliseconds()
		args := []byte("[]")
		assert.Equal(t, []record.Record{
			{ID: receipts[0].ID, Name: "a", Args: args, Retries: &three, Timeout: 60_000, Retention: hour,
				Meta: shared},
			{ID: "mine", Name: "a", Args: args, Retries: &none, Timeout: 1, Retention: 1000,
				Extras: record.Extras{Given: true}, Meta: map[string]string{"a": "1", "b": "2"}},
			{ID: receipts[2].ID, Name: "a", Args: args, Retries: &three, Timeout: 60_000, Retention: hour,
				Meta: shared},
			{ID: receipts[3].ID, Name: "a", Args: args, Retries: &five, Timeout: 60_000, Retention: hour, Meta: shared},
			{ID: got[4].ID, Name: "a", Args: args},
		}, got)
	})
}

func TestEnqueueFrontGoesFirst(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for _, enq := range []*work.Enqueuer{b.Enqueuer, b.Enqueuer, b.With(work.Front())} {
			_, err := enq.Enqueue(t.Context(), "a", 0)
			require.NoError(t, err)
		}
		_, err := b.With(work.Front()).Enqueue(t.Context(), "a", "last in, first out")
		require.NoError(t, err)
		got := b.Waiting(t, "a")
		require.Len(t, got, 4)
		assert.Equal(t, `["last in, first out"]`, string(got[0].Args))
	})
}

func TestEnqueueOfALivingIDIsADuplicate(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		mine := b.With(work.ID("order 17"))
		first, err := mine.Enqueue(t.Context(), "a", 1)
		require.NoError(t, err)
		assert.False(t, first.Duplicate)
		second, err := mine.EnqueueIn(t.Context(), "b", time.Hour, 2)
		require.NoError(t, err)
		assert.Equal(t, work.Receipt{ID: "order 17", Name: "b", Duplicate: true}, second)

		jobs := b.Fetch(t, "a")
		require.Len(t, jobs, 1)
		running, err := mine.Enqueue(t.Context(), "a", 3)
		require.NoError(t, err)
		assert.True(t, running.Duplicate, "it runs")
		b.Complete(t, jobs)
		ended, err := mine.Enqueue(t.Context(), "a", 4)
		require.NoError(t, err)
		assert.False(t, ended.Duplicate, "it has ended")
		assert.Len(t, b.Waiting(t, "a"), 1)
		assert.Empty(t, b.Scheduled(t))
	})
}

func TestEnqueueManyTellsDuplicatesFromStored(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		receipts, err := b.EnqueueMany(t.Context(), []work.Entry{
			{Name: "a", Options: []work.EnqueueOption{work.ID("x")}}, {Name: "b"},
			{Name: "a", Options: []work.EnqueueOption{work.ID("x")}},
			{Name: "a", In: time.Hour},
		})
		require.NoError(t, err)
		duplicates := []bool{}
		for _, receipt := range receipts {
			duplicates = append(duplicates, receipt.Duplicate)
		}
		assert.Equal(t, []bool{false, false, true, false}, duplicates)
		assert.Equal(t, "x", receipts[2].ID)
		assert.Len(t, b.Waiting(t, "a"), 1)
	})
}

func TestEnqueueManyOfNone(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		receipts, err := b.EnqueueMany(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, receipts)
	})
}

func TestEnqueueManyKeepsTheOrderOverManyCalls(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		padding := strings.Repeat("x", 4<<10) // 1,200 of them are about 5 MiB
		entries := make([]work.Entry, 1200)
		for i := range entries {
			entries[i] = work.Entry{Name: []string{"a", "b"}[i%2], Args: []any{i, padding}}
		}
		receipts, err := b.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		require.Len(t, receipts, 1200)
		for k, name := range []string{"a", "b"} {
			got := b.Waiting(t, name)
			require.Len(t, got, 600)
			for i, r := range got {
				require.Equal(t, receipts[2*i+k].ID, r.ID)
				require.True(t, strings.HasPrefix(string(r.Args), fmt.Sprintf("[%d,", 2*i+k)))
			}
		}
	})
}

func TestEnqueueKeepsTheOrderOfOneCaller(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for i := range 50 {
			_, err := b.Enqueue(t.Context(), "a", i)
			require.NoError(t, err)
		}
		for i, r := range b.Waiting(t, "a") {
			assert.Equal(t, fmt.Sprintf("[%d]", i), string(r.Args))
		}
	})
}

func TestEnqueueIntoABrokenQueueLeavesTheOthers(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		b.Command(t, "SET", b.Key("queue:broken"), "text")
		receipts, err := b.EnqueueMany(t.Context(), []work.Entry{{Name: "a"}, {Name: "broken"}, {Name: "b"}})
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0, 2}, failed.Stored)
		assert.Equal(t, []int{1}, failed.NotStored)
		assert.Empty(t, failed.Unknown)
		assert.EqualError(t, err, `2 of 3 jobs are stored, 1 is not: queue "broken": `+
			`the key of its queue holds something that is no list: rename or remove that key`)
		assert.NotEmpty(t, receipts[0].ID)
		assert.Zero(t, receipts[1])
		assert.NotEmpty(t, receipts[2].ID)
		assert.Len(t, b.Waiting(t, "a"), 1)

		_, err = b.Enqueue(t.Context(), "broken")
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.NotStored)
	})
}

func TestEnqueueThroughAGivenPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		pool := &redis.Pool{MaxActive: 1, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", s.Addr()) }}
		defer pool.Close()
		enq, err := work.NewEnqueuer("", work.Namespace(redistest.Namespace(t)), work.WithConnection(work.Redigo(pool)))
		require.NoError(t, err)
		_, err = enq.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		require.NoError(t, enq.Close())
		conn := pool.Get()
		defer conn.Close()
		_, err = conn.Do("PING")
		assert.NoError(t, err, "the pool is its owner's: Close must leave it open")
	})
}
