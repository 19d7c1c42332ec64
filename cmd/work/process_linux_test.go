package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/demo"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/pooltest"
)

// childrenOf returns the processes that pid has started and that live.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var children []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		after := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // state, parent, ...
		if after[1] == strconv.Itoa(pid) && after[0] != "Z" {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			children = append(children, child)
		}
	}
	return children
}

func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// startProgram starts the program as a process of its own and waits until it has so many children.
func startProgram(t *testing.T, children int, args ...string) (cmd *exec.Cmd, pids []int,
	errOut *pooltest.LockedBuffer) {
	t.Helper()
	errOut = &pooltest.LockedBuffer{}
	cmd = exec.Command(os.Args[0], args...)
	cmd.Stderr = errOut
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed,
		_ = cmd.Wait()         // and was waited for
	})
	require.Eventually(t, func() bool {
		pids = childrenOf(t, cmd.Process.Pid)
		return len(pids) == children
	}, time.Minute, 10*time.Millisecond)
	return cmd, pids, errOut
}

func requireDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 10*time.Millisecond,
			"process %d lives on", pid)
	}
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	t.Parallel()
	cmd, children, _ := startProgram(t, 2, "demo", "--workers", "2", "--slow", "1h", clitest.ManyFiles(t, 50))
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	requireDead(t, children)
}

func TestInterruptStopsAllInGoodOrder(t *testing.T) {
	t.Parallel()
	cmd, children, errOut := startProgram(t, 2, "demo", "--workers", "2", "--slow", "200ms", "--concurrency", "1",
		clitest.ManyFiles(t, 200))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended)
	assert.Equal(t, exit.Interrupted, ended.ExitCode())
	assert.Equal(t, "work: interrupted: the jobs that were not done are left undone",
		strings.TrimSpace(withoutAddress(errOut.String())))
	requireDead(t, children)
}

func TestASecondInterruptHurries(t *testing.T) {
	t.Parallel()
	cmd, children, _ := startProgram(t, 2, "demo", "--workers", "2", "--slow", "1h", clitest.ManyFiles(t, 50))
	var status *exec.ExitError
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	began := time.Now()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			require.ErrorAs(t, err, &status)
			assert.Less(t, time.Since(began), demo.ShutdownTimeout, "it did not wait for the jobs")
			requireDead(t, children)
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
}
