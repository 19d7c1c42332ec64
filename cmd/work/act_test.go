package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// Every command that changes something, one after the other: first as a person reads it, then as a program does. What
// it has changed shows in the commands that look, between them.
func TestCommandsThatAct(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "json"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.Importing()
			var book strings.Builder
			for _, args := range [][]string{
				{"jobs", "front", "greet-3"}, {"jobs", "stall", "greet-1", "mail-9"}, {"jobs", "list", "--ids"},
				{"jobs", "resume", "--state", "stalled", "--name", "greet"},
				{"jobs", "resume", "greet-1", "export-1", "nobody"},
				{"jobs", "resume", "nobody"}, {"jobs", "reschedule", "export-1", "--at", "2030-02-02T00:00:00Z"},
				{"jobs", "reschedule", "--state", "retrying", "--in", "1h", "--yes"},
				{"jobs", "reschedule", "mail-1", "--in", "1h"},
				{"jobs", "retry", "--state", "retrying", "--limit", "1"}, {"jobs", "retry", "mail-1", "--fresh"},
				{"jobs", "cancel", "--state", "queued", "--name", "greet", "--limit", "1"},
				{"jobs", "cancel", "greet-1", "nobody"},
				{"jobs", "delete", "greet-2", "--yes"},
				{"jobs", "delete", "--state", "queued", "--name", "mail", "--yes"},
				{"jobs", "list"}, {"purge", "export", "--yes"}, {"purge", "nobody", "--yes"},
				{"schedules", "add", "@daily", "export", "1", `{"all":true}`, "--id", "daily", "--missed", "3"},
				{"schedules", "add", "@daily", "export", "--id", "daily"},
				{"schedules", "add", "@hourly", "export", "--id", "daily", "--replace", "--string", "x"},
				{"schedules", "add", "nonsense", "export"}, {"schedules", "pause", "daily", "nightly"},
				{"schedules", "list"}, {"schedules", "resume", "daily"},
				{"schedules", "pause", "nobody"}, {"schedules", "remove", "daily", "nobody", "--yes"},
				{"schedules", "list"},
				{"limits", "set", "greet", "--rate", "10"}, {"limits", "set", "greet", "--concurrent", "-1"},
				{"limits", "reset", "greet"},
				{"pause", "greet", "report"}, {"pause", "--all"}, {"limits"}, {"queues", "report"},
				{"resume", "greet", "report"}, {"resume", "--all"}, {"queues", "report"},
				{"workers", "pause", s.Worker()[:12]}, {"workers", "resume", "--all"},
				{"workers", "quiet", s.Worker(), "nobody"}, {"workers", "list"},
				{"errors", "retry", s.Group("mail")}, {"errors", "clear", "--name", "mail", "--yes"}, {"errors"},
				{"errors", "clear", "--yes"}, {"errors"},
				{"jobs", "cancel", "--state", "running", "--yes"}, {"jobs", "wait", "import-1"},
				{"jobs", "cancel", "import-1"},
				{"jobs", "cancel", "export-1"},
			} {
				line := strings.ReplaceAll(strings.ReplaceAll(strings.Join(args, " "), s.Worker(), "WORKER"),
					s.Worker()[:12], "WORKER")
				if form == "json" {
					args = append(args, "--json")
				}
				fmt.Fprintf(&book, "$ work %s\n%s\n", line, s.settled(s.call(args...)))
			}
			clitest.Golden(t, "act-"+form, book.String())
		})
	}
}

