package pages

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/chart"
)

var lifeBegan = time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return lifeBegan.Add(d) }

// drawnAs are the spans of a line: their class, and how long they took.
func drawnAs(line timeLine) []string {
	drawn := make([]string, len(line.Spans))
	for n, s := range line.Spans {
		drawn[n] = fmt.Sprint(s.Class, " ", s.to.Sub(s.from))
	}
	return drawn
}

func TestATimeLineIsWhatAJobDid(t *testing.T) {
	t.Parallel()
	failed := inspect.Attempt{Number: 1, Due: after(time.Minute), Begun: after(62 * time.Second),
		Ended: after(65 * time.Second), Outcome: "failed", Error: "no", Worker: "w1"}
	for name, row := range map[string]struct {
		job  inspect.JobInfo
		want []string
		end  string
	}{
		"nothing is known": {inspect.JobInfo{State: work.StateSucceeded, EndedAt: after(time.Second)}, []string{}, ""},
		"queued": {inspect.JobInfo{State: work.StateQueued, EnqueuedAt: lifeBegan, RunAt: lifeBegan,
			AsOf: after(time.Second)}, []string{"queue 1s"}, "queued,"},
		"scheduled": {inspect.JobInfo{State: work.StateScheduled, EnqueuedAt: lifeBegan, RunAt: after(time.Minute),
			AsOf: after(time.Second)}, []string{"delay 1s", "ahead 59s"}, "due"},
		"overdue": {inspect.JobInfo{State: work.StateRetrying, EnqueuedAt: lifeBegan, RunAt: after(70 * time.Second),
			AsOf: after(71 * time.Second), Attempts: []inspect.Attempt{failed}},
			[]string{"delay 1m0s", "queue 2s", "warn 3s", "delay 5s", "queue 1s"}, "retrying,"},
		"running": {inspect.JobInfo{State: work.StateRunning, EnqueuedAt: lifeBegan, AsOf: after(9 * time.Second),
			Attempts: []inspect.Attempt{{Number: 1, Due: lifeBegan, Begun: after(time.Second), Outcome: "running"}}},
			[]string{"queue 1s", "now 8s"}, "running,"},
		"crashed, its beginning not known": {inspect.JobInfo{State: work.StateQueued, EnqueuedAt: lifeBegan,
			RunAt: lifeBegan, AsOf: after(9 * time.Second),
			Attempts: []inspect.Attempt{{Ended: after(7 * time.Second), Outcome: "crashed"}}},
			[]string{"queue 7s", "bad 0s", "queue 2s"}, "queued,"},
		"put aside": {inspect.JobInfo{State: work.StateStalled, EnqueuedAt: lifeBegan, Since: after(2 * time.Second),
			AsOf: after(9 * time.Second)}, []string{"queue 2s", "aside 7s"}, "stalled,"},
		"cancelled before it was due": {inspect.JobInfo{State: work.StateCancelled, EnqueuedAt: lifeBegan,
			RunAt: after(time.Hour), EndedAt: after(time.Minute), AsOf: after(time.Hour)}, []string{"delay 1m0s"},
			"cancelled"},
		"dead by its attempt": {inspect.JobInfo{State: work.StateDead, EnqueuedAt: lifeBegan,
			Since: after(66 * time.Second), Attempts: []inspect.Attempt{failed}},
			[]string{"delay 1m0s", "queue 2s", "warn 3s"}, "died"},
		"cancelled before the next attempt": {inspect.JobInfo{State: work.StateCancelled, EnqueuedAt: lifeBegan,
			RunAt: after(time.Minute), EndedAt: after(70 * time.Second), Attempts: []inspect.Attempt{failed}},
			[]string{"delay 1m0s", "queue 2s", "warn 3s", "delay 5s"}, "cancelled"},
		"attempts left out": {inspect.JobInfo{State: work.StateDead, EnqueuedAt: lifeBegan,
			Since: after(65 * time.Second), AttemptsLeftOut: 4, Attempts: []inspect.Attempt{failed}},
			[]string{"unknown 1m0s", "queue 2s", "warn 3s"}, "died"},
		"a clock that was late": {inspect.JobInfo{State: work.StateSucceeded, EnqueuedAt: after(63 * time.Second),
			EndedAt: after(65 * time.Second), Attempts: []inspect.Attempt{failed}}, []string{"warn 2s"}, "succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := timeLineOf(&row.job)
			assert.Equal(t, row.want, drawnAs(line))
			assert.Equal(t, row.end, line.End)
		})
	}
}

