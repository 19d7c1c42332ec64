package work_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// bench is an Enqueuer and, beside it, what a worker sees of the same namespace.
type enqueueBench struct {
	*work.Enqueuer
	server    redistest.Server
	namespace string
	driver    redisconn.Driver
	store     *rdb.Store
	fetches   int64
}

func onEachRedis(t *testing.T, test func(t *testing.T, b *enqueueBench), opts ...work.EnqueuerOption) {
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		test(t, newEnqueueBench(t, s, s.DSN(), opts...))
	})
}

// newEnqueueBench makes an Enqueuer of dsn, which may lead to the server through a proxy.
func newEnqueueBench(t testing.TB, s redistest.Server, dsn string, opts ...work.EnqueuerOption) *enqueueBench {
	t.Helper()
	b := &enqueueBench{server: s, namespace: redistest.Namespace(t)}
	enq, err := work.NewEnqueuer(dsn, append([]work.EnqueuerOption{work.Namespace(b.namespace)}, opts...)...)
	require.NoError(t, err)
	b.Enqueuer = enq
	b.driver, err = redisconn.Open(s.DSN())
	require.NoError(t, err)
	b.store = rdb.NewStore(b.driver, b.namespace)
	t.Cleanup(func() {
		assert.NoError(t, enq.Close())
		assert.NoError(t, b.driver.Close())
	})
	return b
}

// worker registers a worker for these names.
func (b *enqueueBench) worker(t *testing.T, names ...string) *rdb.Worker {
	t.Helper()
	w := b.store.Worker(strings.Repeat("w", rdb.MinWorkerID))
	_, _, err := w.Register(t.Context(), rdb.Registration{Life: time.Minute, Epoch: "1", Queues: names})
	require.NoError(t, err)
	return w
}

// fetch takes all waiting jobs of a name.
func (b *enqueueBench) fetch(t *testing.T, name string) []rdb.FetchedJob {
	t.Helper()
	w := b.worker(t, name)
	var all []rdb.FetchedJob
	for {
		b.fetches++
		got, err := w.Fetch(t.Context(), b.fetches, rdb.MaxBatch, false, []rdb.Share{{Queue: name, Jobs: rdb.MaxBatch}})
		require.NoError(t, err)
		require.Equal(t, rdb.Registered, got.State)
		if len(got.Jobs) == 0 {
			return all
		}
		all = append(all, got.Jobs...)
	}
}

// complete ends fetched jobs as done.
func (b *enqueueBench) complete(t *testing.T, jobs []rdb.FetchedJob) {
	t.Helper()
	ended := make([]rdb.Ended, len(jobs))
	for i, job := range jobs {
		ended[i] = rdb.Ended{Claim: job.Claim, ID: job.ID}
	}
	w := b.worker(t)
	settled, err := w.Settle(t.Context(), []redisconn.Call{w.Complete(ended)})
	require.NoError(t, err)
	require.NoError(t, settled[0].Err)
	require.Empty(t, settled[0].Gone)
}

// waiting are the records of a queue, oldest first.
func (b *enqueueBench) waiting(t *testing.T, name string) []record.Record {
	t.Helper()
	var records []record.Record
	for _, job := range b.fetch(t, name) {
		r, err := record.Decode(job.Record)
		require.NoError(t, err)
		assert.Equal(t, job.ID, r.ID)
		records = append(records, r)
	}
	return records
}

// scheduled is what waits for its time, soonest first.
func (b *enqueueBench) scheduled(t *testing.T) []rdb.Waiting {
	t.Helper()
	due, err := b.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Ahead: 1000 * time.Hour})
	require.NoError(t, err)
	return due.Page
}

// size is how many keys there are, and how many fields they have, in everything but the lanes.
func (b *enqueueBench) command(t *testing.T, command string, args ...any) any {
	t.Helper()
	replies, err := b.driver.Pipeline(t.Context(), redisconn.Call{Command: command, Args: args})
	require.NoError(t, err)
	require.NoError(t, replies[0].Err)
	return replies[0].Value
}

func (b *enqueueBench) key(name string) string { return "{" + b.namespace + "}:" + name }

