package worqrdb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

var background = context.Background()

// site is one prefix in one Redis, with plain commands beside the store's methods.
type site struct {
	t      *testing.T
	driver redisconn.Driver
	prefix string
	store  *worqrdb.Store
}

func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server redistest.Server) { test(t, newSite(t, server.DSN())) })
}

func newSite(t *testing.T, dsn string) *site {
	t.Helper()
	driver, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	return (&site{t: t, driver: driver}).under(redistest.Namespace(t))
}

// under is another prefix on the same Redis.
func (s *site) under(prefix string) *site {
	return &site{t: s.t, driver: s.driver, prefix: prefix, store: worqrdb.New(s.driver, prefix)}
}

func (s *site) key(name string) string { return s.prefix + ":" + name }

func (s *site) raw(command string, args ...any) any {
	s.t.Helper()
	value, err := redisconn.Do(background, s.driver, redisconn.Call{Command: command, Args: args})
	require.NoError(s.t, err, "%s %v", command, args)
	return value
}

// state is what stands in each key of the prefix, without times to live. Sets and hashes are sorted.
func (s *site) state() map[string]string {
	s.t.Helper()
	state := map[string]string{}
	for _, key := range texts(s.raw("KEYS", s.prefix+":*")) {
		var content []string
		switch kind := text(s.raw("TYPE", key)); kind {
		case "string":
			content = []string{text(s.raw("GET", key))}
		case "list":
			content = texts(s.raw("LRANGE", key, 0, -1))
		case "set":
			content = texts(s.raw("SMEMBERS", key))
			slices.Sort(content)
		case "hash":
			pairs := texts(s.raw("HGETALL", key))
			for i := 0; i < len(pairs); i += 2 {
				content = append(content, pairs[i]+"="+pairs[i+1])
			}
			slices.Sort(content)
		case "zset":
			content = texts(s.raw("ZRANGE", key, 0, -1, "WITHSCORES"))
		default:
			require.Fail(s.t, "type", kind)
		}
		state[strings.TrimPrefix(key, s.prefix)] = strings.Join(content, "\n")
	}
	return state
}

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

// worker is one that serves the queue q.
func (s *site) worker(id string) worqrdb.Worker {
	s.t.Helper()
	w := worqrdb.Worker{ID: id, Registration: "r-" + id, Life: time.Hour}
	said, err := s.store.Register(background, w)
	require.NoError(s.t, err)
	require.Equal(s.t, worqrdb.Registered, said)
	_, _, err = s.store.Serve(background, w, "q")
	require.NoError(s.t, err)
	return w
}

// enqueue stores tasks in the queue q, each by a lane of its own.
func (s *site) enqueue(unique bool, tasks ...string) {
	s.t.Helper()
	for i, task := range tasks {
		_, _, err := s.store.Enqueue(background, worqrdb.Enqueued{
			Lane: fmt.Sprintf("%t-%s-%d", unique, task, i), Number: 1, Life: time.Hour, Queue: "q",
			Tasks: [][]byte{[]byte(task)}, Unique: unique,
		})
		require.NoError(s.t, err)
	}
}

// holding lets worker w hold the processes q_a, q_b and q_c, of which q_b has a unique task; one more waits.
func holding(s *site) {
	s.t.Helper()
	w := s.worker("w")
	s.enqueue(false, "a")
	s.enqueue(true, "b")
	s.enqueue(false, "c", "d")
	for _, id := range []string{"q_a", "q_b", "q_c"} {
		taken, err := s.store.Start(background, w, "q", id)
		require.NoError(s.t, err)
		require.Equal(s.t, worqrdb.Started, taken.State)
	}
}

// takeAway puts a process back as the released program does, which touches none of our keys.
func (s *site) takeAway(process string) {
	s.t.Helper()
	s.raw("RPOPLPUSH", s.key("processes:"+process), s.key("queues:q"))
}
