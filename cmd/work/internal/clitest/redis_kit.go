package clitest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/embedded"
)

// Redis starts an embedded Redis that ends with the test.
func Redis(t *testing.T) string {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server.DSN()
}

// Keys returns the names of all keys of a Redis.
func Keys(t *testing.T, dsn string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(dsn, "redis://"), "/0"))
	require.NoError(t, err)
	defer conn.Close() // its answer was read
	_, err = io.WriteString(conn, "*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n*1\r\n$4\r\nQUIT\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Regexp(t, `^\*\d`, string(answer))
	var names []string
	for line := range strings.Lines(string(answer)) {
		if !strings.ContainsAny(line[:1], "*$+") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names
}

// Command sends one command to a Redis.
func Command(t *testing.T, dsn string, words ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(dsn, "redis://"), "/0"))
	require.NoError(t, err)
	defer conn.Close() // its answer was read
	text := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err = conn.Write(text)
	require.NoError(t, err)
	answer := make([]byte, 1)
	_, err = conn.Read(answer)
	require.NoError(t, err)
	require.NotEqual(t, "-", string(answer), words)
}
