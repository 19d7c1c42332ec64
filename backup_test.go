package work

import (
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// backup keeps all keys of the namespace; the function that it returns puts them back, and nothing else.
func (k *kit) backup() (restore func()) {
	k.t.Helper()
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	keys, err := redis.Strings(conn.Do("KEYS", "{"+k.namespace+"}:*"))
	require.NoError(k.t, err)
	dumps, ttls := map[string]any{}, map[string]int{}
	for _, key := range keys {
		dumps[key], err = conn.Do("DUMP", key)
		require.NoError(k.t, err)
		ttl, err := redis.Int(conn.Do("PTTL", key))
		require.NoError(k.t, err)
		ttls[key] = max(0, ttl)
	}
	return func() {
		defer conn.Close()
		present, err := redis.Strings(conn.Do("KEYS", "{"+k.namespace+"}:*"))
		require.NoError(k.t, err)
		require.NoError(k.t, conn.Send("MULTI"))
		for _, key := range present {
			require.NoError(k.t, conn.Send("UNLINK", key))
		}
		for key, dump := range dumps {
			require.NoError(k.t, conn.Send("RESTORE", key, ttls[key], dump))
		}
		_, err = conn.Do("EXEC")
		require.NoError(k.t, err)
	}
}

// TestARestoredBackupWedgesNothing: Redis goes back to a moment at which a job ran that has ended since. The worker
// finds that it does not hold what Redis thinks it holds, and gives it back; what ran once before the backup runs
// again.
func TestARestoredBackupWedgesNothing(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		k := newKit(t, redistest.Real(t))
		begun, release := make(chan string, 10), make(chan struct{}, 10)
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("step", func(job *Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		first := k.enqueue("step").ID
		require.Equal(t, first, receive(t, begun))
		restore := k.backup()
		release <- struct{}{}
		require.NoError(t, pool.Drain(k.ctx()))
		second := k.enqueue("step").ID
		require.Equal(t, second, receive(t, begun))
		release <- struct{}{}
		require.NoError(t, pool.Drain(k.ctx()))

		restore()
		third := k.enqueue("step").ID
		again := []string{receive(t, begun), receive(t, begun)}
		assert.ElementsMatch(t, []string{first, third}, again)
		release <- struct{}{}
		release <- struct{}{}
		require.NoError(t, pool.Drain(k.ctx()))
		k.empty("step")
	})
}
