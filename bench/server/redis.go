package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// RedisSettings are those of every Redis that is started here: no snapshots and no append-only file.
var RedisSettings = []string{"--save", "", "--appendonly", "no"}

// Redis is an empty Redis that belongs to one run of the benchmark.
type Redis struct {
	Addr string // host:port
	own  *child
	dir  string
	conn redis.Conn
}

// StartRedis starts the redis-server on PATH. The caller closes it.
func StartRedis() (*Redis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("no redis-server on PATH: install one, or give --redis: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-redis-")
	if err != nil {
		return nil, err
	}
	own, port, err := onFreePort(func(port int) (*child, error) {
		args := append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir}, RedisSettings...)
		return launch(onItsCore(path, args), "eady to accept connections", syscall.SIGKILL)
	})
	if err != nil {
		os.RemoveAll(dir) //lint:ignore errcheck the first error counts
		return nil, err
	}
	r := &Redis{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), own: own, dir: dir}
	if err := r.connect(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// UseRedis takes a Redis that runs already, which must be empty: it is flushed between the runs.
func UseRedis(addr string) (*Redis, error) {
	r := &Redis{Addr: addr}
	if err := r.connect(); err != nil {
		return nil, fmt.Errorf("redis at %s: %w", addr, err)
	}
	size, err := redis.Int(r.conn.Do("DBSIZE"))
	if err == nil && size > 0 {
		err = fmt.Errorf("redis at %s holds %d keys: give an empty one, it is flushed between the runs", addr, size)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Redis) connect() (err error) {
	r.conn, err = redis.Dial("tcp", r.Addr, redis.DialConnectTimeout(5*time.Second), redis.DialReadTimeout(time.Minute))
	return err
}

// Conn is a connection for the harness' own questions. One goroutine at a time may use it.
func (r *Redis) Conn() redis.Conn { return r.conn }

// Clear empties it.
func (r *Redis) Clear(context.Context) error {
	_, err := r.conn.Do("FLUSHALL", "SYNC")
	return err
}

// Ready does nothing: Redis keeps no statistics that a plan depends on.
func (r *Redis) Ready(context.Context) error { return nil }

// CPU is the processor time that it has used so far.
func (r *Redis) CPU() (time.Duration, error) {
	user, err := r.info("cpu", "used_cpu_user")
	if err != nil {
		return 0, err
	}
	sys, err := r.info("cpu", "used_cpu_sys")
	return time.Duration((user + sys) * float64(time.Second)), err
}

// Stored is how many bytes of memory it uses.
func (r *Redis) Stored(context.Context) (int64, error) {
	used, err := r.info("memory", "used_memory")
	return int64(used), err
}

// Version is what it says of itself.
func (r *Redis) Version() string {
	text, err := redis.String(r.conn.Do("INFO", "server"))
	if err != nil {
		return "unknown"
	}
	return field(text, "redis_version")
}

func (r *Redis) info(section, name string) (float64, error) {
	text, err := redis.String(r.conn.Do("INFO", section))
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(field(text, name), 64)
}

func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Close ends it if it was started here.
func (r *Redis) Close() {
	if r.conn != nil {
		r.conn.Close() //lint:ignore errcheck nothing is outstanding
	}
	if r.own != nil {
		r.own.stop()
		os.RemoveAll(r.dir) //lint:ignore errcheck a leftover in the temporary directory
	}
}
