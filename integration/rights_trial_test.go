package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// The times of the trial: a call each 40 ms, so that jobs of nine kinds come before, during and after the refusals.
// There are 127 of them, for a flow has two.
const (
	refusedCalls = 120
	refusedPace  = 40 * time.Millisecond
	refusedFrom  = 1800 * time.Millisecond
	refusedFor   = 3 * time.Second
	refusedAtEnd = 12 * time.Second // for what comes again late: who counts as dead is found within six seconds
)

// rightsTaken are the rules that the trial takes from the user of all programs, one after the other.
var rightsTaken = []string{"hdel", "lpush", "zadd", "rpush", "hset", "zremrangebyrank", "zrange", "srem", "pexpire",
	"pttl", "hmget", "hget", "publish", "channels"}

// TestRightsTakenOffUnderLoad takes one right from the user of a namespace for 3 s while programs enqueue and run jobs,
// gives it back, and counts the acknowledged jobs that were lost, done twice or left behind. It writes the figures into
// the file that WORK_RIGHTS_FIGURES names. It lasts minutes, so WORK_RIGHTS_LONG=1 switches it on.
func TestRightsTakenOffUnderLoad(t *testing.T) {
	if os.Getenv("WORK_RIGHTS_LONG") != "1" {
		t.Skip("it lasts minutes: make rights")
	}
	server := redistest.Dedicated(t)
	rows := make([]rightsCount, len(rightsTaken))
	t.Run("each", func(t *testing.T) {
		for i, right := range rightsTaken {
			t.Run(right, func(t *testing.T) {
				t.Parallel()
				rows[i] = (&rightsTrial{right: right, server: server, runs: map[string]int{},
					done: map[string]int{}, unanswered: map[string]bool{}}).run(t)
			})
		}
	})
	figures := "| taken off for 3 s | acknowledged | lost | done twice | left behind | awaited in vain |\n" +
		"|---|--:|--:|--:|--:|--:|\n"
	for i, right := range rightsTaken {
		r := rows[i]
		figures += fmt.Sprintf("| `%s` | %d | %d | %d | %d | %d |\n", right, r.acknowledged, r.lost, r.twice, r.left,
			r.unanswered)
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_RIGHTS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "rights", figures)
	}
}

// rightsCount is what became of the jobs of one trial.
type rightsCount struct {
	acknowledged int
	lost         int // never done, and in no place from where they would be
	twice        int
	left         int // not done yet, or dead
	unanswered   int // a Wait for them did not end
}

// rightsTrial is one namespace, whose programs share a user.
type rightsTrial struct {
	right  string
	server *redistest.Process

	mu         sync.Mutex
	stored     []string        // acknowledged
	runs, done map[string]int  // by id
	unanswered map[string]bool // ids that are awaited still
	waiting    sync.WaitGroup
}

func (r *rightsTrial) run(t *testing.T) (count rightsCount) {
	admin, err := redis.Dial("tcp", r.server.Addr())
	require.NoError(t, err)
	defer admin.Close()
	namespace := "rights-" + r.right
	r.set(t, admin, "reset", "on", ">secret", "~{"+namespace+"}:*", "&{"+namespace+"}:*", "+@all")
	dsn := "redis://" + r.right + ":secret@" + r.server.Addr() + "/0"
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var programs sync.WaitGroup
	defer programs.Wait()
	programs.Go(func() { r.program(ctx, r.pool(dsn, namespace), nil) })
	replaced := make(chan struct{})
	programs.Go(func() {
		r.program(ctx, r.pool(dsn, namespace), replaced)
		r.program(ctx, r.pool(dsn, namespace), nil)
	})
	enq, err := work.NewEnqueuer(dsn, work.Namespace(namespace), work.EnqueueTimeout(time.Second))
	require.NoError(t, err)
	defer func() { _ = enq.Close() }()

	taken := make(chan struct{})
	time.AfterFunc(refusedFrom, func() {
		defer close(taken)
		r.take(t, admin, replaced)
	})
	r.load(ctx, enq)
	<-taken
	hands, err := inspect.New("redis://"+r.server.Addr()+"/0", work.Namespace(namespace))
	require.NoError(t, err)
	defer func() { _ = hands.Close() }()
	<-time.After(refusedAtEnd)
	count = r.count(t, hands)
	end()
	r.waiting.Wait()
	return count
}

// take takes the right off, has one of the programs replaced, and gives the right back.
func (r *rightsTrial) take(t *testing.T, admin redis.Conn, replaced chan<- struct{}) {
	off, on := "-"+r.right, "+"+r.right
	if r.right == "channels" {
		off, on = "resetchannels", "&{rights-channels}:*"
	}
	r.set(t, admin, off)
	<-time.After(refusedFor / 3)
	close(replaced)
	<-time.After(refusedFor / 3 * 2)
	r.set(t, admin, on)
}

func (r *rightsTrial) set(t *testing.T, admin redis.Conn, rules ...any) {
	t.Helper()
	_, err := admin.Do("ACL", append([]any{"SETUSER", r.right}, rules...)...)
	assert.NoError(t, err)
}