// What destroys asks, does nothing unless the answer is yes, and does not ask into a pipe.
func TestWhatDestroysAsks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		args     []string
		question string
		gone     func(*shop) bool
	}{
		{"delete by id", []string{"jobs", "delete", "greet-1"},
			"work jobs delete: delete job greet-1 in namespace work? [yes/no] ",
			func(s *shop) bool { return s.State("greet-1") == "" || s.State("greet-1") == work.StateDeleted }},
		{"delete by selection", []string{"jobs", "delete", "--state", "queued", "--name", "greet"},
			"work jobs delete: delete the 3 jobs that are there now of these: queued jobs named greet, in namespace " +
				"work? [yes/no] ",
			func(s *shop) bool { return s.State("greet-3") == "" || s.State("greet-3") == work.StateDeleted }},
		{"purge", []string{"purge", "greet"},
			"work purge: remove the 3 jobs that wait in the queue of greet in namespace work? [yes/no] ",
			func(s *shop) bool { return s.State("greet-3") == "" || s.State("greet-3") == work.StateDeleted }},
		{"remove", []string{"schedules", "remove", "nightly"},
			"work schedules remove: remove 1 schedule in namespace work? [yes/no] ",
			func(s *shop) bool { return !strings.Contains(s.call("schedules").out, "nightly") }},
		{"stop", []string{"workers", "stop", "--all"},
			"work workers stop: stop the pools of 1 worker in namespace work? [yes/no] ",
			func(s *shop) bool { return s.wanted() == "stop" }},
		{"clear", []string{"errors", "clear"},
			"work errors clear: forget the groups of errors of all names in namespace work? [yes/no] ",
			func(s *shop) bool { return s.call("errors").out == "" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.Importing()
			assert.Equal(t,
				said{exit.Usage, "", row.question + "work: the answer was \"no\", so nothing was changed\n"},
				s.callWith("no\n", row.args...))
			assert.False(t, row.gone(s))

			pipe := exec.Command(os.Args[0], append(row.args, "--redis", s.Server.DSN())...)
			pipe.Stdin = strings.NewReader("yes\n")
			out, err := pipe.CombinedOutput()
			require.Error(t, err)
			assert.Equal(t, exit.Usage, pipe.ProcessState.ExitCode())
			assert.Contains(t, string(out),
				"nobody can be asked without a terminal, and nothing was changed: give --yes")
			assert.False(t, row.gone(s))

			got := s.callWith("yes\n", row.args...)
			assert.Equal(t, exit.OK, got.status, got.err)
			assert.Equal(t, row.question, got.err)
			assert.True(t, row.gone(s))
		})
	}
}

// wanted is what somebody wants of the only worker; one that has left was stopped.
func (s *shop) wanted() string {
	workers, err := s.Looked.Workers(s.T.Context())
	require.NoError(s.T, err)
	if len(workers) == 0 {
		return "stop"
	}
	return workers[0].Wanted
}

// callUntil runs the program and interrupts it as Ctrl-C does when Redis gets the n-th command of a kind.
func (s *shop) callUntil(n int64, command string, args ...string) said {
	ctx, cancel := context.WithCancelCause(s.T.Context())
	defer cancel(nil)
	var seen atomic.Int64
	s.Server.Hook(func(name string, _ []string) {
		if name == command && seen.Add(1) == n {
			cancel(interrupt.Err)
		}
	})
	defer s.Server.Hook(nil)
	var out, errOut bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errOut, Hurry: context.Background()}
	status := run(ctx, a, append(args, "--redis", s.Server.DSN()))
	return said{status: status, out: out.String(), err: errOut.String()}
}

// many enqueues so many jobs more, due in a year.
func (s *shop) many(n int) {
	entries := make([]work.Entry, n)
	for i := range entries {
		entries[i] = work.Entry{Name: "archive", In: 365 * 24 * time.Hour,
			Options: []work.EnqueueOption{work.ID(fmt.Sprint("archive-", i))}}
	}
	_, err := s.Enq.EnqueueMany(s.T.Context(), entries)
	require.NoError(s.T, err)
}

