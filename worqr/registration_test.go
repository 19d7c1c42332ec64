package worqr_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// TestAStartIsRepeatedAfterALostReply: its own registration is not that of another worker.
func TestAStartIsRepeatedAfterALostReply(t *testing.T) {
	t.Parallel()
	for name, permanent := range map[string]bool{"leased": false, "permanent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				options := s.options()
				options.WorkerID, options.Permanent, options.HeartbeatLife = "w", permanent, time.Hour
				ctx, cancel := context.WithCancel(t.Context())
				c := s.hooked(options, &hooks{after: func(name string) error {
					if name == "worqr/register" && ctx.Err() == nil {
						cancel()
						return errLost
					}
					return nil
				}})
				require.ErrorIs(t, c.Start(ctx), context.Canceled)
				require.Equal(t, []string{"w"}, s.set("workers"), "it is registered")
				require.NoError(t, c.Start(t.Context()))
				require.NoError(t, c.StartWork(t.Context(), "q"))
			})
		})
	}
}

// TestARestartIsRepeatedAfterLostReplies: of the registration, or after it.
func TestARestartIsRepeatedAfterLostReplies(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"worqr/register", "worqr/serve"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				options := s.options()
				options.WorkerID, options.HeartbeatEvery, options.HeartbeatLife = "w", 20*time.Millisecond, time.Hour
				options.CallTimeout = 200 * time.Millisecond
				var losing atomic.Bool
				c := s.hooked(options, &hooks{after: func(name string) error {
					if name == script && losing.Load() {
						return errLost
					}
					return nil
				}})
				require.NoError(t, c.Start(t.Context()))
				require.NoError(t, c.StartWork(t.Context(), "q"))
				events := s.events(c)
				losing.Store(true)
				s.lapse("w")
				await(t, events, always[worqr.Failed])
				losing.Store(false)
				await(t, events, always[worqr.Restarted])
				assert.Equal(t, []string{"q"}, s.set("workingQueues:w"))
			})
		})
	}
}
