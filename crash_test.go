package work

import (
	"context"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"
)

// crash is what is left of a pool whose process was killed: nothing is given back, settled or told to Redis any more.
// Only its handlers are still there; their ctx has ended, and what they return reaches nobody.
func (p *WorkerPool) crash() {
	p.mu.Lock()
	p.state = poolStopping
	p.mu.Unlock()
	p.detach()
	p.recruiting.Stop()
	<-p.recruiting.Done()
	for _, w := range p.workers {
		w.halting.Store(true) // what is fetched does not begin
		w.settling.Stop()     // before the handlers learn of it
	}
	for _, w := range p.workers {
		<-w.settling.Done()
		w.kill()
		<-w.fetching.Done()
		<-w.beating.Done()
		if w.daemons != nil {
			w.daemons.stop()
		}
		w.crew.close()
	}
	close(p.stopped)
	p.closeConnection()
}

// another returns the options of one more pool, with an observer of its own.
func (k *kit) another(s *spy) WorkerOptions {
	o := k.options()
	o.Observers = []Observer{s}
	return o
}

// id is the worker's name in Redis.
func (p *WorkerPool) id() string { return p.workers[0].claimant().rdb.ID }

// enqueueNumbers enqueues jobs with the args from to to-1, in one call.
func (k *kit) enqueueNumbers(name string, from, to int) []Receipt {
	k.t.Helper()
	var entries []Entry
	for i := from; i < to; i++ {
		entries = append(entries, Entry{Name: name, Args: []any{i}})
	}
	receipts, err := k.enq.EnqueueMany(k.longCtx(), entries)
	require.NoError(k.t, err)
	return receipts
}

// strings runs a command that answers a list.
func (k *kit) strings(command, key string, args ...any) []string {
	k.t.Helper()
	list, err := redis.Strings(k.do(command, key, args...), nil)
	require.NoError(k.t, err)
	return list
}

// remains are the keys of the namespace with that in their name, but for the note of what was taken from a dead worker.
func (k *kit) remains(part string) []string {
	k.t.Helper()
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close()
	all, err := redis.Strings(conn.Do("KEYS", "*"))
	require.NoError(k.t, err)
	var found []string
	for _, key := range all {
		if strings.HasPrefix(key, "{"+k.namespace+"}:") && strings.Contains(key, part) &&
			(part == "" || !strings.Contains(key, "}:taken:")) {
			found = append(found, key)
		}
	}
	return found
}

// until waits for a condition in Redis, looking again whenever a heartbeat could have changed it.
func (k *kit) until(what string, condition func() bool) {
	k.t.Helper()
	require.Eventually(k.t, condition, patience, beatInterval/20, what)
}

// holding starts a pool whose jobs of one name block until their ctx ends, and returns it once it holds so many.
func (k *kit) holding(t *testing.T, name string, jobs int) *WorkerPool {
	t.Helper()
	started := make(chan string, jobs)
	pool := k.start(NewWorkerPool(nil, jobs, k.another(newSpy())).
		Job(name, func(ctx context.Context, job *Job, _ int) error {
			started <- job.ID
			<-ctx.Done()
			return ctx.Err()
		}))
	for range jobs {
		receive(t, started)
	}
	return pool
}