// program is a process that does jobs until ctx or replaced ends: it is started until that goes well, and has a second
// to end what it runs.
func (r *rightsTrial) program(ctx context.Context, pool *work.WorkerPool, replaced <-chan struct{}) {
	for pool.Start(ctx) != nil {
		select {
		case <-time.After(200 * time.Millisecond): // as an orchestrator would
		case <-ctx.Done():
			return
		}
	}
	select {
	case <-replaced:
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = pool.Stop(limited) // what it could not give back comes again when it counts as dead
}

// pool is one of two programs that do the jobs.
func (r *rightsTrial) pool(dsn, namespace string) *work.WorkerPool {
	logs := io.Discard
	if os.Getenv("WORK_RIGHTS_LOG") == r.right {
		logs = os.Stderr
	}
	pool := work.NewWorkerPool(nil, 20, work.WorkerOptions{Redis: dsn, Namespace: namespace,
		ShutdownTimeout: time.Second, Logger: slog.New(slog.NewTextHandler(logs, nil))})
	for name, options := range map[string]work.JobOptions{
		"plain": {}, "later": {}, "again": {}, "keyed-a": {Ordered: true}, "keyed-b": {Ordered: true}, "slow": {},
		"bounded": {Limit: work.Limit{Concurrent: 5}}, "awaited": {Retention: time.Hour}, "first": {}, "second": {},
		"snoozed": {},
	} {
		options.Backoff = func(*work.Job, error) time.Duration { return 500 * time.Millisecond }
		pool.JobWithOptions(name, options, r.do)
	}
	return pool
}

// do is the handler of all jobs.
func (r *rightsTrial) do(ctx context.Context, job *work.Job) error {
	lasts := 10 * time.Millisecond
	if job.Name == "slow" {
		lasts = 4 * time.Second // longer than the refusals
		job.Logger().Info("begun")
	}
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[job.ID]++
	switch {
	case job.Name == "again" && job.Attempt == 1:
		return errors.New("as wanted")
	case job.Name == "snoozed" && r.runs[job.ID] == 1:
		return work.Snooze(500 * time.Millisecond)
	}
	r.done[job.ID]++
	return nil
}

// load makes the calls at their pace, and returns when each was answered.
func (r *rightsTrial) load(ctx context.Context, enq *work.Enqueuer) {
	var storing sync.WaitGroup
	pace := time.NewTicker(refusedPace)
	defer pace.Stop()
	for n := range refusedCalls {
		<-pace.C
		storing.Go(func() { r.store(ctx, enq, n) })
	}
	storing.Wait()
}

// store makes the n-th call: it goes round eight kinds, and the last of them alternates between two. A job whose call
// is refused counts as never stored.
func (r *rightsTrial) store(ctx context.Context, enq *work.Enqueuer, n int) {
	var receipt work.Receipt
	var err error
	turn := n / 8
	switch n % 8 {
	case 0:
		receipt, err = enq.Enqueue(ctx, "plain")
	case 1:
		receipt, err = enq.EnqueueIn(ctx, "later", 1500*time.Millisecond)
	case 2:
		receipt, err = enq.Enqueue(ctx, "again")
	case 3:
		name := []string{"keyed-a", "keyed-b"}[turn%2]
		receipt, err = enq.With(work.Key(fmt.Sprint("key ", turn/2%3))).Enqueue(ctx, name)
	case 4:
		receipt, err = enq.With(work.Unique(work.UniqueOptions{Key: fmt.Sprint(n)})).Enqueue(ctx, "bounded")
	case 5:
		if receipt, err = enq.Enqueue(ctx, "awaited"); err == nil {
			r.mu.Lock()
			r.unanswered[receipt.ID] = true
			r.mu.Unlock()
			r.waiting.Go(func() { r.await(ctx, enq, receipt.ID) })
		}
	case 6:
		receipt, err = enq.Enqueue(ctx, "slow")
	case 7:
		if turn%2 == 0 {
			receipt, err = enq.Enqueue(ctx, "snoozed")
			break
		}
		r.storeFlow(ctx, enq, fmt.Sprint("flow-", n))
		return
	}
	if err == nil {
		r.note(receipt.ID)
	}
}

func (r *rightsTrial) storeFlow(ctx context.Context, enq *work.Enqueuer, id string) {
	f := flow.New(id)
	f.Job("second").After(f.Job("first"))
	if _, err := flow.Enqueue(ctx, enq, f); err == nil {
		r.note(id+"/first", id+"/second")
	}
}

// note notes jobs that were acknowledged.
func (r *rightsTrial) note(ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = append(r.stored, ids...)
}

// await waits for the end of a job; a refusal is asked again.
func (r *rightsTrial) await(ctx context.Context, enq *work.Enqueuer, id string) {
	for ctx.Err() == nil {
		if enq.WaitEnd(ctx, id) == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.unanswered, id)
			return
		}
		select {
		case <-time.After(100 * time.Millisecond): // as a program would
		case <-ctx.Done():
		}
	}
}

// count looks what became of each acknowledged job.
func (r *rightsTrial) count(t *testing.T, hands *inspect.Inspector) rightsCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := rightsCount{acknowledged: len(r.stored), unanswered: len(r.unanswered)}
	var wrong []string
	for _, id := range r.stored {
		job, err := hands.Job(t.Context(), id)
		switch ran := r.done[id]; {
		case ran > 1:
			count.twice++
			wrong = append(wrong, "done twice: "+id)
		case ran == 1:
		case errors.Is(err, work.ErrNotFound) || err == nil && job.State == work.StateLost:
			count.lost++
			wrong = append(wrong, "lost: "+id)
		default:
			assert.NoError(t, err)
			count.left++
			wrong = append(wrong, fmt.Sprintf("left: %s, %s, %s", id, job.Name, job.State))
		}
	}
	for id := range r.unanswered {
		wrong = append(wrong, "awaited in vain: "+id)
	}
	assert.Empty(t, wrong)
	return count
}
