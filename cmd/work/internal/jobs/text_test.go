package jobs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/inspect"
)

// The id of a parent is a program's own text.
func TestAJobShowsItsParent(t *testing.T) {
	t.Parallel()
	lines := strings.Join(jobLines(&console.Console{}, &inspect.JobInfo{ID: "7", Parent: "order\x1b-6"}), "\n")
	assert.Regexp(t, `(?m)^parent +order\\x1b-6$`, lines)
	assert.NotContains(t, strings.Join(jobLines(&console.Console{}, &inspect.JobInfo{ID: "7"}), "\n"), "parent")
}

// The reason of a death is often its last error, which is printed once.
func TestWhatOfADeadJob(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ reason, last, want string }{
		"the reason is the error":   {"disk is full", "disk is full", "disk is full"},
		"the reason has the error":  {"permanent: disk is full", "disk is full", "permanent: disk is full"},
		"the reason is another one": {"out of retries", "disk is full", "out of retries; disk is full"},
		"no error":                  {"3 crashes", "", "3 crashes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := &inspect.JobInfo{State: work.StateDead, Reason: row.reason}
			if row.last != "" {
				job.Errors = []inspect.JobError{{Error: row.last}}
			}
			assert.Equal(t, row.want, jobWhat(job))
		})
	}
}
