package work

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/errchain"
)

func TestDefaultBackoffIsSidekiqs(t *testing.T) {
	t.Parallel()
	for attempt, least := range map[int]time.Duration{
		1: 15 * time.Second, 2: 16 * time.Second, 3: 31 * time.Second, 6: 640 * time.Second, 25: 331791 * time.Second,
		201: 1600000015 * time.Second, 202: 1600000015 * time.Second, 310: 1600000015 * time.Second,
		100_001: 1600000015 * time.Second, math.MaxInt: 1600000015 * time.Second,
		0: 15 * time.Second, math.MinInt + 1: 15 * time.Second,
	} {
		t.Run(fmt.Sprint(attempt), func(t *testing.T) {
			t.Parallel()
			n := min(max(attempt-1, 0), 200)
			seen := map[time.Duration]bool{}
			for range 200 {
				wait := DefaultBackoff(&Job{Attempt: attempt}, nil)
				require.GreaterOrEqual(t, wait, least)
				require.Less(t, wait, least+time.Duration(n+1)*10*time.Second)
				seen[wait] = true
			}
			assert.Greater(t, len(seen), 100, "there is jitter")
		})
	}
}

func TestTwentyFiveRetriesTakeAboutThreeWeeks(t *testing.T) {
	t.Parallel()
	var all time.Duration
	for attempt := 1; attempt <= 25; attempt++ {
		all += DefaultBackoff(&Job{Attempt: attempt}, nil)
	}
	assert.InDelta(t, 20.5, all.Hours()/24, 0.5)
}

func TestWaitsHaveAFloorAndACeiling(t *testing.T) {
	t.Parallel()
	const century = 100 * 365 * 24 * time.Hour
	for given, used := range map[time.Duration]time.Duration{
		math.MinInt64: 100 * time.Millisecond, -1: 100 * time.Millisecond, 0: 100 * time.Millisecond,
		99 * time.Millisecond: 100 * time.Millisecond, 101 * time.Millisecond: 101 * time.Millisecond,
		century: century, century + 1: century, math.MaxInt64: century,
	} {
		t.Run(fmt.Sprint(int64(given)), func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, used, errchain.Find[*disposition](RetryIn(given, nil)).delay)
			assert.Equal(t, used, errchain.Find[*disposition](Snooze(given)).delay)
			r := &run{job: &Job{}, registration: &registration{options: JobOptions{
				Backoff: func(*Job, error) time.Duration { return given },
			}}}
			wait, err := r.backoff(errLuck)
			assert.Equal(t, used, wait)
			assert.Equal(t, errLuck, err)
		})
	}
}

func TestABackoffThatPanicsIsReplacedByTheDefault(t *testing.T) {
	t.Parallel()
	r := &run{job: &Job{Attempt: 3}, registration: &registration{options: JobOptions{
		Backoff: func(*Job, error) time.Duration { panic(speechless{}) },
	}}}
	wait, err := r.backoff(errLuck)
	assert.GreaterOrEqual(t, wait, 31*time.Second)
	require.ErrorIs(t, err, errLuck)
	assert.Equal(t, "no luck (and the backoff function panicked: "+
		"a work.speechless whose text could not be had, since its own method panicked)", err.Error())
}

// speechless is an error that cannot be asked.
type speechless struct{}

func (speechless) Error() string { panic("boom") }
