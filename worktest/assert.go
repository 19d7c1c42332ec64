package worktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Recorded is what the assertions look at: a [*Redis], a [*Recorder], or the [*Outcome] of one job.
type Recorded interface{ Enqueued() []Enqueued }

// AssertEnqueued fails the test unless a job of that name was enqueued, with these args if any are given. It returns
// the first such job, and the zero value if there is none. A failure does not end the test; it says what was enqueued
// instead.
func AssertEnqueued(t testing.TB, from Recorded, name string, args ...any) Enqueued {
	t.Helper()
	found := AssertWanted(t, from, Want{Name: name, Args: args})
	if len(found) == 0 {
		return Enqueued{}
	}
	return found[0]
}

// AssertNotEnqueued fails the test if a job of that name was enqueued, with these args if any are given.
func AssertNotEnqueued(t testing.TB, from Recorded, name string, args ...any) {
	t.Helper()
	compare(t, from, Want{Name: name, Args: args}, func(n int) string {
		if n == 0 {
			return ""
		}
		return "should not have been enqueued"
	})
}

// AssertNoneEnqueued fails the test if any job was enqueued.
func AssertNoneEnqueued(t testing.TB, from Recorded) {
	t.Helper()
	kept := slices.DeleteFunc(from.Enqueued(), func(e Enqueued) bool { return e.Duplicate })
	if len(kept) > 0 {
		t.Errorf("worktest: nothing should have been enqueued. %s", list(kept, nil))
	}
}

// AssertWanted is [AssertEnqueued] of a job that is described in full: when it is due, its options, how many times. It
// returns all that are as wanted.
func AssertWanted(t testing.TB, from Recorded, want Want) []Enqueued {
	t.Helper()
	return compare(t, from, want, func(n int) string {
		switch {
		case want.Times == 0 && n == 0:
			return "was not enqueued"
		case want.Times > 0 && n != want.Times:
			return fmt.Sprintf("was enqueued %s, not %s", times(n), times(want.Times))
		}
		return ""
	})
}

// compare finds what is as wanted, and fails with what complaint says of their number.
func compare(t testing.TB, from Recorded, want Want, complaint func(n int) string) []Enqueued {
	t.Helper()
	var found []Enqueued
	all := from.Enqueued()
	for _, e := range all {
		if e.Name == want.Name && len(want.differences(&e)) == 0 {
			found = append(found, e)
		}
	}
	if text := complaint(len(found)); text != "" {
		t.Errorf("worktest: %s %s. %s", &want, text, list(all, &want))
	}
	return found
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// list shows what was enqueued, and of jobs of the wanted name in what they differ.
func list(all []Enqueued, want *Want) string {
	if len(all) == 0 {
		return "Nothing was enqueued: does the code under test use the Enqueuer or the Options of this Redis?"
	}
	lines := make([]string, len(all))
	for i := range all {
		e := &all[i]
		lines[i] = fmt.Sprintf("\n  %d. %s", i+1, e)
		if want == nil || e.Name != want.Name {
			continue
		}
		if differences := want.differences(e); len(differences) > 0 {
			lines[i] += ": " + strings.Join(differences, "; ")
		}
	}
	return "Enqueued were:" + strings.Join(lastOf(lines), "")
}

// String is one line: name, args, and what else was given.
func (e *Enqueued) String() string {
	text := e.Name + " " + string(e.Args)
	if e.In != 0 {
		text += ", in " + e.In.String()
	}
	if !e.At.IsZero() {
		text += ", at " + e.At.Format(time.RFC3339Nano)
	}
	if e.Source != 0 {
		text += fmt.Sprintf(", source %d", e.Source)
	}
	return text + showOptions(e.Settings)
}
