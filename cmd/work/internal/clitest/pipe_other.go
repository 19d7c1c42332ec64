//go:build !unix

package clitest

import "testing"

// Pipe makes a named pipe, or skips the test where the system has none.
func Pipe(t *testing.T, _ string) {
	t.Helper()
	t.Skip("this system has no named pipes among its files")
}
