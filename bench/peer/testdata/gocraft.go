package peer

import (
	"context"
	"time"

	gocraft "github.com/gocraft/work"
	"github.com/gomodule/redigo/redis"
)

func init() { more = append(more, Gocraft{}) }

// Gocraft is github.com/gocraft/work, as its own benchmark has it: one pool of connections, an Enqueuer, a WorkerPool,
// a job name per name. It cannot be had as a module here, so it is built in from a checkout alone: see
// scripts/bench-peers. Times of jobs that are due are whole seconds there, so it has no part in their lateness.
type Gocraft struct{}

// gocraftNamespace is where it keeps its keys, and gocraftCallers with how many goroutines it stores many jobs, since
// it has no call for that.
const (
	gocraftNamespace = "bench"
	gocraftCallers   = 32
)

// Name is "gocraft".
func (Gocraft) Name() string { return "gocraft" }

// Module is that of the checkout.
func (Gocraft) Module() string { return "github.com/gocraft/work" }

// Store is Redis.
func (Gocraft) Store() StoreKind { return Redis }

// Config says how it is configured.
func (Gocraft) Config() []string {
	return []string{
		"defaults of every option; a job name per name, which is a queue",
		"a redigo pool with room for every goroutine that fetches",
		"no bulk enqueue: 32 callers of one Enqueuer",
	}
}

// Open makes an Enqueuer.
func (Gocraft) Open(_ context.Context, place Place, names []string) (Session, error) {
	pool := &redis.Pool{MaxIdle: 300, IdleTimeout: time.Minute,
		Dial: func() (redis.Conn, error) { return redis.Dial("tcp", place.Redis) }}
	prefix := gocraftNamespace + ":"
	counts := []keyCount{{"ZCARD", prefix + "scheduled"}, {"ZCARD", prefix + "retry"}, {"ZCARD", prefix + "dead"}}
	var locks []any
	for _, name := range names {
		counts = append(counts, keyCount{"LLEN", prefix + "jobs:" + name})
		locks = append(locks, prefix+"jobs:"+name+":lock") // how many of the name are claimed
	}
	return &gocraftSession{pool: pool, enq: gocraft.NewEnqueuer(gocraftNamespace, pool), locks: locks,
		left: newCounter(place.Redis, counts)}, nil
}

type gocraftSession struct {
	pool  *redis.Pool
	enq   *gocraft.Enqueuer
	left  *counter
	locks []any
}

func (s *gocraftSession) Insert(_ context.Context, job Job) error {
	_, err := s.enq.Enqueue(job.Name, gocraft.Q{"id": job.Args.ID, "pad": job.Args.Pad})
	return err
}

func (s *gocraftSession) InsertMany(ctx context.Context, jobs []Job) error {
	return eachOf(jobs, gocraftCallers, func(job Job) error { return s.Insert(ctx, job) })
}

func (s *gocraftSession) Start(_ context.Context, load Workload) (Worker, error) {
	pool := gocraft.NewWorkerPool(struct{}{}, uint(load.Concurrency), gocraftNamespace, s.pool)
	handler := func(job *gocraft.Job) error {
		args := Args{ID: job.ArgInt64("id"), Pad: job.ArgString("pad")}
		if err := job.ArgError(); err != nil {
			return err
		}
		load.Handle(args)
		return nil
	}
	for _, name := range append(append([]string{}, load.Names...), load.Idle...) {
		pool.Job(name, handler)
	}
	pool.Start()
	return gocraftWorker{pool}, nil
}

func (s *gocraftSession) Left(context.Context) (int, error) {
	n, err := s.left.sum()
	if err != nil {
		return 0, err
	}
	conn := s.pool.Get()
	defer conn.Close() //lint:ignore errcheck it goes back to the pool
	claimed, err := redis.Ints(conn.Do("MGET", s.locks...))
	for _, held := range claimed {
		n += max(0, held)
	}
	return n, err
}

func (s *gocraftSession) Close() error {
	s.left.close()
	return s.pool.Close()
}

type gocraftWorker struct{ pool *gocraft.WorkerPool }

// Stop lets running jobs end.
func (w gocraftWorker) Stop(context.Context) error {
	w.pool.Stop()
	return nil
}
