package redistest

import (
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"
)

// keyCrowd puts jobs of a key each in line or aside, in turns; each third key has a place as well.
var keyCrowd = redis.NewScript(7, `
local jobs, keyed, turns, passes, turning, parked, holding = unpack(KEYS)
redis.call('HSET', turning, 'n', 0)
for n = tonumber(ARGV[1]), ARGV[2] - 1 do
  local tail, pass = string.format('%08d', n), 840 * (1 + n % 1000)
  local id, key = 'k' .. tail, 'c' .. tail
  redis.call('HSET', jobs, id, '{"jid":"' .. id .. '","name":"n","args":[],"t":1,"key":"' .. key .. '"}')
  redis.call('HSET', keyed, id, '1 ' .. key)
  if n % 2 == 0 then
    redis.call('ZADD', turns, pass, id)
    redis.call('ZADD', passes, pass, 'n\0' .. key)
  else
    redis.call('ZADD', turns, string.format('%.0f', 2 ^ 52 + pass), id)
    redis.call('ZADD', parked, 0, '0000\0' .. key .. '\0' .. string.format('%016d', pass) .. '\0' .. id)
  end
  if n % 3 == 0 then redis.call('ZADD', holding, 0, '0000\0' .. key .. '\0' .. 'h' .. tail) end
end`)

// NewKeyCrowd fills a namespace with jobs of so many keys, one of each. It writes the keys of Redis itself, as NewCrowd
// does.
func NewKeyCrowd(t testing.TB, addr, namespace string, many int) *Crowd {
	t.Helper()
	conn, err := redis.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	args := []any{}
	for _, key := range []string{"jobs", "keyed", "turns", "passes", "turning", "parked", "holding"} {
		args = append(args, "{"+namespace+"}:"+key)
	}
	const step = 5_000
	for from := 0; from < many; from += step {
		_, err := keyCrowd.Do(conn, append(args, from, min(many, from+step))...)
		require.NoError(t, err)
	}
	return &Crowd{t: t, conn: conn, Many: many}
}
