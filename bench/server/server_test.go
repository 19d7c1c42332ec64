package server

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startRedis(t *testing.T) *Redis {
	t.Helper()
	r, err := StartRedis()
	if err != nil && os.Getenv("WORK_REQUIRE_REDIS") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func TestARedisThatWasStartedKeepsNothingOnDisk(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	for setting, want := range map[string]string{"save": "", "appendonly": "no"} {
		got, err := redis.StringMap(r.Conn().Do("CONFIG", "GET", setting))
		require.NoError(t, err)
		assert.Equal(t, map[string]string{setting: want}, got)
	}
	used, err := r.Stored(t.Context())
	require.NoError(t, err)
	assert.Positive(t, used)
	_, err = r.CPU()
	require.NoError(t, err)
	assert.NotEmpty(t, r.Version())
}

func TestAGivenRedisMustBeEmpty(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	given, err := UseRedis(r.Addr)
	require.NoError(t, err)
	given.Close()
	_, err = r.Conn().Do("SET", "precious", "1")
	require.NoError(t, err)
	_, err = UseRedis(r.Addr)
	require.ErrorContains(t, err, "holds 1 keys")
	value, err := redis.String(r.Conn().Do("GET", "precious"))
	require.NoError(t, err)
	assert.Equal(t, "1", value)
	require.NoError(t, r.Clear(t.Context()))
	size, err := redis.Int(r.Conn().Do("DBSIZE"))
	require.NoError(t, err)
	assert.Zero(t, size)
}

func TestPostgresStartsEmptyAndWaitsForNoDisk(t *testing.T) {
	t.Parallel()
	p, err := StartPostgres(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(p.Close)
	for setting, want := range map[string]string{"fsync": "off", "synchronous_commit": "off",
		"full_page_writes": "off"} {
		var got string
		require.NoError(t, p.Pool().QueryRow(t.Context(), "SHOW "+setting).Scan(&got))
		assert.Equal(t, want, got, setting)
	}
	require.NoError(t, p.Clear(t.Context()))
	before, err := p.CPU()
	require.NoError(t, err)
	_, err = p.Pool().Exec(t.Context(), "SELECT sum(i) FROM generate_series(1, 2000000) i")
	require.NoError(t, err)
	after, err := p.CPU()
	require.NoError(t, err)
	assert.Greater(t, after, before, "the work of a backend counts")
}

func TestTheProxyShowsEveryRequestWithItsReply(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	var mu sync.Mutex
	var seen []Exchange
	proxy, err := NewProxy(r.Addr, func(e Exchange) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e)
	})
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	conn, err := redis.Dial("tcp", proxy.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	long := strings.Repeat("x", 100_000)
	require.NoError(t, conn.Send("SET", "a", long))
	require.NoError(t, conn.Send("GET", "a"))
	require.NoError(t, conn.Send("LLEN", "a")) // of the wrong type
	require.NoError(t, conn.Send("EVAL", "return {1, {'x', false}}", "0"))
	require.NoError(t, conn.Flush())
	for range 4 {
		conn.Receive() //lint:ignore errcheck one of them is an error, and the proxy has seen it then
	}
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, seen, 4)
	assert.Equal(t, Exchange{[]string{"SET", "a", long}, "OK"}, seen[0])
	assert.Equal(t, Exchange{[]string{"GET", "a"}, long}, seen[1])
	assert.Contains(t, seen[2].Reply, "WRONGTYPE")
	assert.Equal(t, []any{int64(1), []any{"x", nil}}, seen[3].Reply)
}

func TestReadValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"+OK\r\n": "OK", ":7\r\n": int64(7), "$-1\r\n": nil, "$0\r\n\r\n": "", "_\r\n": nil, "*-1\r\n": nil,
		"#t\r\n":             "t",
		"%1\r\n+a\r\n:1\r\n": []any{"a", int64(1)}, "~1\r\n+a\r\n": []any{"a"}, ">1\r\n+m\r\n": push{[]any{"m"}},
	} {
		t.Run(strings.TrimSpace(text), func(t *testing.T) {
			t.Parallel()
			raw := &recorder{}
			got, err := readValue(bufio.NewReader(strings.NewReader(text+"+next\r\n")), raw)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.True(t, bytes.Equal([]byte(text), raw.bytes), "what is passed on is what came: %q", raw.bytes)
		})
	}
	for _, text := range []string{"", "+\n", "?x\r\n", "$5\r\nab\r\n", "*2\r\n+a\r\n", ":x\r\n"} {
		t.Run("broken "+text, func(t *testing.T) {
			t.Parallel()
			_, err := readValue(bufio.NewReader(strings.NewReader(text)), &recorder{})
			require.Error(t, err)
		})
	}
}
