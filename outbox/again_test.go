package outbox_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// What a call has is read again from the table before it is sent again: all that goes with a job must come with it.
func TestACallThatIsSentAgainHasTheKeysOfItsJobs(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = driver.Close() })
		var lost atomic.Bool
		enq, err := work.NewEnqueuer("", work.Namespace(k.namespace),
			work.WithConnection(pooltest.Connection{Of: (&pooltest.Tampered{Tamper: func(ctx context.Context,
				pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
				if strings.HasPrefix(pooltest.NameOf(calls[0]), "enqueue") && !lost.Swap(true) {
					return nil, pooltest.ErrLuck // Redis has not got it
				}
				return pass(ctx, calls...)
			}}).Over(driver)}))
		require.NoError(t, err)
		t.Cleanup(func() { _ = enq.Close() })
		entry := func(id, key string, weight int) work.Entry {
			return work.Entry{Name: "sync", Args: []any{1},
				Options: []work.EnqueueOption{work.ID(id), work.Key(key), work.Weight(weight)}}
		}
		k.enqueue(entry("a1", "large", 1), entry("a2", "large", 1), entry("a3", "large", 1), entry("b1", "small", 2),
			entry("b2", "small", 2))
		stop := k.run(k.relay(enq, outbox.RelayOptions{}))
		k.emptied()
		stop()
		require.True(t, told[outbox.Relayed](k)[0].Again)
		require.NoError(t, k.workers(1, "sync").Drain(t.Context()))
		k.mu.Lock()
		defer k.mu.Unlock()
		assert.Equal(t, []string{"b1", "a1", "b2", "a2", "a3"}, k.order)
	})
}
