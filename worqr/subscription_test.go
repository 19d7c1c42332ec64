package worqr_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/worqr"
)

// TestALostSubscriptionIsReportedOnceAndLookedAfter: one loss with several attempts is one Failed, and whoever waits
// for tasks looks for them although nobody can say how many there are.
func TestALostSubscriptionIsReportedOnceAndLookedAfter(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		proxy := redistest.NewProxy(t, s.server.Addr())
		driver, err := redisconn.Open(proxy.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, driver.Close()) })
		var subscribed atomic.Int32
		w := s.hooked(s.options(), &hooks{driver: driver, before: func(name string) error {
			if name == "LLEN" || name == "SUBSCRIBE" && subscribed.Add(1) > 1 && subscribed.Load() < 5 {
				return &redisconn.ServerError{Code: "ERR", Message: "ERR not now"}
			}
			return nil
		}})
		require.NoError(t, w.Start(t.Context()))
		require.NoError(t, w.StartWork(t.Context(), "q"))
		events := s.events(w)
		proxy.Cut()
		losses := 0
		for e := range events {
			if e, ok := e.(worqr.Failed); ok && e.Queue == "q" {
				losses++
			}
			if _, ok := e.(worqr.Work); ok {
				break
			}
		}
		assert.Equal(t, 1, losses)
	})
}

// TestStartWorkWaitsNoLongerThanACall for a subscription that cannot be had.
func TestStartWorkWaitsNoLongerThanACall(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.CallTimeout = time.Second
		c, proxy := s.proxied(options, "q")
		proxy.Pause()
		defer proxy.Resume()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.ErrorIs(t, c.StartWork(ctx, "r"), context.DeadlineExceeded)
		assert.NoError(t, ctx.Err())
	})
}
