package objects

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// kit is one namespace with a store, and a connection for plain commands beside it.
type kit struct {
	*Store
	t         testing.TB
	server    redistest.Server
	namespace string
	driver    redisconn.Driver
}

// each runs the test with a kit on both kinds of Redis.
func each(t *testing.T, test func(t *testing.T, k *kit)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server redistest.Server) { test(t, newKit(t, server)) })
}

func newKit(t testing.TB, server redistest.Server) *kit {
	driver, err := redisconn.Open(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	if clock := server.Embedded(); clock != nil {
		clock.SetTime(time.UnixMilli(1_800_000_000_000))
	}
	k := &kit{t: t, server: server, namespace: redistest.Namespace(t), driver: driver}
	k.Store = k.open(server.DSN(), Options{})
	return k
}

// open makes another store of the namespace.
func (k *kit) open(dsn string, options Options) *Store {
	k.t.Helper()
	options.Namespace = k.namespace
	s, err := Open(dsn, options)
	require.NoError(k.t, err)
	k.t.Cleanup(func() { assert.NoError(k.t, s.Close()) })
	return s
}

func (k *kit) put(content []byte) Hash {
	k.t.Helper()
	hash, err := k.Put(k.t.Context(), content)
	require.NoError(k.t, err)
	return hash
}

// do makes a plain command on a key of the namespace.
func (k *kit) do(command, key string, args ...any) any {
	k.t.Helper()
	value, err := redisconn.Do(context.Background(), k.driver,
		redisconn.Call{Command: command, Args: append([]any{k.key(key)}, args...)})
	require.NoError(k.t, err)
	return value
}

func (k *kit) key(name string) string { return "{" + k.namespace + "}:" + name }

// keys are those of the namespace, without its prefix, and without the id that a home needs.
func (k *kit) keys() []string {
	k.t.Helper()
	value, err := redisconn.Do(context.Background(), k.driver, redisconn.Call{Command: "KEYS", Args: []any{k.key("*")}})
	require.NoError(k.t, err)
	var names []string
	for r := redisconn.Read("KEYS", value); r.More(); {
		if name := strings.TrimPrefix(r.Text(), k.key("")); name != "home" {
			names = append(names, name)
		}
	}
	return names
}

// age makes an object one that was used last at the beginning of time.
func (k *kit) age(hash Hash) {
	k.t.Helper()
	require.Equal(k.t, int64(0), k.do("ZADD", "objects", 1, string(hash)), "it is there")
}

// pass lets time pass in Redis: the embedded clock is moved, a real Redis is waited for with a command that blocks.
func (k *kit) pass(d time.Duration) {
	k.t.Helper()
	if clock := k.server.Embedded(); clock != nil {
		clock.Advance(d)
		return
	}
	_, err := redisconn.Do(context.Background(), k.driver, redisconn.Call{
		Command: "BLPOP", Args: []any{k.key("nothing"), fmt.Sprintf("%.3f", d.Seconds())}, Block: d,
	})
	require.NoError(k.t, err)
}

func (k *kit) collect() Collected {
	k.t.Helper()
	did, err := k.Collect(k.t.Context())
	require.NoError(k.t, err)
	return did
}

// collectAll collects until there is nothing to do. On a real Redis that is one walk; the cursors of the embedded one
// are offsets, so that a walk misses what moved up when something was removed.
func (k *kit) collectAll() Collected {
	k.t.Helper()
	sum := k.collect()
	for more := k.collect(); more != (Collected{}); more = k.collect() {
		require.NotNil(k.t, k.server.Embedded(), "the first walk left %+v", more)
		sum.add(more)
	}
	return sum
}

// content is that many bytes that repeat nowhere.
func content(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x ", i*i+7)
	}
	return b.Bytes()[:size]
}