// An attempt of 3 ms after two hours can be seen, and so can each of many; nothing leaves the picture.
func TestEverySpanOfATimeLineCanBeSeen(t *testing.T) {
	t.Parallel()
	short := inspect.JobInfo{State: work.StateSucceeded, EnqueuedAt: lifeBegan, EndedAt: after(2*time.Hour + 3e6),
		Attempts: []inspect.Attempt{{Number: 1, Due: lifeBegan, Begun: after(2 * time.Hour),
			Ended: after(2*time.Hour + 3e6), Outcome: "succeeded"}}}
	long := inspect.JobInfo{State: work.StateSucceeded, EnqueuedAt: lifeBegan, EndedAt: after(21 * time.Hour)}
	for n := range 21 {
		begun := time.Duration(n+1)*time.Hour - time.Minute
		long.Attempts = append(long.Attempts, inspect.Attempt{Number: 1, Due: after(begun - time.Minute),
			Begun: after(begun), Ended: after(begun + time.Millisecond), Outcome: "snoozed"})
	}
	instant := inspect.JobInfo{State: work.StateSucceeded, EnqueuedAt: lifeBegan, EndedAt: lifeBegan,
		Attempts: []inspect.Attempt{{Number: 1, Due: lifeBegan, Begun: lifeBegan, Ended: lifeBegan,
			Outcome: "succeeded"}}}
	for name, row := range map[string]struct {
		job   *inspect.JobInfo
		spans int
	}{"short after long": {&short, 2}, "many": {&long, 64}, "no time at all": {&instant, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := timeLineOf(row.job)
			require.Len(t, line.Spans, row.spans)
			x, mark := 0.0, -leastGap
			for _, s := range line.Spans {
				assert.InDelta(t, x, s.X, 0.05, "one begins where the other ends")
				assert.GreaterOrEqual(t, s.W, 0.5, s.Class)
				if x = s.X + s.W; s.Mark != nil {
					assert.GreaterOrEqual(t, s.Mark.X-mark, leastGap-1.5, "signs do not cover each other")
					mark = s.Mark.X
				}
			}
			assert.InDelta(t, 100, x, 0.1)
			assert.True(t, line.Stretched || name == "no time at all")
		})
	}
	assert.Equal(t, "succeeded: waited 2 h and ran 3 ms, attempts succeeded", timeLineOf(&short).Summary)
	assert.Equal(t, []chart.Series{{Name: "ready, waits for a worker", Class: "queue"},
		{Name: "✓ succeeded", Class: "good"}}, timeLineOf(&short).Legend)
}

func TestALongErrorOfAnAttemptCanBeOpened(t *testing.T) {
	t.Parallel()
	line := timeLineOf(&inspect.JobInfo{Attempts: []inspect.Attempt{{Outcome: "failed", Error: "a", Stack: "main.go:7"},
		{Outcome: "failed", Error: "b"}, {Outcome: "failed", Error: fmt.Sprintf("%200d", 7)}}})
	for n, want := range []struct{ long, open bool }{{true, false}, {false, false}, {true, true}} {
		assert.Equal(t, want.long, line.Attempts[n].Long, n)
		assert.Equal(t, want.open, line.Attempts[n].Open, n)
	}
	assert.Empty(t, line.Spans, "nothing is known of when")
}
