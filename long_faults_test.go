package work

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// TestALogWhoseRepliesAreLostHasEachLineOnce: every other batch is executed and not answered.
func TestALogWhoseRepliesAreLostHasEachLineOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			for i := range 200 {
				job.Logger().Info(fmt.Sprint(i))
			}
			return errLuck
		})
		k.loseReplies(pool, "log", func(sent int) bool { return sent%2 == 1 })
		k.start(pool)
		id := k.enqueue("long").ID
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.drained(pool)
		messages := k.messages(id)
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
		pool := NewWorkerPool(nil, 1, k.options()).Job("long", func(ctx context.Context, job *Job) error {
			<-away
			for i := range 3000 {
				job.Logger().Info(fmt.Sprint(i))
			}
			close(said)
			saved <- job.SaveState(ctx, "saved late")
			<-back
			return errLuck
		})
		gone := make(chan struct{})
		refused := make(chan struct{}, 1)
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, batch []rdb.Call) ([]rdb.Reply, error) {
			select {
			case <-gone:
				return pass(ctx, batch...)
			default:
			}
			if name := nameOf(batch[0]); name != "log" && name != "save" {
				return pass(ctx, batch...)
			}
			select {
			case refused <- struct{}{}:
			default:
			}
			return nil, &rdb.DialError{Addr: "nowhere", Err: errLuck}
		}})
		k.start(pool)
		id := k.enqueue("long").ID
		close(away)
		receive(t, said)
		await(t, k.spy, func(e event.Trouble) bool { return e.Component == "scribe" })
		assert.Empty(t, saved, "it waits for Redis")
		close(gone) // Redis is back
		require.NoError(t, receive(t, saved))
		close(back)
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.drained(pool)
		await(t, k.spy, func(e event.TroubleOver) bool { return e.Component == "scribe" })
		messages := k.messages(id)
		assert.Equal(t, "2999", messages[len(messages)-1])
		told, confessions := 0, 0
		lines, err := k.inspector().Log(k.ctx(), id, 0)
		require.NoError(t, err)
		for _, line := range lines {
			if strings.Contains(line.Message, "lines of this log were dropped") {
				dropped := 0
				_, err := fmt.Sscanf(line.Message, "%d lines", &dropped)
				require.NoError(t, err)
				told += dropped
				confessions++
				assert.Equal(t, fmt.Sprintf(`{"dropped":%d}`, dropped), string(line.Attrs))
				assert.False(t, line.Time.IsZero())
			}
		}
		assert.Equal(t, 3000, told+len(lines)-confessions, "each line is there or counted")
		assert.Equal(t, `"saved late"`, k.stateIn(id))
	})
}

// TestALogThatRedisRefusesHoldsNoOutcomeBack: somebody else has put something into its place.
func TestALogThatRedisRefusesHoldsNoOutcomeBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			k.do("SET", "log:"+job.ID, "of another type")
			job.Logger().Info("lost")
			return nil
		}))
		id := k.enqueue("long").ID
		trouble := await(t, k.spy,
			func(e event.Trouble) bool { return strings.HasPrefix(e.Component, "scribe, log of long ") })
		assert.ErrorContains(t, trouble.Err, "log:"+id)
		await(t, k.spy, ofJob[event.JobDone](id))
		k.drained(pool)
		k.empty("long")
		assert.Empty(t, k.left(), "it goes away with the job, whatever it is")
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
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(ctx context.Context, job *Job) error {
			<-step
			job.Logger().Info("when it was full")
			results <- job.SaveState(ctx, 1)
			<-step
			results <- job.SaveState(ctx, 2)
			<-step
			job.Logger().Info("full again")
			results <- job.SaveState(ctx, 3)
			return errLuck
		}))
		id := k.enqueue("long").ID
		k.until("it runs", func() bool { return k.number("HLEN", "claimed") == 1 })
		config("1mb")
		step <- struct{}{}
		require.ErrorIs(t, receive(t, results), ErrRedisFull)
		await(t, k.spy, func(e event.Trouble) bool { return e.Component == "scribe" })
		assert.Empty(t, k.left())
		config("0")
		step <- struct{}{}
		require.NoError(t, receive(t, results))
		k.logged(id, 1)
		config("1mb")
		step <- struct{}{}
		require.ErrorIs(t, receive(t, results), ErrRedisFull)
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.until("it is settled", func() bool { return k.number("HLEN", "claimed") == 0 })
		assert.Equal(t, []string{"when it was full"}, k.messages(id),
			"what came when it was full again is lost, the outcome is not")
		assert.Equal(t, "2", k.stateIn(id))
		config("0")
		k.drained(pool)
	})
}
