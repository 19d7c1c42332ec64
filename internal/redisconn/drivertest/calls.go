package drivertest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func (k Kit) repliesKeepTheirTypes(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		nested := Script(t, `return {1, 'two', {3, false}, redis.error_reply('MINE of own'), redis.status_reply('FINE')}`)
		replies, err := d.Pipeline(t.Context(),
			redisconn.Call{Command: "SET", Keys: []string{key}, Args: []any{[]byte("\x00\r\n")}},
			redisconn.Call{Command: "GET", Keys: []string{key}},
			redisconn.Call{Command: "GET", Keys: []string{key + "-none"}},
			redisconn.Call{Command: "STRLEN", Keys: []string{key}},
			redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"x"}},
			redisconn.Call{Script: nested},
		)
		require.NoError(t, err)
		require.Len(t, replies, 6)
		assert.Equal(t, "OK", replies[0].Value)
		assert.Equal(t, []byte("\x00\r\n"), replies[1].Value)
		assert.Nil(t, replies[2].Value)
		assert.Equal(t, int64(3), replies[3].Value)

		var refused *redisconn.ServerError
		require.ErrorAs(t, replies[4].Err, &refused)
		assert.Equal(t, "WRONGTYPE", refused.Code)
		assert.Nil(t, replies[4].Value)
		assert.Equal(t, []any{
			int64(1), []byte("two"), []any{int64(3), nil}, &redisconn.ServerError{Code: "MINE", Message: "MINE of own"},
			"FINE",
		}, replies[5].Value)
	})
}

func (k Kit) argumentsOfEveryType(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		text, none := "c\r\n", []byte{}
		Do(t, d, "RPUSH", key, "a", []byte("b"), 3, int64(1234567890123456789), true, false, &text, &none)
		assert.Equal(t, []any{[]byte("a"), []byte("b"), []byte("3"), []byte("1234567890123456789"), []byte("1"),
			[]byte("0"), []byte("c\r\n"), []byte("")},
			Do(t, d, "LRANGE", key, 0, -1))

		for name, call := range map[string]redisconn.Call{
			"argument 1 of SET is a float64": {Command: "SET", Args: []any{"a", 1.5}},
			"argument 0 of SET is a <nil>":   {Command: "SET", Args: []any{nil}},
			"call 0 has neither":             {Keys: []string{"a"}},
		} {
			_, err := d.Pipeline(t.Context(), call)
			assert.ErrorContains(t, err, name)
		}
		replies, err := d.Pipeline(t.Context())
		require.NoError(t, err)
		assert.Empty(t, replies)
	})
}

// Arguments that are larger than buffers, between some that are not, in one pipeline.
func (k Kit) largeArguments(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		large, larger := bytes.Repeat([]byte("ab"), 32<<10), bytes.Repeat([]byte("cd"), 200<<10)
		for range 2 { // a connection keeps nothing of the first
			replies, err := d.Pipeline(t.Context(),
				redisconn.Call{Command: "DEL", Keys: []string{key}},
				redisconn.Call{Command: "RPUSH", Keys: []string{key},
					Args: []any{"before", large, "amid", &larger, "behind"}},
				redisconn.Call{Command: "RPUSH", Keys: []string{key}, Args: []any{string(large)}})
			require.NoError(t, err)
			require.NoError(t, replies[1].Err)
			assert.True(t, reflect.DeepEqual([]any{[]byte("before"), large, []byte("amid"), larger, []byte("behind"),
				large}, Do(t, d, "LRANGE", key, 0, -1)), "too long to be shown")
		}
	})
}

// A script that Redis does not know, between commands that it has run: only the script is sent again.
func (k Kit) unknownScriptAmidAPipeline(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		add := Script(t, `return redis.call('INCRBY', KEYS[1], ARGV[1])`)
		fails := Script(t, `return redis.error_reply('MINE of own')`)
		calls := []redisconn.Call{
			{Command: "INCR", Keys: []string{key}},
			{Script: add, Keys: []string{key}, Args: []any{10}},
			{Command: "INCR", Keys: []string{key}},
			{Script: fails},
			{Script: add, Keys: []string{key}, Args: []any{100}},
		}
		replies, err := d.Pipeline(t.Context(), calls...)
		require.NoError(t, err)
		var got []any
		for _, r := range replies {
			got = append(got, r.Value)
		}
		assert.Equal(t, []any{int64(1), int64(12), int64(2), nil, int64(112)}, got)
		require.ErrorContains(t, replies[3].Err, "MINE of own")

		replies, err = d.Pipeline(t.Context(), calls...)
		require.NoError(t, err)
		assert.Equal(t, int64(123), replies[1].Value, "known now, so in its place")
	})
}
