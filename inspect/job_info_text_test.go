package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/rdb"
)

func TestJobInfoInOneLine(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_800_000_000_123)
	for name, c := range map[string]struct {
		info inspect.JobInfo
		want string
	}{
		"queued": {
			inspect.JobInfo{State: work.StateQueued,
				Why: []inspect.WaitReason{{Kind: inspect.WaitPaused}, {Kind: inspect.WaitBehind, Ahead: -1}}},
			"a x: queued, its queue is paused, behind over 10,000 others",
		},
		"running": {
			inspect.JobInfo{State: work.StateRunning, Worker: "w", BegunAt: at, WorkerLost: true,
				Checkin: &inspect.JobCheckin{At: at, Message: "row 3"}},
			`a x: running, held by worker w since 2027-01-15T08:00:00.123Z, which has no heartbeat, said "row 3" at 2027-01-15T08:00:00.123Z`,
		},
		"running, cancelled": {
			inspect.JobInfo{State: work.StateRunning, Worker: "w", BegunAt: at, Cancelling: true},
			"a x: running, held by worker w since 2027-01-15T08:00:00.123Z, to be cancelled",
		},
		"retrying": {
			inspect.JobInfo{State: work.StateRetrying, Fails: 2,
				Errors: []inspect.JobError{{Error: "no"}, {Error: "not yet"}},
				Why:    []inspect.WaitReason{{Kind: inspect.WaitDue, Until: at}}},
			`a x: retrying, due at 2027-01-15T08:00:00.123Z, failed 2 times, last with "not yet"`,
		},
		"scheduled, a suspect": {
			inspect.JobInfo{State: work.StateScheduled, Crashes: []string{"v", "w"},
				Why: []inspect.WaitReason{{Kind: inspect.WaitSuspect, Until: at}}},
			"a x: scheduled, a suspect, put off until 2027-01-15T08:00:00.123Z, workers died with it 2 times",
		},
		"dead": {
			inspect.JobInfo{State: work.StateDead, Since: at, Reason: "out of retries", Fails: 1},
			"a x: dead, since 2027-01-15T08:00:00.123Z, out of retries, failed once",
		},
		"retried by hand, with an old reason": {inspect.JobInfo{State: work.StateQueued, Reason: "out of retries"},
			"a x: queued"},
		"cancelled": {inspect.JobInfo{State: work.StateCancelled, EndedAt: at, Cancelling: true},
			"a x: cancelled, at 2027-01-15T08:00:00.123Z"},
		"with a bad record": {inspect.JobInfo{State: work.StateQueued, Problem: "the record is not JSON"},
			"a x: queued, the record is not JSON"},
		"lost": {inspect.JobInfo{State: work.StateLost},
			"a x: lost, its record is there and it is in no place: see doctor.Examine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.info.ID, c.info.Name = "x", "a"
			assert.Equal(t, c.want, c.info.String())
		})
	}
	assert.Equal(t, "job x: succeeded", (&inspect.JobInfo{ID: "x", State: work.StateSucceeded}).String(),
		"an outcome has no name")
}

func TestReasonsInWords(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	for name, c := range map[string]struct {
		waits rdb.Waits
		want  []string
	}{
		"nothing":    {rdb.Waits{Served: true}, nil},
		"all paused": {rdb.Waits{Served: true, All: true}, []string{"all queues are paused"}},
		"a rate": {rdb.Waits{Served: true, Rate: time.Second},
			[]string{"the rate of its queue leaves room at 2027-01-15T08:00:01.000Z"}},
		"nobody":        {rdb.Waits{}, []string{"no registered worker serves its queue"}},
		"one before it": {rdb.Waits{Served: true, Before: 1}, []string{"behind 1 other"}},
		"two before it": {rdb.Waits{Served: true, Before: 2}, []string{"behind 2 others"}},
		"a broken rule": {rdb.Waits{Served: true, Rule: "0"}, []string{"its queue is paused"}},
		"a rule of ours": {rdb.Waits{Served: true, Rule: "0 0 - - - code", Running: 1},
			[]string{"1 of its queue runs, and 0 may"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, reason := range inspect.WhyQueued(c.waits, now, nil) {
				got = append(got, reason.String())
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// Replies stay at about a MiB, whatever the size of the jobs.
func TestHowManyJobsAreLookedUpTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ size, bytes, want int }{
		"small":           {4, 1_000, 8},
		"small, the most": {rdb.MaxLookup, 1_000, rdb.MaxLookup},
		"middling":        {8, 1 << 19, 8},
		"large":           {64, 2 << 20, 16},
		"one large":       {1, 2 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, inspect.NextLookup(c.size, c.bytes))
		})
	}
}
