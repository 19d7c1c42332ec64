//go:build unix

package clitest

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pipe makes a named pipe, or skips the test where the system has none.
func Pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}
