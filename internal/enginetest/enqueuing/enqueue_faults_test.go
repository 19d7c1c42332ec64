package enqueuing_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestLostReplyStoresNothingTwice(t *testing.T) {
	t.Parallel()
	enginetest.OnEachMeddled(t, func(t *testing.T, b *enginetest.EnqueueBench, m *enginetest.Meddler) {
		m.Meddle = func(_ context.Context, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
			replies, err := pass()
			if m.Sends.Load() <= 2 {
				return nil, io.ErrUnexpectedEOF
			}
			return replies, err
		}
		receipt, err := b.Enqueue(t.Context(), "a", 1)
		require.NoError(t, err)
		assert.EqualValues(t, 3, m.Sends.Load())
		assert.EqualValues(t, 1, b.Command(t, "LLEN", b.Key("queue:a")), "a fetch would drop a second id, and hide it")
		got := b.Waiting(t, "a")
		require.Len(t, got, 1)
		assert.Equal(t, receipt.ID, got[0].ID)
	})
}

func TestLostReplyStoresNothingTwiceWhenTheJobHasRunAndGone(t *testing.T) {
	t.Parallel()
	enginetest.OnEachMeddled(t, func(t *testing.T, b *enginetest.EnqueueBench, m *enginetest.Meddler) {
		var ran []rdb.FetchedJob
		m.Meddle = func(_ context.Context, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
			replies, err := pass()
			if m.Sends.Load() > 1 {
				return replies, err
			}
			ran = b.Fetch(t, "a")
			b.Complete(t, ran)
			return nil, io.ErrUnexpectedEOF
		}
		receipts, err := b.EnqueueMany(t.Context(),
			[]work.Entry{{Name: "a"}, {Name: "a", Options: []work.EnqueueOption{work.ID("mine")}}, {Name: "a"}})
		require.NoError(t, err)
		assert.EqualValues(t, 2, m.Sends.Load())
		require.Len(t, ran, 3, "all had run before the call was sent again")
		for i, receipt := range receipts {
			assert.Equal(t, ran[i].ID, receipt.ID)
			assert.False(t, receipt.Duplicate)
		}
		assert.Empty(t, b.Fetch(t, "a"))
		assert.EqualValues(t, 0, b.Command(t, "HLEN", b.Key("jobs")))
	})
}

func TestAbandonedCallThatLandsLateIsRefused(t *testing.T) {
	t.Parallel()
	enginetest.OnEachMeddled(t, func(t *testing.T, b *enginetest.EnqueueBench, m *enginetest.Meddler) {
		var late func() ([]redisconn.Reply, error)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m.Meddle = func(ctx context.Context, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
			if m.Sends.Load() > 1 {
				return pass()
			}
			late = pass // it is on its way, while
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := b.Enqueue(ctx, "a", "abandoned")
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.Unknown)
		_, err = b.Enqueue(t.Context(), "a", "next")
		require.NoError(t, err)

		replies, err := late()
		require.NoError(t, err)
		var refused *redisconn.ServerError
		require.ErrorAs(t, replies[0].Err, &refused)
		assert.Equal(t, "STALE", refused.Code)
		got := b.Waiting(t, "a")
		require.Len(t, got, 1)
		assert.Equal(t, `["next"]`, string(got[0].Args))
	})
}

func TestReplyLostOnTheWireStoresNothingTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		b := enginetest.NewEnqueueBench(t, s, proxy.DSN())
		_, err := b.Enqueue(t.Context(), "warm") // so that Redis knows the script
		require.NoError(t, err)
		swallowed := proxy.SwallowReply("the one and only")
		_, err = b.Enqueue(t.Context(), "a", "the one and only")
		require.NoError(t, err)
		select {
		case <-swallowed:
		default:
			t.Fatal("no reply was swallowed")
		}
		assert.Len(t, b.Waiting(t, "a"), 1)
	})
}

func TestEnqueueSurvivesCutConnections(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		b := enginetest.NewEnqueueBench(t, s, proxy.DSN())
		for i := range 20 {
			proxy.Cut()
			_, err := b.Enqueue(t.Context(), "a", i)
			require.NoError(t, err)
		}
		assert.Len(t, b.Waiting(t, "a"), 20)
	})
}

func TestRedisThatHangsIsAnErrorWithinTheCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		b := enginetest.NewEnqueueBench(t, s, proxy.DSN()+"?read_timeout=20s")
		_, err := b.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		proxy.Pause()
		defer proxy.Resume()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // enough to send it on a busy machine
		defer cancel()
		begun := time.Now()
		_, err = b.Enqueue(ctx, "a")
		assert.Less(t, time.Since(begun), 9*time.Second)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.Unknown, "it was sent")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, `it is not known whether job "a" is stored (a reply was lost)`)
		assert.ErrorContains(t, err, "while waiting for the reply to script job/enqueue: context deadline exceeded")
	})
}

func TestRedisThatIsDownIsAnErrorWithinTheCtx(t *testing.T) {
	t.Parallel()
	enq, err := work.NewEnqueuer("redis://:geheim@" + closedPort)
	require.NoError(t, err, "it dials on first use")
	defer enq.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	begun := time.Now()
	receipts, err := enq.EnqueueMany(ctx, []work.Entry{{Name: "a"}, {Name: "b"}})
	assert.Less(t, time.Since(begun), 9*time.Second)
	assert.Equal(t, make([]work.Receipt, 2), receipts)
	var failed *work.EnqueueError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []int{0, 1}, failed.NotStored)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err,
		"none of 2 jobs is stored: context deadline exceeded: cannot connect to Redis at "+closedPort)
	assert.ErrorContains(t, err, "connection refused")
	assert.NotContains(t, err.Error(), "geheim")
}

// closedPort is one that nobody listens at: one that was free a moment ago another test may have by now, but not this
// one, which belongs to the system.
const closedPort = "127.0.0.1:1"

func TestRedisThatComesBackGetsTheJob(t *testing.T) {
	t.Parallel()
	enginetest.OnEachMeddled(t, func(t *testing.T, b *enginetest.EnqueueBench, m *enginetest.Meddler) {
		m.Meddle = func(_ context.Context, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
			if m.Sends.Load() < 3 {
				return nil, &redisconn.DialError{Addr: "somewhere", Err: errors.New("connection refused")}
			}
			return pass()
		}
		_, err := b.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		assert.Len(t, b.Waiting(t, "a"), 1)
	})
}

func TestRedisThatIsFullRealRedis(t *testing.T) {
	t.Parallel()
	p := redistest.Dedicated(t, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
	enq, err := work.NewEnqueuer(p.DSN(), work.LargeArgs(-1))
	require.NoError(t, err)
	defer enq.Close()
	stored := 0
	for i := range 1000 {
		if _, err = enq.Enqueue(t.Context(), "a", i, strings.Repeat("x", 64<<10)); err != nil {
			break
		}
		stored++
	}
	require.ErrorIs(t, err, work.ErrRedisFull)
	var failed *work.EnqueueError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []int{0}, failed.NotStored)
	driver, err := redisconn.Open(p.DSN())
	require.NoError(t, err)
	defer driver.Close()
	replies, err := driver.Pipeline(t.Context(),
		redisconn.Call{Command: "HLEN", Args: []any{"{work}:jobs"}},
		redisconn.Call{Command: "LLEN", Args: []any{"{work}:queue:a"}})
	require.NoError(t, err)
	assert.EqualValues(t, stored, replies[0].Value)
	assert.EqualValues(t, stored, replies[1].Value)
}
