package pooltest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/265d0351/work"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
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
	k.Do("HSET", "steps:"+id, "", "digest 0")
	k.Do("RPUSH", "mail:"+id, "digest 0")
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

// IdsOf are the ids of jobs.
func IdsOf(receipts []work.Receipt) []string {
	ids := make([]string, len(receipts))
	for i, receipt := range receipts {
		ids[i] = receipt.ID
	}
	return ids
}

// Unlink takes keys away, all at one moment: a worker that beat in between would find some of them.
func (k *Kit) Unlink(names ...string) {
	k.T.Helper()
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close() //lint:ignore errcheck a test's
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = "{" + k.Namespace + "}:" + name
	}
	_, err = conn.Do("UNLINK", args...)
	require.NoError(k.T, err)
}

// Left are the logs, states, steps and mailboxes in the namespace.
func (k *Kit) Left() (left []string) {
	k.T.Helper()
	for _, part := range []string{":log:", ":state:", ":steps:", ":mail:"} {
		left = append(left, k.Remains(part)...)
	}
	return left
}

// DueIn is a wait that began within the test.
func (k *Kit) DueIn(began time.Time, shelf, id string, wanted time.Duration) {
	k.T.Helper()
	due := k.Due(shelf, id)
	assert.WithinRange(k.T, due, began.Add(wanted-2*time.Millisecond), time.Now().Add(wanted+2*time.Millisecond))
}

// StateIn is what stands in Redis as the state of a job.
func (k *Kit) StateIn(id string) string {
	k.T.Helper()
	var saved struct{ State json.RawMessage }
	text := k.Text("GET", "state:"+id)
	if text == "" {
		return ""
	}
	require.NoError(k.T, json.Unmarshal([]byte(text), &saved))
	return string(saved.State)
}

// LastTick has Redis believe that a schedule has moved on up to then.
func (k *Kit) LastTick(id string, at time.Time) {
	k.T.Helper()
	k.Do("HSET", "ticks", id, tickEntry(at, ""))
}

func tickEntry(at time.Time, job string) string {
	text, _ := json.Marshal(at.UnixMilli())
	return string(text) + " " + job
}

// Keys are those of the namespace that are left.
func (k *Kit) Keys() []string {
	k.T.Helper()
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close() //lint:ignore errcheck a test's
	keys, err := redis.Strings(conn.Do("KEYS", "{"+k.Namespace+"}:*"))
	require.NoError(k.T, err)
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, "{"+k.Namespace+"}:")
	}
	return keys
}

// InLine returns the ids in a queue, the one at the front first.
func (k *Kit) InLine(queue string) []string {
	k.T.Helper()
	ids, err := redis.Strings(k.Do("LRANGE", "queue:"+queue, 0, -1), nil)
	require.NoError(k.T, err)
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids
}

// NoWorker checks that nothing of a worker is left in Redis.
func (k *Kit) NoWorker() {
	k.T.Helper()
	assert.Zero(k.T, k.Number("HLEN", "claimed"))
	assert.Zero(k.T, k.Number("SCARD", "workers"))
	assert.Zero(k.T, k.Number("SCARD", "dead"))
	for _, key := range k.Keys() {
		assert.False(k.T, strings.HasPrefix(key, "worker"), key)
		assert.NotEqual(k.T, "lease", key)
	}
}

// EnqueueAs enqueues a job with that id.
func (k *Kit) EnqueueAs(id, name string, args ...any) {
	k.T.Helper()
	_, err := k.Enq.With(work.ID(id)).Enqueue(k.Ctx(), name, args...)
	require.NoError(k.T, err)
}

// DueNow makes everything on a shelf due, as if its time had come.
func (k *Kit) DueNow(shelf string) {
	k.T.Helper()
	ids, _ := k.Do("ZRANGE", shelf, 0, -1).([]any)
	for _, id := range ids {
		k.Do("ZADD", shelf, "XX", 1, id) // it may have gone meanwhile
	}
	k.Tell("control", "due")
}

// Tell publishes as scripts do.
func (k *Kit) Tell(channel, message string) {
	k.T.Helper()
	driver, err := redisconn.Open(k.Server.DSN())
	require.NoError(k.T, err)
	defer driver.Close() //lint:ignore errcheck what went wrong was told
	require.NoError(k.T, redisconn.Publish(k.Ctx(), driver, "{"+k.Namespace+"}:"+channel, message))
}
