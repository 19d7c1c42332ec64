package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCtrlCEndsABenchAndRemovesItsNamespace(t *testing.T) {
	t.Parallel()
	dsn := startRedis(t)
	require.Zero(t, call("enqueue", "--redis", dsn, "greet").status)
	before := keysIn(t, dsn)
	errOut := &tail{}
	cmd := exec.Command(os.Args[0], "bench", "--redis", dsn, "--duration", "1h", "--quiet")
	cmd.Stderr = errOut
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed,
		_ = cmd.Wait()         // and was waited for
	})
	require.Eventually(t, func() bool { return len(keysIn(t, dsn)) > len(before)+10 }, time.Minute, 10*time.Millisecond,
		"it has begun to store jobs")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, exitInterrupted, exit.ExitCode())
	assert.Regexp(t, `^work: interrupted: namespace work-bench-\w+ is removed$`, errOut.String())
	assert.ElementsMatch(t, before, keysIn(t, dsn))
}
