package goredis

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
)

func TestDSNsAreUnderstood(t *testing.T) {
	t.Parallel()
	parse := func(host, rest string) *url.URL {
		u, err := url.Parse(rest)
		require.NoError(t, err)
		u.Host = host
		return u
	}
	s, err := sentinelOptions(parse("a:1,b,[::1]:3", "redis+sentinel://me:p%40w@x/shop?db=3&pool_size=7&tls=true"+
		"&read_timeout=1s&idle_timeout=0&sentinel_user=watch&sentinel_password=dog"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a:1", "b:26379", "[::1]:3"}, s.SentinelAddrs)
	assert.Equal(t, []any{"shop", "me", "p@w", "watch", "dog", 3, 7, time.Second, time.Duration(-1), -1},
		[]any{s.MasterName, s.Username, s.Password, s.SentinelUsername, s.SentinelPassword, s.DB, s.PoolSize,
			s.ReadTimeout, s.ConnMaxIdleTime, s.MaxRetries})
	require.NotNil(t, s.TLSConfig)
	assert.Empty(t, s.TLSConfig.ServerName, "each server has its own")
	c, err := clusterOptions(parse("a,b:7001", "redis+cluster://:pw@x?tls=true&tls_server_name=redis.example.com"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a:6379", "b:7001"}, c.Addrs)
	assert.Equal(t, []any{"", "pw", 32, "redis.example.com"},
		[]any{c.Username, c.Password, c.PoolSize, c.TLSConfig.ServerName})
}

func TestDSNsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"redis://a:1,b:2/0":                             "redis+sentinel://HOST,HOST/MASTER or redis+cluster://",
		"redis+sentinel://a:1,b:2":                      "names no master",
		"redis+sentinel://a/shop/3":                     "the database is ?db=0",
		"redis+sentinel://a/shop?db=x":                  `db "x"`,
		"redis+sentinel://a/shop?sentinel_user=x":       "without a sentinel_password",
		"redis+sentinel://a/shop?sentinel_pasword=s3cr": "unknown option",
		"redis+sentinel://a/shop?tls=maybe":             `tls="maybe"`,
		"redis+sentinel://a/shop?tls_ca=x":              "not tls=true",
		"redis+sentinel://a/shop?db=1&db=2":             "2 times",
		"redis+sentinel://me@a/shop":                    "no password",
		"redis+sentinel://a,,b/shop":                    `server ""`,
		"redis+sentinel:///shop":                        `server ""`,
		"redis+cluster://a,b:s3cr3t":                    "a port that is no number",
		"redis+cluster://a,b:70000":                     `port "70000"`,
		"redis+cluster://a?db=1":                        "the database 0 only",
		"redis+cluster://a/0":                           "leave it out",
		"redis+cluster://a?sentinel_user=x":             "unknown option",
		"redis+cluster://a?pool_size=0":                 `pool_size="0"`,
		"redis+clustre://a":                             "redis+cluster",
		"redis+sentinel://:s3cr3t@a,:s3cr3t@b/shop": "more than one @ before its path: user and password " +
			"stand once",
		"redis+cluster://a:7000,b,a:7000":            "names the server a:7000 twice",
		"redis+sentinel://a/shop?sentinel_password=": "sentinel_password without a value",
		"redis+sentinel://a/my%20shop":               `master "my shop"`,
		"rediss+sentinel://a/shop":                   "write redis+sentinel, and tls=true in the query",
		"rediss+cluster://:s3cr3t@a":                 "write redis+cluster, and tls=true in the query",
	} {
		_, err := redisconn.Open(dsn)
		require.ErrorContains(t, err, want, dsn)
		assert.NotContains(t, err.Error(), "s3cr3t")
	}
}

func TestADSNOfACluster(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 3)
	dsn := "redis+cluster://" + m.addr(1) + "," + m.addr(2) + "?read_timeout=20s"
	d, err := redisconn.Open(dsn)
	require.NoError(t, err)
	for i := range m.clients {
		drivertest.Do(t, d, "SET", keyIn(slot(i*int(slots)/3)), "v")
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.Subscribe(t.Context(), "c", func() { close(ready) }, func([]byte) {}) }()
	<-ready
	require.NoError(t, d.Close())
	require.NoError(t, d.Close(), "twice is harmless")
	require.ErrorIs(t, <-ended, redisconn.ErrClosed)
	_, err = d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
	require.ErrorIs(t, err, redisconn.ErrClosed)
	jobRuns(t, dsn)
}

// The primary that the Sentinels name is the one that is worked on, also after they have named another.
func TestSentinelNamesTheMaster(t *testing.T) {
	t.Parallel()
	s := topology.StartSentinels(t, topology.SentinelOptions{})
	dsn := s.DSN() + "?db=2&dial_timeout=2s"
	d, err := redisconn.Open(dsn)
	require.NoError(t, err)
	defer d.Close() //lint:ignore errcheck the end of the test
	key := redistest.Namespace(t)
	drivertest.Do(t, d, "SET", key, "on one")
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck as above

	old := s.Primary()
	old.Kill()
	promoted := s.AwaitPromotion(old)
	require.Eventually(t, func() bool {
		replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: "SET", Args: []any{key, "on two"}})
		return err == nil && replies[0].Err == nil
	}, time.Minute, 10*time.Millisecond)
	_, port, err := net.SplitHostPort(promoted.Direct())
	require.NoError(t, err)
	assert.Contains(t, string(drivertest.Do(t, d, "INFO", "server").([]byte)), "tcp_port:"+port)
	_, err = conn.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
	require.Error(t, err)
	assert.True(t, conn.Broken(), "its owner dials again")
	jobRuns(t, dsn)
}

// jobRuns has a pool and an enqueuer of a DSN run a job.
func jobRuns(t *testing.T, dsn string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ran := make(chan string, 1)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: dsn, Logger: slog.New(slog.DiscardHandler)}).
		Job("greet", func(whom string) error {
			ran <- whom
			return nil
		})
	require.NoError(t, pool.Start(ctx))
	_, err := pool.Enqueuer().Enqueue(ctx, "greet", "ada")
	require.NoError(t, err)
	assert.Equal(t, "ada", <-ran)
	require.NoError(t, pool.Stop(ctx))
}
