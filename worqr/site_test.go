package worqr_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/worqr"
)

// site is one prefix in one Redis, with plain commands beside the clients.
type site struct {
	t      *testing.T
	server redistest.Server
	driver redisconn.Driver
	prefix string
}

// onEach runs the test on the embedded Redis and on a real one.
func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server redistest.Server) { test(t, newSite(t, server)) })
}

func newSite(t *testing.T, server redistest.Server) *site {
	t.Helper()
	driver, err := redisconn.Open(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	return &site{t: t, server: server, driver: driver, prefix: redistest.Namespace(t)}
}

// options are those of a client that hurries. Its Serve does not look for tasks, so that it has to be told of them.
func (s *site) options() worqr.Options {
	return worqr.Options{Prefix: s.prefix, RetryAfter: 10 * time.Millisecond, LookEvery: time.Hour}
}

func (s *site) dial(options worqr.Options) *worqr.Client {
	s.t.Helper()
	c, err := worqr.Dial(s.server.DSN(), options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, c.Close()) })
	return c
}

func (s *site) producer() *worqr.Client { return s.dial(s.options()) }

// worker is a client that works on the queues.
func (s *site) worker(queues ...string) *worqr.Client { return s.workerOf(s.options(), queues...) }

func (s *site) workerOf(options worqr.Options, queues ...string) *worqr.Client {
	s.t.Helper()
	c := s.dial(options)
	require.NoError(s.t, c.Start(s.t.Context()))
	for _, queue := range queues {
		require.NoError(s.t, c.StartWork(s.t.Context(), queue))
	}
	return c
}

func (s *site) enqueue(queue string, tasks ...string) {
	s.t.Helper()
	require.NoError(s.t, s.producer().Enqueue(s.t.Context(), queue, raw(tasks...)...))
}

func (s *site) start(c *worqr.Client, queue string) *worqr.Process {
	s.t.Helper()
	p, err := c.StartTask(s.t.Context(), queue)
	require.NoError(s.t, err)
	return p
}

// key is the full name of a key.
func (s *site) key(format string, args ...any) string {
	return s.prefix + ":" + fmt.Sprintf(format, args...)
}

func (s *site) cmd(command string, args ...any) any {
	s.t.Helper()
	value, err := redisconn.Do(context.Background(), s.driver, redisconn.Call{Command: command, Args: args})
	require.NoError(s.t, err, "%s %v", command, args)
	return value
}

// waiting are the tasks of a queue from the front.
func (s *site) waiting(queue string) []string {
	s.t.Helper()
	list := texts(s.cmd("LRANGE", s.key("queues:%s", queue), 0, -1))
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// keys are all keys of the prefix that fit the pattern, without the prefix.
func (s *site) keys(pattern string) []string {
	s.t.Helper()
	list := texts(s.cmd("KEYS", s.key("%s", pattern)))
	for i := range list {
		list[i] = list[i][len(s.prefix)+1:]
	}
	return list
}

func (s *site) exists(key string) bool { return s.cmd("EXISTS", s.key("%s", key)) == int64(1) }

func texts(reply any) []string {
	values, _ := reply.([]any)
	list := make([]string, len(values))
	for i := range values {
		list[i] = text(values[i])
	}
	return list
}

func text(value any) string {
	if b, ok := value.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(value)
}

func raw(tasks ...string) [][]byte {
	list := make([][]byte, len(tasks))
	for i := range tasks {
		list[i] = []byte(tasks[i])
	}
	return list
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// await returns the first event of that type that fits.
func await[E worqr.Event](t *testing.T, events iter.Seq[worqr.Event], fits func(E) bool) E {
	t.Helper()
	found := make(chan E, 1)
	go func() {
		for e := range events {
			if e, ok := e.(E); ok && fits(e) {
				found <- e
				return
			}
		}
		close(found)
	}()
	select {
	case e, ok := <-found:
		require.True(t, ok, "the events have ended")
		return e
	case <-time.After(patience):
		var none E
		require.Fail(t, "no event", "%T", none)
		return none
	}
}

func always[E any](E) bool { return true }

// events are those of a client until the test ends.
func (s *site) events(c *worqr.Client) iter.Seq[worqr.Event] {
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	return c.Events(ctx)
}
