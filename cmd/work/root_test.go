package main

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

func TestMistakesInTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"misspelt command", []string{"dmeo"}, `there is no command "dmeo": did you mean "demo"?`},
		{"unknown command", []string{"fly"}, "there is no command \"fly\": `work --help` lists them"},
		{"unknown flag", []string{"demo", "--fast"}, "unknown flag: --fast: `work demo --help` lists the flags"},
		{"two directories", []string{"demo", "a", "b"},
			`work demo takes one directory, but here are 2 arguments, from "a" to "b"`},
		{"no such directory", []string{"demo", "/no/such"},
			`there is no directory "/no/such": name one that exists, or none for the present one`},
		{"a file", []string{"demo", "main.go"}, `"main.go" is a file, not a directory: name the directory it is in`},
		{"nobody left", []string{"demo", "--kill", "--workers", "1"},
			"--kill with --workers 1 would leave nobody to run the jobs: give --workers 2 or more"},
		{"no concurrency", []string{"demo", "--concurrency", "0"}, "--concurrency is 0: give 1 to 100000"},
		{"too many processes", []string{"demo", "--workers", "101"},
			"--workers is 101: give 1 to 100, or leave it out"},
		{"negative delay", []string{"demo", "--slow", "-1s"}, "--slow is -1s: give a positive duration, as 25ms"},
		{"negative count", []string{"demo", "--flaky", "-1"}, "--flaky is -1: give 0 to 100000"},
		{"worker by hand", []string{"demo-worker"},
			"demo-worker is started by work demo only: its options are read from standard input, which ended: EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, said{status: exit.Usage, err: "work: " + row.want + "\n"}, call(row.args...))
		})
	}
}

func TestHelpDoesNotShowThePassword(t *testing.T) {
	t.Setenv("WORK_REDIS", "redis://:secret@localhost")
	got := call("demo", "--help")
	assert.Zero(t, got.status)
	assert.Contains(t, got.out, "--redis DSN")
	assert.NotContains(t, got.out, "secret")
}

func TestCompletionIsThere(t *testing.T) {
	t.Parallel()
	got := call("completion", "bash")
	assert.Zero(t, got.status)
	assert.Contains(t, got.out, "__start_work")
}

// broken is an output that cannot be written.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// withoutAddress leaves out the line that tells where the dashboard of a demo is: on another port each time.
func withoutAddress(text string) string {
	return regexp.MustCompile(`work demo: the dashboard is at http://127\.0\.0\.1:\d+/\?token=\w+ while this runs\n`).
		ReplaceAllString(text, "")
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"the reader has left", syscall.EPIPE, ""},
		{"the disk is full", syscall.ENOSPC, "work: no space left on device\n"},
	} {
		for _, command := range [][]string{{"version"}, {"version", "--json"},
			{"demo", "--flaky", "0", "--scheduled", "0"}} {
			t.Run(row.name+" of "+strings.Join(command, " "), func(t *testing.T) {
				t.Parallel()
				var errOut bytes.Buffer
				if command[0] == "demo" {
					command = append(command, t.TempDir())
				}
				assert.Equal(t, exit.Failure, execute(command, strings.NewReader(""), broken{row.err}, &errOut))
				assert.Equal(t, row.want, withoutAddress(errOut.String()))
			})
		}
	}
}

func TestStatusOfAnInterruption(t *testing.T) {
	t.Parallel()
	var errOut bytes.Buffer
	a := &cli.App{Err: &errOut, Running: true}
	assert.Equal(t, exit.Interrupted, a.Status(errors.Join(interrupt.Err)))
	assert.Equal(t, "work: interrupted\n", errOut.String())
}
