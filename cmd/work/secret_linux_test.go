package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/redistest"
)

const secret = "Se:cr@t/1 %41"

// locked is the DSN of a Redis that wants the secret, without it.
func locked(t *testing.T) string {
	t.Helper()
	server := redistest.Dedicated(t)
	clitest.Command(t, server.DSN(), "CONFIG", "SET", "requirepass", secret)
	return server.DSN()
}

// written is a file with that text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAPasswordOfRedisComesFromAFileOrTheEnvironment(t *testing.T) {
	t.Parallel()
	dsn := locked(t)
	refused := call("queues", "--redis", dsn)
	require.Equal(t, exit.Failure, refused.status)
	require.Contains(t, refused.err, "NOAUTH")
	got := call("queues", "--redis", dsn, "--redis-password-file", written(t, secret+"\n"))
	assert.Equal(t, exit.OK, got.status, got.err)
	assert.NotContains(t, got.err, "see the secret")

	cmd := exec.Command(os.Args[0], "queues", "--redis", dsn)
	cmd.Env = append(os.Environ(), "WORK_REDIS_PASSWORD="+secret)
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)

	for text, want := range map[string]string{"": "is empty", "a\nb": "more than one line"} {
		got := call("queues", "--redis", dsn, "--redis-password-file", written(t, text))
		assert.Equal(t, exit.Usage, got.status)
		assert.Contains(t, got.err, want)
	}
	got = call("queues", "--redis", dsn, "--redis-password-file", "/nowhere")
	assert.Equal(t, exit.Usage, got.status)
	assert.Contains(t, got.err, "--redis-password-file cannot be read: open /nowhere")
	with := strings.Replace(dsn, "redis://", "redis://:wrong@", 1)
	got = call("queues", "--redis", with, "--redis-password-file", written(t, secret))
	assert.Contains(t, got.err, "leave one out")
	assert.Equal(t, exit.Usage, got.status)
}

func TestASecretOnTheCommandLineIsWarnedOf(t *testing.T) {
	t.Parallel()
	dsn := strings.Replace(clitest.Redis(t), "redis://", "redis://:hidden@", 1)
	got := call("queues", "--redis", dsn, "--quiet")
	assert.Contains(t, got.err, "work: others on this machine can see the secret in --redis: give it in WORK_REDIS, "+
		"WORK_REDIS_PASSWORD or --redis-password-file\n")
	got = call("ui", "--redis", dsn, "--token", "a token of some length", "--listen", "nowhere")
	assert.Contains(t, got.err, "can see the secret in --token: give it in WORK_UI_TOKEN or --token-file")
	got = call("ui", "--redis", clitest.Redis(t), "--user", "ann", "--password", "x", "--listen", "nowhere")
	assert.Contains(t, got.err, "can see the secret in --password: ")
}

// What a list of processes shows of a program that has its secrets from files, and of those that it starts.
func TestNoProcessShowsASecret(t *testing.T) {
	t.Parallel()
	dsn, file := locked(t), written(t, secret)
	for _, args := range [][]string{
		{"ui", "--redis", dsn, "--redis-password-file", file, "--listen", "127.0.0.1:0", "--token-file",
			written(t, "a token of some length")},
		{"demo", "--redis", dsn, "--redis-password-file", file, "--workers", "2", "--slow", "1h",
			clitest.ManyFiles(t, 50)},
	} {
		children := map[string]int{"ui": 0, "demo": 2}[args[0]]
		cmd, pids, errOut := startProgram(t, children, args...)
		for _, pid := range append(pids, cmd.Process.Pid) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			require.NoError(t, err, errOut.String())
			require.NotEmpty(t, line)
			for _, hidden := range []string{"Se:cr", "Se%3Acr", "a token of"} {
				assert.NotContains(t, string(line), hidden, "%s", args[0])
			}
		}
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			t.Log(err) // interrupted
		case <-time.After(time.Minute):
			assert.Fail(t, "it does not end", errOut.String())
		}
	}
}
