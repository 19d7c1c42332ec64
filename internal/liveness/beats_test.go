package liveness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/liveness"
)

func TestAShortLifeNeedsMoreHeartbeats(t *testing.T) {
	t.Parallel()
	assert.Equal(t, liveness.Beats{Life: 3 * time.Second, Interval: time.Second, Timeout: time.Second,
		Retry: 300 * time.Millisecond}, liveness.BeatsOf(liveness.Life))
	assert.Equal(t, liveness.Beats{Life: time.Minute, Interval: time.Second, Timeout: time.Second,
		Retry: 300 * time.Millisecond}, liveness.BeatsOf(time.Minute))
	assert.Equal(t, liveness.Beats{Life: 900 * time.Millisecond, Interval: 300 * time.Millisecond,
		Timeout: 300 * time.Millisecond, Retry: 90 * time.Millisecond}, liveness.BeatsOf(900*time.Millisecond))
}

func TestWorkersOfAPoolBeatTogether(t *testing.T) {
	t.Parallel()
	var r liveness.Rhythm
	first := time.Now()
	assert.Equal(t, time.Second, r.Rest(first, time.Second))
	assert.Equal(t, 600*time.Millisecond, r.Rest(first.Add(400*time.Millisecond), time.Second))
	assert.Equal(t, 1050*time.Millisecond, r.Rest(first.Add(1950*time.Millisecond), time.Second),
		"there was one just now")
}

func TestAClockThatWasSetBackIsToldOfUntilSomebodyDealtWithIt(t *testing.T) {
	t.Parallel()
	var j liveness.Jumps
	theirs, ours := time.UnixMilli(1_000_000), time.Now()
	beat := func(there, here time.Duration) bool {
		theirs, ours = theirs.Add(there), ours.Add(here)
		return j.SetBack(theirs, ours)
	}
	assert.True(t, beat(0, 0), "nobody knows what was before")
	assert.True(t, beat(time.Second, time.Second), "nobody has dealt with it")
	j.Dealt(true)
	assert.False(t, beat(time.Second, time.Second))
	assert.False(t, beat(time.Second, 1400*time.Millisecond), "the way may take longer")
	assert.False(t, beat(time.Hour, time.Second), "it was set forward")
	assert.True(t, beat(-time.Second, time.Second))
	j.Dealt(false)
	assert.True(t, beat(time.Second, time.Second))
}