func TestEnqueueStoresTheJob(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		before := time.Now().Add(-time.Minute)
		receipt, err := b.Enqueue(t.Context(), "create_watch", 1234567890123456789, "<a> & é\n", nil, []int{},
			map[string]int{"b": 1}, true)
		require.NoError(t, err)
		assert.Len(t, receipt.ID, 22)
		assert.Equal(t, "create_watch", receipt.Name)
		assert.WithinRange(t, receipt.RunAt, before, time.Now().Add(time.Minute))
		assert.False(t, receipt.Duplicate)
		got := b.waiting(t, "create_watch")
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		_, err := b.Enqueue(t.Context(), "größe 1")
		require.NoError(t, err)
		got := b.waiting(t, "größe 1")
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
			onEachRedis(t, func(t *testing.T, b *enqueueBench) {
				receipt, err := c.enqueue(t.Context(), b.Enqueuer)
				require.NoError(t, err)
				scheduled := b.scheduled(t)
				if c.now {
					assert.Empty(t, scheduled)
					got := b.waiting(t, "a")
					require.Len(t, got, 1)
					assert.Equal(t, c.source, got[0].Source)
					assert.Zero(t, got[0].RunAt)
					return
				}
				require.Len(t, scheduled, 1)
				assert.Equal(t, "a", scheduled[0].Queue)
				assert.Equal(t, receipt.ID, scheduled[0].ID)
				assert.Equal(t, receipt.RunAt.UnixMilli(), scheduled[0].Due.UnixMilli())
				stored, err := b.store.Record(t.Context(), receipt.ID)
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		past := time.Now().Add(-time.Hour)
		receipt, err := b.EnqueueAt(t.Context(), "a", past)
		require.NoError(t, err)
		assert.True(t, past.Equal(receipt.RunAt))
		assert.Len(t, b.waiting(t, "a"), 1)
		assert.Empty(t, b.scheduled(t))
	})
}

func TestEnqueueOptionsAreInTheRecord(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
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
		got := b.waiting(t, "a")
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
				Meta: map[string]string{"a": "1", "b": "2"}},
			{ID: receipts[2].ID, Name: "a", Args: args, Retries: &three, Timeout: 60_000, Retention: hour,
				Meta: shared},
			{ID: receipts[3].ID, Name: "a", Args: args, Retries: &five, Timeout: 60_000, Retention: hour, Meta: shared},
			{ID: got[4].ID, Name: "a", Args: args},
		}, got)
	})
}

func TestEnqueueFrontGoesFirst(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		for _, enq := range []*work.Enqueuer{b.Enqueuer, b.Enqueuer, b.With(work.Front())} {
			_, err := enq.Enqueue(t.Context(), "a", 0)
			require.NoError(t, err)
		}
		_, err := b.With(work.Front()).Enqueue(t.Context(), "a", "last in, first out")
		require.NoError(t, err)
		got := b.waiting(t, "a")
		require.Len(t, got, 4)
		assert.Equal(t, `["last in, first out"]`, string(got[0].Args))
	})
}

func TestEnqueueOfALivingIDIsADuplicate(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		mine := b.With(work.ID("order 17"))
		first, err := mine.Enqueue(t.Context(), "a", 1)
		require.NoError(t, err)
		assert.False(t, first.Duplicate)
		second, err := mine.EnqueueIn(t.Context(), "b", time.Hour, 2)
		require.NoError(t, err)
		assert.Equal(t, work.Receipt{ID: "order 17", Name: "b", Duplicate: true}, second)

		jobs := b.fetch(t, "a")
		require.Len(t, jobs, 1)
		running, err := mine.Enqueue(t.Context(), "a", 3)
		require.NoError(t, err)
		assert.True(t, running.Duplicate, "it runs")
		b.complete(t, jobs)
		ended, err := mine.Enqueue(t.Context(), "a", 4)
		require.NoError(t, err)
		assert.False(t, ended.Duplicate, "it has ended")
		assert.Len(t, b.waiting(t, "a"), 1)
		assert.Empty(t, b.scheduled(t))
	})
}

func TestEnqueueManyTellsDuplicatesFromStored(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
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
		assert.Len(t, b.waiting(t, "a"), 1)
	})
}

func TestEnqueueManyOfNone(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		receipts, err := b.EnqueueMany(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, receipts)
	})
}

func TestEnqueueManyKeepsTheOrderOverManyCalls(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		padding := strings.Repeat("x", 4<<10) // 1,200 of them are about 5 MiB
		entries := make([]work.Entry, 1200)
		for i := range entries {
			entries[i] = work.Entry{Name: []string{"a", "b"}[i%2], Args: []any{i, padding}}
		}
		receipts, err := b.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		require.Len(t, receipts, 1200)
		for k, name := range []string{"a", "b"} {
			got := b.waiting(t, name)
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		for i := range 50 {
			_, err := b.Enqueue(t.Context(), "a", i)
			require.NoError(t, err)
		}
		for i, r := range b.waiting(t, "a") {
			assert.Equal(t, fmt.Sprintf("[%d]", i), string(r.Args))
		}
	})
}

func TestEnqueueIntoABrokenQueueLeavesTheOthers(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		b.command(t, "SET", b.key("queue:broken"), "text")
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
		assert.Len(t, b.waiting(t, "a"), 1)

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
