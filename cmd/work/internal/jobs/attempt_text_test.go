package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/inspect"
)

// story is a job that has failed, was put off, lost a worker and runs, as of a time.
func story() *inspect.JobInfo {
	begin := time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	return &inspect.JobInfo{ID: "7", State: work.StateRunning, AsOf: at(600), AttemptsLeftOut: 12,
		Attempts: []inspect.Attempt{
			{Number: 1, Due: at(0), Begun: at(2), Ended: at(5), Worker: "0123456789abcdef", Outcome: "failed",
				Error: "no \x1b[2Jdisk"},
			{Number: 2, Due: at(65), Begun: at(65), Ended: at(66), Worker: "w2", Outcome: "snoozed"},
			{Number: 2, Ended: at(300), Worker: "w3", Outcome: "crashed"},
			{Number: 2, Due: at(300), Begun: at(310), Worker: "w4", Outcome: inspect.AttemptRunning},
		}}
}

func TestAttemptsAreATable(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		"", "4 attempts, 12 more left out",
		"NO  DUE                  WAITED  BEGUN                   RAN  WORKER        OUTCOME  ERROR",
		" 1  2030-01-31 09:00:00      2s  2030-01-31 09:00:02      3s  0123456789ab  failed   no \\x1b[2Jdisk",
		" 2  2030-01-31 09:01:05      0s  2030-01-31 09:01:05      1s  w2            snoozed",
		" 2  -                         -  -                         -  w3            crashed",
		" 2  2030-01-31 09:05:00     10s  2030-01-31 09:05:10  4m50s+  w4            running",
	}, attemptLines(&console.Console{}, story()))
	assert.Empty(t, attemptLines(&console.Console{}, &inspect.JobInfo{ID: "7"}))
}

// The row of a job that has ended is about the attempt that it ended with.
func TestJobsThatHaveEndedAreATable(t *testing.T) {
	t.Parallel()
	done, given := story(), story()
	done.State, done.EndedAt, done.Name = work.StateSucceeded, done.AsOf, "import"
	done.Attempts[3].Outcome, done.Attempts[3].Ended = "succeeded", done.AsOf
	done.Errors = []inspect.JobError{{Error: "no disk"}}
	given.State, given.Former, given.Reason = work.StateDiscarded, true, "no use"
	given.Attempts = given.Attempts[:1]
	assert.Equal(t, []string{
		"ID  NAME    STATE      ENDED                ATTEMPTS    RAN  WORKER        WHAT",
		"7   import  succeeded  2030-01-31 09:10:00        16  4m50s  w4",
		"7   -       discarded  -                          13     3s  0123456789ab  no use; an earlier job " +
			"of this id; no \\x1b[2Jdisk",
	}, endedTable([]*inspect.JobInfo{done, given}).Render(&console.Console{}))
}

func TestAJobSaysWhyItsArgsAreNotKept(t *testing.T) {
	t.Parallel()
	lines := strings.Join(jobLines(&console.Console{}, &inspect.JobInfo{ID: "7", NoArgs: "too large",
		State: work.StateExpired, Former: true}), "\n")
	assert.Regexp(t, `(?m)^args +not kept: too large$`, lines)
	assert.Regexp(t, `(?m)^state +expired, an earlier job of this id$`, lines)
}
