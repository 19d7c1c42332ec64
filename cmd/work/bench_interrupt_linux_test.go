package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

func TestCtrlCEndsABenchAndRemovesItsNamespace(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Zero(t, call("enqueue", "--force", "--redis", dsn, "greet").status)
	before := clitest.Keys(t, dsn)
	errOut := &bytes.Buffer{}
	cmd := exec.Command(os.Args[0], "bench", "--redis", dsn, "--duration", "1h", "--quiet")
	cmd.Stderr = errOut
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed,
		_ = cmd.Wait()         // and was waited for
	})
	require.Eventually(t, func() bool { return len(clitest.Keys(t, dsn)) > len(before)+10 }, time.Minute,
		10*time.Millisecond,
		"it has begun to store jobs")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended)
	assert.Equal(t, exit.Interrupted, ended.ExitCode())
	assert.Regexp(t, `^work: interrupted: namespace work-bench-\w+ is removed$`, strings.TrimSpace(errOut.String()))
	assert.ElementsMatch(t, before, clitest.Keys(t, dsn))
}
