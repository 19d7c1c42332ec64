package redisclock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/redisclock"
)

func TestTheClockFollowsTheMostExactReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var clock redisclock.Clock
		assert.Equal(t, time.Now(), clock.Now(), "ours, until the first reply")
		ahead := func() time.Duration { return time.Until(clock.Now()).Round(10 * time.Millisecond) }
		now := time.Now()
		clock.Learn(now.Add(time.Hour+time.Second), now, now.Add(2*time.Second))
		assert.Equal(t, time.Hour, ahead())
		clock.Learn(now.Add(2*time.Hour), now, now.Add(20*time.Millisecond))
		assert.Equal(t, 2*time.Hour-10*time.Millisecond, ahead())
		clock.Learn(now.Add(2*time.Hour+900*time.Millisecond), now, now.Add(time.Second))
		assert.Equal(t, 2*time.Hour-10*time.Millisecond, ahead(), "a slower reply says less")
		elapse(2 * time.Minute)
		now = time.Now()
		clock.Learn(now.Add(2*time.Hour+700*time.Millisecond), now, now.Add(time.Second))
		assert.Equal(t, 2*time.Hour+200*time.Millisecond, ahead(), "but more than an old one")
		clock.Learn(now.Add(2*time.Hour), now, now)
		now = time.Now()
		clock.Learn(now.Add(3*time.Hour+time.Second/2), now, now.Add(time.Second))
		assert.Equal(t, 3*time.Hour, ahead(), "and more than an exact one that it contradicts: the clock was set")
		clock.Learn(now, now, now.Add(time.Millisecond))
		assert.Equal(t, time.Duration(0), ahead(), "back as well")
	})
}

func TestTheClockUnderAWrongClockOfOurs(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-3 * time.Hour, 0, 26 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := redisclock.Clock{Wall: func() time.Time { return time.Now().Add(off) }}
				assert.Equal(t, time.Now().Add(off), clock.Now(), "ours, until the first reply")
				sent := clock.Local()
				elapse(10 * time.Millisecond)
				clock.Learn(time.Now().Add(-5*time.Millisecond), sent, clock.Local())
				assert.WithinDuration(t, time.Now(), clock.Now(), time.Millisecond, "then that of Redis")
				elapse(time.Hour)
				assert.WithinDuration(t, time.Now(), clock.Now(), time.Millisecond, "and it goes on")
			})
		})
	}
}

// elapse lets time pass in the bubble.
func elapse(d time.Duration) { <-time.After(d) }
