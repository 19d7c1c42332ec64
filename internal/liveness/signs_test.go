package liveness_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/liveness"
)

var errFault = errors.New("fault")

func TestWhichSignsAreTooOld(t *testing.T) {
	t.Parallel()
	const (
		long  = time.Hour
		bit   = time.Second
		never = -1
	)
	unanswered, stalled, down := liveness.Unanswered, liveness.Stalled, liveness.LoopDown
	for name, c := range map[string]struct {
		answered, failed, ended time.Duration // how long ago a heartbeat was answered, one failed, a loop ended
		healthy, alive          *liveness.Kind
	}{
		"all is well":                  {bit, never, never, nil, nil},
		"one heartbeat failed":         {bit, 0, never, nil, nil},
		"Redis is away":                {long, bit, never, &unanswered, nil},
		"no round":                     {4 * bit, never, never, &stalled, nil},
		"no round for long":            {long, never, never, &stalled, &stalled},
		"no round for long, Redis too": {2 * long, long, never, &unanswered, &stalled},
		"a loop that starts again":     {bit, never, bit, &down, nil},
		"a loop that does not":         {bit, never, 11 * bit, &down, &down},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &liveness.Signs{}
				s.Watched("never started", func(context.Context) {})
				past := []pastEvent{
					{c.answered, s.Registered}, {c.failed, func() { s.Beat(errFault) }},
					{c.ended, func() { s.Watched("tester", func(context.Context) {})(t.Context()) }},
				}
				happened(past)
				requireProblem(t, s, liveness.Healthy(liveness.Life), c.healthy)
				requireProblem(t, s, liveness.Alive, c.alive)
			})
		})
	}
}

// pastEvent is what happened so long ago; never where that is below 0.
type pastEvent struct {
	ago time.Duration
	do  func()
}

// happened does what happened, the oldest first, each when it did.
func happened(events []pastEvent) {
	slices.SortStableFunc(events, func(a, b pastEvent) int { return int(b.ago - a.ago) })
	now := time.Now().Add(events[0].ago)
	for _, e := range events {
		if e.ago >= 0 {
			elapse(time.Until(now.Add(-e.ago)))
			e.do()
		}
	}
	elapse(time.Until(now))
}

func requireProblem(t *testing.T, s *liveness.Signs, limits liveness.Limits, want *liveness.Kind) {
	t.Helper()
	found := s.Problems(time.Now(), limits)
	if want == nil {
		require.Empty(t, found)
		return
	}
	require.Len(t, found, 1)
	assert.Equal(t, *want, found[0].Kind)
	assert.False(t, found[0].Since.IsZero())
	if *want == liveness.Unanswered {
		assert.ErrorIs(t, found[0].Err, errFault)
	}
}

func TestALoopIsDownFromItsEndToItsNextStart(t *testing.T) {
	t.Parallel()
	s := &liveness.Signs{}
	s.Registered()
	down := func() bool { return len(s.Problems(time.Now().Add(time.Second), liveness.Healthy(liveness.Life))) == 1 }
	run := s.Watched("tester", func(context.Context) { assert.False(t, down(), "while it runs") })
	assert.False(t, down(), "before it was started")
	for range 2 {
		run(t.Context())
		assert.True(t, down(), "once it has ended")
	}
}

// elapse lets time pass in a bubble of synctest, where nobody waits for it.
func elapse(d time.Duration) { <-time.After(d) }