// Ctrl-C in the middle ends it with how far it got, what was done stays done, and the same command does the rest.
func TestCtrlCInTheMiddle(t *testing.T) {
	t.Parallel()
	const many = 1500
	ids := func() string {
		var lines strings.Builder
		for i := range many {
			fmt.Fprintf(&lines, "archive-%d\n", i)
		}
		return lines.String()
	}()
	for _, row := range []struct {
		name    string
		command string // that is seen once per job
		args    []string
		partly  string
		rest    string
	}{
		{"bulk", "HDEL", []string{"jobs", "delete", "--state", "scheduled", "--name", "archive", "--yes"},
			`^([1-9][0-9,]*) of [0-9,]+ selected jobs? deleted, looked at [0-9,]+ of 1,501; it did not get to the end: the same command goes on\n$`,
			`^[0-9,]+ of [0-9,]+ selected jobs? deleted, looked at [0-9,]+ of [0-9,]+\n$`},
		{"cancel", "HDEL", []string{"jobs", "cancel", "--state", "scheduled", "--name", "archive"},
			`^([1-9][0-9,]*) of [0-9,]+ selected jobs? cancelled, looked at [0-9,]+ of [0-9,]+; it did not get to the end: the same command goes on\n$`,
			`^[0-9,]+ of [0-9,]+ selected jobs? cancelled, looked at [0-9,]+ of [0-9,]+\n$`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.many(many)
			got := s.callUntil(many/2, row.command, row.args...)
			assert.Equal(t, exit.Interrupted, got.status)
			assert.Regexp(t, `(^|\n)work: interrupted\n$`, got.err)
			require.Regexp(t, row.partly, got.out)
			said, err := strconv.Atoi(strings.ReplaceAll(regexp.MustCompile(row.partly).FindStringSubmatch(got.out)[1],
				",", ""))
			require.NoError(t, err)
			counts, err := s.Looked.Counts(t.Context())
			require.NoError(t, err)
			left := counts.Scheduled - 1 // mail-9
			assert.Greater(t, left, 0, "not all was done")
			assert.Equal(t, many-left, said, "what it said was done")

			got = s.call(row.args...)
			assert.Equal(t, exit.OK, got.status, got.err)
			assert.Regexp(t, row.rest, got.out)
			counts, err = s.Looked.Counts(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 1, counts.Scheduled, "only the other job is left, after %s", got.out)
		})
	}
	t.Run("purge", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		entries := make([]work.Entry, many)
		for i := range entries {
			entries[i] = work.Entry{Name: "letter"}
		}
		_, err := s.Enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		got := s.callUntil(2, "HDEL", "purge", "letter", "--yes")
		assert.Equal(t, exit.Interrupted, got.status)
		assert.Regexp(t, `(^|\n)work: interrupted\n$`, got.err)
		q, err := s.Looked.Queue(t.Context(), "letter")
		require.NoError(t, err)
		assert.Greater(t, q.Waiting, 0)
		assert.Equal(t, fmt.Sprintf("removed %s of 1,500 jobs from the queue of letter\n",
			human.Number(many-q.Waiting)),
			got.out)
	})
	t.Run("ids", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.many(many)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var seen atomic.Int64
		s.Server.Hook(func(name string, _ []string) {
			if name == "HDEL" && seen.Add(1) == many/2 {
				cancel(interrupt.Err)
			}
		})
		var out, errOut bytes.Buffer
		a := &cli.App{In: strings.NewReader(ids), Out: &out, Err: &errOut, Hurry: context.Background()}
		assert.Equal(t, exit.Interrupted,
			run(ctx, a, []string{"jobs", "delete", "-", "--yes", "--redis", s.Server.DSN()}))
		s.Server.Hook(nil)
		counts, err := s.Looked.Counts(t.Context())
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%s of 1,500 jobs deleted\n", human.Number(many-(counts.Scheduled-1))),
			out.String())
		assert.Regexp(t, `(?s)work: it ended after [0-9]+ of 1,500 jobs: interrupted\n$`, errOut.String())
		assert.Equal(t, work.State(""), goneState(s.State("archive-0")))
		assert.Equal(t, work.StateScheduled, s.State(fmt.Sprint("archive-", many-1)))
	})
}

// goneState is the state of a job, "" also for one of which only is kept that it was deleted.
func goneState(state work.State) work.State {
	if state == work.StateDeleted {
		return ""
	}
	return state
}
