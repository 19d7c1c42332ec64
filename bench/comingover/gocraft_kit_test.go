package comingover_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"
)

// gocraft is the old side as the README of gocraft/work describes it: lists of jobs by name, lists of what a pool has
// in progress, sets by time for what is scheduled, to be retried and dead, keys that lock unique jobs, and heartbeats.
type gocraft struct {
	*testing.T
	pool   *redis.Pool
	counts *counts
	served []string // names
}

const gocraftSpace = "app:"

func newGocraft(t *testing.T, addr string, c *counts) *gocraft {
	g := &gocraft{T: t, counts: c, served: []string{"count", "wait"},
		pool: &redis.Pool{MaxIdle: 8, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", addr) }}}
	t.Cleanup(func() { _ = g.pool.Close() })
	for _, name := range g.served {
		g.do("SADD", gocraftSpace+"known_jobs", name)
	}
	return g
}

func (g *gocraft) do(command string, args ...any) any {
	conn := g.pool.Get()
	defer conn.Close()
	value, err := conn.Do(command, args...)
	if err != nil {
		g.Error(err)
	}
	return value
}

// oldJob is a record.
type oldJob struct {
	Name      string         `json:"name"`
	ID        string         `json:"id"`
	T         int64          `json:"t"`
	Args      map[string]any `json:"args"`
	Unique    bool           `json:"unique,omitempty"`
	UniqueKey string         `json:"unique_key,omitempty"`
	Fails     int            `json:"fails,omitempty"`
	Err       string         `json:"err,omitempty"`
	FailedAt  int64          `json:"failed_at,omitempty"`
}

func (j *oldJob) encode() []byte {
	raw, err := json.Marshal(j)
	if err != nil {
		panic(err)
	}
	return raw
}

// unique enqueues a job unless one with its args waits.
var unique = redis.NewScript(2, `if redis.call('SET', KEYS[2], '1', 'NX', 'EX', '86400') then
  redis.call('LPUSH', KEYS[1], ARGV[1])
end`)

// enqueue enqueues jobs of all sorts, one after the other.
func (g *gocraft) enqueue(from, to int) (ids []string) {
	conn := g.pool.Get()
	defer conn.Close()
	for n := from; n < to; n++ {
		job := oldJob{Name: g.served[n%2], ID: fmt.Sprint("n", n), T: time.Now().Unix()}
		job.Args = map[string]any{"id": job.ID, "fails": 0}
		var err error
		switch n % 5 {
		case 1:
			_, err = conn.Do("ZADD", gocraftSpace+"scheduled", time.Now().Unix()+1, job.encode())
		case 3:
			job.Args["fails"] = 1
			_, err = conn.Do("LPUSH", gocraftSpace+"jobs:"+job.Name, job.encode())
		case 4:
			args, _ := json.Marshal(job.Args)
			job.Unique, job.UniqueKey = true, gocraftSpace+"unique:"+job.Name+":"+string(args)
			_, err = unique.Do(conn, gocraftSpace+"jobs:"+job.Name, job.UniqueKey, job.encode())
		default:
			_, err = conn.Do("LPUSH", gocraftSpace+"jobs:"+job.Name, job.encode())
		}
		if err != nil {
			g.Error(err)
		}
		ids = append(ids, job.ID)
	}
	return ids
}

// fetch takes a job into what a pool has in progress.
var fetch = redis.NewScript(4, `local job = redis.call('RPOPLPUSH', KEYS[1], KEYS[2])
if job then
  redis.call('INCR', KEYS[3])
  redis.call('HINCRBY', KEYS[4], ARGV[1], 1)
end
return job`)

// take is the next job of a name for a pool; nil where there is none.
func (g *gocraft) take(pool, name string) []byte {
	conn := g.pool.Get()
	defer conn.Close()
	queue := gocraftSpace + "jobs:" + name
	raw, err := redis.Bytes(fetch.Do(conn, queue, queue+":"+pool+":inprogress", queue+":lock", queue+":lock_info",
		pool))
	if err != nil && err != redis.ErrNil {
		g.Error(err)
	}
	return raw
}

// work runs a job.
func (g *gocraft) work(pool string, raw []byte) {
	conn := g.pool.Get()
	defer conn.Close()
	var job oldJob
	if err := json.Unmarshal(raw, &job); err != nil {
		g.Error(err)
		return
	}
	if job.Unique {
		g.do("DEL", job.UniqueKey)
	}
	<-time.After(time.Millisecond) // a job that takes nothing is never met while it runs
	fails, _ := job.Args["fails"].(float64)
	failed := job.Fails < int(fails)
	if !failed {
		id, _ := job.Args["id"].(string)
		g.counts.note(g.counts.old, id)
	}
	queue := gocraftSpace + "jobs:" + job.Name
	_ = conn.Send("MULTI")
	_ = conn.Send("LREM", queue+":"+pool+":inprogress", 1, raw)
	_ = conn.Send("DECR", queue+":lock")
	_ = conn.Send("HINCRBY", queue+":lock_info", pool, -1)
	if failed {
		job.Fails, job.Err, job.FailedAt = job.Fails+1, "not yet", time.Now().Unix()
		_ = conn.Send("ZADD", gocraftSpace+"retry", job.FailedAt+1, job.encode())
	}
	if _, err := conn.Do("EXEC"); err != nil {
		g.Error(err)
	}
}

// requeue moves a job that is due into its queue.
var requeue = redis.NewScript(1, `local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
if not due then return 0 end
redis.call('ZREM', KEYS[1], due)
redis.call('LPUSH', ARGV[2] .. cjson.decode(due).name, due)
return 1`)

// beat says that a pool lives, or lived so long ago.
func (g *gocraft) beat(pool string, ago time.Duration) {
	g.do("SADD", gocraftSpace+"worker_pools", pool)
	g.do("HSET", gocraftSpace+"worker_pools:"+pool, "heartbeat_at", time.Now().Add(-ago).Unix())
}

// start runs a pool until the test ends, or stop is called.
func (g *gocraft) start(pool string) (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	again := func(every time.Duration, do func() bool) {
		running.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if !do() {
					<-time.After(every)
				}
			}
		})
	}
	g.beat(pool, 0)
	again(time.Second, func() bool { g.beat(pool, 0); return false })
	for i := range 2 {
		again(10*time.Millisecond, func() bool {
			raw := g.take(pool, g.served[i])
			if raw != nil {
				g.work(pool, raw)
			}
			return raw != nil
		})
	}
	for _, set := range []string{"retry", "scheduled"} {
		again(50*time.Millisecond, func() bool {
			conn := g.pool.Get()
			defer conn.Close()
			moved, err := redis.Bool(requeue.Do(conn, gocraftSpace+set, time.Now().Unix(), gocraftSpace+"jobs:"))
			if err != nil {
				g.Error(err)
			}
			return moved
		})
	}
	stop = sync.OnceFunc(func() {
		close(over)
		running.Wait()
		g.do("SREM", gocraftSpace+"worker_pools", pool)
		g.do("DEL", gocraftSpace+"worker_pools:"+pool)
	})
	g.Cleanup(stop)
	return stop
}

// die has a pool take jobs and be killed with them half a minute ago.
func (g *gocraft) die(pool string, jobs int) (held int) {
	g.beat(pool, 40*time.Second)
	for n := range jobs {
		if g.take(pool, g.served[n%2]) != nil {
			held++
		}
	}
	return held
}

// left is how much of the locks of what runs and of unique jobs is there: nothing, when all is over.
func (g *gocraft) left() (running, locks int) {
	for _, name := range g.served {
		n, err := redis.Int(g.do("GET", gocraftSpace+"jobs:"+name+":lock"), nil)
		require.NoError(g, err)
		running += n
	}
	keys, err := redis.Strings(g.do("KEYS", gocraftSpace+"unique:*"), nil)
	require.NoError(g, err)
	return running, len(keys)
}
