package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// failing is a standard output that takes so many bytes and then fails.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	if f.left -= n; n < len(p) {
		return n, f.err
	}
	return n, nil
}

// everyCommand are all commands of the program, as they are typed.
func everyCommand(t *testing.T) (all [][]string) {
	t.Helper()
	root := newRootCommand(&cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		all = append(all, strings.Fields(cmd.CommandPath())[1:])
		for _, below := range cmd.Commands() {
			add(below)
		}
	}
	add(root)
	require.Greater(t, len(all), 50)
	return all
}

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Zero(t, call("enqueue", "--redis", dsn, "mail", "--id", "one", "--force").status)
	require.Zero(t, call("limits", "set", "--redis", dsn, "mail", "--rate", "5").status, "there is something to list")
	var calls [][]string
	for _, command := range everyCommand(t) {
		calls = append(calls, append(command, "--help"), append([]string{"help"}, command...))
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		calls = append(calls, []string{"completion", shell})
	}
	calls = append(calls, []string{"__complete", "que"}, []string{}, []string{"jobs"}, []string{"version"})
	for _, line := range []string{"queues", "queues mail", "jobs list", "jobs search --state queued", "jobs show one",
		"top --once", "doctor", "limits",
		"enqueue mail --id two", "pause mail", "resume mail", "limits set mail --rate 5"} {
		calls = append(calls, append(strings.Fields(line), "--redis", dsn))
	}
	for what, err := range map[string]error{"full": syscall.ENOSPC, "closed": syscall.EBADF, "broken": syscall.EPIPE} {
		for _, args := range calls {
			t.Run(what+" "+strings.ReplaceAll(strings.Join(args, " "), dsn, "REDIS"), func(t *testing.T) {
				t.Parallel()
				var good, errOut bytes.Buffer
				run(context.Background(), &cli.App{In: strings.NewReader(""), Out: &good, Err: &errOut}, args)
				require.NotZero(t, good.Len(), "it prints something, and to stderr: %s", &errOut)
				errOut.Reset()
				status := run(context.Background(), &cli.App{In: strings.NewReader(""), Out: &failing{err: err},
					Err: &errOut}, args)
				assert.Equal(t, exit.Failure, status, errOut.String())
				if !errors.Is(err, syscall.EPIPE) {
					assert.Contains(t, errOut.String(), err.Error())
				}
			})
		}
	}
}
