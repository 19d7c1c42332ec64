package maintain

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ticking is a Redis whose clock is ahead of ours, and goes faster.
type ticking struct {
	start, now time.Time // of ours
	ahead      time.Duration
	faster     float64
}

func (k *ticking) redis() time.Time {
	return k.now.Add(k.ahead + time.Duration(float64(k.now.Sub(k.start))*k.faster))
}

// call teaches the clock by a call that takes so long, of which Redis is reached somewhere in between.
func (k *ticking) call(c *dueClock, trip time.Duration) {
	sent, there := k.now, rand.N(trip)
	k.now = k.now.Add(there)
	told := k.redis().Truncate(time.Millisecond)
	k.now = k.now.Add(trip - there)
	c.learn(told, sent, k.now)
}

// late is how long after a due time Redis is asked by what the clock says; negative where that is too early.
func (k *ticking) late(c *dueClock) time.Duration {
	due := k.redis().Add(20 * time.Millisecond).Truncate(time.Millisecond)
	k.now = k.now.Add(c.until(due, k.now))
	return k.redis().Sub(due)
}

func TestWhatIsDueIsAskedForInItsMillisecond(t *testing.T) {
	t.Parallel()
	const trip = 200 * time.Microsecond
	for name, ahead := range map[string]time.Duration{
		"ahead": 3*time.Hour + 370*time.Microsecond, "behind": -time.Hour - 990*time.Microsecond, "the same": 0,
	} {
		for drifts, faster := range map[string]float64{"as fast": 0, "faster": drift / 2, "slower": -drift / 2} {
			t.Run(name+", "+drifts, func(t *testing.T) {
				t.Parallel()
				begun := time.Unix(1_000_000, 0)
				k := &ticking{start: begun, now: begun, ahead: ahead, faster: faster}
				var c dueClock
				k.call(&c, trip)
				require.GreaterOrEqual(t, k.late(&c), time.Duration(0), "never too early, else it had to ask again")
				for range 50 {
					k.call(&c, trip)
					k.now = k.now.Add(rand.N(20 * time.Millisecond))
				}
				for range 20 {
					late := k.late(&c)
					assert.GreaterOrEqual(t, late, time.Duration(0))
					assert.Less(t, late, 600*time.Microsecond)
					k.call(&c, trip)
				}
			})
		}
	}
	t.Run("a clock is set", func(t *testing.T) {
		t.Parallel()
		k := &ticking{start: time.Unix(1_000_000, 0), now: time.Unix(1_000_000, 0)}
		var c dueClock
		for _, ahead := range []time.Duration{time.Minute, -time.Minute, 10 * time.Millisecond} {
			k.ahead = ahead
			k.call(&c, trip)
			late := k.late(&c)
			assert.GreaterOrEqual(t, late, time.Duration(0))
			assert.Less(t, late, 2*time.Millisecond)
		}
	})
}
