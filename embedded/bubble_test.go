package embedded_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
)

// TestAPoolRunsInABubble: half an hour of a whole pool, with the retries and pauses that it has in production, takes no
// time of ours, and Redis has the time of the bubble.
func TestAPoolRunsInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := embedded.StartUnlisted()
		require.NoError(t, err)
		defer s.Close()
		var attempts atomic.Int64
		var ended atomic.Pointer[time.Time]
		mail := func() error {
			time.Sleep(time.Minute)
			if attempts.Add(1) < 3 {
				return errors.New("not yet")
			}
			now := time.Now()
			ended.Store(&now)
			return nil
		}
		later := func(*work.Job, error) time.Duration { return 10 * time.Minute }
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: s.DSN(), Namespace: "shop"}).
			JobWithOptions("mail", work.JobOptions{Backoff: later}, mail)
		require.NoError(t, pool.Start(t.Context()))
		began := time.Now()
		_, err = pool.Enqueuer().Enqueue(t.Context(), "mail")
		require.NoError(t, err)
		time.Sleep(30 * time.Minute)
		assert.EqualValues(t, 3, attempts.Load())
		require.NotNil(t, ended.Load())
		assert.InDelta(t, 23, ended.Load().Sub(began).Minutes(), 0.1, "three of a minute, and two pauses")
		require.NoError(t, pool.Stop(t.Context()))
	})
}

func TestAnUnlistedServerIsOfItsDSNAlone(t *testing.T) {
	t.Parallel()
	a, err := embedded.StartUnlisted()
	require.NoError(t, err)
	b, err := embedded.StartUnlisted()
	require.NoError(t, err)
	t.Cleanup(b.Close)
	assert.Empty(t, a.Addr())
	assert.NotEqual(t, a.DSN(), b.DSN())
	d := open(t, a.DSN())
	run(t, d, cmd("SET", "k", "x"))
	assert.Equal(t, `"x"`, run(t, open(t, a.DSN()), cmd("GET", "k")))
	assert.Equal(t, "nil", run(t, open(t, b.DSN()), cmd("GET", "k")))
	a.Close()
	_, err = d.Pipeline(t.Context(), cmd("GET", "k"))
	require.Error(t, err)
	_, err = d.Pipeline(t.Context(), cmd("GET", "k"))
	require.ErrorContains(t, err, "was closed")
	a.Close()
}
