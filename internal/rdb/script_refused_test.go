package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// without is the store of a user of this namespace who may do all but these commands.
func (s *site) without(t *testing.T, server redistest.Server, commands ...string) *rdb.Store {
	t.Helper()
	user := redistest.Namespace(t)
	rule := []any{"SETUSER", user, "on", ">secret", "~*", "&*", "+@all"}
	for _, command := range commands {
		rule = append(rule, "-"+command)
	}
	admin := func(args ...any) {
		_, err := redisconn.Do(background, s.driver, redisconn.Call{Command: "ACL", Args: args})
		require.NoError(t, err)
	}
	admin(rule...)
	t.Cleanup(func() { admin("DELUSER", user) })
	driver, err := redisconn.Open("redis://" + user + ":secret@" + server.Addr() + "/0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	return rdb.NewStore(driver, s.namespace)
}

// A fetch that Redis refuses to read or to pop something takes nothing, and calls no key wrong: whoever removed the key
// would delete a queue.
func TestARefusedFetchTakesNothing(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][]string{
		"pop": {"rpop"}, "limits": {"hmget"}, "lengths": {"llen", "scard", "strlen"}, "places": {"lpush"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Real(t)
			s := newSite(t, server.DSN(), nil)
			s.enqueue(t, "a", "a1")
			s.cmd(t, "SET", "queue:b", "no list")
			s.cmd(t, "HSET", "limits", "a", "0 1 - - -")
			s.worker(t, "w1", "a", "b")
			shares := []rdb.Share{{Queue: "b", Jobs: 1}, {Queue: "a", Jobs: 1}}
			_, err := s.without(t, server, commands...).Worker("w1").Fetch(t.Context(), 1, 2, false, shares)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "BADKEY")
			assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"))

			fetched, err := s.store.Worker("w1").Fetch(t.Context(), 2, 2, false, shares)
			require.NoError(t, err)
			assert.Equal(t, []string{"a/a1"}, fetchedIDs(fetched))
			assert.Equal(t, []string{s.key("queue:b")}, fetched.Broken)
		})
	}
}
