package worqr_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/worqr"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dsn     string
		options worqr.Options
		says    string
	}{
		"no Redis":            {"", worqr.Options{}, "DSN"},
		"a negative interval": {"redis://h", worqr.Options{CleanupEvery: -time.Second}, "CleanupEvery"},
		"a heartbeat too slow": {"redis://h",
			worqr.Options{HeartbeatEvery: 2 * time.Second, HeartbeatLife: 3 * time.Second}, "HeartbeatLife"},
		"a call timeout below": {"redis://h", worqr.Options{CallTimeout: time.Microsecond}, "CallTimeout"},
		"retry":                {"redis://h", worqr.Options{RetryAfter: -1}, "RetryAfter"},
		"debug every":          {"redis://h", worqr.Options{DebugEvery: -1}, "DebugEvery"},
		"look every":           {"redis://h", worqr.Options{LookEvery: -1}, "LookEvery"},
		"cancelled for":        {"redis://h", worqr.Options{CancelledFor: -1}, "CancelledFor"},
		"concurrency":          {"redis://h", worqr.Options{Concurrency: -1}, "Concurrency"},
		"buffer":               {"redis://h", worqr.Options{EventBuffer: -1}, "EventBuffer"},
		"a colon in the id":    {"redis://h", worqr.Options{WorkerID: "a:b"}, "WorkerID"},
		"a long id":            {"redis://h", worqr.Options{WorkerID: strings.Repeat("w", 513)}, "WorkerID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := worqr.Dial(c.dsn, c.options)
			var invalid *worqr.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.Contains(t, invalid.What, c.says)
		})
	}
	_, err := worqr.Dial("http://h", worqr.Options{})
	assert.ErrorContains(t, err, "redis")
}

// TestGivenConnections: a pool that the program has, which Close leaves alone.
func TestGivenConnections(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pool := &redis.Pool{MaxIdle: 2, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", s.server.Addr()) }}
		defer pool.Close() // the test's own
		options := s.options()
		options.Connection = work.Redigo(pool)
		_, err := worqr.Dial(s.server.DSN(), options)
		require.ErrorAs(t, err, new(*worqr.InvalidError), "and a DSN beside it")
		c, err := worqr.Dial("", options)
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context()))
		require.NoError(t, c.StartWork(t.Context(), "q"))
		require.NoError(t, c.Enqueue(t.Context(), "q", []byte("a")))
		require.NoError(t, s.start(c, "q").Finish(t.Context(), nil))
		require.NoError(t, c.Close())
		conn := pool.Get()
		defer conn.Close() // nothing was written
		_, err = conn.Do("PING")
		assert.NoError(t, err)
	})
}

func TestThePrefixIsWorqrUnlessAnotherIsGiven(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		queue := redistest.Namespace(t) // the real Redis is shared
		options := s.options()
		options.Prefix = ""
		require.NoError(t, s.dial(options).Enqueue(t.Context(), queue, []byte("a")))
		assert.Equal(t, int64(1), s.cmd("LLEN", "worqr:queues:"+queue))
		require.NoError(t, s.producer().Enqueue(t.Context(), queue, []byte("a"), []byte("b")))
		assert.Equal(t, int64(2), s.cmd("LLEN", s.prefix+":queues:"+queue))
		assert.Equal(t, int64(1), s.cmd("LLEN", "worqr:queues:"+queue))
	})
}

func TestARedisThatIsFullRefusesToEnqueue(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t, "--maxmemory-policy", "noeviction")
	c, err := worqr.Dial(server.DSN(), worqr.Options{})
	require.NoError(t, err)
	defer c.Close() // nothing is registered once it returns
	require.NoError(t, c.Start(t.Context()))
	require.NoError(t, c.StartWork(t.Context(), "q"))
	require.NoError(t, c.Enqueue(t.Context(), "q", []byte("a")))
	driver, err := redisconn.Open(server.DSN())
	require.NoError(t, err)
	defer driver.Close() // as above
	_, err = redisconn.Do(t.Context(), driver,
		redisconn.Call{Command: "CONFIG", Args: []any{"SET", "maxmemory", "1mb"}})
	require.NoError(t, err)
	err = c.Enqueue(t.Context(), "q", []byte("b"), []byte("c"))
	require.ErrorIs(t, err, worqr.ErrRedisFull)
	var failed *worqr.EnqueueError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 2, failed.NotStored)
	p, err := c.StartTask(t.Context(), "q")
	require.NoError(t, err)
	require.NoError(t, p.Finish(t.Context(), nil))
}
