package webui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/slowbody"
)

// pipes is a listener within the process, whose connections know the time of a bubble.
type pipes struct {
	come chan net.Conn
	over chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.come:
		return conn, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.over); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// onPipes serves a handler in a bubble, and returns a func that sends a request and has its connection. No Redis is
// there.
func onPipes(t *testing.T, change func(*Options)) func(request string) net.Conn {
	t.Helper()
	inspector, err := inspect.New("redis://127.0.0.1:1/0")
	require.NoError(t, err)
	opts := Options{Authorize: byHeader, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&opts)
	}
	handler, err := Places(Place{Name: "shop", Inspector: inspector, Options: opts})
	require.NoError(t, err)
	p := &pipes{come: make(chan net.Conn), over: make(chan struct{})}
	ctx, end := context.WithCancel(t.Context())
	server := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error)
	go func() { served <- server.Serve(p) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
		require.NoError(t, inspector.Close())
	})
	return func(request string) net.Conn {
		near, far := net.Pipe()
		p.come <- far
		_, err := io.WriteString(near, strings.ReplaceAll(request, "\n", "\r\n"))
		require.NoError(t, err)
		return near
	}
}

// lived is the status of the answer on a connection, and after which time the server has closed that.
func lived(t *testing.T, conn net.Conn) (status string, within time.Duration) {
	t.Helper()
	begun := time.Now()
	all, err := io.ReadAll(conn)
	if err != nil {
		require.True(t, errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF), err)
	}
	_, status, _ = strings.Cut(string(all), " ")
	return status[:min(3, len(status))], time.Since(begun)
}

// TestABodyThatDoesNotComeIsNotWaitedFor: nobody holds a connection by sending the body of a request slowly.
func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ first, status string }{
		"without a login":           {"POST /shop/queue-pause?name=x HTTP/1.1", "403"},
		"without a login, chunked":  {"POST /shop/queue-pause?name=x HTTP/1.1\nTransfer-Encoding: chunked", "403"},
		"the API":                   {"POST /shop/api/jobs HTTP/1.1", "403"},
		"a page":                    {"GET /shop/queues HTTP/1.1", "403"},
		"an operator":               {"POST /shop/queue-pause?name=x HTTP/1.1\nRole: operator", "408"},
		"an operator of the API":    {"POST /shop/api/queue-pause?name=x HTTP/1.1\nRole: operator", "408"},
		"a viewer who may not":      {"POST /shop/queue-pause?name=x HTTP/1.1\nRole: viewer", "403"},
		"a page for a viewer":       {"GET /shop/queues HTTP/1.1\nRole: viewer", "408"},
		"no such page":              {"POST /shop/nothing HTTP/1.1\nRole: viewer", "404"},
		"no such place":             {"POST /nothing HTTP/1.1", "404"},
		"the root":                  {"GET / HTTP/1.1", "303"},
		"a page without its place":  {"GET /queues HTTP/1.1", "303"},
		"the prefix without a path": {"POST /shop HTTP/1.1\nRole: operator", "307"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				send := onPipes(t, nil)
				length := "\nContent-Length: 5000"
				if strings.Contains(row.first, "chunked") {
					length = ""
				}
				conn := send(row.first + "\nHost: x\nSec-Fetch-Site: same-origin" + length + "\n\n")
				status, within := lived(t, conn)
				assert.Equal(t, row.status, status)
				assert.LessOrEqual(t, within, slowbody.Within+time.Second)
			})
		})
	}
}

// TestWhoIsNotLetInIsAnsweredAtOnce: also where a body was announced that does not come.
func TestWhoIsNotLetInIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		conn := onPipes(t, nil)("POST /shop/queue-pause HTTP/1.1\nHost: x\nContent-Length: 5000\n\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		assert.Contains(t, line, "403")
		assert.Zero(t, time.Since(begun))
		_, _ = io.Copy(io.Discard, conn)
	})
}

// TestWhoIsNotLetInDoesNotHoldAnAnswer: one who does not read it loses the connection.
func TestWhoIsNotLetInDoesNotHoldAnAnswer(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"a page": "/shop/queues", "an asset": "/shop/assets/style.css"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				send := onPipes(t, func(o *Options) {
					o.Authorize = func(*http.Request) (Role, string, error) {
						return RoleNone, "", &LoginError{byToken: true}
					}
				})
				conn := send("GET " + target + " HTTP/1.1\nHost: x\n\n")
				time.Sleep(answerWithin + time.Second)
				synctest.Wait()
				n, err := io.Copy(io.Discard, conn)
				assert.True(t, err == nil && n == 0, "after %d bytes: %v", n, err)
			})
		})
	}
}

// TestALiveStreamIsNotCut: the limit of a body, also of one that came late, does not end what follows.
func TestALiveStreamIsNotCut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ head, body string }{
		"without a body": {"", ""},
		"with a body":    {"Content-Length: 5\n", "a=b&c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				send := onPipes(t, nil)
				conn := send("GET /shop/live?page=jobs HTTP/1.1\nHost: x\nRole: viewer\n" + row.head + "\n")
				time.Sleep(slowbody.Within / 2)
				_, err := io.WriteString(conn, row.body)
				require.NoError(t, err)
				begun, ticks := time.Now(), 0
				for lines := bufio.NewScanner(conn); lines.Scan() && time.Since(begun) < 5*slowbody.Within; {
					if lines.Text() == "event: tick" {
						ticks++
					}
				}
				assert.GreaterOrEqual(t, ticks, 70, fmt.Sprint("it goes on for ", time.Since(begun)))
				require.NoError(t, conn.Close())
			})
		})
	}
}
