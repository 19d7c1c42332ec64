package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// TestFaultRedisKilled kills a Redis that writes everything to disk before it answers.
func TestFaultRedisKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFleet(t, server.DSN())
	first, second := f.start(10), f.start(10)
	stop := make(chan struct{})
	stopped := f.enqueueUntil(stop)
	f.ledger.await(t, ended, first.pid, 100)
	kills := pick(2, 20)
	for range kills {
		server.Kill()
		require.NoError(t, server.Restart())
		before := len(f.ledger.of(ended, 0))
		f.ledger.await(t, ended, 0, before+200)
	}
	close(stop)
	<-stopped
	f.settled()
	f.once(f.accepted)
	f.explained()
	assert.Greater(t, len(f.accepted), 100)
	f.undisturbed()
	assert.Zero(t, first.terminate())
	assert.Zero(t, second.terminate())
	f.healthy()
	measured(t, fmt.Sprintf("Redis (appendfsync always) killed and started %d times", kills),
		"%d acknowledged jobs ran once each", len(f.accepted))
}

// TestFaultRedisAway stops Redis for longer than a heartbeat lasts: all of them have lapsed when it comes back.
func TestFaultRedisAway(t *testing.T) {
	t.Parallel()
	for _, away := range pick([]time.Duration{4 * time.Second}, []time.Duration{4 * time.Second, time.Minute}) {
		t.Run(away.String(), func(t *testing.T) {
			t.Parallel()
			redisAway(t, away, pick(8*time.Second, 90*time.Second))
		})
	}
}

func redisAway(t *testing.T, away, takes time.Duration) {
	server := redistest.Dedicated(t)
	f := newFleet(t, server.DSN())
	workers := []*process{f.start(20), f.start(20), f.start(20)}
	f.enqueue(len(workers), "brief", takes.Milliseconds())
	f.ledger.await(t, begun, 0, len(workers))
	f.enqueue(3000, "brief", 10)
	f.ledger.await(t, ended, 0, 100)

	require.NoError(t, server.Pause())
	<-time.After(away) // the fault lasts that long
	require.NoError(t, server.Resume())
	resumed, before := time.Now(), len(f.ledger.of(ended, 0))
	first := f.ledger.await(t, ended, 0, before+100)[before]
	f.settled()
	f.once(f.accepted)
	f.explained()
	f.undisturbed()
	for _, worker := range workers {
		assert.Zero(t, worker.terminate())
	}
	f.healthy()
	measured(t, fmt.Sprintf("Redis away for %v, three workers and a job of %v for each", away, takes),
		"all %d jobs begun once, no ctx ended, nothing reaped; the next job ended %v after its return",
		len(f.accepted), first.At.Sub(resumed).Round(10*time.Millisecond))
}

// TestFaultRedisStalled has a Redis that answers later than its clients are ready to wait.
func TestFaultRedisStalled(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	f := newFleetBehind(t, server.DSN()+"?read_timeout=100ms", server.DSN())
	worker := f.start(10)
	f.enqueue(200, "brief", 30)
	stalls := pick(1, 10)
	for i := range stalls {
		f.ledger.await(t, ended, 0, 30*(i%4+1))
		require.NoError(t, server.Pause())
		<-time.After(400 * time.Millisecond) // the fault lasts that long
		require.NoError(t, server.Resume())
		if i%4 == 3 {
			f.enqueue(200, "brief", 30)
		}
	}
	f.settled()
	f.once(f.accepted)
	f.explained()
	f.undisturbed()
	for i := range max(1, f.partitions) {
		left, err := redis.Strings(f.do("KEYS", f.keyIn(i, "worker:*:inprocess:*")))
		require.NoError(t, err)
		assert.Empty(t, left, "nothing is left in process")
	}
	assert.Zero(t, worker.terminate())
	f.healthy()
	measured(t, fmt.Sprintf("10 processors, read timeout 100 ms, Redis stalled %d times for 400 ms", stalls),
		"all %d jobs done once, 0 left in process", len(f.accepted))
}

// TestFaultRedisFull brings Redis to its maxmemory while jobs wait.
func TestFaultRedisFull(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	f := newFleet(t, server.DSN())
	f.enqueue(1000, "laden", 1, strings.Repeat("x", 4096))
	info, err := redis.String(f.do("INFO", "memory"))
	require.NoError(t, err)
	var used int
	_, err = fmt.Sscanf(info[strings.Index(info, "used_memory:"):], "used_memory:%d", &used)
	require.NoError(t, err)
	_, err = f.do("CONFIG", "SET", "maxmemory", used-64<<10)
	require.NoError(t, err)

	_, err = f.enq.Enqueue(t.Context(), "laden", 1, "")
	require.ErrorIs(t, err, work.ErrRedisFull)
	worker := f.start(10) // it registers, fetches and settles all the same
	f.settled()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		receipt, err := f.enq.Enqueue(ctx, "laden", 1, "")
		if err == nil {
			f.accepted = append(f.accepted, receipt.ID)
		}
		return err == nil
	}, patience, 50*time.Millisecond, "there is room again")
	f.settled()
	f.once(f.accepted)
	f.explained()
	f.undisturbed()
	assert.Zero(t, worker.terminate())
	f.healthy()
	measured(t, "Redis at maxmemory with 1,000 jobs waiting",
		"all ran once; enqueue was refused with ErrRedisFull, and accepted once there was room")
}
