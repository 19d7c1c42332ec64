package inspect

import (
	"fmt"
	"strings"

	"github.com/265d0351/work"
)

// String is the job in one line for people, without its args and its result.
func (j JobInfo) String() string {
	parts := []string{string(j.State)}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(j.Worker != "", "held by worker %s since %s", j.Worker, stamp(j.BegunAt))
	add(j.WorkerLost, "which has no heartbeat")
	if j.Checkin != nil {
		add(true, "said %q at %s", j.Checkin.Message, stamp(j.Checkin.At))
	}
	add(!j.Since.IsZero(), "since %s", stamp(j.Since))
	add(!j.EndedAt.IsZero(), "at %s", stamp(j.EndedAt))
	add(j.Reason != "" && j.State == work.StateDead, "%s", j.Reason)
	for _, why := range j.Why {
		add(true, "%s", why)
	}
	add(j.Fails > 0, "failed %s", howOften(j.Fails))
	if n := len(j.Errors); n > 0 {
		add(true, "last with %q", j.Errors[n-1].Error)
	}
	add(len(j.Crashes) > 0, "workers died with it %s", howOften(len(j.Crashes)))
	add(j.Cancelling && !j.State.Ended(), "to be cancelled")
	add(j.State == work.StateLost, "its record is there and it is in no place: see doctor.Examine")
	add(j.Problem != "", "%s", j.Problem)
	name := j.Name
	if name == "" {
		name = "job"
	}
	return name + " " + j.ID + ": " + strings.Join(parts, ", ")
}

func howOften(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
