package dashboard

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// How long the test waits for the server, and how often it looks.
const (
	patience = 2 * time.Minute
	poll     = 20 * time.Millisecond
)

// near connects to a dashboard.
func near(t *testing.T, d *Dashboard) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(d.Address, "http://"), "/"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // it may be closed
	return conn
}

func serve(t *testing.T) *Dashboard {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }),
		slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		hurry, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.Close(hurry) // connections are open
	})
	return d
}

func asked(t *testing.T, conn net.Conn, head string) string {
	t.Helper()
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n"+head+"\r\n")
	require.NoError(t, err)
	line := make([]byte, len("HTTP/1.1 200"))
	_, err = io.ReadFull(conn, line)
	require.NoError(t, err)
	return string(line)
}

// TestConnectionsAreBounded: one address does not take all connections, and a closed one makes room.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	d := serve(t)
	var conns []net.Conn
	for range maxOfOne {
		conns = append(conns, near(t, d))
	}
	assert.Equal(t, "HTTP/1.1 200", asked(t, conns[maxOfOne-1], ""))
	one, err := io.Copy(io.Discard, near(t, d))
	assert.True(t, one == 0, "%v", err)
	_, err = io.WriteString(conns[0], "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, conns[0]) // until the server has closed it
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", conns[0].RemoteAddr().String())
		require.NoError(t, err)
		defer conn.Close() //lint:ignore errcheck the end of the test
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		n, _ := conn.Read(make([]byte, 1))
		return n == 1
	}, patience, poll)
}

func TestAHeadHasALimit(t *testing.T) {
	t.Parallel()
	d := serve(t)
	assert.Equal(t, "HTTP/1.1 200", asked(t, near(t, d), "X: "+strings.Repeat("x", maxHeader/2)+"\r\n"))
	assert.Equal(t, "HTTP/1.1 431", asked(t, near(t, d), "X: "+strings.Repeat("x", 2*maxHeader)+"\r\n"))
	assert.Positive(t, d.server.ReadHeaderTimeout)
	assert.Positive(t, d.server.ReadTimeout)
}

func TestConnectionsOfAllAreBounded(t *testing.T) {
	t.Parallel()
	c := newCrowd(nil)
	addr := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n / maxOfOne), 1}) }
	for n := range maxConns {
		require.True(t, c.enter(addr(n)))
	}
	last := addr(maxConns)
	assert.False(t, c.enter(last), "an address that has none yet")
	c.leave(addr(0))
	assert.True(t, c.enter(last))
	c.leave(last)
	assert.NotContains(t, c.from, last, "nothing is kept of who has gone")
}
