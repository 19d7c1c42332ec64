package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"
)

// Crowd is a namespace with so many jobs in each of four places: the queue CrowdName, scheduled, retry and the morgue.
type Crowd struct {
	t    testing.TB
	conn redis.Conn
	Many int
}

// CrowdName is the name of all jobs of a crowd.
const CrowdName = "n"

// CrowdTime is the score of the first job on a shelf, in milliseconds: years to come. All of retry are due then, the
// others one after the other.
const CrowdTime = 4_000_000_000_000

// CrowdID is the id of a job of a place: its first letter, and its number.
func CrowdID(letter string, n int) string { return fmt.Sprintf("%s%021d", letter, n) }

// crowd puts jobs into all four places; those of the queue stand in the order of their ids.
var crowd = redis.NewScript(7, `
local jobs, names, queue, scheduled, retry, morgue = unpack(KEYS, 1, 6)
redis.call('ZADD', KEYS[7], 1, 'n')
for n = tonumber(ARGV[1]), ARGV[2] - 1 do
  local tail, at = string.format('%021d', n), string.format('%.0f', ARGV[3] + n)
  local record = '{"jid":"","name":"n","args":[],"t":1}'
  redis.call('HSET', jobs, 'q' .. tail, record, 's' .. tail, record, 'r' .. tail, record, 'm' .. tail, record)
  redis.call('HSET', names, 's' .. tail, 'n', 'r' .. tail, 'n', 'm' .. tail, 'n')
  redis.call('LPUSH', queue, 'q' .. tail)
  redis.call('ZADD', scheduled, at, 's' .. tail)
  redis.call('ZADD', retry, ARGV[3], 'r' .. tail)
  redis.call('ZADD', morgue, at, 'm' .. tail)
end`)

// NewCrowd fills a namespace. It writes the keys itself: a million jobs that were enqueued one by one would take
// minutes.
func NewCrowd(t testing.TB, addr, namespace string, many int) *Crowd {
	t.Helper()
	conn, err := redis.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	prefix := "{" + namespace + "}:"
	args := []any{}
	for _, key := range []string{"jobs", "names", "queue:" + CrowdName, "scheduled", "retry", "morgue", "queues"} {
		args = append(args, prefix+key)
	}
	const step = 5_000
	for from := 0; from < many; from += step {
		_, err := crowd.Do(conn, append(args, from, min(many, from+step), CrowdTime)...)
		require.NoError(t, err)
	}
	_, err = conn.Do("SADD", prefix+"ready", CrowdName)
	require.NoError(t, err)
	return &Crowd{t: t, conn: conn, Many: many}
}

// endedCrowd puts jobs among those of a name that were cancelled, one behind the other, with what is kept of each.
var endedCrowd = redis.NewScript(3, `
local ended, details, outcomes = unpack(KEYS)
for n = tonumber(ARGV[1]), ARGV[2] - 1 do
  local id, at = 'e' .. string.format('%021d', n), string.format('%.0f', ARGV[3] + n)
  redis.call('ZADD', ended, at, id)
  redis.call('HSET', details, id, '{"record":{"jid":"' .. id .. '","name":"n","args":[],"t":1}}')
  redis.call('HSET', outcomes, id, '{"state":"cancelled","name":"n","ended":' .. at .. '}')
end`)

// AddEnded adds as many jobs of the name that were cancelled, more than are kept of one.
func (c *Crowd) AddEnded(namespace string) {
	c.t.Helper()
	prefix := "{" + namespace + "}:"
	const step = 5_000
	for from := 0; from < c.Many; from += step {
		_, err := endedCrowd.Do(c.conn, prefix+"ended:cancelled:"+CrowdName, prefix+"details:cancelled:"+CrowdName,
			prefix+"outcomes", from, min(c.Many, from+step), CrowdTime)
		require.NoError(c.t, err)
	}
}

// Spent is the processor time of the server's thread that runs commands, which the kernel counts.
func (c *Crowd) Spent() (total time.Duration) {
	c.t.Helper()
	info, err := redis.String(c.conn.Do("INFO", "cpu"))
	require.NoError(c.t, err)
	fields := 0
	for line := range strings.SplitSeq(info, "\r\n") {
		name, text, _ := strings.Cut(line, ":")
		if name == "used_cpu_user_main_thread" || name == "used_cpu_sys_main_thread" {
			seconds, err := strconv.ParseFloat(text, 64)
			require.NoError(c.t, err)
			total += time.Duration(seconds * float64(time.Second))
			fields++
		}
	}
	require.Equal(c.t, 2, fields, "INFO cpu tells the time of the main thread")
	return total
}
