package rdb_test

import (
	"errors"
	"strings"
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

// Redis may refuse the command that reads how long a key is: that says nothing about the key. Who takes the refusal for
// a wrong type advises to remove the key, and with it a queue.
func TestARefusedReadIsNoWrongType(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	for _, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server.DSN(), nil)
			tr.prepare(t, s)
			_, err := tr.send(s, s.without(t, server, "hlen", "llen", "scard", "zcard", "strlen"))
			var refused *redisconn.ServerError
			if errors.As(err, &refused) {
				assert.NotEqual(t, "BADKEY", refused.Code, "%v", err)
			}
		})
	}
}

// A queue that Redis refuses to pop from is none with a wrong key, and what others gave is not lost with it.
func TestAFetchTellsARefusalFromAWrongType(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	s := newSite(t, server.DSN(), nil)
	s.enqueue(t, "a", "a1")
	s.cmd(t, "SET", "queue:b", "no list")
	shares := []rdb.Share{{Queue: "b", Jobs: 1}, {Queue: "a", Jobs: 1}}
	s.worker(t, "w1", "a", "b")
	fetched, err := s.without(t, server, "rpop").Worker("w1").Fetch(t.Context(), 1, 2, false, shares)
	require.NoError(t, err)
	assert.Empty(t, fetched.Jobs)
	assert.Empty(t, fetched.Broken, "b was refused as well")
	assert.ErrorContains(t, fetched.Refused, "can't run this command")
	assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"))

	fetched, err = s.store.Worker("w1").Fetch(t.Context(), 2, 2, false, shares)
	require.NoError(t, err)
	assert.Equal(t, []string{"a/a1"}, fetchedIDs(fetched))
	assert.Equal(t, []string{s.key("queue:b")}, fetched.Broken)
	assert.NoError(t, fetched.Refused)
}

// What a rule of a name allows cannot be read: no job of it begins, and the refusal is told.
func TestAFetchTellsThatALimitIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	s := newSite(t, server.DSN(), nil)
	s.enqueue(t, "a", "a1")
	s.worker(t, "w1", "a")
	s.cmd(t, "HSET", "limits", "a", "0 1 - - -")
	fetched, err := s.without(t, server, "hmget").Worker("w1").
		Fetch(t.Context(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
	require.NoError(t, err)
	assert.Empty(t, fetched.Jobs)
	assert.ErrorContains(t, fetched.Refused, "can't run this command")
	assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"))
}

// A hint that is refused ends no script: what it has written stands, and is answered.
func TestARefusedHintRaisesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	for _, tr := range transitions() {
		if strings.HasPrefix(tr.script, "thoonk/") {
			continue // there a message is what the layout promises, not a hint
		}
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s, other := newSite(t, server.DSN(), nil), newSite(t, server.DSN(), nil)
			tr.prepare(t, s)
			tr.prepare(t, other)
			want, err := tr.send(other, other.store)
			require.NoError(t, err)
			got, err := tr.send(s, s.without(t, server, "publish", "spublish"))
			require.NoError(t, err)
			assert.IsType(t, want, got)
		})
	}
}
