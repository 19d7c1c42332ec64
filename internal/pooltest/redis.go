package pooltest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

// Do runs a plain command; the first argument is a key without its prefix.
func (k *Kit) Do(command, key string, args ...any) any {
	k.T.Helper()
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close()
	reply, err := conn.Do(command, append([]any{"{" + k.Namespace + "}:" + key}, args...)...)
	require.NoError(k.T, err)
	return reply
}

// Number runs a command that answers a number.
func (k *Kit) Number(command, key string, args ...any) int {
	k.T.Helper()
	n, err := redis.Int(k.Do(command, key, args...), nil)
	require.NoError(k.T, err)
	return n
}

// Strings runs a command that answers a list.
func (k *Kit) Strings(command, key string, args ...any) []string {
	k.T.Helper()
	list, err := redis.Strings(k.Do(command, key, args...), nil)
	require.NoError(k.T, err)
	return list
}

// Text is a reply that is text; "" is nothing there.
func (k *Kit) Text(command, key string, args ...any) string {
	k.T.Helper()
	reply := k.Do(command, key, args...)
	if reply == nil {
		return ""
	}
	text, err := redis.String(reply, nil)
	require.NoError(k.T, err)
	return text
}

// Empty checks that no job is left anywhere and that nothing that belongs to jobs is.
func (k *Kit) Empty(queues ...string) {
	k.T.Helper()
	for _, hash := range []string{"jobs", "trail", "claimed", "crashes", "names"} {
		require.Zero(k.T, k.Number("HLEN", hash), hash)
	}
	for _, set := range []string{"scheduled", "retry", "morgue"} {
		require.Zero(k.T, k.Number("ZCARD", set), set)
	}
	for _, queue := range queues {
		require.Zero(k.T, k.Number("LLEN", "queue:"+queue), queue)
	}
}

// Remains are the keys of the namespace with that in their name, but for the note of what was taken from a dead worker.
func (k *Kit) Remains(part string) []string {
	k.T.Helper()
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close()
	all, err := redis.Strings(conn.Do("KEYS", "*"))
	require.NoError(k.T, err)
	var found []string
	for _, key := range all {
		if strings.HasPrefix(key, "{"+k.Namespace+"}:") && strings.Contains(key, part) &&
			(part == "" || !strings.Contains(key, "}:taken:")) {
			found = append(found, key)
		}
	}
	return found
}

// lookEvery is the time between two looks at Redis: a heartbeat, which is sent each second, could have changed it.
const lookEvery = 50 * time.Millisecond

// Until waits for a condition in Redis.
func (k *Kit) Until(what string, condition func() bool) {
	k.T.Helper()
	require.Eventually(k.T, condition, Patience, lookEvery, what)
}

// Due is when a job on a shelf is due; its absence fails the test.
func (k *Kit) Due(shelf, id string) time.Time {
	k.T.Helper()
	score, err := redis.Float64(k.Do("ZSCORE", shelf, id), nil)
	require.NoError(k.T, err, "%s is not in %s", id, shelf)
	return time.UnixMilli(int64(score)) // the fraction is for the order
}

// Store puts a job into its queue as another program would, whatever its record is.
func (k *Kit) Store(queue, id, record string) {
	k.T.Helper()
	k.Do("HSET", "jobs", id, record)
	k.Do("LPUSH", "queue:"+queue, id)
	k.Do("SADD", "ready", queue)
}

// Trail reads the trail of a job, which must be there.
func (k *Kit) Trail(id string) record.Trail {
	k.T.Helper()
	var kept record.Trail
	require.NoError(k.T, json.Unmarshal([]byte(k.Text("HGET", "trail", id)), &kept))
	return kept
}

// Kept is what is kept of a job that has ended.
type Kept struct {
	State   string          `json:"state"`
	EndedAt int64           `json:"ended"`
	Result  json.RawMessage `json:"result"`
}

// OutcomeOf is what is kept of a job.
func (k *Kit) OutcomeOf(id string) (kept Kept) {
	k.T.Helper()
	require.NoError(k.T, json.Unmarshal([]byte(k.Text("HGET", "outcomes", id)), &kept), id)
	return kept
}

// Unflagged checks that nothing is left of a wish to cancel.
func (k *Kit) Unflagged() {
	k.T.Helper()
	assert.Zero(k.T, k.Number("SCARD", "cancelled"))
}

// PutAside puts a job where a test wants it, with all that may belong to one.
func (k *Kit) PutAside(place, id string) {
	k.T.Helper()
	k.Do("HSET", "jobs", id, `{"jid":"`+id+`","name":"a","args":[],"t":1,"retention":3600000,"lock":"digest","lock_kind":"f",`+
		`"completion":"ends","objects":{"0":"sha"}}`)
	k.Do("HSET", "trail", id, `{"fails":1,"log":true,"state":true}`)
	k.Do("HSET", "unique", "digest", id+" 0 f")
	k.Do("RPUSH", "log:"+id, "line")
	k.Do("SET", "state:"+id, "5")
	k.Do("SADD", "object:sha:jobs", id, "another")
	if place == "queue" {
		k.Do("LPUSH", "queue:a", id)
		k.Do("SADD", "ready", "a")
		return
	}
	k.Do("ZADD", place, time.Now().Add(time.Hour).UnixMilli(), id)
	k.Do("HSET", "names", id, "a")
}

// Logged waits until Redis has so many lines of a job.
func (k *Kit) Logged(id string, lines int) {
	k.T.Helper()
	k.Until("the log has the lines", func() bool { return k.Number("LLEN", "log:"+id) == lines+1 })
}
